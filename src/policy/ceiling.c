/* ceiling.c: keeps a policy below what the machine's administrator allows. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/compose.h"

static const char ceiling_origin[] = "/etc/abatis/policy.yaml";

static int refuse(const char *what, const char *value, const char *origin, abatis_error *err)
{
        return error_set(err, ABATIS_E_INVALID, "%s '%s' (%s) is more than %s allows", what, value, origin,
                         ceiling_origin);
}

/* Which of the ceiling's trees bound an access; what may be written or executed may also be read. */
static bool bounds(enum rule_kind ceiling_kind, enum rule_kind kind)
{
        if (kind == RULE_WRITE)
                return ceiling_kind == RULE_WRITE;
        if (kind == RULE_EXECUTE)
                return ceiling_kind == RULE_EXECUTE || ceiling_kind == RULE_WRITE;
        return ceiling_kind == RULE_READ || ceiling_kind == RULE_EXECUTE || ceiling_kind == RULE_WRITE;
}

static bool is_bounded(const abatis_policy *ceiling, enum rule_kind kind)
{
        if (kind == RULE_WRITE)
                return ceiling->has[KEY_WRITE];
        if (kind == RULE_EXECUTE)
                return ceiling->has[KEY_EXECUTE] && !ceiling->executes_all;
        return ceiling->has[KEY_READ] && !ceiling->reads_all;
}

static bool is_within(const abatis_policy *ceiling, enum rule_kind kind, const char *real)
{
        if (!is_bounded(ceiling, kind))
                return true;
        for (size_t i = 0; i < ceiling->rule_count; i++)
                if (bounds(ceiling->rules[i].kind, kind) && path_is_below(real, ceiling->rules[i].facts.real))
                        return true;
        return false;
}

/* A rule stands for reading too, and a writable tree for executing. */
static bool rule_is_within(const abatis_policy *ceiling, const struct rule *rule)
{
        const char *real = rule->facts.real;

        return is_within(ceiling, rule->kind, real) && is_within(ceiling, RULE_READ, real) &&
               (rule->kind != RULE_WRITE || is_within(ceiling, RULE_EXECUTE, real));
}

/* Adds, in the place of a tree that is too large, those of the ceiling's trees that lie in it. */
static int add_parts(abatis_policy *policy, const abatis_policy *ceiling, enum rule_kind kind,
                     const char *tree, bool *has_any, abatis_error *err)
{
        for (size_t i = 0; i < ceiling->rule_count; i++) {
                const struct rule *part = &ceiling->rules[i];
                struct rule probe = *part;
                int r;

                probe.kind = kind;
                if (part->kind == RULE_DENY || part->kind == RULE_PROTECT ||
                    !rule_is_within(ceiling, &probe) || !path_is_below(part->facts.real, tree))
                        continue;
                /* By its own name: a link such as /lib must be there too. */
                r = policy_add_rule(policy, kind, part->path, ceiling_origin, err);
                if (r < 0)
                        return r;
                *has_any = true;
        }
        return 0;
}

static void remove_rule(abatis_policy *policy, size_t index)
{
        policy_changed(policy);
        rule_done(&policy->rules[index]);
        memmove(policy->rules + index, policy->rules + index + 1,
                (--policy->rule_count - index) * sizeof(*policy->rules));
}

