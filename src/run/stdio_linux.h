/* stdio_linux.h: what a command gets as its descriptors 0, 1 and 2. */
#ifndef RUN_STDIO_LINUX_H
#define RUN_STDIO_LINUX_H

#include <stdbool.h>
#include <sys/types.h>

#include "policy/policy.h"

struct stdio {
        int fds[3];  /* borrowed from the caller, or one of `ends` */
        int ends[3]; /* owned: what we opened for the command, or -1 */
        /* What they were when they were chosen, which is what the command gets, whatever becomes of the numbers. */
        char *paths[3];          /* owned: of a file that was opened for reading only, or NULL */
        bool is_far_reaching[3]; /* a socket that can be aimed at anybody */
        bool is_unix[3];         /* which of these are unix sockets */
        bool is_aimable[3];  /* which are sockets that can be connected to somebody, or to somebody else */
        bool is_node[3];     /* the path is that of a device, which is as good as any */
        bool is_nameless[3]; /* a file without a path: deleted, or one that never had any */
        dev_t devices[3];    /* that nameless files lie on */
};

#define STDIO_INIT                     \
        {                              \
                .ends = { -1, -1, -1 } \
        }

/* The given descriptor, or /dev/null, and what a policy will have to know of it. */
int stdio_choose(struct stdio *stdio, int index, int given, abatis_error *err);
/* Whether a job that was begun before it was known will not do: a file that is read may have to be opened again in mounts that the
 * job has left behind, and a socket of the host's network be in need of another filter. */
bool stdio_is_particular(int fd);
/* Whether one is a socket that can be connected to somebody, or to somebody else. */
bool stdio_has_aimable(const struct stdio *stdio);
/* What the policy says to all of them; has_loopback: the command has a filter already that lets it connect sockets. */
int stdio_check(struct stdio *stdio, const abatis_policy *policy, bool asks_connects, bool has_loopback,
                abatis_error *err);
/* When the command has its own copies. */
void stdio_close_ends(struct stdio *stdio);
void stdio_done(struct stdio *stdio);

#endif
