/* plan.c: builds a plan's clauses from the policy and checks that its steps cover them. */
#define _GNU_SOURCE
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Makes room for one more item, twice as much as before when there is none; NULL makes the plan sticky-failed. */
static void *grow(struct plan *plan, void *items, size_t count, size_t size)
{
        void *grown;

        if (plan->has_failed)
                return NULL;
        if (items && (count < 16 || count & (count - 1)))
                return items;
        grown = realloc(items, (count ? 2 * count : 16) * size);
        if (!grown)
                plan->has_failed = true;
        return grown;
}

static char *copy(struct plan *plan, const char *string)
{
        char *copied = string ? strdup(string) : NULL;

        if (string && !copied)
                plan->has_failed = true;
        return copied;
}

static void add_clause(struct plan *plan, enum clause_kind kind, size_t index, const char *key,
                       const char *subject)
{
        struct clause *clauses = grow(plan, plan->clauses, plan->clause_count, sizeof(*clauses));
        struct clause *clause;

        if (!clauses)
                return;
        plan->clauses = clauses;
        clause = &clauses[plan->clause_count];
        *clause = (struct clause){ .kind = kind, .index = index };
        clause->name = text_join(key, *subject ? " " : "", subject);
        if (!clause->name)
                plan->has_failed = true;
        plan->clause_count++;
}

static void add_exceptions(struct plan *plan, enum clause_kind kind, const char *key,
                           const struct strings *list)
{
        for (size_t i = 0; i < list->count; i++)
                add_clause(plan, kind, i, key, list->items[i]);
}

static void add_command_clauses(struct plan *plan, const abatis_policy *policy)
{
        OWN_TEXT struct text names = { 0 };

        for (size_t i = 0; i < policy->commands.count; i++)
                text_addf(&names, "%s%s", i ? ", " : "", policy->commands.items[i]);
        plan->has_failed |= names.has_failed;
        if (names.data)
                add_clause(plan, CLAUSE_COMMANDS, PLAN_NO_INDEX, "process.commands", names.data);
        if (arguments_are_checked(policy))
                add_clause(plan, CLAUSE_ARGUMENTS, PLAN_NO_INDEX, "process.check_arguments", "");
}

static void add_policy_clauses(struct plan *plan, const abatis_policy *policy)
{
        if (!policy->reads_all)
                add_clause(plan, CLAUSE_READ, PLAN_NO_INDEX, "filesystem.read", "");
        add_clause(plan, CLAUSE_WRITE, PLAN_NO_INDEX, "filesystem.write", "");
        if (!policy->executes_all)
                add_clause(plan, CLAUSE_EXECUTE, PLAN_NO_INDEX, "filesystem.execute", "");
        plan->first_of_rules = plan->clause_count;
        for (size_t i = 0; i < policy->rule_count; i++) {
                if (policy->rules[i].kind == RULE_DENY)
                        add_clause(plan, CLAUSE_DENY, i, "filesystem.deny", policy->rules[i].path);
                if (policy->rules[i].kind == RULE_PROTECT)
                        add_clause(plan, CLAUSE_PROTECT, i, "filesystem.protect", policy->rules[i].path);
        }
        plan->end_of_rules = plan->clause_count;
        if (policy->has_private_tmp)
                add_clause(plan, CLAUSE_TMP, PLAN_NO_INDEX, "filesystem.tmp", "private");
        add_clause(plan, CLAUSE_NETWORK, PLAN_NO_INDEX, "network.mode", network_mode_name(policy->network));
        if (policy->network != NETWORK_DENY)
                add_clause(plan, CLAUSE_ABSTRACT, PLAN_NO_INDEX, "network.abstract", "none");
        add_exceptions(plan, CLAUSE_CONNECT, "network.connect", &policy->connect);
        if (policy->network == NETWORK_LIST && !policy->passes_any_name)
                add_clause(plan, CLAUSE_NAMES, PLAN_NO_INDEX, "network.verify_sni", "true");
        add_exceptions(plan, CLAUSE_BIND, "network.bind", &policy->bind);
        add_exceptions(plan, CLAUSE_UNIX, "network.unix", &policy->unix_sockets);
        add_command_clauses(plan, policy);
        if (policy->forbids_forks)
                add_clause(plan, CLAUSE_FORK, PLAN_NO_INDEX, "process.fork", "false");
        if (policy->has_few_calls)
                add_clause(plan, CLAUSE_CALLS, PLAN_NO_INDEX, "process.system_calls", "few");
        if (policy->forbids_new_code)
                add_clause(plan, CLAUSE_NEW_CODE, PLAN_NO_INDEX, "process.executable_memory", "false");
        add_clause(plan, CLAUSE_PRIVACY, PLAN_NO_INDEX, "process.privacy", "");
        add_clause(plan, CLAUSE_LIFETIME, PLAN_NO_INDEX, "process.lifetime", "");
        add_clause(plan, CLAUSE_IPC, PLAN_NO_INDEX, "process.ipc", "");
        add_clause(plan, CLAUSE_DEVICES, PLAN_NO_INDEX, "process.devices", "");
        add_clause(plan, CLAUSE_TERMINAL, PLAN_NO_INDEX, "process.terminal", "");
        add_clause(plan, CLAUSE_PRIVILEGES, PLAN_NO_INDEX, "process.privileges", "");
        add_clause(plan, CLAUSE_KERNEL, PLAN_NO_INDEX, "process.kernel", "");
        add_clause(plan, CLAUSE_DESCRIPTORS, PLAN_NO_INDEX, "process.descriptors", "");
        add_clause(plan, CLAUSE_ENVIRONMENT, PLAN_NO_INDEX, "environment", "");
        if (policy->shares_session)
                add_clause(plan, CLAUSE_SHARING, PLAN_NO_INDEX, "session", "shared");
        for (size_t i = 0; i < LIMIT_COUNT; i++)
                if (policy->limits[i])
                        add_clause(plan, CLAUSE_LIMIT, i, limit_key((enum limit)i), "");
}

