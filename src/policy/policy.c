/* policy.c: builds a policy: rules, keys, and the contradictions that are refused. */
#define _GNU_SOURCE
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/units.h"

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

const char *limit_key(enum limit limit)
{
        static const char *const names[LIMIT_COUNT] = {
                [LIMIT_TIMEOUT] = "limits.timeout",
                [LIMIT_OUTPUT] = "limits.output",
                [LIMIT_OPEN_FILES] = "limits.open_files",
                [LIMIT_FILE_SIZE] = "limits.file_size",
                [LIMIT_PROCESSES] = "limits.processes",
                [LIMIT_MEMORY] = "limits.memory",
                [LIMIT_CPU] = "limits.cpu",
        };

        return names[limit];
}

static void rule_done(struct rule *rule)
{
        free(rule->path);
        path_facts_done(&rule->facts);
}

/* Makes room in steps: presets add a handful of rules on every launch. */
static int make_room(abatis_policy *policy, abatis_error *err)
{
        struct rule *rules;

        if (policy->rule_count % 16)
                return 0;
        rules = realloc(policy->rules, (policy->rule_count + 16) * sizeof(*rules));
        if (!rules)
                return error_memory(err);
        policy->rules = rules;
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

/* What opens the policy must not open more than it says. */
static int check_opening(const abatis_policy *policy, const struct rule *rule, abatis_error *err)
{
        const char *real = rule->facts.real;

        if (path_is_below(real, "/proc") || path_is_below(real, "/dev"))
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s': the command has its own %.5s, nothing of the host's can be in it",
                                 rule->path, real);
        if (rule->kind == RULE_WRITE && !real[1])
                return error_set(err, ABATIS_E_INVALID,
                                 "'/' cannot be writable as a whole; name directories");
        for (size_t i = 0; i < rule->facts.links.count; i++) {
                const char *link = rule->facts.links.items[i];
                bool is_allowed;

                /* An earlier command may have planted it. */
                policy_decide(policy, ABATIS_WRITE, link, &is_allowed);
                if (is_allowed && !path_is_below(real, policy->workspace))
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "'%s' is a symbolic link in a writable directory; name what it leads to, '%s'",
                                link, real);
        }
        return 0;
}

/* ---- keys: one table for flags now and documents later ------------------------------------------------ */

/* What a rule that was asked for by name must be, beyond being a path. */
static int check_rule(const abatis_policy *policy, const struct rule *rule, abatis_error *err)
{
        if (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)
                return 0;
        if (rule->facts.kind == PATH_ABSENT)
                return error_set(err, ABATIS_E_INVALID, "'%s' does not exist", rule->path);
        return check_opening(policy, rule, err);
}

static int set_rule(abatis_policy *policy, int kind, const char *value, const char *key, abatis_error *err)
{
        int r = policy_add_rule(policy, (enum rule_kind)kind, value, key, err);
        struct rule *rule;

        if (r < 0)
                return r;
        rule = &policy->rules[policy->rule_count - 1];
        rule->covers_later = true;
        r = check_rule(policy, rule, err);
        if (r < 0) {
                rule_done(rule);
                policy->rule_count--;
                return r;
        }
        if (!rule->facts.real[1] && kind != RULE_DENY && kind != RULE_PROTECT) {
                /* All of it: "/" itself would also bring the host's /proc and /dev along. */
                policy->reads_all = true;
                policy->executes_all |= kind == RULE_EXECUTE;
        }
        /* Whoever names /tmp, or a parent of it, as writable means the real one. */
        if (kind == RULE_WRITE && path_is_below("/tmp", rule->facts.real))
                policy->has_private_tmp = false;
        return 0;
}

static int set_network(abatis_policy *policy, int unused, const char *value, const char *key,
                       abatis_error *err)
{
        (void)unused;
        (void)key;
        for (enum network_mode mode = NETWORK_DENY; mode <= NETWORK_LIST; mode++)
                if (!strcmp(value, network_mode_name(mode))) {
                        policy->network = mode;
                        return 0;
                }
        return error_set(err, ABATIS_E_INVALID, "'%s' is not one of deny, unix-only, allow, list", value);
}

static int set_limit(abatis_policy *policy, int limit, const char *value, const char *key, abatis_error *err)
{
        uint64_t *out = &policy->limits[limit];

        (void)key;
        switch ((enum limit)limit) {
        case LIMIT_TIMEOUT:
        case LIMIT_CPU:
                return units_parse_duration(value, out, err);
        case LIMIT_OUTPUT:
        case LIMIT_FILE_SIZE:
        case LIMIT_MEMORY:
                return units_parse_size(value, out, err);
        case LIMIT_OPEN_FILES:
        case LIMIT_PROCESSES:
        case LIMIT_COUNT:
                break;
        }
        return units_parse_count(value, out, err);
}

