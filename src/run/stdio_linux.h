/* stdio_linux.h: chooses what a command gets as its descriptors 0, 1 and 2. */
#ifndef RUN_STDIO_LINUX_H
#define RUN_STDIO_LINUX_H

#include "policy/policy.h"
#include "run/stdio.h"

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

#endif
