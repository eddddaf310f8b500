/* native.h: what the parts of the Linux backend share. */
#ifndef BACKEND_NATIVE_H
#define BACKEND_NATIVE_H

#include "backend/backend.h"

/* While one plan is made. */
struct native {
        const abatis_policy *policy;
        const abatis_host *host;
        struct plan *plan;
        /* Owned list of borrowed rules, without the patterns: by real path, so that parents come first. */
        const struct rule **sorted;
        size_t count;
        size_t *above; /* owned: for each of these, the nearest before it whose tree holds its path, or NO_RULE */
        bool *is_in_denied; /* owned: for each entry of `sorted` that grants something, whether a denied tree holds it */
        size_t *step_of; /* owned: for each entry of `sorted`, the step that enforces it, or NO_STEP */
        bool has_mounts;
        bool has_landlock;
        bool *is_asked;   /* owned: for each rule of the policy, whether it is the broker that holds it, */
        bool *is_avoided; /* and whether Landlock does, going round it */
        unsigned asks;    /* enum broker_asks: what those need */
        bool is_wrapped;  /* by bubblewrap, which makes the mounts and a network */
};

#define NO_STEP ((size_t)-1)
#define NO_RULE ((size_t)-1)

/* The steps of the Linux backend, as if the host had what it says. */
void native_compile(const abatis_policy *policy, const abatis_host *host, bool is_wrapped, struct plan *plan);

bool native_is_in_private_tmp(const struct native *native, const char *path);
bool native_has_step(const struct native *native, enum plan_op op, const char *path);
/* Whether rules of these kinds, a bit for each, hold for the path of this one in `sorted`. */
bool native_is_granted(const struct native *native, size_t index, unsigned kinds);
/* No grant of Landlock's reaches what this rule denies, also if it appears later. */
void native_avoid(struct native *native, const struct rule *rule);

/* native_calls.c: after what holds the list of commands. */
void native_add_calls(struct native *native);

/* native_commands.c: what a list of commands adds at each stage; nothing when there is none. */
bool native_lists_commands(const struct native *native);
void native_add_noexec(struct native *native);
void native_add_libraries(struct native *native);
void native_add_startables(struct native *native);
void native_grant_startables(struct native *native);

/* native_bare.c: where there are no mounts. Where nothing can do for them either, every clause that needs them is missed. */
void native_add_bare(struct native *native);
void native_cover_bare(struct native *native, size_t landlock, size_t seccomp, size_t broker);
void native_grant_bare_devices(struct native *native);
/* Says of a clause that it needs them. */
void native_miss_mounts(struct native *native, enum clause_kind kind, size_t index);

/* native_broker.c: what is held by asking. The rule becomes one of those, or is missed where there is no broker; `what` says
 * which rules need one. */
void native_ask(struct native *native, const struct rule *rule, const char *what);
/* Patterns: they hold for what appears later, too, which neither a mount nor Landlock knows. */
void native_ask_patterns(struct native *native);
/* After Landlock's step and the filter's. */
size_t native_add_broker(struct native *native);
/* Whether Landlock grants no right to write this tree: something in it is held by asking. */
bool native_asks_in(const struct native *native, const char *tree);

/* native_limits.c: what holds each limit that the kernel or a count of the tree can hold. */
void native_add_limits(struct native *native);
/* Whether memory is limited by a cgroup. */
bool native_groups_memory(const struct native *native);
/* native_network.c */
void native_add_network(struct native *native);

/* native_holes.c: a step for each path that is denied or protected in a world that is open around it. */
void native_add_holes(struct native *native);
/* One on the way to the rule's path that the command could put another in the place of, or NULL. */
const char *native_replaceable_link(const struct native *native, const struct rule *rule);
/* What needs no step of its own, because `op` holds it already. */
void native_cover_unseen(struct native *native, enum plan_op op);

#endif
