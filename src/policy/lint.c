/* lint.c: finds what is valid and still wrong: rules that do nothing, contradictions, known holes. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/compose.h"

/* The findings so far. */
struct lint {
        const abatis_policy *policy;
        struct text text;
        int count;
};

/* One line, whatever is in the paths. */
__attribute__((format(printf, 2, 3))) static void find(struct lint *lint, const char *format, ...)
{
        OWN_FREE char *line = NULL;
        va_list arguments;
        int length;

        va_start(arguments, format);
        length = vasprintf(&line, format, arguments);
        va_end(arguments);
        lint->count++;
        if (length < 0) {
                line = NULL;
                lint->text.has_failed = true;
                return;
        }
        text_add_line(&lint->text, line);
        text_add(&lint->text, "\n");
}

static bool is_hole(const struct rule *rule)
{
        return rule->kind == RULE_DENY || rule->kind == RULE_PROTECT;
}

/* Presets and profiles are written for every machine; only what somebody wrote for this one is judged. */
static bool is_judged(const struct rule *rule)
{
        return (rule->is_asked || (is_hole(rule) && rule->covers_later)) && !rule->glob;
}

/* Another rule of this kind whose tree holds this one's; of two that are the same the first counts. */
static const struct rule *find_around(const struct lint *lint, const struct rule *rule, enum rule_kind kind)
{
        for (size_t i = 0; i < lint->policy->rule_count; i++) {
                const struct rule *other = &lint->policy->rules[i];

                if (other == rule || other->kind != kind || other->glob ||
                    !path_is_below(rule->facts.real, other->facts.real))
                        continue;
                if (strcmp(rule->facts.real, other->facts.real) || kind != rule->kind || other < rule)
                        return other;
        }
        return NULL;
}

static bool has_writable_below(const struct lint *lint, const struct rule *rule)
{
        for (size_t i = 0; i < lint->policy->rule_count; i++)
                if (lint->policy->rules[i].kind == RULE_WRITE &&
                    path_is_below(lint->policy->rules[i].facts.real, rule->facts.real))
                        return true;
        return false;
}

static void judge_rule(struct lint *lint, const struct rule *rule)
{
        const char *name = rule_kind_name(rule->kind);
        const struct rule *deny = rule->kind == RULE_DENY ? NULL : find_around(lint, rule, RULE_DENY);
        const struct rule *same = find_around(lint, rule, rule->kind);

        if (deny && rule->kind != RULE_PROTECT)
                find(lint, "%s: %s '%s' contradicts deny '%s' (%s), which wins", rule->origin, name,
                     rule->path, deny->path, deny->origin);
        else if (deny)
                find(lint, "%s: protect '%s' does nothing: deny '%s' (%s) covers it", rule->origin,
                     rule->path, deny->path, deny->origin);
        else if (same)
                find(lint, "%s: %s '%s' does nothing: '%s' (%s) covers it", rule->origin, name, rule->path,
                     same->path, same->origin);
        else if (rule->kind == RULE_READ && lint->policy->reads_all)
                find(lint, "%s: read '%s' does nothing: everything may be read", rule->origin, rule->path);
        else if (rule->kind == RULE_EXECUTE && lint->policy->executes_all && lint->policy->reads_all)
                find(lint, "%s: execute '%s' does nothing: everything may be executed", rule->origin,
                     rule->path);
        else if (rule->kind == RULE_PROTECT && !find_around(lint, rule, RULE_WRITE) &&
                 !has_writable_below(lint, rule))
                find(lint, "%s: protect '%s' does nothing: it may not be written anyway", rule->origin,
                     rule->path);
}

/* ---- known holes ---------------------------------------------------------------------------------------- */

static bool may_write(const struct lint *lint, const char *real)
{
        bool is_allowed;

        policy_decide(lint->policy, ABATIS_WRITE, real, &is_allowed);
        return is_allowed;
}

static void judge_path_directories(struct lint *lint)
{
        const char *path = getenv("PATH");
        OWN_FREE char *copy = path ? strdup(path) : NULL;
        char *rest = copy, *directory;

        while (rest && (directory = strsep(&rest, ":"))) {
                OWN_FREE char *real = *directory == '/' ? path_real(directory) : NULL;

                if (real && may_write(lint, real))
                        find(lint,
                             "hole: '%s' is in PATH and writable: a program planted there runs outside the sandbox",
                             directory);
        }
}

