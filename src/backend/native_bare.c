/* native_bare.c: what holds where there are no mounts and no PID namespace: Landlock and the filter, a broker for what
 * neither of them sees, and an init that ends all descendants. What these cannot hold exactly is refused by name. */
#define _GNU_SOURCE
#include <string.h>

#include "backend/native.h"

void native_miss_mounts(struct native *native, enum clause_kind kind, size_t index)
{
        const abatis_host *host = native->host;

        if (host->namespaces != NAMESPACES_NONE)
                plan_miss(native->plan, kind, index, "recursive read-only mounts need Linux 5.12");
        else if (host->landlock_abi < LANDLOCK_WITH_REFER)
                plan_miss(native->plan, kind, index,
                          "%s; without them Landlock ABI %d (Linux 5.19) is needed", host->namespaces_reason,
                          LANDLOCK_WITH_REFER);
        else
                plan_miss(native->plan, kind, index, "%s; without them a broker is needed, and %s",
                          host->namespaces_reason, host->broker_reason);
}

/* Nothing that would do for namespaces is there either. */
static void miss_all(struct native *native)
{
        static const enum clause_kind kinds[] = { CLAUSE_READ,    CLAUSE_WRITE,   CLAUSE_TMP,     CLAUSE_IPC,
                                                  CLAUSE_DEVICES, CLAUSE_PRIVACY, CLAUSE_COMMANDS };

        if (native->host->namespaces == NAMESPACES_NONE)
                native_miss_mounts(native, CLAUSE_LIFETIME, PLAN_NO_INDEX);
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                native_miss_mounts(native, kinds[i], PLAN_NO_INDEX);
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                if (native->policy->rules[i].kind == RULE_DENY)
                        native_miss_mounts(native, CLAUSE_DENY, i);
                if (native->policy->rules[i].kind == RULE_PROTECT)
                        native_miss_mounts(native, CLAUSE_PROTECT, i);
        }
}

static void avoid_place(struct native *native, const char *path)
{
        if (strings_add(&native->plan->avoided, path, NULL) < 0)
                native->plan->has_failed = true;
}

static bool is_in_writable_tree(const struct native *native, const char *path)
{
        for (size_t i = 0; i < native->count; i++)
                if (native->sorted[i]->kind == RULE_WRITE && !native->is_in_denied[i] &&
                    path_is_below(path, native->sorted[i]->facts.real))
                        return true;
        return false;
}

/* Landlock goes round what is denied, and rights on its directory's entries miss what comes to stand there later. In a
 * writable tree new entries must have rights: so there it grants none to write, and the broker is asked. Reading and
 * executing it is not asked about. */
static void add_hole(struct native *native, size_t index)
{
        const struct rule *rule = native->sorted[index];
        const char *link = native_replaceable_link(native, rule);
        bool is_deny = rule->kind == RULE_DENY;

        if (link) {
                plan_miss(native->plan, is_deny ? CLAUSE_DENY : CLAUSE_PROTECT,
                          (size_t)(rule - native->policy->rules),
                          "'%s' is a symbolic link that the command could replace; name what it points to",
                          link);
                return;
        }
        if (!native_is_granted(native, index, 1u << RULE_WRITE)) {
                if (is_deny)
                        native_avoid(native, rule);
                return;
        }
        native_ask(native, rule, "it lies in a writable tree");
}

static void add_holes(struct native *native)
{
        for (size_t i = 0; i < native->count; i++)
                if (native->sorted[i]->kind == RULE_DENY || native->sorted[i]->kind == RULE_PROTECT)
                        add_hole(native, i);
}

/* What can be started must stay what it is: no mount gives a copy of it, or keeps another from its place. */
static void hold_commands(struct native *native)
{
        const abatis_policy *policy = native->policy;

        if (!native_lists_commands(native))
                return;
        native->asks |= BROKER_MAPPINGS;
        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];

                if (is_in_writable_tree(native, startable->path))
                        plan_miss(native->plan, CLAUSE_COMMANDS, PLAN_NO_INDEX,
                                  "'%s' lies in a writable tree, where the command could change it; list one "
                                  "outside, or allow namespaces: %s",
                                  startable->path, native->host->namespaces_reason);
                else if (startable->is_copied)
                        plan_miss(native->plan, CLAUSE_COMMANDS, PLAN_NO_INDEX,
                                  "the command could change '%s' through another of its names; list a file "
                                  "with one name, or allow namespaces: %s",
                                  startable->path, native->host->namespaces_reason);
        }
}

