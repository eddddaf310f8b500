/* policy.c: builds a policy: rules, keys, and the contradictions that are refused. */
#define _GNU_SOURCE
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/compose.h"
#include "policy/index.h"

const char *rule_kind_name(enum rule_kind kind)
{
        switch (kind) {
        case RULE_READ:
                return "read";
        case RULE_WRITE:
                return "write";
        case RULE_EXECUTE:
                return "execute";
        case RULE_DENY:
                return "deny";
        case RULE_PROTECT:
                return "protect";
        }
        return "?";
}

const char *network_mode_name(enum network_mode mode)
{
        switch (mode) {
        case NETWORK_DENY:
                return "deny";
        case NETWORK_UNIX_ONLY:
                return "unix-only";
        case NETWORK_ALLOW:
                return "allow";
        case NETWORK_LIST:
                return "list";
        }
        return "?";
}

enum { MANY_RULES = 64 };

enum key_id limit_key_id(enum limit limit)
{
        static const enum key_id ids[LIMIT_COUNT] = {
                [LIMIT_TIMEOUT] = KEY_TIMEOUT,
                [LIMIT_OUTPUT] = KEY_OUTPUT,
                [LIMIT_OPEN_FILES] = KEY_OPEN_FILES,
                [LIMIT_FILE_SIZE] = KEY_FILE_SIZE,
                [LIMIT_PROCESSES] = KEY_PROCESSES,
                [LIMIT_MEMORY] = KEY_MEMORY,
                [LIMIT_CPU] = KEY_CPU,
                [LIMIT_WRITTEN] = KEY_WRITTEN,
                [LIMIT_CONNECTIONS] = KEY_CONNECTIONS,
                [LIMIT_CONNECTION_RATE] = KEY_CONNECTION_RATE,
                [LIMIT_TRAFFIC] = KEY_TRAFFIC,
        };

        return ids[limit];
}

const char *limit_key(enum limit limit)
{
        return keys[limit_key_id(limit)].name;
}

bool rule_holds_for(const struct rule *rule, const char *real)
{
        return rule->glob ? glob_matches(rule->glob, real) : path_is_below(real, rule->facts.real);
}

void rule_done(struct rule *rule)
{
        if (rule->glob)
                glob_done(rule->glob);
        free(rule->glob);
        free(rule->path);
        path_facts_done(&rule->facts);
}

void policy_changed(abatis_policy *policy)
{
        index_free(policy->index);
        policy->index = NULL;
        policy->is_finished = false;
}

/* Makes room in steps: presets add a handful of rules on every launch. */
static int make_room(abatis_policy *policy, abatis_error *err)
{
        size_t wanted = policy->rule_capacity ? 2 * policy->rule_capacity : 16;
        struct rule *rules;

        policy_changed(policy);
        if (policy->rule_count < policy->rule_capacity)
                return 0;
        rules = realloc(policy->rules, wanted * sizeof(*rules));
        if (!rules)
                return error_memory(err);
        policy->rules = rules;
        policy->rule_capacity = wanted;
        return 0;
}

/* A directory that was resolved before and holds the path, or NULL. */
static const char *known_directory(const abatis_policy *policy, const char *path)
{
        const char *const known[] = { policy->workspace, policy->homes[0], policy->homes[1] };

        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
                if (known[i] && path_is_below(path, known[i]))
                        return known[i];
        return NULL;
}

int policy_add_rule(abatis_policy *policy, enum rule_kind kind, const char *path, const char *origin,
                    abatis_error *err)
{
        struct rule rule = { .kind = kind, .origin = origin };
        int r;

        r = make_room(policy, err);
        if (r < 0)
                return r;
        r = path_clean(path, &rule.path, err);
        if (!r)
                r = path_resolve(rule.path, known_directory(policy, rule.path), &rule.facts, err);
        if (r < 0) {
                rule_done(&rule);
                return r;
        }
        policy->rules[policy->rule_count++] = rule;
        return 0;
}

int policy_add_examined(abatis_policy *policy, enum rule_kind kind, const char *path, enum path_kind found,
                        const char *origin, abatis_error *err)
{
        struct rule rule = { .kind = kind, .origin = origin, .facts.kind = found };
        int r = make_room(policy, err);

        if (r < 0)
                return r;
        rule.path = strdup(path);
        rule.facts.real = strdup(path);
        if (!rule.path || !rule.facts.real) {
                rule_done(&rule);
                return error_memory(err);
        }
        policy->rules[policy->rule_count++] = rule;
        return 0;
}

