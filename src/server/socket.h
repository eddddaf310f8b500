/* socket.h: the place in the file system where clients come to. */
#ifndef SERVER_SOCKET_H
#define SERVER_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "abatis.h"

struct door {
        int fd;           /* owned; -1: none */
        const char *path; /* borrowed */
        dev_t device;     /* what we have made there */
        ino_t inode;
};

/* Takes the place of a socket where nobody listens, and of nothing else. */
int door_open(struct door *door, const char *path, abatis_error *err);
/* The next one who has come, of our own user and in no sandbox; -1: nobody. Another is told so, and is nobody. When there are no descriptors
 * left or no memory, it *is_short of them, and whoever has come goes on waiting. */
int door_accept(const struct door *door, bool *is_short);
/* Removes what was made, if it is still there. */
void door_close(struct door *door);

#endif
