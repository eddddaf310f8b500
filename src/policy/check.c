/* check.c: the question "may I?", answered from the rules alone. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/index.h"
#include "policy/policy.h"

/* For each kind the first rule, patterns aside, that holds for the path. */
static void find_rules(const abatis_policy *policy, const char *real, const struct rule *found[RULE_KINDS])
{
        memset(found, 0, RULE_KINDS * sizeof(*found));
        if (index_is_current(policy->index, policy)) {
                const uint32_t *numbers = index_find(policy->index, real);

                for (size_t kind = 0; kind < RULE_KINDS; kind++)
                        if (numbers[kind])
                                found[kind] = &policy->rules[numbers[kind] - 1];
                return;
        }
        /* The policy is still being put together. */
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (!rule->glob && !found[rule->kind] && rule_holds_for(rule, real))
                        found[rule->kind] = rule;
        }
}

static const struct rule *find_pattern(const abatis_policy *policy, enum rule_kind kind, const char *real)
{
        bool is_indexed = index_is_current(policy->index, policy);
        size_t count = policy->rule_count;
        const uint32_t *patterns = is_indexed ? index_patterns(policy->index, &count) : NULL;

        for (size_t i = 0; i < count; i++) {
                const struct rule *rule = &policy->rules[patterns ? patterns[i] : i];

                if (rule->glob && rule->kind == kind && rule_holds_for(rule, real))
                        return rule;
        }
        return NULL;
}

/* What may be executed or written may also be read, and what may be written may be executed. Where everything may be
 * executed, that is everything in view. */
static const struct rule *find_grant(const abatis_policy *policy, abatis_access access,
                                     const struct rule *const found[RULE_KINDS])
{
        const struct rule *rule = found[access == ABATIS_EXECUTE ? RULE_EXECUTE : RULE_WRITE];

        if (!rule && access == ABATIS_EXECUTE)
                rule = found[RULE_WRITE];
        if (!rule && access == ABATIS_EXECUTE && policy->executes_all)
                rule = found[RULE_READ];
        if (!rule && access == ABATIS_READ)
                rule = found[RULE_READ] ? found[RULE_READ] : found[RULE_EXECUTE];
        return rule;
}

static const struct rule *decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool with_patterns, bool *allowed)
{
        const struct rule *found[RULE_KINDS], *rule;

        find_rules(policy, real, found);
        *allowed = false;
        rule = found[RULE_DENY];
        if (!rule && with_patterns)
                rule = find_pattern(policy, RULE_DENY, real);
        if (!rule && access == ABATIS_WRITE)
                rule = found[RULE_PROTECT];
        if (!rule && access == ABATIS_WRITE && with_patterns)
                rule = find_pattern(policy, RULE_PROTECT, real);
        if (rule)
                return rule;
        if (access == ABATIS_EXECUTE && policy->commands.count) {
                *allowed = commands_find(policy, real) != NULL;
                return NULL;
        }
        rule = find_grant(policy, access, found);
        *allowed = rule || (access == ABATIS_READ && policy->reads_all) ||
                   (access == ABATIS_EXECUTE && policy->executes_all && policy->reads_all);
        return rule;
}

const struct rule *policy_decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool *allowed)
{
        return decide(policy, access, real, true, allowed);
}

const struct rule *policy_decide_by_paths(const abatis_policy *policy, abatis_access access, const char *real,
                                          bool *allowed)
{
        return decide(policy, access, real, false, allowed);
}

bool policy_executes(const abatis_policy *policy, const char *real)
{
        const struct rule *found[RULE_KINDS];

        find_rules(policy, real, found);
        if (found[RULE_DENY] || find_pattern(policy, RULE_DENY, real))
                return false;
        if (find_grant(policy, ABATIS_EXECUTE, found))
                return true;
        /* Of the host's /tmp only what a rule names is there. */
        return policy->executes_all && policy->reads_all &&
               !(policy->has_private_tmp && path_is_below(real, "/tmp"));
}

