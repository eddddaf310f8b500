/* broker_linux.c: turns a policy's rules into the lists that the broker in init decides by. */
#define _GNU_SOURCE
#include "run/broker_linux.h"

#include <stdlib.h>

#include "base/error.h"

#define KIND(kind) (1u << (kind))

/* A list that ends with NULL; `first`, unless it is NULL, comes before the rules of these kinds. Absent paths are among them:
 * they may appear. */
static const char **list_paths(const abatis_policy *policy, unsigned kinds, const char *first)
{
        const char **list = calloc(policy->rule_count + 2, sizeof(*list));
        size_t count = 0;

        if (list && first)
                list[count++] = first;
        for (size_t i = 0; list && i < policy->rule_count; i++)
                if (!policy->rules[i].glob && kinds & KIND(policy->rules[i].kind))
                        list[count++] = policy->rules[i].facts.real;
        return list;
}

int broker_make(const struct plan *plan, const abatis_policy *policy, struct resources *resources,
                abatis_error *err)
{
        const unsigned granted = KIND(RULE_READ) | KIND(RULE_WRITE) | KIND(RULE_EXECUTE);
        const char *hidden = !policy->reads_all ? "/" : plan_has(plan, PLAN_OWN_TMP) ? "/tmp" : NULL;
        struct child_broker *broker = &resources->broker;

        broker->open = list_paths(policy, KIND(RULE_WRITE), NULL);
        broker->closed = list_paths(policy, KIND(RULE_DENY) | KIND(RULE_PROTECT), NULL);
        broker->hidden = list_paths(policy, 0, hidden);
        broker->shown = list_paths(policy, granted, NULL);
        broker->denied = list_paths(policy, KIND(RULE_DENY), NULL);
        if (!broker->open || !broker->closed || !broker->hidden || !broker->shown || !broker->denied)
                return error_memory(err);
        resources->child.broker = broker;
        return 0;
}

void broker_done(struct resources *resources)
{
        struct child_broker *broker = &resources->broker;

        free((void *)broker->open);
        free((void *)broker->closed);
        free((void *)broker->hidden);
        free((void *)broker->shown);
        free((void *)broker->denied);
}
