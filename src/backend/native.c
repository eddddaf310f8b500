/* native.c: compiles a policy for Linux: namespaces and mounts first, Landlock and seccomp as the second layer. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

/* What the functions below share while one plan is made. */
struct native {
        const abatis_policy *policy;
        const abatis_host *host;
        struct plan *plan;
        const struct rule *
                *sorted; /* owned list of borrowed rules: by real path, so that parents come first */
        size_t *step_of; /* owned: for each entry of `sorted`, the step that enforces it, or NO_STEP */
        bool has_mounts;
        bool has_landlock;
};

#define NO_STEP ((size_t)-1)

static int compare_rules(const void *left, const void *right)
{
        const struct rule *a = *(const struct rule *const *)left, *b = *(const struct rule *const *)right;
        int order = strcmp(a->facts.real, b->facts.real);

        return order ? order : (int)a->kind - (int)b->kind;
}

static bool is_writable(const struct native *native, const char *path)
{
        bool is_allowed;

        policy_decide(native->policy, ABATIS_WRITE, path, &is_allowed);
        return is_allowed;
}

static bool is_in_private_tmp(const struct native *native, const char *path)
{
        return native->policy->has_private_tmp && path_is_below(path, "/tmp");
}

static bool is_granted(const struct native *native, const char *path)
{
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = &native->policy->rules[i];

                if (rule->kind != RULE_DENY && rule->kind != RULE_PROTECT &&
                    path_is_below(path, rule->facts.real))
                        return true;
        }
        return false;
}

static bool is_in_write_rule(const struct native *native, const char *path)
{
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = &native->policy->rules[i];

                if (rule->kind == RULE_WRITE && path_is_below(path, rule->facts.real))
                        return true;
        }
        return false;
}

/* Whether the host's own file at `path` can be seen inside at all, masks aside. */
static bool is_in_view(const struct native *native, const char *path)
{
        return is_granted(native, path) || (native->policy->reads_all && !is_in_private_tmp(native, path));
}

/* An earlier rule of this kind, sorted before `index`, whose tree holds the path. */
static const struct rule *find_above(const struct native *native, size_t index, enum rule_kind kind)
{
        const char *path = native->sorted[index]->facts.real;

        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (i != index && native->sorted[i]->kind == kind &&
                    path_is_below(path, native->sorted[i]->facts.real) &&
                    (i < index || strcmp(path, native->sorted[i]->facts.real)))
                        return native->sorted[i];
        return NULL;
}

static size_t rule_index(const struct native *native, const struct rule *rule)
{
        return (size_t)(rule - native->policy->rules);
}

/* ---- the world ----------------------------------------------------------------------------------------- */

static void add_namespaces(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        if (native->host->namespaces == NAMESPACES_NONE) {
                const char *why = native->host->namespaces_reason;

                plan_miss(plan, CLAUSE_PRIVACY, PLAN_NO_INDEX, "%s", why);
                plan_miss(plan, CLAUSE_LIFETIME, PLAN_NO_INDEX, "%s", why);
                return;
        }
        step = plan_step(plan, PLAN_NAMESPACES, NULL, native->host->namespaces);
        plan_cover(plan, step, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_LIFETIME, PLAN_NO_INDEX);
        if (native->host->namespaces == NAMESPACES_USER) {
                step = plan_step(plan, PLAN_MAP_IDS, NULL, 0);
                plan_cover(plan, step, CLAUSE_PRIVILEGES, PLAN_NO_INDEX);
        }
}

static void miss_mounts(struct native *native)
{
        static const enum clause_kind kinds[] = { CLAUSE_READ, CLAUSE_WRITE,   CLAUSE_TMP,
                                                  CLAUSE_IPC,  CLAUSE_DEVICES, CLAUSE_PRIVACY };
        const char *why = native->host->namespaces == NAMESPACES_NONE
                                  ? native->host->namespaces_reason
                                  : "recursive read-only mounts need Linux 5.12";

        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                plan_miss(native->plan, kinds[i], PLAN_NO_INDEX, "%s", why);
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                if (native->policy->rules[i].kind == RULE_DENY)
                        plan_miss(native->plan, CLAUSE_DENY, i, "%s", why);
                if (native->policy->rules[i].kind == RULE_PROTECT)
                        plan_miss(native->plan, CLAUSE_PROTECT, i, "%s", why);
        }
}

