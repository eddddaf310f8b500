/* filter_linux.h: builds the seccomp program of a plan. */
#ifndef RUN_FILTER_LINUX_H
#define RUN_FILTER_LINUX_H

#include <linux/filter.h>
#include <stddef.h>

#include "policy/policy.h"

enum { FILTER_MAX = 256 }; /* a conditional jump reaches no further */

struct filter {
        struct sock_filter code[FILTER_MAX];
        size_t length;
};

/* Fails only if the program outgrows FILTER_MAX. Files in memory, which no mount and no Landlock rule covers, can be
 * started like any program. Where memory is counted by process, there must be none that belongs to no process. */
int filter_build(enum network_mode network, bool has_memory_files, bool counts_memory, struct filter *filter,
                 abatis_error *err);

#endif
