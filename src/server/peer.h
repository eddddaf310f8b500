/* peer.h: who is at the other end of a unix socket; peer_<os>.c. */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include "abatis.h"

/* Fails, with PROTOCOL_PEER, for a process that is not our own user's, or that may do less than we: a command in a sandbox
 * that reaches the socket would have us run for it what it may not. */
int peer_check(int fd, abatis_error *err);

#endif
