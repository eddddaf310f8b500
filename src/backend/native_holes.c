/* native_holes.c: denied and protected paths: masks, read-only binds, pinned ancestors, and what can be held by none. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/native.h"

static bool is_writable(const struct native *native, const char *path)
{
        bool is_allowed;

        policy_decide_by_paths(native->policy, ABATIS_WRITE, path, &is_allowed);
        return is_allowed;
}

static bool is_in_write_rule(const struct native *native, size_t index)
{
        return native_is_granted(native, index, 1u << RULE_WRITE);
}

/* What every command has, in a new root too. */
static bool is_in_every_root(const char *path)
{
        static const char *const places[] = { "/dev",      "/dev/null",   "/dev/zero",
                                              "/dev/full", "/dev/random", "/dev/urandom",
                                              "/dev/tty",  "/dev/pts",    "/dev/shm" };

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
                if (!strcmp(path, places[i]))
                        return true;
        return path_is_below(path, "/proc");
}

/* Whether the host's own file at a rule's path, or what stands for it, can be seen inside at all, masks aside. */
static bool is_in_view(const struct native *native, size_t index)
{
        const char *path = native->sorted[index]->facts.real;

        return native_is_granted(native, index, 1u << RULE_READ | 1u << RULE_WRITE | 1u << RULE_EXECUTE) ||
               is_in_every_root(path) ||
               (native->policy->reads_all && !native_is_in_private_tmp(native, path));
}

static size_t rule_index(const struct native *native, const struct rule *rule)
{
        return (size_t)(rule - native->policy->rules);
}

/* A mask holds its own path, but whoever can rename an ancestor can rebuild the path without the mask. Mount points
 * cannot be renamed, so every ancestor inside the writable tree becomes one. */
