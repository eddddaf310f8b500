/* opener_linux.h: what the files share that make steps of a plan: steps_linux.c and stage_linux.c. */
#ifndef RUN_OPENER_LINUX_H
#define RUN_OPENER_LINUX_H

#include "run/steps_linux.h"

/* Used while the steps of one plan are made. */
struct opener {
        enum steps_part part;
        struct steps *steps;
        struct strings *strings;
        const struct copies *copies;
        const struct plan *plan;
        const abatis_policy *policy;
        const abatis_host *host;
        const char *root;         /* "" or, with a new root, its place on the stage */
        enum plan_op plan_op;     /* of the step being translated */
        bool has_shm, has_queues; /* the host has a directory for them */
        bool has_hosts;           /* it has the file */
        uint64_t noexec;          /* the attribute, where nothing but what is listed is code; else 0 */
        unsigned tmp_slot, shm_slot, proc_slot, node_slot,
                tree_slot; /* tree_slot: of the next tree to put back */
        uint32_t *
                made; /* owned: a hash table of the steps that make what lies on the stage; number + 1, or 0 */
        size_t made_count, made_capacity;
        bool has_failed;
        struct init_step dropped_init; /* written to after a failure, never read */
        struct command_step dropped_command;
};

/* Sticky, like the plan's builders: what cannot be added is dropped, and has_failed says so. */
struct init_step *opener_init(struct opener *opener, enum init_op op, const char *path);
struct command_step *opener_command(struct opener *opener, enum command_op op);
/* A string that lives as long as the steps: both, one behind the other. */
const char *opener_keep(struct opener *opener, const char *first, const char *second);

enum path_kind opener_kind_of(const char *path);
/* Whether a path lies in what the private /tmp covers. */
bool opener_has_in_tmp(const struct opener *opener, const char *path);
/* What is mounted at a path is mounted on, if the host has nothing there. */
void opener_make_point(struct opener *opener, const char *path, enum path_kind kind);
/* The name of a copy on the stage. */
const char *opener_copy_name(struct opener *opener, size_t number);
/* Everything on the stage is made before the world, the stage with it, becomes read-only. */
void opener_fill_stage(struct opener *opener);

/* The devices that every command has. */
enum { DEVICE_NODE_COUNT = 6 };
extern const char *const device_nodes[DEVICE_NODE_COUNT];

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#endif