void native_add_bare(struct native *native)
{
        struct plan *plan = native->plan;
        const char *why = native->host->namespaces_reason;

        if (!host_is_bare(native->host)) {
                miss_all(native);
                return;
        }
        if (native->host->landlock_abi < LANDLOCK_WITH_SCOPES)
                native->asks |= BROKER_SIGNALS;
        if (native->host->landlock_abi < LANDLOCK_WITH_TRUNCATE)
                native->asks |= BROKER_TRUNCATION;
        plan_cover(plan, plan_step(plan, PLAN_SWEEP, NULL, 0), CLAUSE_LIFETIME, PLAN_NO_INDEX);
        if (native->policy->has_private_tmp) {
                plan_cover(plan, plan_step(plan, PLAN_OWN_TMP, NULL, 0), CLAUSE_TMP, PLAN_NO_INDEX);
                avoid_place(native, "/tmp");
        }
        if (native->policy->reads_all)
                avoid_place(native, "/dev"); /* its few devices are granted one by one */
        else {
                plan_miss(plan, CLAUSE_READ, PLAN_NO_INDEX,
                          "names and attributes of other files would stay visible: %s", why);
                plan_miss(plan, CLAUSE_PRIVACY, PLAN_NO_INDEX,
                          "names and command lines of other processes would stay visible: %s", why);
        }
        hold_commands(native);
        plan_leave_visible(plan, "other processes in /proc: their names and command lines");
        plan_leave_visible(
                plan,
                "files that cannot be read: their sizes, times, owners, modes and attributes, what links point to, "
                "and what happens to them (inotify)");
        add_holes(native);
}

/* After Landlock's step and the filter's, in their order. */
void native_cover_bare(struct native *native, size_t landlock, size_t seccomp, size_t broker)
{
        struct plan *plan = native->plan;

        if (!host_is_bare(native->host))
                return;
        plan_cover(plan, landlock, CLAUSE_DEVICES, PLAN_NO_INDEX);
        plan_cover(plan, landlock, CLAUSE_TMP, PLAN_NO_INDEX);
        plan_cover(plan, landlock, CLAUSE_IPC, PLAN_NO_INDEX);
        plan_cover(plan, seccomp, CLAUSE_IPC, PLAN_NO_INDEX);
        plan_cover(plan, seccomp, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        plan_cover(plan, broker, CLAUSE_WRITE, PLAN_NO_INDEX);
        plan_cover(plan, broker, CLAUSE_COMMANDS, PLAN_NO_INDEX);
        plan_cover(plan, broker, CLAUSE_NEW_CODE, PLAN_NO_INDEX);
        if (native->asks & BROKER_SIGNALS)
                plan_cover(plan, broker, CLAUSE_PRIVACY, PLAN_NO_INDEX);
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (native->policy->rules[i].kind == RULE_PROTECT && !native->policy->rules[i].glob)
                        plan_cover(plan, landlock, CLAUSE_PROTECT, i);
}

static bool is_in_denied(const struct native *native, const char *path)
{
        for (size_t i = 0; i < native->count; i++)
                if (native->sorted[i]->kind == RULE_DENY &&
                    path_is_below(path, native->sorted[i]->facts.real))
                        return true;
        return false;
}

/* In a container /dev/ptmx is mostly a link to the last. */
void native_grant_bare_devices(struct native *native)
{
        static const char *const nodes[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                             "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts/ptmx" };

        for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
                if (!is_in_denied(native, nodes[i]))
                        plan_grant(native->plan, nodes[i], GRANT_READ | GRANT_WRITE | GRANT_DEVICE, false);
}
