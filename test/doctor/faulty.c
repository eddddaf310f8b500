/* faulty.c: for a build of abatis in which steps are left out that the plan names: ABATIS_FAULT=hide,seccomp.
 *
 * What is printed, and what the result claims, is the plan as it was: only whoever tries it finds out. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

int __real_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err);
int __wrap_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err);

static bool is_named(const char *names, const char *name)
{
        size_t length = strlen(name);

        for (const char *at = names; at; at = strchr(at, ',')) {
                at += *at == ',';
                if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
                        return true;
        }
        return false;
}

/* What is done by the policy itself, and not as a step that can be left out. */
static void spoil(abatis_policy *policy, const char *names)
{
        if (is_named(names, "deadline"))
                policy->limits[LIMIT_TIMEOUT] = 0;
        if (is_named(names, "output"))
                policy->limits[LIMIT_OUTPUT] = 0;
        if (is_named(names, "arguments"))
                policy->argument_check = CHECK_NEVER;
        if (is_named(names, "environment"))
                strings_add(&policy->environment, "ABATIS_DOCTOR_API_KEY", NULL);
}

int __wrap_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err)
{
        const char *names = getenv("ABATIS_FAULT");

        for (size_t i = plan->step_count; names && i-- > 0;)
                if (is_named(names, plan_op_name(plan->steps[i].op)))
                        plan_drop_step((struct plan *)plan, i);
        if (names)
                spoil((abatis_policy *)policy, names);
        return __real_resources_open(plan, policy, host, out, err);
}
