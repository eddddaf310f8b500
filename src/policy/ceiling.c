/* ceiling.c: keeps a policy below what the machine's administrator allows. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/compose.h"
#include "policy/place.h"

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

/* Below a private /tmp a ceiling shows only what it has a rule for there. */
static bool is_within(const abatis_policy *ceiling, enum rule_kind kind, const char *real)
{
        bool is_private = ceiling->has_private_tmp && path_is_below(real, "/tmp");

        if (!is_bounded(ceiling, kind) && !is_private)
                return true;
        for (size_t i = 0; i < ceiling->rule_count; i++) {
                const struct rule *rule = &ceiling->rules[i];

                if (bounds(rule->kind, kind) && path_is_below(real, rule->facts.real) &&
                    (!is_private || path_is_below(rule->facts.real, "/tmp")))
                        return true;
        }
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
        int r = 0;

        for (enum limit limit = LIMIT_TIMEOUT; limit < LIMIT_COUNT && !r; limit++) {
                uint64_t most = ceiling->limits[limit], *now = &policy->limits[limit];
                const struct note *note = policy_find_note(policy, limit_key_id(limit), NULL);

                if (!most || (*now && *now <= most))
                        continue;
                if (note && note->is_asked)
                        return refuse(limit_key(limit), note->value, note->origin, err);
                *now = most;
                r = policy_note(policy, limit_key_id(limit), NULL, ceiling_origin, false, err);
        }
        return r;
}

static int cut_network(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *note = policy_find_note(policy, KEY_NETWORK, NULL);

        if (!ceiling->has[KEY_NETWORK])
                return 0;
        policy->reaches_control_sockets &= ceiling->reaches_control_sockets;
        if (network_is_within(policy->network, ceiling->network))
                return 0;
        if (note && note->is_asked)
                return refuse("network.mode", note->value, note->origin, err);
        /* Of a list and unix sockets nothing is in both. */
        policy->network =
                network_is_within(ceiling->network, policy->network) ? ceiling->network : NETWORK_DENY;
        return 0;
}

static int cut_name_check(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *note = policy_find_note(policy, KEY_VERIFY_SNI, NULL);

        if (!ceiling->has[KEY_VERIFY_SNI] || ceiling->passes_any_name || !policy->passes_any_name)
                return 0;
        if (note && note->is_asked)
                return refuse(keys[KEY_VERIFY_SNI].name, note->value, note->origin, err);
        policy->passes_any_name = false;
        return 0;
}

static int cut_loopback(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *note = policy_find_note(policy, KEY_LOOPBACK, NULL);

        if (!ceiling->has[KEY_LOOPBACK] || !ceiling->has_no_loopback || policy->has_no_loopback)
                return 0;
        if (note && note->is_asked)
                return refuse(keys[KEY_LOOPBACK].name, note->value, note->origin, err);
        policy->has_no_loopback = true;
        return 0;
}

/* Whatever an administrator promises, the strongest has to hold: with another, more could be left out by who accepts less. Which one that
 * is may be said here. */
static int cut_backend(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *note = policy_find_note(policy, KEY_BACKEND, NULL);
        const enum backend_kind wanted = ceiling->backend;

        if (policy->backend == wanted || wanted == BACKEND_NONE ||
            (wanted == BACKEND_AUTO && policy->backend == BACKEND_NATIVE))
                return 0;
        if (policy->backend != BACKEND_AUTO && note && note->is_asked)
                return refuse(keys[KEY_BACKEND].name, note->value, note->origin, err);
        policy->backend = wanted;
        return 0;
}

/* A variable that is passed by name must be on the ceiling's list; where that passes all, it must not look secret. */
static bool may_have(const abatis_policy *ceiling, enum key_id key, const char *item)
{
        if (key == KEY_CONNECT)
                return places_cover(&ceiling->connect, item);
        if (key != KEY_PASS)
                return strings_has(policy_list((abatis_policy *)ceiling, key), item);
        return strchr(item, '=') || strings_has(&ceiling->environment, item) ||
               (!ceiling->passes_named_only && !environment_is_secret(item, strlen(item)));
}

