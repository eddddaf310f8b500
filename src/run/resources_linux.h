/* resources_linux.h: an open plan as the job code sees it. */
#ifndef RUN_RESOURCES_LINUX_H
#define RUN_RESOURCES_LINUX_H

#include "run/child_linux.h"
#include "run/copies_linux.h"
#include "run/filter_linux.h"
#include "run/run.h"
#include "run/stacks_linux.h"
#include "run/steps_linux.h"

struct resources {
        struct child_plan child;
        struct steps steps;       /* owned */
        struct steps inside;      /* owned: of who is inside, where another program makes the mounts */
        struct child_rule *rules; /* owned */
        size_t rule_capacity;
        const abatis_host *host;          /* borrowed from the sandbox */
        struct strings strings;           /* owned: paths made here that the steps borrow */
        struct copies copies;             /* owned */
        struct child_leftover *leftovers; /* owned; their names are the policy's */
        size_t leftover_count;
        struct filter_options filter_options;
        struct filter filter, calls; /* the second one: see filter_build_second() */
        struct child_broker broker;  /* its lists are owned, what they hold is the policy's */
        struct stacks stacks;        /* owned */
        struct keeper *keeper;       /* owned; NULL: every job is begun from nothing */
        struct session *session;     /* owned; NULL: jobs have nothing in common */
};

void resources_describe_filter(const struct plan *plan, const abatis_policy *policy,
                               struct filter_options *out);
/* leftovers_linux.c: what must not be there after a command. */
int leftovers_find(const abatis_policy *policy, struct resources *resources, abatis_error *err);
/* The filter without a loopback, for a job that is given a socket of another network, which it must not connect anew. The caller
 * frees it. */
int resources_close_network(const struct resources *resources, const struct sock_fprog **out,
                            abatis_error *err);

#endif
