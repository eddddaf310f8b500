/* native.c: compiles a policy for Linux: namespaces and mounts first, Landlock and seccomp as the second layer. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/native.h"

enum { LINK_LONGEST = 4095 /* bytes that a symbolic link holds */ };

static int compare_rules(const void *left, const void *right)
{
        const struct rule *a = *(const struct rule *const *)left, *b = *(const struct rule *const *)right;
        int order = path_compare(a->facts.real, b->facts.real);

        return order ? order : (int)a->kind - (int)b->kind;
}

bool native_is_in_private_tmp(const struct native *native, const char *path)
{
        return native->policy->has_private_tmp && path_is_below(path, "/tmp");
}

bool native_has_step(const struct native *native, enum plan_op op, const char *path)
{
        size_t length = strlen(path);

        for (size_t i = 0; i < native->plan->step_count && !native->plan->has_failed; i++) {
                const struct step *step = &native->plan->steps[i];

                if (step->op == op && step->length == length && !memcmp(step->path, path, length))
                        return true;
        }
        return false;
}

/* Whether the tree of a rule of this kind that is sorted before this one holds its path. */
static bool is_below_kind(const struct native *native, size_t index, enum rule_kind kind)
{
        for (size_t i = native->above[index]; i != NO_RULE; i = native->above[i])
                if (native->sorted[i]->kind == kind)
                        return true;
        return false;
}

bool native_is_granted(const struct native *native, size_t index, unsigned kinds)
{
        const char *path = native->sorted[index]->facts.real;

        /* A tree in a denied one is not there at all. */
        for (size_t i = index; i != NO_RULE; i = native->above[i])
                if (kinds & 1u << native->sorted[i]->kind && !native->is_in_denied[i])
                        return true;
        for (size_t i = index + 1; i < native->count && !strcmp(native->sorted[i]->facts.real, path); i++)
                if (kinds & 1u << native->sorted[i]->kind && !native->is_in_denied[i])
                        return true;
        return false;
}

static void sort_rules(struct native *native)
{
        const abatis_policy *policy = native->policy;

        for (size_t i = 0; i < policy->rule_count; i++)
                if (!policy->rules[i].glob)
                        native->sorted[native->count++] = &policy->rules[i];
        qsort(native->sorted, native->count, sizeof(*native->sorted), compare_rules);
        for (size_t i = 0; i < native->count; i++) {
                const struct rule *rule = native->sorted[i];
                size_t above = i ? i - 1 : NO_RULE;

                /* What is not above this one is above none that follows. */
                while (above != NO_RULE &&
                       !path_is_below(rule->facts.real, native->sorted[above]->facts.real))
                        above = native->above[above];
                native->above[i] = above;
                native->is_in_denied[i] = rule->kind != RULE_DENY && rule->kind != RULE_PROTECT &&
                                          is_below_kind(native, i, RULE_DENY);
        }
}

/* ---- the world ----------------------------------------------------------------------------------------- */

static void add_namespaces(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        if (native->host->namespaces == NAMESPACES_NONE)
                return;
        step = plan_step(plan, PLAN_NAMESPACES, NULL, native->host->namespaces);
        plan_cover(plan, step, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_LIFETIME, PLAN_NO_INDEX);
        if (native->host->namespaces == NAMESPACES_USER) {
                step = plan_step(plan, PLAN_MAP_IDS, NULL, 0);
                plan_cover(plan, step, CLAUSE_PRIVILEGES, PLAN_NO_INDEX);
        }
}

static void add_world(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        size_t step;

        plan_step(plan, PLAN_STAGE, NULL, 0);
        step = plan_step(plan, PLAN_READ_ONLY_WORLD, NULL, policy->reads_all && !policy->executes_all);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        if (policy->reads_all && !policy->executes_all)
                plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        native_add_noexec(native);
        if (!policy->reads_all) {
                step = plan_step(plan, PLAN_NEW_ROOT, NULL, 0);
                plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        }
}

/* Whether the rule's tree would otherwise not be there, or not be executable. */
static bool needs_showing(const struct native *native, size_t index)
{
        const abatis_policy *policy = native->policy;
        const struct rule *rule = native->sorted[index];
        bool is_executable = rule->kind == RULE_EXECUTE;

        /* What may be written but is protected above may still be read and executed. */
        if (rule->kind == RULE_WRITE)
                is_executable = is_below_kind(native, index, RULE_PROTECT);
        if (rule->kind != RULE_READ && !is_executable)
                return false;
        return !policy->reads_all || (is_executable && !policy->executes_all) ||
               native_is_in_private_tmp(native, rule->facts.real);
}