static int set_list(abatis_policy *policy, int offset, const char *value, const char *key, abatis_error *err)
{
        (void)key;
        if (!*value || strchr(value, '\n'))
                return error_set(err, ABATIS_E_INVALID, "'%s' is empty or has a newline in it", value);
        return strings_add((struct strings *)(void *)((char *)policy + offset), value, err);
}

static int set_environment(abatis_policy *policy, int unused, const char *value, const char *key,
                           abatis_error *err)
{
        (void)unused;
        (void)key;
        if (!*value || *value == '=')
                return error_set(err, ABATIS_E_INVALID, "'%s' is not of the form NAME or NAME=VALUE", value);
        return strings_add(&policy->environment, value, err);
}

static const struct key {
        const char *name;
        int (*set)(abatis_policy *policy, int argument, const char *value, const char *key,
                   abatis_error *err);
        int argument;
} keys[] = {
        { "filesystem.read", set_rule, RULE_READ },
        { "filesystem.write", set_rule, RULE_WRITE },
        { "filesystem.execute", set_rule, RULE_EXECUTE },
        { "filesystem.deny", set_rule, RULE_DENY },
        { "filesystem.protect", set_rule, RULE_PROTECT },
        { "network.mode", set_network, 0 },
        { "network.connect", set_list, offsetof(abatis_policy, connect) },
        { "network.bind", set_list, offsetof(abatis_policy, bind) },
        { "network.unix", set_list, offsetof(abatis_policy, unix_sockets) },
        { "process.commands", set_list, offsetof(abatis_policy, commands) },
        { "environment.pass", set_environment, 0 },
        { "limits.timeout", set_limit, LIMIT_TIMEOUT },
        { "limits.output", set_limit, LIMIT_OUTPUT },
        { "limits.open_files", set_limit, LIMIT_OPEN_FILES },
        { "limits.file_size", set_limit, LIMIT_FILE_SIZE },
        { "limits.processes", set_limit, LIMIT_PROCESSES },
        { "limits.memory", set_limit, LIMIT_MEMORY },
        { "limits.cpu", set_limit, LIMIT_CPU },
};

int abatis_policy_set(abatis_policy *policy, const char *key, const char *value, abatis_error *err)
{
        abatis_error below;
        int r;

        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
                if (strcmp(keys[i].name, key))
                        continue;
                r = keys[i].set(policy, keys[i].argument, value, keys[i].name, &below);
                if (!r)
                        return 0;
                error_set(err, r, "%s: %s", key, below.message);
                if (err)
                        err->os_errno = below.os_errno;
                return r;
        }
        return error_set(err, ABATIS_E_INVALID, "'%s' is not a key of a policy", key);
}

int abatis_policy_new(const abatis_policy_options *options, abatis_policy **out, abatis_error *err)
{
        abatis_policy *policy;
        int r;

        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_policy_options.size is not set");
        policy = calloc(1, sizeof(*policy));
        if (!policy)
                return error_memory(err);
        policy->references = 1;
        r = preset_apply(policy, options, err);
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
        free(policy->rules);
        free(policy->workspace);
        free(policy->program);
        free(policy->homes[0]);
        free(policy->homes[1]);
        strings_done(&policy->connect);
        strings_done(&policy->bind);
        strings_done(&policy->unix_sockets);
        strings_done(&policy->commands);
        strings_done(&policy->environment);
        free(policy);
}

abatis_policy *policy_share(abatis_policy *policy)
{
        __atomic_add_fetch(&policy->references, 1, __ATOMIC_RELAXED);
        return policy;
}

int policy_finish(abatis_policy *policy, abatis_error *err)
{
        bool has_unix_sockets = policy->network == NETWORK_UNIX_ONLY || policy->network == NETWORK_ALLOW;

        if (has_unix_sockets && !policy->reaches_control_sockets && !policy->denies_control_sockets) {
                int r = preset_deny_control_sockets(policy, err);

                if (r < 0)
                        return r;
                policy->denies_control_sockets = true;
        }
        if (policy->program) {
                bool is_allowed;
                int r;

                /* A command that could replace it would run without a sandbox the next time. */
                policy_decide(policy, ABATIS_WRITE, policy->program, &is_allowed);
                r = is_allowed ? policy_add_rule(policy, RULE_PROTECT, policy->program, "itself", err) : 0;
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == RULE_DENY && path_is_below(policy->workspace, rule->facts.real))
                        return error_set(err, ABATIS_E_INVALID,
                                         "the workspace '%s' is denied by %s '%s'; "
                                         "choose another workspace or drop the rule",
                                         policy->workspace, rule->origin, rule->path);
        }
        return 0;
}
