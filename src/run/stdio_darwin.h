/* stdio_darwin.h: what a command gets as its descriptors 0, 1 and 2. */
#ifndef RUN_STDIO_DARWIN_H
#define RUN_STDIO_DARWIN_H

#include "policy/policy.h"

struct stdio {
        int fds[3];              /* borrowed from the caller, or one of `ends` */
        int ends[3];             /* owned: what we opened for the command, or -1 */
        char *paths[3];          /* owned: of a file that was opened for reading only, or NULL */
        bool is_far_reaching[3]; /* a socket that can be aimed at anybody */
};

#define STDIO_INIT                     \
        {                              \
                .ends = { -1, -1, -1 } \
        }

/* The given descriptor, or /dev/null, and what a policy will have to know of it. */
int stdio_choose(struct stdio *stdio, int index, int given, abatis_error *err);
/* What the policy says to all of them. */
int stdio_check(const struct stdio *stdio, const abatis_policy *policy, abatis_error *err);
/* When the command has its own copies. */
void stdio_close_ends(struct stdio *stdio);
void stdio_done(struct stdio *stdio);

#endif