static void miss_long_link(struct native *native, const struct rule *rule)
{
        static const enum clause_kind kinds[] = { CLAUSE_READ, CLAUSE_TMP };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && strlen(rule->facts.real) > LINK_LONGEST; i++)
                plan_miss(
                        native->plan, kinds[i], PLAN_NO_INDEX,
                        "the symbolic link '%s' leads to a path that is too long for a link; name that path",
                        rule->path);
}

/* Binds what a new root, a private /tmp or a world that cannot be executed would otherwise not have. */
static void add_shown(struct native *native)
{
        struct plan *plan = native->plan;

        for (size_t i = 0; i < native->count; i++) {
                const struct rule *rule = native->sorted[i];
                const char *real = rule->facts.real;
                bool is_executable = rule->kind != RULE_READ;
                size_t step;

                if (native->is_in_denied[i])
                        continue;
                if (view_has_link_of(native->policy, rule) &&
                    !native_has_step(native, PLAN_LINK, rule->path)) {
                        step = plan_step(plan, PLAN_LINK, rule->path, 0);
                        plan_target(plan, step, real);
                        miss_long_link(native, rule);
                }
                if (!needs_showing(native, i) || is_below_kind(native, i, RULE_WRITE))
                        continue;
                if (is_below_kind(native, i, RULE_EXECUTE) ||
                    (!is_executable && is_below_kind(native, i, RULE_READ)))
                        continue;
                step = plan_step(plan, PLAN_SHOW, real, !is_executable && !native->policy->executes_all);
                plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        }
}

static void add_private_places(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        step = plan_step(plan, PLAN_DEVICES, NULL, 0);
        plan_cover(plan, step, CLAUSE_DEVICES, PLAN_NO_INDEX);
        step = plan_step(plan, PLAN_TERMINALS, NULL, 0);
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        step = plan_step(plan, PLAN_PRIVATE_SHM, NULL, 0);
        plan_cover(plan, step, CLAUSE_IPC, PLAN_NO_INDEX);
        if (native->policy->has_private_tmp) {
                step = plan_step(plan, PLAN_PRIVATE_TMP, NULL, 0);
                plan_cover(plan, step, CLAUSE_TMP, PLAN_NO_INDEX);
        }
        step = plan_step(plan, PLAN_PROC, NULL, 0);
        plan_cover(plan, step, CLAUSE_PRIVACY, PLAN_NO_INDEX);
}

static void add_writable(struct native *native)
{
        for (size_t i = 0; i < native->count; i++) {
                const struct rule *rule = native->sorted[i];

                /* Deny and protect win over write, and a tree inside a writable tree is writable already. */
                if (rule->kind != RULE_WRITE || native->is_in_denied[i] ||
                    is_below_kind(native, i, RULE_PROTECT) || is_below_kind(native, i, RULE_WRITE))
                        continue;
                plan_step(native->plan, PLAN_WRITABLE, rule->facts.real, rule->facts.kind);
        }
}

/* ---- the command's own restrictions --------------------------------------------------------------------- */

static bool avoids_below(const struct plan *plan, const char *directory)
{
        for (size_t i = 0; i < plan->avoided.count; i++)
                if (path_is_below(plan->avoided.items[i], directory))
                        return true;
        return false;
}

/* A right on a directory reaches what init mounts below it, too; rights on its entries, as things are avoided, would
 * miss that. */
static void grant_own_places(struct plan *plan, unsigned seen)
{
        static const char *const devices[] = { "/dev/shm", "/dev/pts", "/dev/ptmx" };

        if (plan->avoided.count)
                plan_grant(plan, "/proc", seen, true);
        for (size_t i = 0; i < sizeof(devices) / sizeof(*devices) && avoids_below(plan, "/dev"); i++)
                plan_grant(plan, devices[i], seen | GRANT_WRITE | GRANT_DEVICE, true);
}

/* By a rule above, or for the same path. */
static bool is_denied(const struct native *native, size_t index)
{
        const char *path = native->sorted[index]->facts.real;

        for (size_t i = index + 1; i < native->count && !strcmp(native->sorted[i]->facts.real, path); i++)
                if (native->sorted[i]->kind == RULE_DENY)
                        return true;
        return native->is_in_denied[index];
}

