/* arguments.c: refuses a command line that names a denied path before anything of it runs.
 *
 * This is a courtesy, not the wall: the path is denied anyway. But a refusal up front names the argument and the rule,
 * where the command could only say "Permission denied". */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

bool arguments_are_checked(const abatis_policy *policy)
{
        switch (policy->argument_check) {
        case CHECK_WITH_LIST:
                return policy->commands.count > 0;
        case CHECK_NEVER:
                return false;
        case CHECK_ALWAYS:
                return true;
        }
        return true;
}

/* The absolute path that a text could mean, owned by the caller, or NULL when it means none or memory is short, which
 * *is_short says. */
static char *make_absolute(const abatis_policy *policy, const char *text, const char *cwd, bool *is_short)
{
        const char *home = policy->homes[0];
        char *path;

        if (*text == '~' && (!text[1] || text[1] == '/') && home)
                path = text_join(home, text + 1, "");
        else
                path = *text == '/' ? strdup(text) : text_join(cwd, "/", text);
        *is_short = !path;
        /* A word is a path when something has that name. */
        if (path && *text != '/' && *text != '~' && !strchr(text, '/') && reach_access(path, F_OK) < 0) {
                free(path);
                return NULL;
        }
        return path;
}

/* The rule that denies what the text leads to; NULL when there is none. *real is owned by the caller. */
static int find_denial(const abatis_policy *policy, const char *text, const char *cwd, char **real,
                       const struct rule **out, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        OWN_FREE char *path = NULL, *written = strdup(text);
        bool is_allowed, is_short = false;
        const struct rule *rule;
        int r;

        *out = NULL;
        /* No rule speaks of a longer one. */
        if (!*text || strlen(text) > PATH_LONGEST)
                return 0;
        if (!written)
                return error_memory(err);
        system_read_path(written);
        path = make_absolute(policy, written, cwd, &is_short);
        if (!path)
                return is_short ? error_memory(err) : 0;
        r = path_resolve(path, NULL, &facts, NULL);
        if (r == ABATIS_E_MEMORY)
                return error_memory(err);
        /* What cannot be looked at is taken as it is written. */
        if (r < 0 && path_clean(path, &facts.real, NULL) < 0)
                return 0;
        rule = policy_decide(policy, ABATIS_READ, facts.real, &is_allowed);
        if (!rule || rule->kind != RULE_DENY)
                return 0;
        *real = take_pointer(facts.real);
        *out = rule;
        return 0;
}

/* Where in an argument a path may begin, besides at its start: after the "=" of --file=PATH, and in -fPATH. */
static const char *find_value(const char *argument)
{
        const char *equals = strchr(argument, '=');

        if (equals)
                return equals + 1;
        if (*argument != '-')
                return "";
        argument += strcspn(argument, "/~");
        return argument;
}

int arguments_check(const abatis_policy *policy, const char *const *argv, const char *cwd, abatis_error *err)
{
        if (!arguments_are_checked(policy))
                return 0;
        for (size_t i = 1; argv[0] && argv[i]; i++) {
                const char *const texts[] = { argv[i], find_value(argv[i]) };

                for (size_t j = 0; j < 2; j++) {
                        OWN_FREE char *real = NULL;
                        const struct rule *rule;
                        int r = find_denial(policy, texts[j], cwd, &real, &rule, err);

                        if (r < 0)
                                return r;
                        if (rule)
                                return error_set(err, ABATIS_E_INVALID,
                                                 "argument %zu, '%s', leads to '%s', which %s '%s' denies", i,
                                                 argv[i], real, rule->origin, rule->path);
                }
        }
        return 0;
}
