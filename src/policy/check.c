/* check.c: the question "may I?", answered from the rules alone. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/policy.h"

/* Paths come before patterns: they are cheaper to compare. */
static const struct rule *find_rule(const abatis_policy *policy, enum rule_kind kind, const char *real,
                                    bool with_patterns)
{
        for (int is_pattern = 0; is_pattern <= with_patterns; is_pattern++)
                for (size_t i = 0; i < policy->rule_count; i++) {
                        const struct rule *rule = &policy->rules[i];

                        if (rule->kind == kind && !rule->glob == !is_pattern && rule_holds_for(rule, real))
                                return rule;
                }
        return NULL;
}

static const struct rule *find_grant(const abatis_policy *policy, abatis_access access, const char *real)
{
        const struct rule *rule =
                find_rule(policy, access == ABATIS_EXECUTE ? RULE_EXECUTE : RULE_WRITE, real, false);

        /* What may be executed or written may also be read, and what may be written may be executed. */
        if (!rule && access == ABATIS_EXECUTE)
                rule = find_rule(policy, RULE_WRITE, real, false);
        /* Where everything may be executed, that is everything in view. */
        if (!rule && (access == ABATIS_READ || (access == ABATIS_EXECUTE && policy->executes_all)))
                rule = find_rule(policy, RULE_READ, real, false);
        if (!rule && access == ABATIS_READ)
                rule = find_rule(policy, RULE_EXECUTE, real, false);
        return rule;
}

static const struct rule *decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool with_patterns, bool *allowed)
{
        const struct rule *rule = find_rule(policy, RULE_DENY, real, with_patterns);

        *allowed = false;
        if (rule)
                return rule;
        if (access == ABATIS_EXECUTE && policy->commands.count) {
                *allowed = commands_find(policy, real) != NULL;
                return NULL;
        }
        if (access == ABATIS_WRITE) {
                rule = find_rule(policy, RULE_PROTECT, real, with_patterns);
                if (rule)
                        return rule;
        }
        rule = find_grant(policy, access, real);
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

/* Where a command finds something else than the host has: not a matter of rules. */
static const char *special_place(const char *real, abatis_access access, bool *allowed)
{
        static const char *const devices[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                               "/dev/urandom", "/dev/tty",  "/dev/ptmx" };

        if (path_is_below(real, "/dev/shm") || path_is_below(real, "/dev/pts")) {
                *allowed = access != ABATIS_EXECUTE || path_is_below(real, "/dev/shm");
                return "a private one inside";
        }
        for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
                if (!strcmp(real, devices[i])) {
                        *allowed = access != ABATIS_EXECUTE;
                        return "a device that every command may use";
                }
        if (path_is_below(real, "/dev") && strcmp(real, "/dev")) {
                *allowed = false;
                return "no other device may be used";
        }
        if (path_is_below(real, "/proc")) {
                *allowed = access == ABATIS_READ;
                return "a private, read-only one inside";
        }
        return NULL;
}

/* Where there is a list of commands, nothing else matters. */
static void explain_start(const abatis_policy *policy, const char *real, struct text *text)
{
        const struct startable *startable = commands_find(policy, real);

        if (startable)
                text_addf(text, "process.commands: '%s' %s", real, startable->reason);
        else
                text_addf(text, "process.commands does not list '%s'", real);
}

/* Says what decided, in words; may turn a refusal into permission where the command has a private place instead. */
static void explain_decision(const abatis_policy *policy, abatis_access access, const char *real,
                             const struct rule *rule, bool *allowed, struct text *text)
{
        static const char *const names[] = { "read", "write", "execute" };
        static const enum key_id asked[] = { KEY_READ, KEY_WRITE, KEY_EXECUTE };
        bool is_denied = rule && rule->kind == RULE_DENY;
        const char *place;

        if (!is_denied && access == ABATIS_EXECUTE && policy->commands.count) {
                explain_start(policy, real, text);
                return;
        }
        place = is_denied ? NULL : special_place(real, access, allowed);
        if (!place && !rule && policy->has_private_tmp && path_is_below(real, "/tmp")) {
                place = "a private, empty /tmp inside";
                *allowed = true;
        }
        if (place)
                text_addf(text, "%s: %s", real, place);
        else if (rule) {
                text_add(text, rule_kind_name(rule->kind));
                text_add(text, " '");
                text_add_line(text, rule->path);
                text_addf(text, "' (%s)", rule->origin);
        } else if (*allowed)
                text_addf(text, "%s all (%s)", names[access], policy_origin(policy, asked[access], NULL));
        else
                text_addf(text, "no %s rule covers '%s' (%s)", names[access], real,
                          policy_origin(policy, asked[access], NULL));
}

int abatis_policy_check(abatis_policy *policy, abatis_access access, const char *path, int *allowed,
                        char **rule_text, abatis_error *err)
{
        OWN_FREE char *clean = NULL;
        OWN_TEXT struct text text = { 0 };
        struct path_facts facts = { 0 };
        abatis_error below = { 0 };
        const struct rule *rule;
        bool is_allowed = false;
        int r;

        r = policy_finish(policy, &below);
        if (!r) {
                r = path_clean(path, &clean, &below);
                if (r == ABATIS_E_INVALID) {
                        /* Not a question about a file: the answer is no, whatever the rules are. */
                        text_add(&text, below.message);
                        *allowed = 0;
                        return text_take(&text, rule_text, err);
                }
        }
        if (!r)
                r = path_resolve(clean, NULL, &facts, &below);
        if (r < 0 || !facts.real) {
                if (err)
                        *err = below;
                return r;
        }
        rule = policy_decide(policy, access, facts.real, &is_allowed);
        explain_decision(policy, access, facts.real, rule, &is_allowed, &text);
        path_facts_done(&facts);
        r = text_take(&text, rule_text, err);
        if (!r)
                *allowed = is_allowed;
        return r;
}