static void add_grants(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        const unsigned execute = native_lists_commands(native) ? 0 : GRANT_EXECUTE;
        const unsigned seen = GRANT_READ | (policy->executes_all ? execute : 0);
        const unsigned all = GRANT_READ | GRANT_WRITE | execute;

        if (policy->reads_all)
                plan_grant(plan, "/", seen, false);
        else if (native->has_mounts)
                plan_grant(plan, "/", seen, true);
        if (policy->reads_all && native->has_mounts)
                grant_own_places(plan, seen);
        if (policy->has_private_tmp && native->has_mounts)
                plan_grant(plan, "/tmp", all, true);
        /* Everything below /dev but a few nodes is behind a nodev, read-only mount. */
        if (host_is_bare(native->host))
                native_grant_bare_devices(native);
        else if (policy->reads_all || !native->has_mounts)
                plan_grant(plan, "/dev", GRANT_READ | GRANT_WRITE | GRANT_DEVICE, false);
        else
                plan_grant(plan, "/dev", GRANT_READ | GRANT_WRITE | GRANT_DEVICE, true);
        for (size_t i = 0; i < native->count; i++) {
                const struct rule *rule = native->sorted[i];

                /* Without mounts nothing else keeps the command from a tree in what is denied, or protected. */
                if (rule->facts.kind == PATH_ABSENT || is_denied(native, i))
                        continue;
                if (rule->kind == RULE_WRITE)
                        plan_grant(plan, rule->facts.real,
                                   is_below_kind(native, i, RULE_PROTECT) ||
                                                   native_asks_in(native, rule->facts.real)
                                           ? all & ~GRANT_WRITE
                                           : all,
                                   false);
                else if (rule->kind == RULE_EXECUTE && !(policy->reads_all && policy->executes_all))
                        plan_grant(plan, rule->facts.real, GRANT_READ | execute, false);
                else if (rule->kind == RULE_READ &&
                         (!policy->reads_all || native_is_in_private_tmp(native, rule->facts.real)))
                        plan_grant(plan, rule->facts.real, seen, false);
        }
        native_grant_startables(native);
}

static size_t add_landlock(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        if (!native->has_landlock) {
                plan_miss(
                        plan, CLAUSE_WRITE, PLAN_NO_INDEX,
                        "Landlock is not available on this kernel, and named pipes can be written on read-only mounts");
                plan_miss(plan, CLAUSE_EXECUTE, PLAN_NO_INDEX, "Landlock is not available on this kernel");
                plan_miss(plan, CLAUSE_COMMANDS, PLAN_NO_INDEX, "Landlock is not available on this kernel");
                if (native->policy->network != NETWORK_LIST || !native->has_mounts)
                        plan_miss(plan, CLAUSE_ABSTRACT, PLAN_NO_INDEX,
                                  "Landlock is not available on this kernel");
                return NO_STEP;
        }
        step = plan_step(plan, PLAN_LANDLOCK, NULL, (uint64_t)native->host->landlock_abi);
        add_grants(native);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_COMMANDS, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        if (native->host->landlock_abi >= LANDLOCK_WITH_SCOPES)
                plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX);
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (native->is_avoided[i])
                        plan_cover(plan, step, CLAUSE_DENY, i);
        return step;
}

