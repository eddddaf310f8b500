/* bwrap.c: the same plan, carried out by bubblewrap as far as mounts and namespaces go.
 *
 * What it makes is what the native backend would: the steps are that one's, compiled as if the host had namespaces of its own. Inside,
 * Landlock, the filter and the limits are the second layer. A step that bubblewrap has no word for is missed by name. */
#include <stdio.h>

#include "backend/native.h"

static const char *find_reason(const abatis_host *host)
{
        /* It makes no mount of a device node that is read-only and still a device. */
        if (!host->uid)
                return "root could give the device nodes that it shows another mode; fix: an ordinary user, or the native backend";
        if (!host->bwrap.is_probed)
                return "it has not been looked for";
        return host->bwrap.is_available ? NULL : host->bwrap.reason;
}

static const char *find_version(const abatis_host *host)
{
        return *host->bwrap.version ? host->bwrap.version : NULL;
}

/* Why this step cannot be carried out, or NULL. */
static const char *find_gap(const struct step *step, const struct host_bwrap *bwrap)
{
        switch (step->op) {
        case PLAN_READ_ONLY_WORLD:
        case PLAN_SHOW:
                return step->value ? "bubblewrap makes no mount whose files cannot be executed" : NULL;
        case PLAN_NOEXEC:
        case PLAN_LIBRARIES:
        case PLAN_START:
        case PLAN_LOADER:
                return "bubblewrap makes no mount whose files cannot be executed";
        case PLAN_LOOPBACK_AT_ONCE:
                return bwrap->has_network ? NULL : bwrap->network_reason;
        case PLAN_HOSTS:
        case PLAN_NETWORK:
        case PLAN_STREAMS:
        case PLAN_LOOPBACK:
                return "the relay needs a network that abatis has made; fix: the native backend";
        case PLAN_COUNT:
                return "without a cgroup nobody counts what is inside; fix: the native backend, or a cgroup that is delegated";
        case PLAN_BROKER:
                return "nobody inside can be asked; fix: the native backend";
        case PLAN_PORTER:
                return "bubblewrap starts one command; fix: the native backend, or session: private";
        case PLAN_OWN_TMP:
        case PLAN_SWEEP:
                return "it is for where there are no mounts";
        case PLAN_PROFILE:
                return "it is for macOS";
        case PLAN_CONTAINER:
        case PLAN_CLOSED:
        case PLAN_SUSPENDED:
        case PLAN_JOB_OBJECT:
        case PLAN_RESUME:
                return "it is for Windows";
        case PLAN_NAMESPACES:
        case PLAN_MAP_IDS:
        case PLAN_STAGE:
        case PLAN_NEW_ROOT:
        case PLAN_LINK:
        case PLAN_DEVICES:
        case PLAN_TERMINALS:
        case PLAN_PRIVATE_SHM:
        case PLAN_PRIVATE_TMP:
        case PLAN_PROC:
        case PLAN_HIDE:
        case PLAN_WRITABLE:
        case PLAN_PIN:
        case PLAN_PROTECT:
        case PLAN_ENTER_ROOT:
        case PLAN_PRIVATE_IPC:
        case PLAN_SESSION:
        case PLAN_LIMIT:
        case PLAN_CGROUP:
        case PLAN_PRIVILEGES:
        case PLAN_LANDLOCK:
        case PLAN_SECCOMP:
        case PLAN_CALLS:
        case PLAN_ARGUMENTS:
        case PLAN_DESCRIPTORS:
        case PLAN_ENVIRONMENT:
        case PLAN_DEADLINE:
        case PLAN_OUTPUT:
                break;
        }
        return NULL;
}

/* Who accepts less must not get what looks like more: a step that cannot be carried out is none. But the world and what is shown in it are,
 * only not as closed. */
static bool is_partial(const struct step *step)
{
        return step->op == PLAN_READ_ONLY_WORLD || step->op == PLAN_SHOW;
}

static void miss_gaps(struct plan *plan, const struct host_bwrap *bwrap)
{
        for (size_t i = 0; i < plan->cover_count; i++) {
                const struct clause *clause = &plan->clauses[plan->covers[i].clause];
                const char *gap = find_gap(&plan->steps[plan->covers[i].step], bwrap);

                if (gap && !clause->reason)
                        plan_miss(plan, clause->kind, clause->index, "%s", gap);
        }
        for (size_t i = plan->step_count; i-- > 0;)
                if (find_gap(&plan->steps[i], bwrap) && !is_partial(&plan->steps[i]))
                        plan_drop_step(plan, i);
}

static void compile_bwrap(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        abatis_host as_if = *host;

        as_if.namespaces = NAMESPACES_USER;
        as_if.has_mount_setattr = true;
        as_if.has_broker = as_if.has_descriptors = false;
        snprintf(as_if.broker_reason, sizeof(as_if.broker_reason),
                 "nobody inside bubblewrap can be asked; fix: the native backend");
        native_compile(policy, &as_if, true, plan);
        /* Its second trial: the filter alone would hold these, but whoever asks for bubblewrap asks for its network. */
        if (!host->bwrap.has_network &&
            (policy->network == NETWORK_DENY || policy->network == NETWORK_UNIX_ONLY))
                plan_miss(plan, CLAUSE_NETWORK, PLAN_NO_INDEX, "%s", host->bwrap.network_reason);
        if (!plan->has_failed)
                miss_gaps(plan, &host->bwrap);
}

const struct backend backend_bwrap = { .kind = BACKEND_BWRAP,
                                       .system = SYSTEM_LINUX,
                                       .find_reason = find_reason,
                                       .find_version = find_version,
                                       .compile = compile_bwrap };
