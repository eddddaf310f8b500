/* pipe.h: writing to a reader that may be slow or gone, and a command's stdin from memory. */
#ifndef RUN_PIPE_H
#define RUN_PIPE_H

#include <stddef.h>
#include <sys/types.h>

#include "abatis.h"

/* pipe_<os>.c: like write(), but a reader that is gone is only EPIPE, not a signal to the host program. */
ssize_t pipe_write(int fd, const void *bytes, size_t length);

/* What a command reads from its stdin. */
struct feed {
        int pipe;    /* owned: our end, or -1 when there is nothing left to write */
        char *bytes; /* owned */
        size_t done, length;
};

/* Copies the bytes and writes what the pipe takes; *command_end is the caller's to close. */
int feed_open(struct feed *feed, const void *bytes, size_t length, int *command_end, abatis_error *err);
/* Writes what the pipe takes now; closes it at the end, or when nobody reads any more. */
void feed_advance(struct feed *feed);
void feed_done(struct feed *feed);

#endif
