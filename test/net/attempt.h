/* attempt.h: what the attempts to get past the sandbox share. Each is a function that returns 0 if it believes that it did. */
#ifndef ATTEMPT_H
#define ATTEMPT_H

#include <netinet/in.h>
#include <sys/socket.h>

/* Nobody allows these; whatever arrives there came past the sandbox. */
#define CLOSED_ADDRESS "93.184.216.99"
#define OPEN_NAME "open.example"
enum { CLOSED_PORT = 25, CLOSED_UDP_PORT = 9999, OPEN_PORT = 7 };

struct attempt {
        const char *name;
        int (*run)(char **arguments); /* what follows the name, and a NULL */
};

extern const struct attempt packet_attempts[], kernel_attempts[], process_attempts[];

struct sockaddr_in ipv4(const char *address, int port);
/* By whatever the system takes for an address or a name; 0 or -1. */
int look_up(const char *host, const char *port, int family, int type, struct sockaddr_storage *out,
            socklen_t *length);
/* Waits for an answer, two seconds at most: 0 if there is a connection. Does not wait for longer than that either way. */
int connect_soon(int fd, const void *address, socklen_t length);
int connect_closed(int fd);
int send_closed(int fd);
/* $LAB/shared/socket, or the abstract one. */
socklen_t unix_address(int is_abstract, const char *suffix, struct sockaddr_storage *out);
/* Sends a word to a server that writes it down. */
int say(int fd);

#endif