/* Follows the links in the pattern's fixed beginning: what it is compared with has none. */
static int resolve_beginning(const char *pattern, struct rule *rule, abatis_error *err)
{
        size_t fixed = strcspn(pattern, "*?[");
        OWN_FREE char *beginning = NULL, *quoted = NULL, *whole = NULL;
        struct glob resolved;
        int r;

        if (pattern[fixed])
                while (fixed && pattern[fixed - 1] != '/')
                        fixed--;
        if (*pattern != '/' || fixed <= 1)
                return 0;
        beginning = strndup(pattern, fixed);
        r = beginning ? path_resolve(beginning, NULL, &rule->facts, err) : error_memory(err);
        if (r < 0 || !rule->facts.links.count)
                return r;
        quoted = glob_quote(rule->facts.real);
        whole = quoted ? text_join(quoted, "/", pattern + fixed) : NULL;
        r = whole ? glob_compile(whole, &resolved, err) : error_memory(err);
        if (r < 0)
                return r;
        glob_done(rule->glob);
        *rule->glob = resolved;
        return 0;
}

int policy_add_glob(abatis_policy *policy, enum rule_kind kind, const char *pattern, const char *origin,
                    abatis_error *err)
{
        struct rule rule = { .kind = kind, .origin = origin, .covers_later = true };
        int r = make_room(policy, err);

        if (r < 0)
                return r;
        if (kind != RULE_DENY && kind != RULE_PROTECT)
                return error_set(err, ABATIS_E_INVALID, "a pattern can only deny or protect");
        rule.glob = calloc(1, sizeof(*rule.glob));
        r = rule.glob ? glob_compile(pattern, rule.glob, err) : error_memory(err);
        if (!r)
                r = resolve_beginning(pattern, &rule, err);
        if (!r) {
                rule.path = strdup(pattern);
                r = rule.path ? 0 : error_memory(err);
        }
        if (r < 0) {
                rule_done(&rule);
                return r;
        }
        free(rule.facts.real);
        rule.facts.real = NULL;
        policy->rules[policy->rule_count++] = rule;
        return 0;
}

int policy_add_copy(abatis_policy *policy, const struct rule *rule, const char *origin, abatis_error *err)
{
        int r = rule->glob ? policy_add_glob(policy, rule->kind, rule->path, origin, err)
                           : policy_add_rule(policy, rule->kind, rule->path, origin, err);

        if (!r)
                policy->rules[policy->rule_count - 1].covers_later = rule->covers_later;
        return r;
}

const char *policy_find_planted(const abatis_policy *policy, const struct rule *rule)
{
        for (size_t i = 0; i < rule->facts.links.count; i++) {
                const char *link = rule->facts.links.items[i];
                bool is_allowed;

                if (path_is_below(rule->facts.real, policy->workspace))
                        return NULL;
                /* One in the workspace came with the code, also where this command cannot write it. */
                policy_decide_by_paths(policy, ABATIS_WRITE, link, &is_allowed);
                if (is_allowed || path_is_below(link, policy->workspace))
                        return link;
        }
        return NULL;
}

void policy_drop_last_rule(abatis_policy *policy)
{
        policy_changed(policy);
        rule_done(&policy->rules[--policy->rule_count]);
}

/* The same path in the same way, or anywhere in what is denied. A pattern may turn out to be unenforceable. */
static bool says_as_much(const struct rule *rule, const struct rule *later)
{
        if (rule->glob || later->glob || (later->covers_later && !rule->covers_later))
                return false;
        if (rule->kind == RULE_DENY && path_is_below(later->facts.real, rule->facts.real))
                return true;
        return rule->kind == later->kind && !strcmp(rule->facts.real, later->facts.real);
}

void policy_drop_repeated(abatis_policy *policy, size_t first)
{
        size_t kept = first;

        for (size_t i = first; i < policy->rule_count; i++) {
                size_t other = 0;

                while (other < kept && !says_as_much(&policy->rules[other], &policy->rules[i]))
                        other++;
                if (other < kept)
                        rule_done(&policy->rules[i]);
                else
                        policy->rules[kept++] = policy->rules[i];
        }
        policy->rule_count = kept;
        policy_changed(policy);
}

const char *policy_intern(abatis_policy *policy, const char *text)
{
        if (strings_add(&policy->origins, text, NULL) < 0)
                return NULL;
        return policy->origins.items[policy->origins.count - 1];
}

int policy_note(abatis_policy *policy, enum key_id key, const char *value, const char *origin, bool is_asked,
                abatis_error *err)
{
        struct note *notes = realloc(policy->notes, (policy->note_count + 1) * sizeof(*notes));
        char *copy = value ? strdup(value) : NULL;

        if (notes)
                policy->notes = notes;
        if (!notes || (value && !copy)) {
                free(copy);
                return error_memory(err);
        }
        notes[policy->note_count++] = (struct note){ key, copy, origin, is_asked };
        return 0;
}

const struct note *policy_find_note(const abatis_policy *policy, enum key_id key, const char *value)
{
        for (size_t i = policy->note_count; i--;) {
                const struct note *note = &policy->notes[i];

                if (note->key == key && (!value || (note->value && !strcmp(note->value, value))))
                        return note;
        }
        return NULL;
}

static const char default_origin[] = "library default";

int policy_set_default_limits(abatis_policy *policy, abatis_error *err)
{
        const struct setting timeout = { .key = KEY_TIMEOUT, .value = "30s", .origin = default_origin },
                             output = { .key = KEY_OUTPUT, .value = "1MiB", .origin = default_origin };
        int r = policy_apply(policy, &timeout, err);

        return r ? r : policy_apply(policy, &output, err);
}