static void add_world(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        size_t step;

        plan_step(plan, PLAN_STAGE, NULL, 0);
        step = plan_step(plan, PLAN_READ_ONLY_WORLD, NULL, 0);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        if (!policy->reads_all) {
                step = plan_step(plan, PLAN_NEW_ROOT, NULL, 0);
                plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        }
}

static bool has_step(const struct native *native, enum plan_op op, const char *path)
{
        for (size_t i = 0; i < native->plan->step_count && !native->plan->has_failed; i++)
                if (native->plan->steps[i].op == op && !strcmp(native->plan->steps[i].path, path))
                        return true;
        return false;
}

/* Binds what a new root or a private /tmp would otherwise not have. */
static void add_shown(struct native *native)
{
        struct plan *plan = native->plan;

        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = native->sorted[i];
                const char *real = rule->facts.real;
                bool is_executable = rule->kind == RULE_EXECUTE;
                size_t step;

                if (rule->kind != RULE_READ && rule->kind != RULE_EXECUTE)
                        continue;
                if (native->policy->reads_all && !is_in_private_tmp(native, real))
                        continue;
                if (find_above(native, i, RULE_DENY))
                        continue;
                if (rule->facts.links.count == 1 && !strcmp(rule->facts.links.items[0], rule->path) &&
                    !native->policy->reads_all && !has_step(native, PLAN_LINK, rule->path)) {
                        step = plan_step(plan, PLAN_LINK, rule->path, 0);
                        plan_target(plan, step, real);
                }
                if (find_above(native, i, RULE_WRITE))
                        continue;
                if (find_above(native, i, RULE_EXECUTE) ||
                    (!is_executable && find_above(native, i, RULE_READ)))
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
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = native->sorted[i];

                /* Deny and protect win over write, and a tree inside a writable tree is writable already. */
                if (rule->kind != RULE_WRITE || find_above(native, i, RULE_DENY) ||
                    find_above(native, i, RULE_PROTECT) || find_above(native, i, RULE_WRITE))
                        continue;
                plan_step(native->plan, PLAN_WRITABLE, rule->facts.real, rule->facts.kind);
        }
}

/* ---- holes --------------------------------------------------------------------------------------------- */

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
                bool is_known;

                *slash = '\0';
                is_known = has_step(native, PLAN_PIN, ancestor) ||
                           has_step(native, PLAN_WRITABLE, ancestor) ||
                           has_step(native, PLAN_PROTECT, ancestor);
                if (!is_known && is_writable(native, ancestor))
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
static const char *replaceable_link(const struct native *native, const struct rule *rule)
{
        for (size_t i = 0; i < rule->facts.links.count; i++)
                if (parent_is_writable(native, rule->facts.links.items[i]))
                        return rule->facts.links.items[i];
        return NULL;
}

static void avoid(struct native *native, const char *path)
{
        if (strings_add(&native->plan->avoided, path, NULL) < 0)
                native->plan->has_failed = true;
}

static size_t hide_absent(struct native *native, const struct rule *rule)
{
        size_t index = rule_index(native, rule);
        const char *real = rule->facts.real;

        /* Below a private /tmp the mount point is made in our own tmpfs: nothing is left in the user's. */
        if (!is_in_view(native, real) && is_in_private_tmp(native, real))
                return plan_step(native->plan, PLAN_HIDE, real, PATH_ABSENT);
        if (parent_is_writable(native, real)) {
                plan_miss(
                        native->plan, CLAUSE_DENY, index,
                        "it does not exist and the command could create it; create it first, or pass --best-effort");
                return NO_STEP;
        }
        if (!native->has_landlock) {
                plan_miss(
                        native->plan, CLAUSE_DENY, index,
                        "it does not exist, and without Landlock it would be readable if somebody created it");
                return NO_STEP;
        }
        avoid(native, real);
        return NO_STEP;
}

