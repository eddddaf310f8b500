/* trial_sockets.h: both ends of what is tried about the network: the servers outside, and who connects to them. */
#ifndef CLI_TRIAL_SOCKETS_H
#define CLI_TRIAL_SOCKETS_H

#include "cli/trials.h"

/* Opens everything that the server listens to, and says where in the world; returns how many there are, or -1. */
enum { SERVER_SOCKETS = 8 };
int sockets_open(struct trial_world *world, int sockets[SERVER_SOCKETS]);
/* Answers everybody by one byte, after it has called back who asks for that, until the descriptor `leash` hangs up. */
void sockets_serve(const int sockets[SERVER_SOCKETS], int leash) __attribute__((noreturn));

/* Ways: 0 when somebody has answered, else -1 with errno. */
int socket_stream(const char *port);
int socket_datagram(const char *port);
int socket_path(const char *path);
int socket_abstract(const char *name);
/* A server and a client of its own reach each other. */
int socket_loopback(const char *unused);
/* "PORT COUNT": so many connections at once. */
int socket_streams(const char *what);
/* "CALLER PORT": a server of its own is reached at this port by who is outside. */
int socket_published(const char *what);

#endif