struct plan *plan_new(const abatis_policy *policy, enum backend_kind backend)
{
        struct plan *plan = calloc(1, sizeof(*plan));

        if (!plan)
                return NULL;
        plan->backend = backend;
        add_policy_clauses(plan, policy);
        return plan;
}

void plan_free(struct plan *plan)
{
        if (!plan)
                return;
        for (size_t i = 0; i < plan->clause_count; i++) {
                free(plan->clauses[i].name);
                free(plan->clauses[i].reason);
        }
        for (size_t i = 0; i < plan->step_count; i++) {
                free(plan->steps[i].path);
                free(plan->steps[i].target);
        }
        for (size_t i = 0; i < plan->grant_count; i++)
                free(plan->grants[i].path);
        strings_done(&plan->avoided);
        strings_done(&plan->visible);
        strings_done(&plan->closed);
        free(plan->clauses);
        free(plan->steps);
        free(plan->grants);
        free(plan->covers);
        free(plan);
}

size_t plan_step(struct plan *plan, enum plan_op op, const char *path, uint64_t value)
{
        struct step *steps = grow(plan, plan->steps, plan->step_count, sizeof(*steps));

        if (!steps)
                return 0;
        plan->steps = steps;
        steps[plan->step_count] = (struct step){
                .op = op, .path = copy(plan, path), .length = path ? strlen(path) : 0, .value = value
        };
        return plan->step_count++;
}

void plan_target(struct plan *plan, size_t step, const char *target)
{
        if (!plan->has_failed)
                plan->steps[step].target = copy(plan, target);
}

void plan_drop_step(struct plan *plan, size_t step)
{
        size_t kept = 0;

        free(plan->steps[step].path);
        free(plan->steps[step].target);
        plan->step_count--;
        memmove(&plan->steps[step], &plan->steps[step + 1], (plan->step_count - step) * sizeof(*plan->steps));
        for (size_t i = 0; i < plan->cover_count; i++) {
                struct cover cover = plan->covers[i];

                if (cover.step == step)
                        continue;
                cover.step -= cover.step > step;
                plan->covers[kept++] = cover;
        }
        plan->cover_count = kept;
}

/* They are in the order of the policy's rules, of which there may be many. */
static struct clause *find_clause_of_rule(const struct plan *plan, enum clause_kind kind, size_t index)
{
        size_t first = plan->first_of_rules, end = plan->end_of_rules;