static size_t add_seccomp(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step = plan_step(plan, PLAN_SECCOMP, NULL, native->policy->network);

        plan_cover(plan, step, CLAUSE_KERNEL, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        /* Memory that no process has mapped would not be counted. */
        if (plan_limits_by(plan, PLAN_COUNT, LIMIT_MEMORY))
                plan_cover(plan, step, CLAUSE_LIMIT, LIMIT_MEMORY);
        switch (native->policy->network) {
        case NETWORK_DENY:
                plan_cover(plan, step, CLAUSE_LIMIT, LIMIT_CONNECTIONS);
                plan_cover(plan, step, CLAUSE_LIMIT, LIMIT_CONNECTION_RATE);
                plan_cover(plan, step, CLAUSE_LIMIT, LIMIT_TRAFFIC);
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                break;
        case NETWORK_UNIX_ONLY:
        case NETWORK_ALLOW:
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                break;
        case NETWORK_LIST:
                if (plan_has(plan, PLAN_NETWORK) || plan_has(plan, PLAN_STREAMS))
                        plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                break;
        }
        plan_cover(plan, step, CLAUSE_COMMANDS, PLAN_NO_INDEX);
        return step;
}

static void add_command_steps(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step, landlock, seccomp;

        if (native->has_mounts) {
                step = plan_step(plan, PLAN_PRIVATE_IPC, NULL, 0);
                plan_cover(plan, step, CLAUSE_IPC, PLAN_NO_INDEX);
        }
        native_add_network(native);
        step = plan_step(plan, PLAN_SESSION, NULL, 0);
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        native_add_limits(native);
        step = plan_step(plan, PLAN_PRIVILEGES, NULL, 0);
        plan_cover(plan, step, CLAUSE_PRIVILEGES, PLAN_NO_INDEX);
        landlock = add_landlock(native);
        seccomp = add_seccomp(native);
        native_cover_bare(native, landlock, seccomp, native_add_broker(native));
        native_add_calls(native);
        if (arguments_are_checked(native->policy))
                plan_cover(plan, plan_step(plan, PLAN_ARGUMENTS, NULL, 0), CLAUSE_ARGUMENTS, PLAN_NO_INDEX);
        step = plan_step(plan, PLAN_DESCRIPTORS, NULL, 0);
        plan_cover(plan, step, CLAUSE_DESCRIPTORS, PLAN_NO_INDEX);
        step = plan_step(plan, PLAN_ENVIRONMENT, NULL, 0);
        plan_cover(plan, step, CLAUSE_ENVIRONMENT, PLAN_NO_INDEX);
        if (native->policy->shares_session)
                plan_cover(plan, plan_step(plan, PLAN_PORTER, NULL, 0), CLAUSE_SHARING, PLAN_NO_INDEX);
        if (native->policy->limits[LIMIT_TIMEOUT])
                plan_cover(plan, plan_step(plan, PLAN_DEADLINE, NULL, 0), CLAUSE_LIMIT, LIMIT_TIMEOUT);
        if (native->policy->limits[LIMIT_OUTPUT])
                plan_cover(plan, plan_step(plan, PLAN_OUTPUT, NULL, 0), CLAUSE_LIMIT, LIMIT_OUTPUT);
}

void native_compile(const abatis_policy *policy, const abatis_host *host, bool is_wrapped, struct plan *plan)
{
        struct native native = { .policy = policy, .host = host, .plan = plan, .is_wrapped = is_wrapped };

        native.has_mounts = host_has_mounts(host);
        native.has_landlock = host->landlock_abi > 0;
        native.sorted = malloc((policy->rule_count + 1) * sizeof(*native.sorted));
        native.step_of = malloc((policy->rule_count + 1) * sizeof(*native.step_of));
        native.is_in_denied = malloc((policy->rule_count + 1) * sizeof(*native.is_in_denied));
        native.is_asked = calloc(policy->rule_count + 1, sizeof(*native.is_asked));
        native.is_avoided = calloc(policy->rule_count + 1, sizeof(*native.is_avoided));
        native.above = malloc((policy->rule_count + 1) * sizeof(*native.above));
        if (native.sorted && native.step_of && native.is_in_denied && native.is_asked && native.is_avoided &&
            native.above) {
                sort_rules(&native);
                add_namespaces(&native);
                if (native.has_mounts) {
                        add_world(&native);
                        add_private_places(&native);
                        add_shown(&native);
                        native_add_libraries(&native);
                        add_writable(&native);
                        native_add_startables(&native);
                        native_add_holes(&native);
                        native_cover_unseen(&native, PLAN_NEW_ROOT);
                        native_cover_unseen(&native, PLAN_READ_ONLY_WORLD);
                } else {
                        native_add_bare(&native);
                }
                native_ask_patterns(&native);
                add_command_steps(&native);
        } else {
                plan->has_failed = true;
        }
        free(native.sorted);
        free(native.step_of);
        free(native.is_in_denied);
        free(native.is_asked);
        free(native.is_avoided);
        free(native.above);
}

static void compile_native(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        native_compile(policy, host, false, plan);
}

static const char *find_reason(const abatis_host *host)
{
        if (host_has_mounts(host) || host->landlock_abi)
                return NULL;
        return host->namespaces == NAMESPACES_NONE
                       ? "there are no namespaces, and no Landlock to do without"
                       : "this kernel has neither Landlock nor mount_setattr; fix: Linux 5.13 or newer";
}

const struct backend backend_native = {
        .kind = BACKEND_NATIVE, .system = SYSTEM_LINUX, .find_reason = find_reason, .compile = compile_native
};