/* Where a command finds something else than the host has: not a matter of rules. */
static const char *special_place(const abatis_policy *policy, const char *real, abatis_access access,
                                 bool has_rule, bool *allowed)
{
        static const char *const devices[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                               "/dev/urandom", "/dev/tty",  "/dev/ptmx" };

        if (!strchr("dpt", real[1]))
                return NULL; /* by far the most */
        if (path_is_below(real, "/proc")) {
                *allowed = access == ABATIS_READ;
                return "a private, read-only one inside";
        }
        if (!has_rule && policy->has_private_tmp && path_is_below(real, "/tmp")) {
                *allowed = true;
                return "a private, empty /tmp inside";
        }
        if (!path_is_below(real, "/dev") || !strcmp(real, "/dev"))
                return NULL;
        if (path_is_below(real, "/dev/shm") || path_is_below(real, "/dev/pts")) {
                *allowed = access != ABATIS_EXECUTE || path_is_below(real, "/dev/shm");
                return "a private one inside";
        }
        for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
                if (!strcmp(real, devices[i])) {
                        *allowed = access != ABATIS_EXECUTE;
                        return "a device that every command may use";
                }
        *allowed = false;
        return "no other device may be used";
}

static void describe_start(const abatis_policy *policy, const char *real, struct text *text)
{
        const struct startable *startable = commands_find(policy, real);

        text_add(text, startable ? "process.commands: '" : "process.commands does not list '");
        text_add_line(text, real);
        text_add(text, "'");
        if (startable)
                text_addf(text, " %s", startable->reason);
}

/* What decided, in words. */
static int describe(const abatis_policy *policy, abatis_access access, const char *real,
                    const struct rule *rule, const char *place, bool is_allowed, char **out,
                    abatis_error *err)
{
        static const char *const names[] = { "read", "write", "execute" };
        static const enum key_id asked[] = { KEY_READ, KEY_WRITE, KEY_EXECUTE };
        OWN_TEXT struct text text = { 0 };

        if (!place && !rule && access == ABATIS_EXECUTE && policy->commands.count)
                describe_start(policy, real, &text);
        else if (place) {
                text_add_line(&text, real);
                text_add(&text, ": ");
                text_add(&text, place);
        } else if (rule) {
                text_add(&text, rule_kind_name(rule->kind));
                text_add(&text, " '");
                text_add_line(&text, rule->path);
                text_add(&text, "' (");
                text_add(&text, rule->origin);
                text_add(&text, ")");
        } else if (is_allowed) {
                text_addf(&text, "%s all (%s)", names[access], policy_origin(policy, asked[access], NULL));
        } else {
                text_addf(&text, "no %s rule covers '", names[access]);
                text_add_line(&text, real);
                text_addf(&text, "' (%s)", policy_origin(policy, asked[access], NULL));
        }
        return text_take(&text, out, err);
}

static int answer(const abatis_policy *policy, abatis_access access, const char *real, int *allowed,
                  char **rule_text, abatis_error *err)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(policy, access, real, &is_allowed);
        /* Where there is a list of commands, nothing else matters. */
        bool is_start = access == ABATIS_EXECUTE && policy->commands.count;
        const char *place = is_start || (rule && rule->kind == RULE_DENY)
                                    ? NULL
                                    : special_place(policy, real, access, rule, &is_allowed);
        int r = rule_text ? describe(policy, access, real, rule, place, is_allowed, rule_text, err) : 0;

        if (!r)
                *allowed = is_allowed;
        return r;
}

/* Not a question about a file: the answer is no, whatever the rules are. */
static int refuse(const char *why, int *allowed, char **rule_text, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        int r;

        text_add(&text, why);
        r = rule_text ? text_take(&text, rule_text, err) : 0;
        if (!r)
                *allowed = 0;
        return r;
}

int policy_make_index(abatis_policy *policy, abatis_error *err)
{
        int r = policy_finish(policy, err);

        return r || policy->index ? r : index_new(policy, &policy->index, err);
}

int abatis_policy_check(abatis_policy *policy, abatis_access access, const char *path, int *allowed,
                        char **rule, abatis_error *err)
{
        OWN_FREE char *clean = NULL;
        struct path_facts facts = { 0 };
        abatis_error below;
        int r = policy_make_index(policy, err);

        if (r < 0)
                return r;
        if (path && path_is_clean(path) && path_has_no_link(path))
                return answer(policy, access, path, allowed, rule, err);
        r = path_clean(path, &clean, &below);
        if (r == ABATIS_E_INVALID)
                return refuse(below.message, allowed, rule, err);
        if (!r)
                r = path_resolve(clean, NULL, &facts, &below);
        if (r < 0 || !facts.real) {
                if (err)
                        *err = below;
                return r;
        }
        r = answer(policy, access, facts.real, allowed, rule, err);
        path_facts_done(&facts);
        return r;
}