        while (first < end) {
                size_t middle = first + (end - first) / 2;

                if (plan->clauses[middle].index < index)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first < plan->end_of_rules && plan->clauses[first].index == index &&
                               plan->clauses[first].kind == kind
                       ? &plan->clauses[first]
                       : NULL;
}

static struct clause *find_clause(const struct plan *plan, enum clause_kind kind, size_t index)
{
        if (plan->has_failed)
                return NULL;
        if (kind == CLAUSE_DENY || kind == CLAUSE_PROTECT)
                return find_clause_of_rule(plan, kind, index);
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan->clauses[i].kind == kind && plan->clauses[i].index == index)
                        return &plan->clauses[i];
        return NULL;
}

static void cover(struct plan *plan, size_t step, struct clause *clause)
{
        struct cover *covers = grow(plan, plan->covers, plan->cover_count, sizeof(*covers));

        if (!covers)
                return;
        plan->covers = covers;
        covers[plan->cover_count++] = (struct cover){ step, (size_t)(clause - plan->clauses) };
        clause->is_covered = true;
}

void plan_cover(struct plan *plan, size_t step, enum clause_kind kind, size_t index)
{
        struct clause *clause = find_clause(plan, kind, index);

        if (clause)
                cover(plan, step, clause);
}

void plan_cover_all(struct plan *plan, size_t step, enum clause_kind kind)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan->clauses[i].kind == kind)
                        cover(plan, step, &plan->clauses[i]);
}

void plan_leave_visible(struct plan *plan, const char *what)
{
        if (strings_add(&plan->visible, what, NULL) < 0)
                plan->has_failed = true;
}

void plan_leave_closed(struct plan *plan, const char *what)
{
        if (strings_add(&plan->closed, what, NULL) < 0)
                plan->has_failed = true;
}

void plan_grant(struct plan *plan, const char *path, unsigned rights, bool is_inside)
{
        struct grant *grants = grow(plan, plan->grants, plan->grant_count, sizeof(*grants));

        if (!grants)
                return;
        plan->grants = grants;
        grants[plan->grant_count++] = (struct grant){ copy(plan, path), rights, is_inside };
}

void plan_miss(struct plan *plan, enum clause_kind kind, size_t index, const char *format, ...)
{
        struct clause *clause = find_clause(plan, kind, index), *end = plan->clauses + plan->clause_count;
        va_list arguments;

        /* Exceptions of several lists have the same number. */
        while (clause && clause < end && clause->reason)
                do
                        clause++;
                while (clause < end && (clause->kind != kind || clause->index != index));
        if (!clause || clause == end)
                return;
        va_start(arguments, format);
        if (vasprintf(&clause->reason, format, arguments) < 0) {
                clause->reason = NULL;
                plan->has_failed = true;
        }
        va_end(arguments);
}

bool plan_limits_by(const struct plan *plan, enum plan_op op, enum limit limit)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && plan->steps[i].value == limit)
                        return true;
        return false;
}

bool plan_has(const struct plan *plan, enum plan_op op)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op)
                        return true;
        return false;
}

bool plan_has_loopback(const struct plan *plan)
{
        return plan_has(plan, PLAN_LOOPBACK) || plan_has(plan, PLAN_LOOPBACK_AT_ONCE);
}

/* Of the only step of its kind, or 0. */
static unsigned value_of(const struct plan *plan, enum plan_op op)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op)
                        return (unsigned)plan->steps[i].value;
        return 0;
}

unsigned plan_broker_asks(const struct plan *plan)
{
        return value_of(plan, PLAN_BROKER);
}

unsigned plan_calls(const struct plan *plan)
{
        return value_of(plan, PLAN_CALLS);
}

bool plan_is_held(const struct plan *plan, size_t clause)
{
        return plan->clauses[clause].is_covered && !plan->clauses[clause].reason;
}

int plan_check(const struct plan *plan, bool is_best_effort, abatis_error *err)
{
        if (plan->has_failed)
                return error_memory(err);
        for (size_t i = 0; i < plan->clause_count && !is_best_effort; i++) {
                const struct clause *clause = &plan->clauses[i];

                if (plan_is_held(plan, i))
                        continue;
                return error_set(err, ABATIS_E_UNENFORCEABLE, "%s cannot be enforced: %s", clause->name,
                                 clause->reason ? clause->reason : "this backend has no mechanism for it");
        }
        return 0;
}
