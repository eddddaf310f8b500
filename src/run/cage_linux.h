/* cage_linux.h: what the relay may do once it has started: a seccomp program and a Landlock ruleset, which it puts on by itself. */
#ifndef RUN_CAGE_LINUX_H
#define RUN_CAGE_LINUX_H

#include "plan/relay.h"

/* The system calls that it needs with either C library; all others fail with EPERM, and no memory can become code. */
void cage_build(struct relay_cage *out);
/* A ruleset that lets it read the host's names and name servers and nothing else; -1 where there is no Landlock. 0 or a negative errno. */
int cage_open_rules(int *out);

#endif