bool policy_says_limit(const abatis_policy *policy, enum limit limit)
{
        const struct note *note = policy_find_note(policy, limit_key_id(limit), NULL);

        return note && note->origin != default_origin;
}

const char *policy_origin(const abatis_policy *policy, enum key_id key, const char *value)
{
        const struct note *note = policy_find_note(policy, key, value);

        if (note)
                return note->origin;
        return policy->preset ? preset_origin(policy->preset) : "default";
}

int policy_new_empty(const abatis_policy_options *options, abatis_policy **out, abatis_error *err)
{
        abatis_policy *policy = calloc(1, sizeof(*policy));
        int r;

        if (!policy)
                return error_memory(err);
        policy->references = 1;
        r = preset_find_places(policy, options, err);
        if (r < 0) {
                abatis_policy_free(policy);
                return r;
        }
        *out = policy;
        return 0;
}

void abatis_policy_free(abatis_policy *policy)
{
        if (!policy || __atomic_sub_fetch(&policy->references, 1, __ATOMIC_ACQ_REL))
                return;
        for (size_t i = 0; i < policy->rule_count; i++)
                rule_done(&policy->rules[i]);
        policy_changed(policy);
        free(policy->rules);
        free(policy->workspace);
        free(policy->program);
        free(policy->called);
        free(policy->homes[0]);
        free(policy->homes[1]);
        strings_done(&policy->connect);
        strings_done(&policy->bind);
        strings_done(&policy->unix_sockets);
        strings_done(&policy->socket_names);
        strings_done(&policy->socket_places);
        strings_done(&policy->commands);
        strings_done(&policy->leftovers);
        commands_done(policy);
        strings_done(&policy->environment);
        strings_done(&policy->environment_plain);
        strings_done(&policy->environment_denied);
        free(policy->audit.log);
        free(policy->audit.usual);
        strings_done(&policy->origins);
        strings_done(&policy->sources);
        for (size_t i = 0; i < policy->note_count; i++)
                free(policy->notes[i].value);
        free(policy->notes);
        free(policy->data);
        abatis_policy_free(policy->ceiling);
        free(policy);
}

abatis_policy *policy_share(abatis_policy *policy)
{
        __atomic_add_fetch(&policy->references, 1, __ATOMIC_RELAXED);
        return policy;
}

static int deny_control_sockets(abatis_policy *policy, abatis_error *err)
{
        bool has_unix_sockets = network_has_unix_sockets(policy->network);
        size_t before;
        int r;

        if (!has_unix_sockets || policy->reaches_control_sockets || policy->denies_control_sockets)
                return 0;
        policy->denies_control_sockets = true;
        before = policy->rule_count;
        r = preset_deny_control_sockets(policy, err);
        policy_drop_repeated(policy, before);
        return r;
}

/* What opens a tree through a link that an earlier command may have planted opens what that command chose. The rules
 * come in any order, so that only the whole can tell whether the link lies where the command may write. */
static int check_links(const abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];
                const char *link = rule->glob ? NULL : policy_find_planted(policy, rule);

                if (link && rule->kind != RULE_DENY && rule->kind != RULE_PROTECT)
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "%s: '%s' is a symbolic link that may be planted; name what it leads to, '%s'",
                                rule->origin, link, rule->facts.real);
        }
        return 0;
}

static int check_workspace(const abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == RULE_DENY && rule_holds_for(rule, policy->workspace))
                        return error_set(err, ABATIS_E_INVALID,
                                         "the workspace '%s' is denied by %s '%s'; "
                                         "choose another workspace or drop the rule",
                                         policy->workspace, rule->origin, rule->path);
        }
        return 0;
}

static int check_root(const abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_WRITE && policy->rules[i].facts.real &&
                    !strcmp(policy->rules[i].facts.real, "/"))
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "%s: filesystem.write: '/' cannot be writable as a whole; name directories",
                                policy->rules[i].origin);
        return 0;
}

int policy_finish(abatis_policy *policy, abatis_error *err)
{
        int r = 0;

        if (policy->is_finished)
                return 0; /* nothing has changed since */
        r = check_root(policy, err);
        if (!r && policy->ceiling)
                r = ceiling_apply(policy, policy->ceiling, err);
        if (!r)
                r = deny_control_sockets(policy, err);
        if (!r)
                r = preset_give_cache(policy, err);
        if (!r)
                r = check_links(policy, err);
        if (!r)
                r = sockets_resolve(policy, err);
        if (!r)
                r = itself_protect(policy, err);
        if (!r && policy->protects_starters)
                r = starters_protect(policy, err);
        if (!r)
                r = check_workspace(policy, err);
        if (!r)
                r = commands_resolve(policy, err);
        policy->is_finished = !r;
        /* To make one takes as long as to look through all rules some times. */
        if (!r && policy->rule_count > MANY_RULES && !policy->index)
                r = index_new(policy, &policy->index, err);
        return r;
}