static void judge_startup_files(struct lint *lint)
{
        static const char *const names[] = { ".bashrc",
                                             ".bash_profile",
                                             ".bash_login",
                                             ".profile",
                                             ".zshrc",
                                             ".zshenv",
                                             ".zprofile",
                                             ".zlogin",
                                             ".config/fish",
                                             ".config/autostart",
                                             ".gitconfig",
                                             ".config/git",
                                             ".config/systemd/user",
                                             ".vimrc",
                                             ".config/nvim",
                                             ".tmux.conf",
                                             ".inputrc",
                                             ".pam_environment",
                                             ".xprofile" };

        for (size_t i = 0; lint->policy->homes[0] && i < sizeof(names) / sizeof(*names); i++) {
                OWN_FREE char *file = path_join(lint->policy->homes[0], names[i]);

                if (file && may_write(lint, file)) {
                        find(lint,
                             "hole: '%s' is writable: what is written there runs outside the sandbox the next time",
                             file);
                        return; /* one says it for all */
                }
        }
}

/* What does not exist cannot be protected from being made. */
static int judge_own_files(struct lint *lint, abatis_error *err)
{
        OWN_FREE char *config = NULL, *trust = NULL, *skills = NULL;
        int r = config_path("", &config, err);

        if (!r)
                r = state_path("trust", &trust, err);
        if (!r)
                r = data_path("skills", &skills, err);
        for (size_t i = 0; i < 3 && !r; i++) {
                OWN_PATH_FACTS struct path_facts facts = { 0 };
                const char *const paths[] = { config, trust, skills }, *path = paths[i];

                if (path && !path_resolve(path, NULL, &facts, NULL) && facts.kind == PATH_ABSENT &&
                    may_write(lint, facts.real))
                        find(lint,
                             "hole: '%s' could be made: what is put there counts in the next run; make it yourself",
                             facts.real);
        }
        return r;
}

static void judge_sockets(struct lint *lint)
{
        static const char *const sockets[] = { "/run/docker.sock", "/run/podman/podman.sock",
                                               "/run/containerd/containerd.sock" };
        bool has_unix = network_has_unix_sockets(lint->policy->network);

        for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++) {
                bool is_listed = false, is_allowed;

                for (size_t j = 0; j < lint->policy->unix_sockets.count; j++)
                        is_listed |=
                                strstr(lint->policy->unix_sockets.items[j], strrchr(sockets[i], '/')) != NULL;
                policy_decide(lint->policy, ABATIS_READ, sockets[i], &is_allowed);
                if (is_listed || (has_unix && is_allowed && lint->policy->reaches_control_sockets))
                        find(lint,
                             "hole: '%s' can be connected to: it runs any container, as root, for whoever asks",
                             sockets[i]);
        }
}

static void judge_home(struct lint *lint)
{
        bool has_network = lint->policy->network == NETWORK_ALLOW || lint->policy->network == NETWORK_LIST;
        bool is_allowed;

        if (!lint->policy->homes[0] || !has_network)
                return;
        policy_decide(lint->policy, ABATIS_READ, lint->policy->homes[0], &is_allowed);
        if (is_allowed)
                find(lint,
                     "hole: '%s' may be read and the network is open: whatever lies there can be sent away",
                     lint->policy->homes[0]);
}

static void judge_network(struct lint *lint)
{
        const abatis_policy *policy = lint->policy;

        if (policy->connect.count && policy->network != NETWORK_LIST)
                find(lint, "network.connect does nothing: the mode is %s, not list",
                     network_mode_name(policy->network));
        if (policy->unix_sockets.count && network_has_unix_sockets(policy->network))
                find(lint, "network.unix does nothing: the mode is %s, not deny or list",
                     network_mode_name(policy->network));
        if (policy->network == NETWORK_LIST && !policy->connect.count && !policy->bind.count &&
            !policy->unix_sockets.count)
                find(lint, "network.mode list does nothing that deny does not: nothing is listed");
        if (policy->passes_any_name && policy->network == NETWORK_LIST)
                find(lint,
                     "hole: network.verify_sni is false: a server that hosts many names can be asked for another one");
        else if (policy->passes_any_name)
                find(lint, "network.verify_sni does nothing: the mode is %s, not list",
                     network_mode_name(policy->network));
        if (policy->backend == BACKEND_NONE)
                find(lint, "backend none enforces nothing of this policy");
        if (policy->has_no_loopback && policy->network != NETWORK_DENY)
                find(lint, "network.loopback does nothing: the mode is %s, not deny",
                     network_mode_name(policy->network));
}

int abatis_policy_lint(abatis_policy *policy, char **out, int *count, abatis_error *err)
{
        struct lint lint = { .policy = policy };
        int r = policy_finish(policy, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < policy->rule_count; i++)
                if (is_judged(&policy->rules[i]))
                        judge_rule(&lint, &policy->rules[i]);
        judge_network(&lint);
        judge_path_directories(&lint);
        judge_startup_files(&lint);
        judge_sockets(&lint);
        judge_home(&lint);
        r = judge_own_files(&lint, err);
        if (r < 0) {
                text_done(&lint.text);
                return r;
        }
        r = text_take(&lint.text, out, err);
        if (!r)
                *count = lint.count;
        return r;
}
