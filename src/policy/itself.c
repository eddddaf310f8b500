/* itself.c: keeps a command from changing what the next run depends on, and what is remembered of this one: this program,
 * the policy files, the profiles and keys of the user, the record of trusted projects, the installed skills, what engines have compiled of them, the audit log. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/compose.h"

bool policy_may_write(const abatis_policy *policy, const char *real)
{
        bool is_allowed;
        const struct rule *rule = policy_decide_by_paths(policy, ABATIS_WRITE, real, &is_allowed);

        if (is_allowed || (rule && (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)))
                return is_allowed;
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_WRITE && path_is_below(policy->rules[i].facts.real, real))
                        return true;
        return false;
}

/* Nearly always: one system call. */
static bool is_closed(const abatis_policy *policy, const char *path)
{
        return path_is_clean(path) && !policy_may_write(policy, path) && path_has_no_link(path);
}

static int protect(abatis_policy *policy, const char *path, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        abatis_error below = { 0 };
        bool is_open;
        int r;

        if (is_closed(policy, path))
                return 0;
        r = path_resolve(path, NULL, &facts, &below);
        if (r == ABATIS_E_MEMORY || below.os_errno == ENOMEM)
                return error_memory(err);
        /* What its owner cannot look at the command cannot change. What does not exist cannot be protected. */
        if (r < 0 || facts.kind == PATH_ABSENT)
                return 0;
        is_open = policy_may_write(policy, facts.real);
        for (size_t i = 0; i < facts.links.count; i++)
                is_open |= policy_may_write(policy, facts.links.items[i]);
        r = is_open ? policy_add_rule(policy, RULE_PROTECT, facts.real, "itself", err) : 0;
        if (r < 0 || !is_open)
                return r;
        /* Whoever can replace a link has the path: the plan refuses that by the link's name. */
        policy->rules[policy->rule_count - 1].facts.links = facts.links;
        facts.links = (struct strings){ 0 };
        return 0;
}

/* One that the next run would read, and that is not there yet, could be made by the command: for an agent's shell that is asked about, with
 * every write. Elsewhere not, where a home that is writable has start-up files of shells, too. */
static int protect_place(abatis_policy *policy, const char *path, abatis_error *err)
{
        struct stat status;

        if (policy->protects_starters && policy_may_write(policy, path) && reach_lstat(path, &status) < 0)
                return policy_add_rule(policy, RULE_PROTECT, path, "itself", err);
        return protect(policy, path, err);
}

/* Something in the directory may be written, as the directories that profiles give to commands; or only they. */
static bool has_writable_places(const abatis_policy *policy, const char *directory)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_WRITE &&
                    path_is_below(policy->rules[i].facts.real, directory) &&
                    strcmp(policy->rules[i].facts.real, directory) != 0)
                        return true;
        return false;
}

static int refuse_log(const char *log, const char *why, abatis_error *err)
{
        return error_set(
                err, ABATIS_E_INVALID,
                "the audit log '%s' lies where the command may write, %s; audit.log names another file", log,
                why);
}

/* Not its files, which rotation moves: the whole directory. */
static int protect_exposed(abatis_policy *policy, const char *log, const char *directory, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        abatis_error below;
        bool is_allowed;
        int r = path_resolve(directory, NULL, &facts, &below);

        /* What does not exist yet is made before the command runs, and then this is asked again. */
        if (r < 0 || facts.kind == PATH_ABSENT)
                return r == ABATIS_E_MEMORY ? error_memory(err) : 0;
        policy_decide_by_paths(policy, ABATIS_WRITE, facts.real, &is_allowed);
        if (!is_allowed && !facts.links.count)
                return 0;
        if (path_is_below(policy->workspace, facts.real))
                return refuse_log(log, "beside its work", err);
        if (has_writable_places(policy, facts.real))
                return refuse_log(log, "beside what the policy gives to it", err);
        return protect(policy, directory, err);
}

/* Where its directory is closed to the command, nearly always, there is nothing to do; and `closed`, if there is such a
 * path, was just seen to be, with every directory on the way. */
static int protect_log(abatis_policy *policy, const char *closed, abatis_error *err)
{
        OWN_FREE char *directory = NULL;
        const char *log = policy->audit.log;
        int r = log || policy->audit.usual ? 0 : usual_log_path(&policy->audit.usual, err);

        if (r < 0)
                return r;
        log = log ? log : policy->audit.usual;
        directory = strndup(log, (size_t)(strrchr(log, '/') - log) + (strrchr(log, '/') == log));
        if (!directory)
                return error_memory(err);
        if (closed && path_is_below(closed, directory) ? !policy_may_write(policy, directory)
                                                       : is_closed(policy, directory))
                return 0;
        policy->audit.is_exposed = true;
        return protect_exposed(policy, log, directory, err);
}

/* Both names that we have, the one that we were called by, and who says what is signed: who replaces one of them is asked the next time. */
static int protect_program(abatis_policy *policy, const char *program, abatis_error *err)
{
        OWN_FREE char *directory = strndup(program, (size_t)(strrchr(program, '/') - program) + 1);
        OWN_FREE char *plain = directory ? text_join(directory, "abatis", "") : NULL,
                      *shell = directory ? text_join(directory, "abatis-sh", "") : NULL,
                      *verifier = directory ? text_join(directory, "abatis-verify", "") : NULL;
        const char *const paths[] = { program, plain, shell, verifier };
        int r = 0;

        if (!plain || !shell || !verifier)
                return error_memory(err);
        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && !r; i++)
                if (policy_may_write(policy, paths[i]) && (!i || strcmp(paths[i], program)))
                        r = protect(policy, paths[i], err);
        return r;
}

int itself_protect(abatis_policy *policy, abatis_error *err)
{
        OWN_FREE char *config = NULL, *trust = NULL, *skills = NULL, *compiled = NULL;
        bool is_state_closed;
        int r = 0;

        if (policy->program)
                r = protect_program(policy, policy->program, err);
        if (!r && policy->called && policy->program && strcmp(policy->called, policy->program))
                r = protect_program(policy, policy->called, err);
        for (size_t i = 0; i < policy->sources.count && !r; i++)
                r = protect(policy, policy->sources.items[i], err);
        if (!r)
                r = config_path("", &config, err);
        if (!r && config) {
                config[strlen(config) - 1] = '\0'; /* the slash */
                r = protect_place(policy, config, err);
        }
        /* Beside it lie directories that profiles give to commands. */
        if (!r)
                r = state_path("trust", &trust, err);
        is_state_closed = !r && trust && is_closed(policy, trust);
        if (!r && trust && !is_state_closed)
                r = protect_place(policy, trust, err);
        if (!r)
                r = data_path("skills", &skills, err);
        if (!r && skills)
                r = protect_place(policy, skills, err);
        if (!r)
                r = cache_path("skills", &compiled, err);
        if (!r && compiled)
                r = protect_place(policy, compiled, err);
        if (!r && !policy->audit.is_off)
                r = protect_log(policy, is_state_closed ? trust : NULL, err);
        return r;
}
