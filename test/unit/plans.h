/* plans.h: plans that a backend makes for another system, and what they miss. */
#ifndef UNIT_PLANS_H
#define UNIT_PLANS_H

#include <string.h>

#include "backend/backend.h"
#include "policies.h"

/* The policy is finished, and freed. */
static inline struct plan *plan_by(const struct backend *backend, abatis_policy *policy,
                                   const abatis_host *host)
{
        struct plan *plan;
        abatis_error err;

        if (policy_finish(policy, &err) < 0)
                fail_msg("%s", err.message);
        plan = plan_new(policy, backend->kind);
        backend->compile(policy, host, plan);
        assert_false(plan->has_failed);
        abatis_policy_free(policy);
        return plan;
}

/* Of a workspace policy with one more setting. */
static inline struct plan *plan_with(const struct backend *backend, const abatis_host *host, const char *key,
                                     const char *value)
{
        abatis_policy *policy = new_policy("dev");

        set(policy, key, value);
        return plan_by(backend, policy, host);
}

/* Why the clause of this name is missed; NULL when it is held. */
static inline const char *reason_of(const struct plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (!strncmp(plan->clauses[i].name, name, strlen(name)) && !plan_is_held(plan, i))
                        return plan->clauses[i].reason ? plan->clauses[i].reason : "";
        return NULL;
}

/* With that setting it misses the clause, and says so with these words. */
static inline void assert_missed_by(const struct backend *backend, const abatis_host *host, const char *key,
                                    const char *value, const char *clause, const char *words)
{
        struct plan *plan = plan_with(backend, host, key, value);
        const char *reason = reason_of(plan, clause);

        if (!reason || !strstr(reason, words))
                fail_msg("%s %s: '%s'", key, value, reason ? reason : "held");
        plan_free(plan);
}

static inline void assert_all_is_held_or_has_a_reason(const struct plan *plan)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (!plan_is_held(plan, i) && !plan->clauses[i].reason)
                        fail_msg("nothing is said of '%s'", plan->clauses[i].name);
}

#endif
