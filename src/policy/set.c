/* set.c: sets one value of one key of a policy. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/layer.h"
#include "policy/place.h"
#include "policy/policy.h"

enum rule_kind key_rule_kind(enum key_id key)
{
        if (key == KEY_READ)
                return RULE_READ;
        if (key == KEY_WRITE)
                return RULE_WRITE;
        if (key == KEY_EXECUTE)
                return RULE_EXECUTE;
        return key == KEY_DENY ? RULE_DENY : RULE_PROTECT;
}

enum limit key_limit(enum key_id key)
{
        enum limit limit = LIMIT_TIMEOUT;

        while (limit < LIMIT_COUNT && limit_key_id(limit) != key)
                limit++;
        return limit;
}

bool network_mode_find(const char *name, enum network_mode *out)
{
        for (enum network_mode mode = NETWORK_DENY; mode <= NETWORK_LIST; mode++)
                if (!strcmp(name, network_mode_name(mode))) {
                        *out = mode;
                        return true;
                }
        return false;
}

int backend_kind_find(const char *name, enum backend_kind *out, abatis_error *err)
{
        const char *nearest = abatis_suggest(name, backend_names);

        for (enum backend_kind kind = BACKEND_AUTO; kind < BACKEND_COUNT; kind++)
                if (!strcmp(*name ? name : "auto", backend_names[kind])) {
                        *out = kind;
                        return 0;
                }
        return error_set(
                err, ABATIS_E_INVALID,
                "unknown backend '%s'; %s%s%sthere are auto, native, bwrap, seatbelt, appcontainer and none",
                name, nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
}

bool network_is_within(enum network_mode mode, enum network_mode most)
{
        return mode == NETWORK_DENY || mode == most || most == NETWORK_ALLOW;
}

struct strings *policy_list(abatis_policy *policy, enum key_id key)
{
        if (key == KEY_CONNECT)
                return &policy->connect;
        if (key == KEY_BIND)
                return &policy->bind;
        if (key == KEY_UNIX)
                return &policy->unix_sockets;
        if (key == KEY_COMMANDS)
                return &policy->commands;
        return key == KEY_ENVIRONMENT_DENY ? &policy->environment_denied : NULL;
}

/* ---- rules ---------------------------------------------------------------------------------------------- */

/* What opens the policy must not open more than it says. */
static int check_opening(const abatis_policy *policy, const struct rule *rule, abatis_error *err)
{
        const char *real = rule->facts.real, *link = policy_find_planted(policy, rule);

        if (path_is_below(real, "/proc") || path_is_below(real, "/dev"))
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s': the command has its own %.5s, nothing of the host's can be in it",
                                 rule->path, real);
        /* Of a preset or a profile another layer may have more to say: policy_finish() looks at what is left. */
        if (rule->kind == RULE_WRITE && !real[1] && rule->is_asked)
                return error_set(err, ABATIS_E_INVALID,
                                 "'/' cannot be writable as a whole; name directories");
        if (link)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is a symbolic link that may be planted; name what it leads to, '%s'",
                                 link, real);
        return 0;
}

/* What a rule that was asked for by name must be, beyond being a path. */
static int check_rule(const abatis_policy *policy, const struct rule *rule, abatis_error *err)
{
        if (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)
                return 0;
        if (rule->facts.kind == PATH_ABSENT)
                return error_set(err, ABATIS_E_INVALID, "'%s' does not exist", rule->path);
        return check_opening(policy, rule, err);
}

int policy_open_all(abatis_policy *policy, enum key_id key, const char *origin, bool is_asked,
                    abatis_error *err)
{
        policy->reads_all |= key == KEY_READ;
        policy->executes_all |= key == KEY_EXECUTE;
        return policy_note(policy, key, NULL, origin, is_asked, err);
}

static int set_rule(abatis_policy *policy, const struct setting *setting, abatis_error *err)
{
        enum rule_kind kind = key_rule_kind(setting->key);
        int r = policy_add_rule(policy, kind, setting->value, setting->origin, err);
        struct rule *rule;
        bool is_all, is_hole;

        if (r < 0)
                return r;
        rule = &policy->rules[policy->rule_count - 1];
        is_hole = kind == RULE_DENY || kind == RULE_PROTECT;
        rule->covers_later = !setting->is_for_now;
        rule->is_asked = setting->is_asked;
        if ((is_hole ? setting->is_for_now : setting->skips_absent) && rule->facts.kind == PATH_ABSENT) {
                policy_drop_last_rule(policy);
                return 0;
        }
        r = check_rule(policy, rule, err);
        if (r < 0) {
                policy_drop_last_rule(policy);
                return r;
        }
        is_all = !rule->facts.real[1] && !is_hole && kind != RULE_WRITE;
        /* Whoever names /tmp, or a parent of it, as writable means the real one. */
        if (kind == RULE_WRITE && rule->facts.real[1] && path_is_below("/tmp", rule->facts.real))
                policy->has_private_tmp = false;
        if (!is_all)
                return 0;
        /* "/" itself would also bring the host's /proc, /dev and /tmp along. */
        policy_drop_last_rule(policy);
        r = policy_open_all(policy, KEY_READ, setting->origin, setting->is_asked, err);
        if (!r && kind == RULE_EXECUTE)
                r = policy_open_all(policy, KEY_EXECUTE, setting->origin, setting->is_asked, err);
        return r;
}