static int cut_rules(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        size_t count = policy->rule_count;

        for (size_t i = 0; i < count;) {
                struct rule *rule = &policy->rules[i];
                enum rule_kind kind = rule->kind;
                bool is_workspace, has_any = false;
                char *tree;
                int r;

                if (kind == RULE_DENY || kind == RULE_PROTECT || rule_is_within(ceiling, rule)) {
                        i++;
                        continue;
                }
                if (rule->is_asked)
                        return refuse(rule_kind_name(kind), rule->path, rule->origin, err);
                is_workspace = kind == RULE_WRITE && !strcmp(rule->facts.real, policy->workspace);
                tree = rule->facts.real;
                rule->facts.real = NULL;
                remove_rule(policy, i);
                count--;
                r = add_parts(policy, ceiling, kind, tree, &has_any, err);
                if (!r && is_workspace && !has_any)
                        r = refuse("the workspace", tree, "write", err);
                free(tree);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Everything, cut down to what the ceiling lists. */
static int cut_all(abatis_policy *policy, const abatis_policy *ceiling, enum key_id key, bool *all,
                   abatis_error *err)
{
        enum rule_kind kind = key_rule_kind(key);
        const struct note *note = policy_find_note(policy, key, NULL);
        bool has_any;

        if (!*all || !is_bounded(ceiling, kind))
                return 0;
        if (note && note->is_asked)
                return refuse(rule_kind_name(kind), "all", note->origin, err);
        *all = false;
        return add_parts(policy, ceiling, kind, "/", &has_any, err);
}

static int cut_limits(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        for (enum limit limit = LIMIT_TIMEOUT; limit < LIMIT_COUNT; limit++) {
                uint64_t most = ceiling->limits[limit], *now = &policy->limits[limit];
                const struct note *note = policy_find_note(policy, limit_key_id(limit), NULL);

                if (!most || (*now && *now <= most))
                        continue;
                if (*now && note && note->is_asked)
                        return refuse(limit_key(limit), note->value, note->origin, err);
                *now = most;
        }
        return 0;
}

static int cut_network(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        static const int openness[] = {
                [NETWORK_DENY] = 0, [NETWORK_UNIX_ONLY] = 1, [NETWORK_LIST] = 2, [NETWORK_ALLOW] = 3
        };
        const struct note *note = policy_find_note(policy, KEY_NETWORK, NULL);

        if (!ceiling->has[KEY_NETWORK] || openness[policy->network] <= openness[ceiling->network])
                return 0;
        if (note && note->is_asked)
                return refuse("network.mode", note->value, note->origin, err);
        policy->network = ceiling->network;
        return 0;
}

/* An allow-list of the ceiling: what is asked must be on it; of an open list it takes the place. */
static int cut_list(abatis_policy *policy, const abatis_policy *ceiling, enum key_id key, bool empty_is_all,
                    abatis_error *err)
{
        struct strings *list = policy_list(policy, key);
        const struct strings *most = policy_list((abatis_policy *)ceiling, key);

        if (!ceiling->has[key] || (empty_is_all && !most->count))
                return 0;
        for (size_t i = 0; i < list->count; i++) {
                bool is_listed = false;

                for (size_t j = 0; j < most->count; j++)
                        is_listed |= !strcmp(list->items[i], most->items[j]);
                if (!is_listed)
                        return refuse(keys[key].name, list->items[i], "not on its list", err);
        }
        for (size_t i = 0; empty_is_all && !list->count && i < most->count; i++) {
                int r = strings_add(list, most->items[i], err);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Where only named variables may pass, others are left out, or refused when somebody asked for them. */
static int cut_environment(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        size_t kept = 0;

        if (!ceiling->has[KEY_PASS] || !ceiling->passes_named_only)
                return 0;
        for (size_t i = 0; i < policy->environment.count; i++) {
                char *item = policy->environment.items[i];
                const struct note *note = policy_find_note(policy, KEY_PASS, item);
                bool is_listed = strchr(item, '=');

                for (size_t j = 0; j < ceiling->environment.count; j++)
                        is_listed |= !strcmp(item, ceiling->environment.items[j]);
                if (!is_listed && note && note->is_asked)
                        return refuse(keys[KEY_PASS].name, item, note->origin, err);
                if (is_listed)
                        policy->environment.items[kept++] = item;
                else
                        free(item);
        }
        policy->environment.count = kept;
        if (policy->passes_named_only)
                return 0;
        policy->passes_named_only = true;
        for (size_t i = 0; i < ceiling->environment.count; i++) {
                int r = strings_add(&policy->environment, ceiling->environment.items[i], err);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* What the ceiling denies is denied. */
static int add_holes(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < ceiling->rule_count && !r; i++) {
                const struct rule *rule = &ceiling->rules[i];

                if (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)
                        r = policy_add_copy(policy, rule, ceiling_origin, err);
        }
        for (size_t i = 0; i < ceiling->environment_denied.count && !r; i++)
                r = strings_add(&policy->environment_denied, ceiling->environment_denied.items[i], err);
        return r;
}

int ceiling_apply(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        int r = cut_rules(policy, ceiling, err);

        if (!r)
                r = cut_all(policy, ceiling, KEY_READ, &policy->reads_all, err);
        if (!r)
                r = cut_all(policy, ceiling, KEY_EXECUTE, &policy->executes_all, err);
        if (!r)
                r = cut_network(policy, ceiling, err);
        if (!r)
                r = cut_limits(policy, ceiling, err);
        if (!r)
                r = cut_list(policy, ceiling, KEY_CONNECT, false, err);
        if (!r)
                r = cut_list(policy, ceiling, KEY_BIND, false, err);
        if (!r)
                r = cut_list(policy, ceiling, KEY_UNIX, false, err);
        if (!r)
                r = cut_list(policy, ceiling, KEY_COMMANDS, true, err);
        if (!r)
                r = cut_environment(policy, ceiling, err);
        if (r < 0)
                return r;
        policy->forbids_forks |= ceiling->forbids_forks;
        if (ceiling->argument_check == CHECK_ALWAYS)
                policy->argument_check = CHECK_ALWAYS;
        return add_holes(policy, ceiling, err);
}