static void pin_ancestors(struct native *native, const char *path)
{
        char *ancestor = strdup(path), *slash;

        if (!ancestor) {
                native->plan->has_failed = true;
                return;
        }
        for (slash = strchr(ancestor + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (is_writable(native, ancestor) && !native_has_step(native, PLAN_PIN, ancestor) &&
                    !native_has_step(native, PLAN_WRITABLE, ancestor) &&
                    !native_has_step(native, PLAN_PROTECT, ancestor))
                        plan_step(native->plan, PLAN_PIN, ancestor, 0);
                *slash = '/';
        }
        free(ancestor);
}

static bool parent_is_writable(const struct native *native, const char *path)
{
        char *parent = strdup(path), *slash = parent ? strrchr(parent, '/') : NULL;
        bool result = true;

        native->plan->has_failed |= !parent;
        if (slash) {
                slash[slash == parent] = '\0';
                result = is_writable(native, parent);
        }
        free(parent);
        return result;
}

/* A mount covers what a link leads to, never the link: whoever can replace it has the path. */
const char *native_replaceable_link(const struct native *native, const struct rule *rule)
{
        for (size_t i = 0; i < rule->facts.links.count; i++)
                if (parent_is_writable(native, rule->facts.links.items[i]))
                        return rule->facts.links.items[i];
        return NULL;
}

void native_avoid(struct native *native, const struct rule *rule)
{
        if (strings_add(&native->plan->avoided, rule->facts.real, NULL) < 0)
                native->plan->has_failed = true;
        native->is_avoided[rule_index(native, rule)] = true;
}

static size_t hide_absent(struct native *native, size_t index)
{
        const struct rule *rule = native->sorted[index];
        const char *real = rule->facts.real;

        /* Below a private /tmp the mount point is made in our own tmpfs: nothing is left in the user's. */
        if (!is_in_view(native, index) && native_is_in_private_tmp(native, real))
                return plan_step(native->plan, PLAN_HIDE, real, PATH_ABSENT);
        /* To go round it, the writable tree's own directories would lose the right to have files made in them. */
        if (parent_is_writable(native, real) || is_in_write_rule(native, index)) {
                native_ask(native, rule, "it does not exist yet");
                return NO_STEP;
        }
        if (!native->has_landlock) {
                plan_miss(
                        native->plan, CLAUSE_DENY, rule_index(native, rule),
                        "it does not exist, and without Landlock it would be readable if somebody created it");
                return NO_STEP;
        }
        native_avoid(native, rule);
        return NO_STEP;
}

/* Something that the command makes or finds in a place of its own; what the host has there says nothing about it. */
static bool is_own(const struct native *native, const char *path)
{
        if (!strcmp(path, "/dev/ptmx"))
                return !native->policy->reads_all; /* a link there, to its own terminals */
        return (path_is_below(path, "/dev/shm") && path[8]) || (path_is_below(path, "/dev/pts") && path[8]) ||
               (!strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9');
}

static size_t hide(struct native *native, size_t index)
{
        const struct rule *rule = native->sorted[index];
        const char *real = rule->facts.real, *link = native_replaceable_link(native, rule);

        if (link) {
                plan_miss(native->plan, CLAUSE_DENY, rule_index(native, rule),
                          "'%s' is a symbolic link that the command could replace; deny what it points to",
                          link);
                return NO_STEP;
        }
        if (is_own(native, real)) {
                plan_miss(native->plan, CLAUSE_DENY, rule_index(native, rule),
                          "the command has its own there; deny the directory as a whole");
                return NO_STEP;
        }
        if (rule->facts.kind == PATH_ABSENT)
                return hide_absent(native, index);
        pin_ancestors(native, real);
        if (!is_in_view(native, index) && !native_is_in_private_tmp(native, real))
                return NO_STEP; /* not in the new root: covered by its step */
        /* A mask is lost when somebody outside replaces what it covers; Landlock then still refuses the newcomer. */
        if (rule->covers_later && native->has_landlock && is_in_view(native, index) &&
            !is_in_write_rule(native, index))
                native_avoid(native, rule);
        return plan_step(native->plan, PLAN_HIDE, real,
                         is_in_view(native, index) ? rule->facts.kind : PATH_ABSENT);
}

/* Where the command finds its own directory, not the host's. */
static bool is_private_place(const struct native *native, size_t index)
{
        const char *path = native->sorted[index]->facts.real;

        return (native_is_in_private_tmp(native, path) && !is_in_view(native, index)) ||
               path_is_below(path, "/dev/shm") || path_is_below(path, "/dev/pts");
}

static size_t protect(struct native *native, size_t index)
{
        const struct rule *rule = native->sorted[index];
        const char *real = rule->facts.real, *link = native_replaceable_link(native, rule);
        size_t number = rule_index(native, rule);

        if (link) {
                plan_miss(native->plan, CLAUSE_PROTECT, number,
                          "'%s' is a symbolic link that the command could replace; protect what it points to",
                          link);
                return NO_STEP;
        }
        if (is_private_place(native, index)) {
                plan_miss(native->plan, CLAUSE_PROTECT, number,
                          "the command has a private one there; deny it instead");
                return NO_STEP;
        }
        if (!is_in_write_rule(native, index))
                return NO_STEP; /* read-only with the rest of the world */
        if (rule->facts.kind == PATH_ABSENT) {
                native_ask(native, rule, "it does not exist yet");
                return NO_STEP;
        }
        if (rule->facts.kind == PATH_OTHER) {
                plan_miss(native->plan, CLAUSE_PROTECT, number,
                          "a pipe, socket or device can be written on a read-only mount; deny it instead");
                return NO_STEP;
        }
        pin_ancestors(native, real);
        return plan_step(native->plan, PLAN_PROTECT, real, rule->facts.kind);
}

/* The step of the uppermost rule above in the tree that already hides or protects this one's path. */
static size_t step_above(const struct native *native, size_t index, bool only_deny)
{
        size_t step = NO_STEP;

        for (size_t i = native->above[index]; i != NO_RULE; i = native->above[i]) {
                enum rule_kind kind = native->sorted[i]->kind;

                if (native->step_of[i] != NO_STEP &&
                    (kind == RULE_DENY || (!only_deny && kind == RULE_PROTECT)))
                        step = native->step_of[i];
        }
        return step;
}

/* A path that is denied twice is gone round for both. */
static void avoid_again(struct native *native, size_t index)
{
        size_t above = native->above[index];
        const struct rule *rule = native->sorted[index];

        if (above != NO_RULE && native->is_avoided[rule_index(native, native->sorted[above])] &&
            !strcmp(native->sorted[above]->facts.real, rule->facts.real))
                native->is_avoided[rule_index(native, rule)] = true;
}

void native_add_holes(struct native *native)
{
        for (size_t i = 0; i < native->count; i++) {
                const struct rule *rule = native->sorted[i];
                bool is_deny = rule->kind == RULE_DENY;
                size_t step;

                native->step_of[i] = NO_STEP;
                if (!is_deny && rule->kind != RULE_PROTECT)
                        continue;
                step = native_replaceable_link(native, rule) ? NO_STEP : step_above(native, i, is_deny);
                if (step == NO_STEP)
                        step = is_deny ? hide(native, i) : protect(native, i);
                native->step_of[i] = step;
                if (is_deny)
                        avoid_again(native, i);
                if (step != NO_STEP)
                        plan_cover(native->plan, step, is_deny ? CLAUSE_DENY : CLAUSE_PROTECT,
                                   rule_index(native, rule));
        }
        if (native->policy->network == NETWORK_LIST && native->policy->reads_all)
                plan_step(native->plan, PLAN_HOSTS, NULL, 0);
        if (!native->policy->reads_all)
                plan_step(native->plan, PLAN_ENTER_ROOT, NULL, 0);
}

/* Denied or protected paths that need no step of their own, because the world around them holds them already. */
void native_cover_unseen(struct native *native, enum plan_op op)
{
        struct plan *plan = native->plan;
        size_t world = NO_STEP;

        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op)
                        world = i;
        for (size_t i = 0; i < native->count && world != NO_STEP; i++) {
                const struct rule *rule = native->sorted[i];

                if (native->step_of[i] != NO_STEP)
                        continue;
                if (op == PLAN_NEW_ROOT && rule->kind == RULE_DENY && !is_in_view(native, i))
                        plan_cover(plan, world, CLAUSE_DENY, rule_index(native, rule));
                if (op == PLAN_READ_ONLY_WORLD && rule->kind == RULE_PROTECT)
                        plan_cover(plan, world, CLAUSE_PROTECT, rule_index(native, rule));
        }
}
