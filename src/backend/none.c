/* none.c: no sandbox at all, for who asks for it by this name: the command runs as if it was started without abatis.
 *
 * Its time and its output are still limited and its environment filtered, since that is done before and around it; but nothing
 * of the policy is promised. */
#include "backend/backend.h"

static void compile_none(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        (void)host;
        for (size_t i = 0; i < plan->clause_count; i++)
                plan_miss(plan, plan->clauses[i].kind, plan->clauses[i].index,
                          "the backend none enforces nothing");
        plan_step(plan, PLAN_SESSION, NULL, 0);
        plan_step(plan, PLAN_DESCRIPTORS, NULL, 0);
        plan_step(plan, PLAN_ENVIRONMENT, NULL, 0);
        if (policy->limits[LIMIT_TIMEOUT])
                plan_step(plan, PLAN_DEADLINE, NULL, 0);
        if (policy->limits[LIMIT_OUTPUT])
                plan_step(plan, PLAN_OUTPUT, NULL, 0);
}

const struct backend backend_none = { .kind = BACKEND_NONE, .compile = compile_none };
