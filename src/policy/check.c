/* check.c: the question "may I?", answered from the rules alone. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/index.h"
#include "policy/policy.h"

/* For each kind the number + 1 of the first rule, patterns aside, that holds for the path, or 0: the slow way, while the
 * policy is still being put together. */
static const uint32_t *scan_rules(const abatis_policy *policy, const char *real, uint32_t numbers[RULE_KINDS])
{
        memset(numbers, 0, RULE_KINDS * sizeof(*numbers));
        for (uint32_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (!rule->glob && !numbers[rule->kind] && rule_holds_for(rule, real))
                        numbers[rule->kind] = i + 1;
        }
        return numbers;
}

/* The number + 1 of the first pattern that holds for the path, or 0. */
static uint32_t find_pattern(const abatis_policy *policy, enum rule_kind kind, const char *real)
{
        bool is_indexed = index_is_current(policy->index, policy);
        size_t count = policy->rule_count;
        const uint32_t *patterns = is_indexed ? index_patterns(policy->index, &count) : NULL;

        for (uint32_t i = 0; i < count; i++) {
                uint32_t number = patterns ? patterns[i] : i;
                const struct rule *rule = &policy->rules[number];

                if (rule->glob && rule->kind == kind && rule_holds_for(rule, real))
                        return number + 1;
        }
        return 0;
}

/* What may be executed or written may also be read, and what may be written may be executed. Where everything may be
 * executed, that is everything in view. */
static uint32_t find_grant(const abatis_policy *policy, abatis_access access, const uint32_t *found)
{
        uint32_t number = found[access == ABATIS_EXECUTE ? RULE_EXECUTE : RULE_WRITE];

        if (!number && access == ABATIS_EXECUTE)
                number = found[RULE_WRITE];
        if (!number && access == ABATIS_EXECUTE && policy->executes_all)
                number = found[RULE_READ];
        if (!number && access == ABATIS_READ)
                number = found[RULE_READ] ? found[RULE_READ] : found[RULE_EXECUTE];
        return number;
}

/* Chooses from what was found. */
static const struct rule *decide(const abatis_policy *policy, const uint32_t *found, abatis_access access,
                                 const char *real, bool with_patterns, bool *allowed)
{
        uint32_t number = found[RULE_DENY];

        *allowed = false;
        if (!number && with_patterns)
                number = find_pattern(policy, RULE_DENY, real);
        if (!number && access == ABATIS_WRITE)
                number = found[RULE_PROTECT];
        if (!number && access == ABATIS_WRITE && with_patterns)
                number = find_pattern(policy, RULE_PROTECT, real);
        if (number)
                return &policy->rules[number - 1];
        if (access == ABATIS_EXECUTE && policy->commands.count) {
                *allowed = commands_find(policy, real) != NULL;
                return NULL;
        }
        number = find_grant(policy, access, found);
        *allowed = number || (access == ABATIS_READ && policy->reads_all) ||
                   (access == ABATIS_EXECUTE && policy->executes_all && policy->reads_all);
        return number ? &policy->rules[number - 1] : NULL;
}

static const struct rule *decide_about(const abatis_policy *policy, abatis_access access, const char *real,
                                       bool with_patterns, bool *allowed)
{
        uint32_t scanned[RULE_KINDS];
        size_t walked;
        const uint32_t *found = index_is_current(policy->index, policy)
                                        ? index_find(policy->index, real, &walked)
                                        : scan_rules(policy, real, scanned);

        return decide(policy, found, access, real, with_patterns, allowed);
}

const struct rule *policy_decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool *allowed)
{
        return decide_about(policy, access, real, true, allowed);
}

const struct rule *policy_decide_by_paths(const abatis_policy *policy, abatis_access access, const char *real,
                                          bool *allowed)
{
        return decide_about(policy, access, real, false, allowed);
}

bool policy_executes(const abatis_policy *policy, const char *real)
{
        uint32_t found[RULE_KINDS];

        scan_rules(policy, real, found);
        if (found[RULE_DENY] || find_pattern(policy, RULE_DENY, real))
                return false;
        if (find_grant(policy, ABATIS_EXECUTE, found))
                return true;
        /* Of the host's /tmp only what a rule names is there. */
        return policy->executes_all && policy->reads_all &&
               !(policy->has_private_tmp && path_is_below(real, "/tmp"));
}

static bool is_directory(const char *real)
{
        struct stat status;

        return !reach_lstat(real, &status) && S_ISDIR(status.st_mode);
}

/* Where a command finds something else than the host has: not a matter of rules. */
static const char *special_place(const abatis_policy *policy, const uint32_t *found, const char *real,
                                 abatis_access access, bool *allowed)
{
        static const char *const devices[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                               "/dev/urandom", "/dev/tty",  "/dev/ptmx" };

        if (!strchr("dpt", real[1]))
                return NULL; /* by far the most */
        if (path_is_below(real, "/proc")) {
                *allowed = access == ABATIS_READ && !view_hides_from_root(real);
                return "a private, read-only one inside";
        }
        /* What protects a directory above it does not reach into it. */
        if (policy->has_private_tmp && path_is_below(real, "/tmp") &&
            !find_grant(policy, ABATIS_READ, found)) {
                *allowed = true;
                return "a private, empty /tmp inside";
        }
        if (!path_is_below(real, "/dev") || !strcmp(real, "/dev"))
                return NULL;
        if (path_is_below(real, "/dev/shm") || path_is_below(real, "/dev/pts")) {
                *allowed =
                        access != ABATIS_EXECUTE || (policy->executes_all && path_is_below(real, "/dev/shm"));
                return "a private one inside";
        }
        for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
                if (!strcmp(real, devices[i])) {
                        *allowed = access != ABATIS_EXECUTE;
                        return "a device that every command may use";
                }
        if (is_directory(real))
                return NULL;
        *allowed = false;
        return "no other device may be used";
}