static size_t hide(struct native *native, const struct rule *rule)
{
        const char *real = rule->facts.real, *link = replaceable_link(native, rule);

        if (link) {
                plan_miss(native->plan, CLAUSE_DENY, rule_index(native, rule),
                          "'%s' is a symbolic link that the command could replace; deny what it points to",
                          link);
                return NO_STEP;
        }
        if (rule->facts.kind == PATH_ABSENT)
                return hide_absent(native, rule);
        pin_ancestors(native, real);
        if (!is_in_view(native, real) && !is_in_private_tmp(native, real))
                return NO_STEP; /* not in the new root: covered by its step */
        /* A mask is lost when somebody outside replaces what it covers; Landlock then still refuses the newcomer. */
        if (rule->covers_later && native->has_landlock && is_in_view(native, real) &&
            !is_in_write_rule(native, real))
                avoid(native, real);
        return plan_step(native->plan, PLAN_HIDE, real,
                         is_in_view(native, real) ? rule->facts.kind : PATH_ABSENT);
}

/* Where the command finds its own directory, not the host's. */
static bool is_private_place(const struct native *native, const char *path)
{
        return (is_in_private_tmp(native, path) && !is_in_view(native, path)) ||
               path_is_below(path, "/dev/shm") || path_is_below(path, "/dev/pts");
}

static size_t protect(struct native *native, const struct rule *rule)
{
        const char *real = rule->facts.real, *link = replaceable_link(native, rule);
        size_t index = rule_index(native, rule);

        if (link) {
                plan_miss(native->plan, CLAUSE_PROTECT, index,
                          "'%s' is a symbolic link that the command could replace; protect what it points to",
                          link);
                return NO_STEP;
        }
        if (is_private_place(native, real)) {
                plan_miss(native->plan, CLAUSE_PROTECT, index,
                          "the command has a private one there; deny it instead");
                return NO_STEP;
        }
        if (!is_in_write_rule(native, real))
                return NO_STEP; /* read-only with the rest of the world */
        if (rule->facts.kind == PATH_ABSENT) {
                plan_miss(
                        native->plan, CLAUSE_PROTECT, index,
                        "it does not exist and the command could create it; create it first, or pass --best-effort");
                return NO_STEP;
        }
        if (rule->facts.kind == PATH_OTHER) {
                plan_miss(native->plan, CLAUSE_PROTECT, index,
                          "a pipe, socket or device can be written on a read-only mount; deny it instead");
                return NO_STEP;
        }
        pin_ancestors(native, real);
        return plan_step(native->plan, PLAN_PROTECT, real, rule->facts.kind);
}

/* The step of the rule above in the tree that already hides or protects this one's path. */
static size_t step_above(const struct native *native, size_t index, bool only_deny)
{
        const char *path = native->sorted[index]->facts.real;

        for (size_t i = 0; i < index; i++) {
                enum rule_kind kind = native->sorted[i]->kind;

                if (native->step_of[i] != NO_STEP && path_is_below(path, native->sorted[i]->facts.real) &&
                    (kind == RULE_DENY || (!only_deny && kind == RULE_PROTECT)))
                        return native->step_of[i];
        }
        return NO_STEP;
}

static void add_holes(struct native *native)
{
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = native->sorted[i];
                bool is_deny = rule->kind == RULE_DENY;
                size_t step;

                native->step_of[i] = NO_STEP;
                if (!is_deny && rule->kind != RULE_PROTECT)
                        continue;
                step = replaceable_link(native, rule) ? NO_STEP : step_above(native, i, is_deny);
                if (step == NO_STEP)
                        step = is_deny ? hide(native, rule) : protect(native, rule);
                native->step_of[i] = step;
                if (step != NO_STEP)
                        plan_cover(native->plan, step, is_deny ? CLAUSE_DENY : CLAUSE_PROTECT,
                                   rule_index(native, rule));
        }
        if (!native->policy->reads_all)
                plan_step(native->plan, PLAN_ENTER_ROOT, NULL, 0);
}

/* Denied or protected paths that need no step of their own, because the world around them holds them already. */
static void cover_unseen(struct native *native, enum plan_op op)
{
        struct plan *plan = native->plan;
        size_t world = NO_STEP;

        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op)
                        world = i;
        for (size_t i = 0; i < native->policy->rule_count && world != NO_STEP; i++) {
                const struct rule *rule = native->sorted[i];
                bool is_absent_outside =
                        rule->facts.kind == PATH_ABSENT && !is_in_view(native, rule->facts.real);

                if (native->step_of[i] != NO_STEP)
                        continue;
                if (op == PLAN_NEW_ROOT && rule->kind == RULE_DENY &&
                    (is_absent_outside || !is_in_view(native, rule->facts.real)))
                        plan_cover(plan, world, CLAUSE_DENY, rule_index(native, rule));
                if (op == PLAN_READ_ONLY_WORLD && rule->kind == RULE_PROTECT)
                        plan_cover(plan, world, CLAUSE_PROTECT, rule_index(native, rule));
        }
}