/* ---- everything else ------------------------------------------------------------------------------------ */

static int set_network(abatis_policy *policy, const char *value, abatis_error *err)
{
        if (!network_mode_find(value, &policy->network))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not one of deny, unix-only, allow, list",
                                 value);
        return 0;
}

static int set_item(abatis_policy *policy, enum key_id key, const char *value, abatis_error *err)
{
        OWN_FREE char *clean = NULL;
        struct place place;
        bool is_path = key == KEY_UNIX || key == KEY_COMMANDS;

        if (!*value || (!is_path && strchr(value, '\n')))
                return error_set(err, ABATIS_E_INVALID, "'%s' is empty or has a newline in it", value);
        if (key == KEY_CONNECT && place_parse(value, &place, err) < 0)
                return ABATIS_E_INVALID;
        if (key == KEY_BIND && !layer_is_port(value))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a port, 1 to 65535", value);
        if (key == KEY_UNIX) {
                int r = path_clean(value, &clean, err);

                if (r < 0)
                        return r;
        }
        return strings_add(policy_list(policy, key), value, err);
}

static int set_flag(const char *value, bool *out, bool is_meant_by_true, abatis_error *err)
{
        bool is_true = !strcmp(value, "true");

        if (!is_true && strcmp(value, "false"))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not true or false", value);
        *out = is_true == is_meant_by_true;
        return 0;
}

static int set_argument_check(abatis_policy *policy, const char *value, abatis_error *err)
{
        bool is_checked = false;
        int r = set_flag(value, &is_checked, true, err);

        if (!r)
                policy->argument_check = is_checked ? CHECK_ALWAYS : CHECK_NEVER;
        return r;
}

static int set_variable(abatis_policy *policy, const char *value, abatis_error *err)
{
        if (!*value || *value == '=')
                return error_set(err, ABATIS_E_INVALID, "'%s' is not of the form NAME or NAME=VALUE", value);
        return strings_add(&policy->environment, value, err);
}

/* "on" takes back what turned it off; where the log is stays as it was said. */
static int set_log(struct audit_choice *audit, const char *value, abatis_error *err)
{
        bool is_word = !strcmp(value, "on") || !strcmp(value, "off");
        char *log = is_word ? NULL : strdup(value);

        if (!is_word && (*value != '/' || !layer_is_log(value))) {
                free(log);
                return error_set(err, ABATIS_E_INVALID, "'%s' is not on, off or the absolute path of a file",
                                 value);
        }
        if (!is_word && !log)
                return error_memory(err);
        audit->is_off = !strcmp(value, "off");
        if (log) {
                free(audit->log);
                audit->log = log;
        }
        return 0;
}

static int set_session(abatis_policy *policy, const char *value, abatis_error *err)
{
        policy->shares_session = !strcmp(value, "shared");
        if (policy->shares_session || !strcmp(value, "private"))
                return 0;
        return error_set(err, ABATIS_E_INVALID, "'%s' is not private or shared", value);
}

static int set_calls(abatis_policy *policy, const char *value, abatis_error *err)
{
        policy->has_few_calls = !strcmp(value, "few");
        if (policy->has_few_calls || !strcmp(value, "usual"))
                return 0;
        return error_set(err, ABATIS_E_INVALID, "'%s' is not usual or few", value);
}

static int set_value(abatis_policy *policy, const struct setting *setting, abatis_error *err)
{
        switch (setting->key) {
        case KEY_NETWORK:
                return set_network(policy, setting->value, err);
        case KEY_CONNECT:
        case KEY_BIND:
        case KEY_UNIX:
        case KEY_COMMANDS:
        case KEY_ENVIRONMENT_DENY:
                return set_item(policy, setting->key, setting->value, err);
        case KEY_SESSION:
                return set_session(policy, setting->value, err);
        case KEY_BACKEND:
                return backend_kind_find(setting->value, &policy->backend, err);
        case KEY_VERIFY_SNI:
                return set_flag(setting->value, &policy->passes_any_name, false, err);
        case KEY_LOOPBACK:
                return set_flag(setting->value, &policy->has_no_loopback, false, err);
        case KEY_FORK:
                return set_flag(setting->value, &policy->forbids_forks, false, err);
        case KEY_SYSTEM_CALLS:
                return set_calls(policy, setting->value, err);
        case KEY_EXECUTABLE_MEMORY:
                return set_flag(setting->value, &policy->forbids_new_code, false, err);
        case KEY_SIGNALS:
                if (!strcmp(setting->value, "true"))
                        return error_set(err, ABATIS_E_INVALID, "processes outside can never be signalled");
                return set_flag(setting->value, &(bool){ 0 }, true, err);
        case KEY_CHECK_ARGUMENTS:
                return set_argument_check(policy, setting->value, err);
        case KEY_PASS:
        case KEY_ENVIRONMENT_SET:
                return set_variable(policy, setting->value, err);
        case KEY_MEMORY:
        case KEY_PROCESSES:
        case KEY_OPEN_FILES:
        case KEY_CPU:
        case KEY_FILE_SIZE:
        case KEY_WRITTEN:
        case KEY_CONNECTIONS:
        case KEY_CONNECTION_RATE:
        case KEY_TRAFFIC:
        case KEY_TIMEOUT:
        case KEY_OUTPUT:
                return key_parse_limit(setting->key, setting->value, &policy->limits[key_limit(setting->key)],
                                       err);
        case KEY_AUDIT_LOG:
                return set_log(&policy->audit, setting->value, err);
        case KEY_AUDIT_SYNC:
                return set_flag(setting->value, &policy->audit.is_synced, true, err);
        case KEY_AUDIT_SIZE:
                return key_parse_limit(setting->key, setting->value, &policy->audit.size, err);
        case KEY_AUDIT_KEEP:
                return key_parse_limit(setting->key, setting->value, &policy->audit.keep, err);
        case KEY_READ:
        case KEY_WRITE:
        case KEY_EXECUTE:
        case KEY_DENY:
        case KEY_PROTECT:
                return set_rule(policy, setting, err);
        case KEY_VERSION:
        case KEY_EXTENDS:
        case KEY_COUNT:
                break;
        }
        return error_set(err, ABATIS_E_INVALID, "can only be said in a file");
}

