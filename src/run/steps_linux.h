/* steps_linux.h: a plan as the children carry it out: flat steps, in order. */
#ifndef RUN_STEPS_LINUX_H
#define RUN_STEPS_LINUX_H

#include "plan/plan.h"
#include "run/child_linux.h"
#include "run/copies_linux.h"

enum steps_part {
        STEPS_WHOLE,
        STEPS_WORLD, /* of a sandbox that is prepared: what its keeper does once, */
        STEPS_JOB,   /* and what is left for each job in a copy of that */
        STEPS_WRAP,  /* where another program makes the mounts: becomes this, */
        STEPS_INSIDE /* and what is left inside */
};

struct steps {
        struct init_step *init;       /* owned */
        struct command_step *command; /* owned */
        size_t init_count, init_capacity, command_count, command_capacity;
        unsigned slot_count; /* of detached mounts that init's steps hand to each other */
        size_t root_length;  /* of what to leave off a path behind a new root */
};

/* Paths that are made here are added to `strings`, which must outlive the steps, as must the plan and the copies. What was made
 * must be done with also after a failure. */
int steps_make(enum steps_part part, const struct plan *plan, const abatis_policy *policy,
               const abatis_host *host, const struct copies *copies, struct strings *strings,
               struct steps *out, abatis_error *err);
/* Whether a plan has those parts. */
bool steps_can_be_parted(const struct plan *plan, const abatis_policy *policy, const abatis_host *host);
void steps_done(struct steps *steps);

#endif
