/* git.c: the rules that keep a repository's hooks and configuration, or all of it, from the command. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/policy.h"

/* The first line of a small file, without its newline; NULL when it is absent, empty or too long. */
static char *read_line(const char *path)
{
        char line[4097];
        OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

        if (length <= 0 || length == sizeof(line) - 1)
                return NULL;
        line[length] = '\0';
        line[strcspn(line, "\n")] = '\0';
        return *line ? strdup(line) : NULL;
}

/* The directory that a worktree's or submodule's .git file names, resolved; NULL when it is no such file. */
static char *read_pointer(const char *git_file)
{
        OWN_FREE char *line = read_line(git_file), *joined = NULL, *directory = NULL;
        const char *target;

        if (!line || strncmp(line, "gitdir: ", 8))
                return NULL;
        target = line + 8;
        if (*target == '/')
                return realpath(target, NULL);
        directory = strdup(git_file);
        if (!directory)
                return NULL;
        *strrchr(directory, '/') = '\0';
        joined = text_join(directory, "/", target);
        return joined ? realpath(joined, NULL) : NULL;
}

/* DIR/worktrees/NAME -> DIR; NULL for anything else. */
static char *common_directory(const char *git_directory)
{
        OWN_FREE char *common = strdup(git_directory);
        char *slash = common ? strrchr(common, '/') : NULL;

        if (!slash)
                return NULL;
        *slash = '\0';
        slash = strrchr(common, '/');
        if (!slash || slash == common || strcmp(slash, "/worktrees"))
                return NULL;
        *slash = '\0';
        return take_pointer(common);
}

/* A .git file lies in the workspace, so an earlier command may have forged it to gain write access to the directory
 * it names. The directory's own pointer back cannot be forged from the workspace. */
static bool points_back(const char *git_directory, const char *git_file)
{
        OWN_FREE char *back_path = path_join(git_directory, "gitdir"), *line = NULL, *real = NULL;

        line = back_path ? read_line(back_path) : NULL;
        real = line && *line == '/' ? realpath(line, NULL) : NULL;
        return real && !strcmp(real, git_file);
}

static int protect_below(abatis_policy *policy, const char *directory, const char *name, bool is_optional,
                         const char *origin, abatis_error *err)
{
        OWN_FREE char *path = path_join(directory, name);
        struct stat status;

        if (!path)
                return error_memory(err);
        if (is_optional && lstat(path, &status) < 0)
                return 0;
        return policy_add_rule(policy, RULE_PROTECT, path, origin, err);
}

/* The value of core.hooksPath in the text of a configuration, or NULL; it points into the text, which is changed. */
static char *find_hooks_path(char *text)
{
        bool is_core = false;
        char *line, *found = NULL;

        while ((line = strsep(&text, "\n"))) {
                line += strspn(line, " \t");
                if (*line == '[') {
                        is_core = !strncasecmp(line, "[core]", 6);
                        continue;
                }
                if (!is_core || strncasecmp(line, "hookspath", 9))
                        continue;
                line += 9 + strspn(line + 9, " \t");
                if (*line != '=')
                        continue;
                line += 1 + strspn(line + 1, " \t\"");
                line[strcspn(line, "\"\r")] = '\0';
                found = line;
        }
        return found && *found ? found : NULL;
}