int policy_apply(abatis_policy *policy, const struct setting *setting, abatis_error *err)
{
        bool is_rule = keys[setting->key].type == TYPE_TREES || keys[setting->key].type == TYPE_HOLES;
        int r = set_value(policy, setting, err);

        policy_changed(policy);
        policy->is_resolved = false;
        if (r < 0 || is_rule)
                return r;
        return policy_note(policy, setting->key, setting->value, setting->origin, setting->is_asked, err);
}

static void clear_rules(abatis_policy *policy, enum rule_kind kind)
{
        size_t kept = 0;

        for (size_t i = 0; i < policy->rule_count; i++) {
                if (policy->rules[i].kind == kind)
                        rule_done(&policy->rules[i]);
                else
                        policy->rules[kept++] = policy->rules[i];
        }
        policy->rule_count = kept;
        policy_changed(policy);
}

void policy_clear(abatis_policy *policy, enum key_id key)
{
        if (keys[key].type == TYPE_HOSTS || keys[key].type == TYPE_PORTS || keys[key].type == TYPE_PATHS ||
            keys[key].type == TYPE_PROGRAMS)
                strings_done(policy_list(policy, key));
        if (keys[key].type == TYPE_TREES)
                clear_rules(policy, key_rule_kind(key));
        policy->reads_all &= key != KEY_READ;
        policy->executes_all &= key != KEY_EXECUTE;
        policy->has_private_tmp &= key != KEY_WRITE;
        if (key == KEY_PASS) {
                size_t kept = 0;

                /* What is set stays. */
                for (size_t i = 0; i < policy->environment.count; i++) {
                        char *item = policy->environment.items[i];

                        if (strchr(item, '='))
                                policy->environment.items[kept++] = item;
                        else
                                free(item);
                }
                policy->environment.count = kept;
                strings_done(&policy->environment_plain);
                policy->passes_named_only = true;
        }
}

/* Where nothing is, a path with such characters was meant as a pattern: as a name it would hold nothing. A directory that is there may be
 * called what it likes. */
static int refuse_pattern(enum key_id key, const char *path, abatis_error *err)
{
        OWN_FREE char *there = *path == '/' ? strdup(path) : NULL;
        struct stat status;
        char *slash;

        if (!there)
                return *path == '/' ? error_memory(err) : 0;
        while (reach_lstat(there, &status) < 0 && (slash = strrchr(there, '/')))
                *slash = '\0';
        if (!strpbrk(path + strlen(there), "*?["))
                return 0;
        return error_set(err, ABATIS_E_INVALID, "'%s' does not exist, and looks like a pattern; give it %s",
                         path,
                         key == KEY_DENY ? "as filesystem.deny_glob (--deny-glob)" : "in a policy file");
}

int abatis_policy_set(abatis_policy *policy, const char *key, const char *value, abatis_error *err)
{
        enum key_id id = key_find(key, strlen(key));
        struct setting setting = { .key = id, .value = value, .is_asked = true };
        abatis_error below;
        int r;

        /* A path that a caller gives is never a pattern, so patterns have a key of their own. */
        if (!strcmp(key, "filesystem.deny_glob")) {
                r = policy_add_glob(policy, RULE_DENY, value, "filesystem.deny_glob", &below);
                policy->is_resolved = false;
        } else if (id == KEY_COUNT)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a key of a policy", key);
        else {
                setting.origin = keys[id].name;
                r = id == KEY_DENY || id == KEY_PROTECT ? refuse_pattern(id, value, &below) : 0;
                if (!r)
                        r = policy_apply(policy, &setting, &below);
        }
        return r < 0 ? error_within(err, &below, "%s", key) : 0;
}
