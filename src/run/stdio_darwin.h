/* stdio_darwin.h: chooses what a command gets as its descriptors 0, 1 and 2. */
#ifndef RUN_STDIO_DARWIN_H
#define RUN_STDIO_DARWIN_H

#include "policy/policy.h"
#include "run/stdio.h"

/* The given descriptor, or /dev/null, and what a policy will have to know of it. */
int stdio_choose(struct stdio *stdio, int index, int given, abatis_error *err);
/* What the policy says to all of them. */
int stdio_check(const struct stdio *stdio, const abatis_policy *policy, abatis_error *err);

#endif
