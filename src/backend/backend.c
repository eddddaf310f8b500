/* backend.c: the list of backends and the choice between them. */
#include "backend/backend.h"

#include "base/error.h"

static const struct backend *const backends[] = { &backend_native };

int backend_compile(abatis_policy *policy, const abatis_host *host, bool is_best_effort, struct plan **out,
                    abatis_error *err)
{
        const struct backend *backend = backends[0];
        struct plan *plan;
        int r;

        r = policy_finish(policy, err);
        if (r < 0)
                return r;
        plan = plan_new(policy, backend->name);
        if (!plan)
                return error_memory(err);
        backend->compile(policy, host, plan);
        r = plan_check(plan, is_best_effort, err);
        if (r < 0) {
                plan_free(plan);
                return r;
        }
        *out = plan;
        return 0;
}
