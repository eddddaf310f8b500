/* meter_linux.h: what a job uses of the limits that hold for its whole tree. */
#ifndef RUN_METER_LINUX_H
#define RUN_METER_LINUX_H

#include "plan/plan.h"
#include "run/cgroup_linux.h"
#include "run/child_linux.h"
#include "run/tree_linux.h"

struct meter {
        const uint64_t *limits; /* borrowed from the policy */
        bool is_grouped[LIMIT_COUNT], is_counted[LIMIT_COUNT];
        bool has_cgroup, has_tree, is_timed;
        struct cgroup cgroup;
        struct tree tree;
        int timer; /* owned, or -1 */
        long processors;
        uint64_t last_cpu; /* microseconds */
        unsigned idle;     /* looks since that changed */
        unsigned failures; /* looks in a row that failed */
        enum limit hit;    /* what ended the job, or LIMIT_COUNT */
        int error;         /* an errno: the tree could not be counted, so it was ended */
        bool was_out_of_memory, was_refused_processes;
};

#define METER_INIT                                                                        \
        {                                                                                 \
                .cgroup = CGROUP_INIT, .tree = TREE_INIT, .timer = -1, .hit = LIMIT_COUNT \
        }

/* Which of the plan's limits are ours; nothing is opened yet. */
void meter_choose(struct meter *meter, const struct plan *plan, const abatis_policy *policy);
/* Before the job is cloned: its cgroup must be there. */
int meter_open(struct meter *meter, const struct host_cgroup *place, abatis_error *err);
/* To be called when the timer is readable, while the job runs. True when the tree has to be killed. */
bool meter_look(struct meter *meter, const struct child_job *child, int init, int init_pidfd);
/* When the tree is gone. */
void meter_conclude(struct meter *meter);
void meter_done(struct meter *meter);

#endif
