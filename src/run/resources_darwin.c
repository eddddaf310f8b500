/* resources_darwin.c: an open plan on macOS. */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/error.h"
#include "run/job_darwin.h"

static int add_limit(struct resources *resources, const abatis_policy *policy, enum limit limit,
                     abatis_error *err)
{
        struct launch_limit *next = &resources->limits[resources->limit_count];

        if ((limit != LIMIT_OPEN_FILES && limit != LIMIT_FILE_SIZE) ||
            resources->limit_count == LAUNCH_LIMITS)
                return error_set(err, ABATIS_E_UNENFORCEABLE, "%s is no limit of macOS", limit_key(limit));
        next->resource = limit == LIMIT_OPEN_FILES ? RLIMIT_NOFILE : RLIMIT_FSIZE;
        next->most = policy->limits[limit];
        resources->limit_count++;
        return 0;
}

/* A step that nobody here knows how to carry out is not passed over. */
static int take_step(struct resources *resources, const struct step *step, const abatis_policy *policy,
                     abatis_error *err)
{
        if (step->op == PLAN_PROFILE)
                resources->profile = step->target;
        else if (step->op == PLAN_OWN_TMP)
                resources->has_own_tmp = true;
        else if (step->op == PLAN_SWEEP && step->value == PLAN_SWEEPS_MARKED)
                resources->is_swept = true;
        else if (step->op == PLAN_LIMIT)
                return add_limit(resources, policy, (enum limit)step->value, err);
        /* Every job has these. */
        else if (step->op != PLAN_SESSION && step->op != PLAN_ARGUMENTS && step->op != PLAN_DESCRIPTORS &&
                 step->op != PLAN_ENVIRONMENT && step->op != PLAN_DEADLINE && step->op != PLAN_OUTPUT)
                return error_set(err, ABATIS_E_UNENFORCEABLE, "step '%s' is not for macOS",
                                 plan_op_name(step->op));
        return 0;
}

int resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                   struct resources **out, abatis_error *err)
{
        struct resources *resources = calloc(1, sizeof(*resources));
        int r = 0;

        (void)host;
        if (!resources)
                return error_memory(err);
        for (size_t i = 0; i < plan->step_count && !r; i++)
                r = take_step(resources, &plan->steps[i], policy, err);
        if (r < 0) {
                free(resources);
                return r;
        }
        *out = resources;
        return 0;
}

/* There is nothing to make ahead: a profile belongs to the process that it was applied in. */
void resources_prepare(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                       unsigned spares, bool is_at_once)
{
        (void)resources;
        (void)plan;
        (void)policy;
        (void)spares;
        (void)is_at_once;
}

int resources_share(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                    abatis_error *err)
{
        (void)resources;
        (void)plan;
        (void)policy;
        return error_set(err, ABATIS_E_UNENFORCEABLE, "there are no shared sessions on macOS");
}

void resources_close_session(struct resources *resources)
{
        (void)resources;
}

void resources_free(struct resources *resources)
{
        free(resources);
}
