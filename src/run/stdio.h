/* stdio.h: what a command gets as its descriptors 0, 1 and 2. */
#ifndef RUN_STDIO_H
#define RUN_STDIO_H

#include <stdbool.h>
#include <sys/types.h>

struct stdio {
        int fds[3];  /* borrowed from the caller, or one of `ends` */
        int ends[3]; /* owned: what we opened for the command, or -1 */
        /* What they were when they were chosen, which is what the command gets, whatever becomes of the numbers. */
        char *paths[3];          /* owned: of a file that was opened for reading only, or NULL */
        bool is_far_reaching[3]; /* a socket that can be aimed at anybody */
        /* Where files are opened again, and sockets are told apart by a filter: */
        bool is_unix[3];     /* which of these are unix sockets */
        bool is_aimable[3];  /* which are sockets that can be connected to somebody, or to somebody else */
        bool is_node[3];     /* the path is that of a device, which is as good as any */
        bool is_written[3];  /* a file that can be written */
        bool is_nameless[3]; /* a file without a path: deleted, or one that never had any */
        dev_t devices[3];    /* that nameless files lie on */
};

#define STDIO_INIT                     \
        {                              \
                .ends = { -1, -1, -1 } \
        }

/* When the command has its own copies. */
void stdio_close_ends(struct stdio *stdio);
void stdio_done(struct stdio *stdio);

#endif