/* ---- the command's own restrictions --------------------------------------------------------------------- */

static void add_grants(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        const unsigned all = GRANT_READ | GRANT_WRITE | GRANT_EXECUTE;

        if (policy->reads_all)
                plan_grant(plan, "/", GRANT_READ | GRANT_EXECUTE, false);
        else if (native->has_mounts)
                plan_grant(plan, "/", GRANT_READ, true);
        /* A right on "/" reaches the new /proc too; rights on its entries, as things are avoided, would miss it. */
        if (policy->reads_all && native->has_mounts && plan->avoided.count)
                plan_grant(plan, "/proc", GRANT_READ | GRANT_EXECUTE, true);
        if (policy->has_private_tmp && native->has_mounts)
                plan_grant(plan, "/tmp", all, true);
        /* Everything below /dev but a few nodes is behind a nodev, read-only mount. */
        if (policy->reads_all || !native->has_mounts)
                plan_grant(plan, "/dev", GRANT_READ | GRANT_WRITE | GRANT_DEVICE, false);
        else
                plan_grant(plan, "/dev", GRANT_READ | GRANT_WRITE | GRANT_DEVICE, true);
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = native->sorted[i];

                if (rule->facts.kind == PATH_ABSENT)
                        continue;
                if (rule->kind == RULE_WRITE)
                        plan_grant(plan, rule->facts.real, all, false);
                else if (rule->kind == RULE_EXECUTE && !policy->reads_all)
                        plan_grant(plan, rule->facts.real, GRANT_READ | GRANT_EXECUTE, false);
                else if (rule->kind == RULE_READ &&
                         (!policy->reads_all || is_in_private_tmp(native, rule->facts.real)))
                        plan_grant(plan, rule->facts.real, GRANT_READ, false);
        }
}

static void add_landlock(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        if (!native->has_landlock) {
                plan_miss(
                        plan, CLAUSE_WRITE, PLAN_NO_INDEX,
                        "Landlock is not available on this kernel, and named pipes can be written on read-only mounts");
                plan_miss(plan, CLAUSE_EXECUTE, PLAN_NO_INDEX, "Landlock is not available on this kernel");
                plan_miss(plan, CLAUSE_ABSTRACT, PLAN_NO_INDEX, "Landlock is not available on this kernel");
                return;
        }
        step = plan_step(plan, PLAN_LANDLOCK, NULL, (uint64_t)native->host->landlock_abi);
        add_grants(native);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        if (native->host->landlock_abi >= 6)
                plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX);
        else
                plan_miss(plan, CLAUSE_ABSTRACT, PLAN_NO_INDEX,
                          "abstract unix sockets need Landlock ABI 6 (Linux 6.12), this kernel has %d",
                          native->host->landlock_abi);
        for (size_t i = 0; i < native->policy->rule_count; i++)
                for (size_t j = 0; j < plan->avoided.count; j++)
                        if (native->policy->rules[i].kind == RULE_DENY &&
                            !strcmp(native->policy->rules[i].facts.real, plan->avoided.items[j]))
                                plan_cover(plan, step, CLAUSE_DENY, i);
}

static void add_seccomp(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step = plan_step(plan, PLAN_SECCOMP, NULL, native->policy->network);

        plan_cover(plan, step, CLAUSE_KERNEL, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        switch (native->policy->network) {
        case NETWORK_DENY:
        case NETWORK_UNIX_ONLY:
        case NETWORK_ALLOW:
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                break;
        case NETWORK_LIST:
                plan_miss(plan, CLAUSE_NETWORK, PLAN_NO_INDEX, "this version has deny, unix-only and allow");
                break;
        }
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan->clauses[i].kind == CLAUSE_EXCEPTION && !plan->clauses[i].reason)
                        plan_miss(plan, CLAUSE_EXCEPTION, plan->clauses[i].index,
                                  "this version has no exceptions to the network mode");
        plan_miss(plan, CLAUSE_COMMANDS, PLAN_NO_INDEX, "this version has no list of allowed commands");
}