/* Drops what a preset or profile gave beyond the ceiling's list, and refuses what was asked for. */
static int cut_list(abatis_policy *policy, const abatis_policy *ceiling, enum key_id key,
                    struct strings *list, abatis_error *err)
{
        size_t kept = 0;

        for (size_t i = 0; i < list->count; i++) {
                const char *item = list->items[i];
                const struct note *note =
                        may_have(ceiling, key, item) ? NULL : policy_find_note(policy, key, item);

                if (note && note->is_asked)
                        return refuse(keys[key].name, item, note->origin, err);
        }
        for (size_t i = 0; i < list->count; i++) {
                if (may_have(ceiling, key, list->items[i]))
                        list->items[kept++] = list->items[i];
                else
                        free(list->items[i]);
        }
        list->count = kept;
        return 0;
}

/* What is an exception to the network mode must be one of the ceiling's, unless its mode is open. */
static int cut_exceptions(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        static const enum key_id exceptions[] = { KEY_CONNECT, KEY_BIND, KEY_UNIX };
        bool is_closed = ceiling->has[KEY_NETWORK] && ceiling->network != NETWORK_ALLOW;
        int r = 0;

        for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions) && !r; i++)
                if (is_closed || ceiling->has[exceptions[i]])
                        r = cut_list(policy, ceiling, exceptions[i], policy_list(policy, exceptions[i]), err);
        return r;
}

/* An empty list is every program: the ceiling's takes its place, but not the place of one of which nothing is left. */
static int cut_commands(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        bool was_empty = !policy->commands.count;
        int r = 0;

        if (!ceiling->commands.count)
                return 0;
        r = cut_list(policy, ceiling, KEY_COMMANDS, &policy->commands, err);
        if (!r && !was_empty && !policy->commands.count)
                return error_set(err, ABATIS_E_INVALID, "of process.commands, %s allows nothing",
                                 ceiling_origin);
        for (size_t i = 0; was_empty && i < ceiling->commands.count && !r; i++)
                r = strings_add(&policy->commands, ceiling->commands.items[i], err);
        return r;
}

static int cut_environment(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *note = policy_find_note(policy, KEY_PASS, "all");
        int r;

        if (!ceiling->has[KEY_PASS])
                return 0;
        r = cut_list(policy, ceiling, KEY_PASS, &policy->environment, err);
        if (!r)
                r = cut_list(policy, ceiling, KEY_PASS, &policy->environment_plain, err);
        if (r < 0 || policy->passes_named_only || !ceiling->passes_named_only)
                return r;
        if (note && note->is_asked)
                return refuse(keys[KEY_PASS].name, "all", note->origin, err);
        /* The ceiling's names, as far as they would have been passed. */
        policy->passes_named_only = true;
        for (size_t i = 0; i < ceiling->environment.count && !r; i++)
                if (!strchr(ceiling->environment.items[i], '='))
                        r = strings_add(&policy->environment_plain, ceiling->environment.items[i], err);
        return r;
}

/* One of the ceiling's holds, unless somebody asked for the opposite. */
static int cut_switch(const abatis_policy *policy, enum key_id key, bool is_in_ceiling, bool *is_on,
                      abatis_error *err)
{
        const struct note *note = policy_find_note(policy, key, NULL);

        if (is_in_ceiling && !*is_on && note && note->is_asked)
                return refuse(keys[key].name, note->value, note->origin, err);
        *is_on |= is_in_ceiling;
        return 0;
}

static int cut_process(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct note *check = policy_find_note(policy, KEY_CHECK_ARGUMENTS, NULL),
                          *session = policy_find_note(policy, KEY_SESSION, NULL);
        bool is_private = ceiling->has[KEY_SESSION] && !ceiling->shares_session;
        int r;

        if (is_private && policy->shares_session && session && session->is_asked)
                return refuse(keys[KEY_SESSION].name, session->value, session->origin, err);
        policy->shares_session &= !is_private;
        r = cut_switch(policy, KEY_FORK, ceiling->forbids_forks, &policy->forbids_forks, err);
        if (!r)
                r = cut_switch(policy, KEY_SYSTEM_CALLS, ceiling->has_few_calls, &policy->has_few_calls, err);
        if (!r)
                r = cut_switch(policy, KEY_EXECUTABLE_MEMORY, ceiling->forbids_new_code,
                               &policy->forbids_new_code, err);
        if (r || ceiling->argument_check != CHECK_ALWAYS)
                return r;
        if (policy->argument_check == CHECK_NEVER && check && check->is_asked)
                return refuse(keys[KEY_CHECK_ARGUMENTS].name, check->value, check->origin, err);
        policy->argument_check = CHECK_ALWAYS;
        return 0;
}