/* Hooks may be kept in the workspace itself (husky and the like); git outside runs them all the same. */
static int protect_hooks_path(abatis_policy *policy, const char *directory, const char *origin,
                              abatis_error *err)
{
        OWN_FREE char *config = path_join(directory, "config"), *joined = NULL;
        char text[16 * 1024], *value;
        OWN_FD int fd = config ? open(config, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (length <= 0)
                return 0;
        text[length] = '\0';
        value = find_hooks_path(text);
        if (!value || *value == '~')
                return 0;
        joined = *value == '/' ? strdup(value) : text_join(policy->workspace, "/", value);
        if (!joined)
                return error_memory(err);
        if (strstr(joined, "/../") || !path_is_below(joined, policy->workspace))
                return 0;
        return policy_add_rule(policy, RULE_PROTECT, joined, origin, err);
}

/* What makes git run other programs. hooks and config are required even when absent: they could be created. */
static int protect_repository(abatis_policy *policy, const char *directory, const char *origin,
                              abatis_error *err)
{
        int r = protect_below(policy, directory, "hooks", false, origin, err);

        if (!r)
                r = protect_below(policy, directory, "config", false, origin, err);
        if (!r)
                r = protect_below(policy, directory, "config.worktree", true, origin, err);
        if (!r)
                r = protect_below(policy, directory, "commondir", true, origin, err);
        if (!r)
                r = protect_hooks_path(policy, directory, origin, err);
        return r ? r : protect_below(policy, directory, "modules", true, origin, err);
}

/* Commits from a worktree are written to the main repository, which lies outside the workspace. */
static int open_worktree(abatis_policy *policy, const char *git_file, const char *origin, abatis_error *err)
{
        OWN_FREE char *git_directory = read_pointer(git_file);
        OWN_FREE char *common = git_directory ? common_directory(git_directory) : NULL;
        int r;

        /* Whoever can write the workspace can make a directory in it that points back. */
        if (!common || path_is_below(git_directory, policy->workspace) ||
            !points_back(git_directory, git_file))
                return 0;
        r = policy_add_rule(policy, RULE_PROTECT, git_file, origin, err);
        if (!r)
                r = policy_add_rule(policy, RULE_WRITE, common, origin, err);
        if (!r)
                r = protect_below(policy, git_directory, "config.worktree", true, origin, err);
        if (!r)
                r = protect_below(policy, git_directory, "commondir", true, origin, err);
        if (!r)
                r = protect_below(policy, git_directory, "gitdir", true, origin, err);
        return r ? r : protect_repository(policy, common, origin, err);
}

static int protect_workspace_repository(abatis_policy *policy, const char *origin, abatis_error *err)
{
        OWN_FREE char *git = path_join(policy->workspace, ".git");
        struct stat status;

        if (!git)
                return error_memory(err);
        if (lstat(git, &status) < 0)
                return 0;
        if (S_ISREG(status.st_mode))
                return open_worktree(policy, git, origin, err);
        return protect_repository(policy, git, origin, err);
}

static int deny_nearest_repository(abatis_policy *policy, const char *origin, abatis_error *err)
{
        OWN_FREE char *directory = strdup(policy->workspace);

        while (directory) {
                OWN_FREE char *git = path_join(*directory ? directory : "/", ".git"), *target = NULL,
                              *common = NULL;
                struct stat status;
                char *slash;
                int r;

                if (!git)
                        break;
                if (!lstat(git, &status)) {
                        r = policy_add_rule(policy, RULE_DENY, git, origin, err);
                        target = S_ISREG(status.st_mode) ? read_pointer(git) : NULL;
                        if (!r && target)
                                r = policy_add_rule(policy, RULE_DENY, target, origin, err);
                        common = target ? common_directory(target) : NULL;
                        /* A worktree may lie inside its bare repository. */
                        return !r && common && !path_is_below(policy->workspace, common)
                                       ? policy_add_rule(policy, RULE_DENY, common, origin, err)
                                       : r;
                }
                slash = strrchr(directory, '/');
                if (!slash || !*directory)
                        return 0;
                *slash = '\0';
        }
        return error_memory(err);
}

int git_add_rules(abatis_policy *policy, enum git_treatment treatment, const char *origin, abatis_error *err)
{
        switch (treatment) {
        case GIT_IGNORED:
                return 0;
        case GIT_PROTECTED:
                return protect_workspace_repository(policy, origin, err);
        case GIT_DENIED:
                return deny_nearest_repository(policy, origin, err);
        }
        return 0;
}