static void add_limits(struct native *native)
{
        struct plan *plan = native->plan;

        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
                if (!native->policy->limits[limit])
                        continue;
                switch (limit) {
                case LIMIT_OPEN_FILES:
                case LIMIT_FILE_SIZE:
                        plan_cover(plan, plan_step(plan, PLAN_LIMIT, NULL, limit), CLAUSE_LIMIT, limit);
                        break;
                case LIMIT_PROCESSES:
                        /* The kernel counts a user's processes per user namespace: ours holds just the tree. */
                        if (native->host->namespaces == NAMESPACES_USER)
                                plan_cover(plan, plan_step(plan, PLAN_LIMIT, NULL, limit), CLAUSE_LIMIT,
                                           limit);
                        else
                                plan_miss(
                                        plan, CLAUSE_LIMIT, limit,
                                        "the kernel does not count root's processes; run as an ordinary user");
                        break;
                case LIMIT_MEMORY:
                case LIMIT_CPU:
                        plan_miss(plan, CLAUSE_LIMIT, limit,
                                  "this version cannot limit it for a whole process tree");
                        break;
                case LIMIT_TIMEOUT:
                case LIMIT_OUTPUT:
                case LIMIT_COUNT:
                        break;
                }
        }
}

static void add_command_steps(struct native *native)
{
        struct plan *plan = native->plan;
        size_t step;

        if (native->has_mounts) {
                step = plan_step(plan, PLAN_PRIVATE_IPC, NULL, 0);
                plan_cover(plan, step, CLAUSE_IPC, PLAN_NO_INDEX);
        }
        step = plan_step(plan, PLAN_SESSION, NULL, 0);
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        add_limits(native);
        step = plan_step(plan, PLAN_PRIVILEGES, NULL, 0);
        plan_cover(plan, step, CLAUSE_PRIVILEGES, PLAN_NO_INDEX);
        add_landlock(native);
        add_seccomp(native);
        step = plan_step(plan, PLAN_DESCRIPTORS, NULL, 0);
        plan_cover(plan, step, CLAUSE_DESCRIPTORS, PLAN_NO_INDEX);
        step = plan_step(plan, PLAN_ENVIRONMENT, NULL, 0);
        plan_cover(plan, step, CLAUSE_ENVIRONMENT, PLAN_NO_INDEX);
        if (native->policy->limits[LIMIT_TIMEOUT])
                plan_cover(plan, plan_step(plan, PLAN_DEADLINE, NULL, 0), CLAUSE_LIMIT, LIMIT_TIMEOUT);
        if (native->policy->limits[LIMIT_OUTPUT])
                plan_cover(plan, plan_step(plan, PLAN_OUTPUT, NULL, 0), CLAUSE_LIMIT, LIMIT_OUTPUT);
}

static void compile_native(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        struct native native = { .policy = policy, .host = host, .plan = plan };

        native.has_mounts = host->namespaces != NAMESPACES_NONE && host->has_mount_setattr;
        native.has_landlock = host->landlock_abi > 0;
        native.sorted = malloc((policy->rule_count + 1) * sizeof(*native.sorted));
        native.step_of = malloc((policy->rule_count + 1) * sizeof(*native.step_of));
        if (native.sorted && native.step_of) {
                for (size_t i = 0; i < policy->rule_count; i++)
                        native.sorted[i] = &policy->rules[i];
                qsort(native.sorted, policy->rule_count, sizeof(*native.sorted), compare_rules);
                add_namespaces(&native);
                if (native.has_mounts) {
                        add_world(&native);
                        add_private_places(&native);
                        add_shown(&native);
                        add_writable(&native);
                        add_holes(&native);
                        cover_unseen(&native, PLAN_NEW_ROOT);
                        cover_unseen(&native, PLAN_READ_ONLY_WORLD);
                } else {
                        miss_mounts(&native);
                }
                add_command_steps(&native);
        } else {
                plan->has_failed = true;
        }
        free(native.sorted);
        free(native.step_of);
}

const struct backend backend_native = { "native", compile_native };
