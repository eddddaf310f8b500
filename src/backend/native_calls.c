/* native_calls.c: what a second filter refuses, which the command loads last: what a policy has beyond the usual system calls.
 *
 * Whoever starts the command does what it may not: forks, mounts, opens. So this is not part of the filter that a prepared sandbox has,
 * or that bubblewrap loads. */
#include "backend/native.h"

static bool holds_commands(const struct plan *plan)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan->clauses[i].kind == CLAUSE_COMMANDS)
                        return plan_is_held(plan, i);
        return false;
}

void native_add_calls(struct native *native)
{
        static const enum clause_kind kinds[] = { CLAUSE_FORK, CLAUSE_CALLS, CLAUSE_NEW_CODE };
        const abatis_policy *policy = native->policy;
        const bool has_sockets = policy->network != NETWORK_DENY || policy->unix_sockets.count;
        struct plan *plan = native->plan;
        size_t step;

        if (!policy->forbids_forks && !policy->has_few_calls && !policy->forbids_new_code)
                return;
        step = plan_step(plan, PLAN_CALLS, NULL,
                         (policy->forbids_forks ? PLAN_NO_FORK : 0) |
                                 (policy->has_few_calls ? PLAN_FEW_CALLS : 0) |
                                 (policy->has_few_calls && has_sockets ? PLAN_SOCKETS : 0) |
                                 (policy->forbids_new_code ? PLAN_NO_NEW_CODE : 0));
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                plan_cover(plan, step, kinds[i], PLAN_NO_INDEX);
        /* It knows numbers, and not which files are code. */
        if (!holds_commands(plan))
                plan_miss(plan, CLAUSE_NEW_CODE, PLAN_NO_INDEX, "process.commands is not held here");
}
