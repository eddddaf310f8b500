/* resources_linux.h: an open plan as the job code sees it. */
#ifndef RUN_RESOURCES_LINUX_H
#define RUN_RESOURCES_LINUX_H

#include "run/child_linux.h"
#include "run/copies_linux.h"
#include "run/filter_linux.h"
#include "run/run.h"

enum { SPARE_STACKS = 64 };

struct resources {
        struct child_plan child;
        struct init_step *init_steps;       /* owned */
        struct command_step *command_steps; /* owned */
        size_t init_capacity, command_capacity;
        struct child_rule *rules; /* owned */
        size_t rule_capacity;
        unsigned slot_count;
        const abatis_host *host; /* borrowed from the sandbox */
        struct strings strings;  /* owned: paths made here that the steps borrow */
        struct copies copies;    /* owned */
        struct filter filter;
        /* Owned: the stacks of jobs that have ended. A new job takes one: the same few pages serve all jobs, where a heap
         * would come to touch more and more of its own. */
        char *spare_stacks[SPARE_STACKS];
};

/* From any thread. Gives NULL when there is no memory. */
char *resources_take_stacks(struct resources *resources);
void resources_return_stacks(struct resources *resources, char *stacks);

#endif