/* What must be written down is; the user's other choices are his own. */
static int cut_audit(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct audit_choice *least = &ceiling->audit;
        struct audit_choice *audit = &policy->audit;
        const struct note *log = policy_find_note(policy, KEY_AUDIT_LOG, NULL),
                          *sync = policy_find_note(policy, KEY_AUDIT_SYNC, NULL);
        bool is_elsewhere = least->log && (!audit->log || strcmp(audit->log, least->log));

        if (ceiling->has[KEY_AUDIT_LOG] && !least->is_off) {
                if (log && log->is_asked && (audit->is_off || (is_elsewhere && audit->log)))
                        return refuse(keys[KEY_AUDIT_LOG].name, log->value, log->origin, err);
                audit->is_off = false;
                if (is_elsewhere) {
                        free(audit->log);
                        audit->log = strdup(least->log);
                        if (!audit->log)
                                return error_memory(err);
                }
        }
        if (least->is_synced && !audit->is_synced && sync && sync->is_asked)
                return refuse(keys[KEY_AUDIT_SYNC].name, sync->value, sync->origin, err);
        audit->is_synced |= least->is_synced;
        if (ceiling->has[KEY_AUDIT_SIZE])
                audit->size = least->size;
        if (ceiling->has[KEY_AUDIT_KEEP])
                audit->keep = least->keep;
        return 0;
}

static bool has_hole(const abatis_policy *policy, const struct rule *hole)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == hole->kind && policy->rules[i].origin == ceiling_origin &&
                    !policy->rules[i].glob == !hole->glob && !strcmp(policy->rules[i].path, hole->path))
                        return true;
        return false;
}

/* What the ceiling denies is denied, however often this is called. */
static int add_holes(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        const struct strings *masks = &ceiling->environment_denied;
        int r = 0;

        for (size_t i = 0; i < ceiling->rule_count && !r; i++) {
                const struct rule *rule = &ceiling->rules[i];

                if ((rule->kind == RULE_DENY || rule->kind == RULE_PROTECT) && !has_hole(policy, rule))
                        r = policy_add_copy(policy, rule, ceiling_origin, err);
        }
        for (size_t i = 0; i < masks->count && !r; i++)
                if (!strings_has(&policy->environment_denied, masks->items[i]))
                        r = strings_add(&policy->environment_denied, masks->items[i], err);
        return r;
}

int ceiling_apply(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err)
{
        int r = cut_rules(policy, ceiling, err);

        if (!r)
                r = cut_all(policy, ceiling, KEY_READ, &policy->reads_all, err);
        if (!r)
                r = cut_all(policy, ceiling, KEY_EXECUTE, &policy->executes_all, err);
        /* Unless the workspace is there, which a private one would hide. */
        policy->has_private_tmp |= ceiling->has_private_tmp && !path_is_below("/tmp", policy->workspace);
        if (!r)
                r = cut_network(policy, ceiling, err);
        if (!r)
                r = cut_name_check(policy, ceiling, err);
        if (!r)
                r = cut_loopback(policy, ceiling, err);
        if (!r)
                r = cut_backend(policy, ceiling, err);
        if (!r)
                r = cut_exceptions(policy, ceiling, err);
        if (!r)
                r = cut_limits(policy, ceiling, err);
        if (!r)
                r = cut_commands(policy, ceiling, err);
        if (!r)
                r = cut_environment(policy, ceiling, err);
        if (!r)
                r = cut_process(policy, ceiling, err);
        if (!r)
                r = cut_audit(policy, ceiling, err);
        return r ? r : add_holes(policy, ceiling, err);
}
