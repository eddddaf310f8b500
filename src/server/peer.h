/* peer.h: who is at the other end of a unix socket; peer_<os>.c. */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include <stdbool.h>

/* True for a process of our own user. */
bool peer_is_own(int fd);

#endif