static void describe_start(const abatis_policy *policy, const char *real, struct text *text)
{
        const struct startable *startable = commands_find(policy, real);

        text_add(text, startable ? "process.commands: '" : "process.commands does not list '");
        text_add_line(text, real);
        text_add(text, "'");
        if (startable) {
                text_add(text, " ");
                text_add_line(text, startable->reason);
        }
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
                text_add_line(&text, rule->origin);
                text_add(&text, ")");
        } else if (is_allowed) {
                text_addf(&text, "%s all (", names[access]);
                text_add_line(&text, policy_origin(policy, asked[access], NULL));
                text_add(&text, ")");
        } else {
                text_addf(&text, "no %s rule covers '", names[access]);
                text_add_line(&text, real);
                text_add(&text, "' (");
                text_add_line(&text, policy_origin(policy, asked[access], NULL));
                text_add(&text, ")");
        }
        return text_take(&text, out, err);
}

static int answer(const abatis_policy *policy, const uint32_t *found, abatis_access access, const char *real,
                  int *allowed, char **rule_text, abatis_error *err)
{
        bool is_allowed;
        const struct rule *rule =
                decide(policy, found, access, real, index_has_patterns(policy->index), &is_allowed);
        /* Where there is a list of commands, nothing else matters. */
        bool is_start = access == ABATIS_EXECUTE && policy->commands.count;
        const char *place = is_start || (rule && rule->kind == RULE_DENY)
                                    ? NULL
                                    : special_place(policy, found, real, access, &is_allowed);
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

/* What the path ends with, if that is a link of a name that is denied: such a link is not followed, whatever it leads to. Owned by the
 * caller, or NULL. */
static int find_denied_link(const abatis_policy *policy, const char *clean, const struct path_facts *facts,
                            char **out, abatis_error *err)
{
        const char *name = strrchr(clean, '/');
        OWN_PATH_FACTS struct path_facts above = { 0 };
        OWN_FREE char *directory = NULL, *link = NULL;
        const struct rule *rule;
        bool is_allowed;
        size_t walked;
        int r;

        if (!facts->links.count || !index_has_patterns(policy->index))
                return 0;
        directory = strndup(clean, name == clean ? 1 : (size_t)(name - clean));
        r = directory ? path_resolve(directory, NULL, &above, err) : error_memory(err);
        if (r < 0 || !above.real)
                return r;
        link = text_join(above.real[1] ? above.real : "", name, "");
        if (!link)
                return error_memory(err);
        if (!strings_has(&facts->links, link))
                return 0;
        rule = decide(policy, index_find(policy->index, link, &walked), ABATIS_READ, link, true, &is_allowed);
        if (rule && rule->kind == RULE_DENY) {
                *out = link;
                link = NULL;
        }
        return 0;
}

/* About a path that has to be cleaned, or has a link in it, or cannot be looked at. */
static int check_thoroughly(const abatis_policy *policy, abatis_access access, const char *path, int *allowed,
                            char **rule, abatis_error *err)
{
        OWN_FREE char *clean = NULL, *link = NULL;
        struct path_facts facts = { 0 };
        const char *way = NULL;
        abatis_error below;
        size_t walked;
        int r = path_clean(path, &clean, &below);

        if (r == ABATIS_E_INVALID)
                return refuse(below.message, allowed, rule, err);
        if (!r)
                r = path_resolve(clean, NULL, &facts, &below);
        if (r < 0 || !facts.real) {
                if (err)
                        *err = below;
                return r;
        }
        r = find_denied_link(policy, clean, &facts, &link, err);
        if (!r && link)
                way = link;
        else if (!r)
                r = view_find_way(policy, &facts, &way, err);
        if (!r)
                r = answer(policy, index_find(policy->index, way, &walked), access, way, allowed, rule, err);
        path_facts_done(&facts);
        return r;
}

/* What has been walked in the index is as clean as the rules are. */
static bool is_rest_clean(const char *path, size_t walked)
{
        return (walked && !path[walked]) || path_is_clean(path + walked);
}

int abatis_policy_check(abatis_policy *policy, abatis_access access, const char *path, int *allowed,
                        char **rule, abatis_error *err)
{
        const uint32_t *found;
        size_t walked = 0;
        int r = policy_make_index(policy, err);

        if (r < 0)
                return r;
        found = path ? index_find(policy->index, path, &walked) : NULL;
        if (found && is_rest_clean(path, walked) && !view_has_link_at(policy, path) && path_has_no_link(path))
                return answer(policy, found, access, path, allowed, rule, err);
        return check_thoroughly(policy, access, path, allowed, rule, err);
}
