/* git.c: the rules that keep a repository's hooks and configuration, or all of it, from the command. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/policy.h"

/* A small file that holds a path, which may have newlines in it, without those at its end: as git reads it. *out stays
 * NULL when it is absent, empty or longer than a path that git can open. */
static int read_line(const char *path, char **out, abatis_error *err)
{
        char line[PATH_MAX + 16];
        OWN_FD int fd = reach_open(path, O_RDONLY | O_NONBLOCK);
        ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

        if (length <= 0 || length == sizeof(line) - 1)
                return 0;
        while (length && strchr("\r\n", line[length - 1]))
                length--;
        line[length] = '\0';
        if (!*line)
                return 0;
        *out = strdup(line);
        return *out ? 0 : error_memory(err);
}

/* Resolves a path that need not exist: *out then stays NULL. */
static int resolve(const char *path, char **out, abatis_error *err)
{
        *out = path_real(path);
        return !*out && errno == ENOMEM ? error_memory(err) : 0;
}

/* The directory that a worktree's or submodule's .git file names, resolved; *out stays NULL when it is no such file. */
static int read_pointer(const char *git_file, char **out, abatis_error *err)
{
        OWN_FREE char *line = NULL, *joined = NULL, *directory = NULL;
        const char *target;
        int r = read_line(git_file, &line, err);

        if (r < 0 || !line || strncmp(line, "gitdir: ", 8))
                return r;
        target = line + 8;
        if (*target == '/')
                return resolve(target, out, err);
        directory = strdup(git_file);
        if (!directory)
                return error_memory(err);
        *strrchr(directory, '/') = '\0';
        joined = text_join(directory, "/", target);
        return joined ? resolve(joined, out, err) : error_memory(err);
}

/* DIR/worktrees/NAME -> DIR; *out stays NULL for anything else. */
static int find_common_directory(const char *git_directory, char **out, abatis_error *err)
{
        OWN_FREE char *common = strdup(git_directory);
        char *slash = common ? strrchr(common, '/') : NULL;

        if (!common)
                return error_memory(err);
        if (!slash)
                return 0;
        *slash = '\0';
        slash = strrchr(common, '/');
        if (!slash || slash == common || strcmp(slash, "/worktrees"))
                return 0;
        *slash = '\0';
        *out = take_pointer(common);
        return 0;
}

/* A .git file lies in the workspace, so an earlier command may have forged it to gain write access to the directory
 * it names. The directory's own pointer back cannot be forged from the workspace. */
static int check_pointer_back(const char *git_directory, const char *git_file, bool *points_back,
                              abatis_error *err)
{
        OWN_FREE char *back_path = path_join(git_directory, "gitdir"), *line = NULL, *real = NULL;
        int r = back_path ? read_line(back_path, &line, err) : error_memory(err);

        if (!r && line && *line == '/')
                r = resolve(line, &real, err);
        *points_back = !r && real && !strcmp(real, git_file);
        return r;
}

/* What is there is protected. What is not could be made by the command: for an agent that is asked about, with every write; else it is
 * looked for after the command, if git takes its configuration from there. */
enum absence {
        ABSENT_IS_HELD,
        ABSENT_IS_LEFT,
        ABSENT_IS_LEFTOVER,
        NEW_IS_LEFTOVER, /* Also one that is there and becomes another: git itself makes none. What was there may be another command's,
                            and be moved aside while this one runs. */
};

static int note_leftover(abatis_policy *policy, const char *path, abatis_error *err)
{
        return strings_has(&policy->leftovers, path) ? 0 : strings_add(&policy->leftovers, path, err);
}

static int protect_below(abatis_policy *policy, const char *directory, const char *name, enum absence absence,
                         const char *origin, abatis_error *err)
{
        OWN_FREE char *path = path_join(directory, name);
        struct stat status;
        bool is_there;
        int r = 0;

        if (!path)
                return error_memory(err);
        if (absence == ABSENT_IS_HELD || policy->protects_starters)
                return policy_add_rule(policy, RULE_PROTECT, path, origin, err);
        is_there = !reach_lstat(path, &status);
        if (absence == NEW_IS_LEFTOVER || (absence == ABSENT_IS_LEFTOVER && !is_there))
                r = note_leftover(policy, path, err);
        return !r && is_there ? policy_add_rule(policy, RULE_PROTECT, path, origin, err) : r;
}

/* Git runs what the configuration of the repository says that a worktree's own directory leads to. */
static int protect_worktree(abatis_policy *policy, const char *git_directory, const char *origin,
                            abatis_error *err)
{
        static const char *const names[] = { "config.worktree", "commondir", "gitdir" };
        int r = 0;

        for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !r; i++)
                r = protect_below(policy, git_directory, names[i], ABSENT_IS_LEFTOVER, origin, err);
        return r;
}

/* Of all that the repository has, whoever works in them. */
static int protect_worktrees(abatis_policy *policy, const char *directory, const char *origin,
                             abatis_error *err)
{
        OWN_FREE char *path = path_join(directory, "worktrees");
        DIR *listing = path ? opendir(path) : NULL;
        struct dirent *entry;
        int r = path ? 0 : error_memory(err);

        while (!r && listing && (entry = readdir(listing))) {
                OWN_FREE char *git_directory = path_join(path, entry->d_name);

                if (!git_directory)
                        r = error_memory(err);
                else if (*entry->d_name != '.')
                        r = protect_worktree(policy, git_directory, origin, err);
        }
        if (listing)
                closedir(listing);
        return r;
}

/* What stands in quotes, up to their end, with git's escapes undone in place. */
static char *unquote(char *text)
{
        static const char escapes[][2] = { { 'n', '\n' }, { 't', '\t' }, { 'b', '\b' } };
        char *from = text, *to = text;

        for (; *from && *from != '"' && *from != '\r'; from++) {
                if (*from == '\\' && from[1]) {
                        from++;
                        for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
                                if (*from == escapes[i][0])
                                        *from = escapes[i][1];
                }
                *to++ = *from;
        }
        *to = '\0';
        return text;
}

/* The value in "KEY = VALUE ; comment", unquoted, or NULL when the line is another key's. The line is changed. */
static char *value_of(char *line, const char *key)
{
        size_t length = strlen(key);
        char *value, *end;

        line += strspn(line, " \t");
        if (strncasecmp(line, key, length))
                return NULL;
        value = line + length + strspn(line + length, " \t");
        if (*value != '=')
                return NULL;
        value += 1 + strspn(value + 1, " \t");
        if (*value == '"')
                return unquote(value + 1);
        end = value + strcspn(value, ";#\r");
        while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        *end = '\0';
        return value;
}

/* The last value of core.hooksPath in the text of a configuration, or NULL; it points into the text. */
static char *find_hooks_path(char *text)
{
        bool is_core = false;
        char *line, *found = NULL;

        while ((line = strsep(&text, "\n"))) {
                char *value;

                line += strspn(line, " \t");
                if (*line == '[') {
                        is_core = !strncasecmp(line, "[core]", 6);
                        line += strcspn(line, "]");
                        line += *line == ']';
                }
                value = is_core ? value_of(line, "hookspath") : NULL;
                if (value)
                        found = value;
        }
        return found && *found ? found : NULL;
}

/* Hooks may be kept in the workspace itself (husky and the like); git outside runs them all the same. */
static int protect_hooks_path(abatis_policy *policy, const char *directory, const char *origin,
                              abatis_error *err)
{
        OWN_FREE char *config = path_join(directory, "config"), *joined = NULL, *real = NULL;
        char text[16 * 1024], *value;
        OWN_FD int fd = config ? reach_open(config, O_RDONLY | O_NONBLOCK) : -1;
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        int r;

        if (!config)
                return error_memory(err);
        if (length <= 0)
                return 0;
        text[length] = '\0';
        value = find_hooks_path(text);
        if (!value || *value == '~')
                return 0;
        joined = *value == '/' ? strdup(value) : text_join(policy->workspace, "/", value);
        if (!joined)
                return error_memory(err);
        r = resolve(joined, &real, err);
        if (r < 0)
                return r;
        /* One that does not exist yet could be made by the command: then the plan refuses it by name. */
        if (real && path_is_below(real, policy->workspace))
                return policy_add_rule(policy, RULE_PROTECT, real, origin, err);
        if (!real && !strstr(joined, "..") && path_is_below(joined, policy->workspace))
                return policy_add_rule(policy, RULE_PROTECT, joined, origin, err);
        return 0;
}

static bool has_entry(const char *directory, const char *name, bool *exists)
{
        OWN_FREE char *path = path_join(directory, name);
        struct stat status;

        *exists = path && !reach_lstat(path, &status);
        return path;
}

/* What makes git run other programs. Where hooks or config do not exist they could be created, so the repository is
 * read-only as a whole: builds and tests work, commits do not until somebody makes them. */
static int protect_repository(abatis_policy *policy, const char *directory, const char *origin,
                              abatis_error *err)
{
        static const struct {
                const char *name;
                enum absence absence;
        } parts[] = {
                { "hooks", ABSENT_IS_HELD },
                { "config", ABSENT_IS_HELD },
                { "config.worktree", ABSENT_IS_LEFTOVER },
                { "commondir", NEW_IS_LEFTOVER },
                { "modules", ABSENT_IS_LEFT },
        };
        bool has_hooks, has_config;
        int r = 0;

        if (!has_entry(directory, "hooks", &has_hooks) || !has_entry(directory, "config", &has_config))
                return error_memory(err);
        if (!has_hooks || !has_config)
                return policy_add_rule(policy, RULE_PROTECT, directory, origin, err);
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !r; i++)
                r = protect_below(policy, directory, parts[i].name, parts[i].absence, origin, err);
        if (!r)
                r = protect_worktrees(policy, directory, origin, err);
        return r ? r : protect_hooks_path(policy, directory, origin, err);
}

/* Commits from a worktree are written to the main repository, which lies outside the workspace. */
static int open_worktree(abatis_policy *policy, const char *git_file, const char *origin, abatis_error *err)
{
        OWN_FREE char *git_directory = NULL, *common = NULL;
        bool points_back = false;
        int r = policy_add_rule(policy, RULE_PROTECT, git_file, origin, err);

        if (!r)
                r = read_pointer(git_file, &git_directory, err);
        if (!r && git_directory)
                r = find_common_directory(git_directory, &common, err);
        if (!r && common)
                r = check_pointer_back(git_directory, git_file, &points_back, err);
        /* Whoever can write the workspace can make a directory in it that points back. */
        if (r < 0 || !points_back || !git_directory || path_is_below(git_directory, policy->workspace))
                return r;
        r = policy_add_rule(policy, RULE_WRITE, common, origin, err);
        return r ? r : protect_repository(policy, common, origin, err);
}

static int protect_workspace_repository(abatis_policy *policy, const char *origin, abatis_error *err)
{
        OWN_FREE char *git = path_join(policy->workspace, ".git");
        struct stat status;

        if (!git)
                return error_memory(err);
        if (reach_lstat(git, &status) < 0)
                return 0;
        if (S_ISREG(status.st_mode))
                return open_worktree(policy, git, origin, err);
        return protect_repository(policy, git, origin, err);
}

static int deny_repository(abatis_policy *policy, const char *git, bool is_pointer, const char *origin,
                           abatis_error *err)
{
        OWN_FREE char *target = NULL, *common = NULL;
        int r = policy_add_rule(policy, RULE_DENY, git, origin, err);

        if (!r && is_pointer)
                r = read_pointer(git, &target, err);
        if (!r && target)
                r = policy_add_rule(policy, RULE_DENY, target, origin, err);
        if (!r && target)
                r = find_common_directory(target, &common, err);
        /* A worktree may lie inside its bare repository. */
        if (r < 0 || !common || path_is_below(policy->workspace, common))
                return r;
        return policy_add_rule(policy, RULE_DENY, common, origin, err);
}

static int deny_nearest_repository(abatis_policy *policy, const char *origin, abatis_error *err)
{
        OWN_FREE char *directory = strdup(policy->workspace);

        while (directory) {
                OWN_FREE char *git = path_join(*directory ? directory : "/", ".git");
                struct stat status;
                char *slash;

                if (!git)
                        break;
                if (!reach_lstat(git, &status))
                        return deny_repository(policy, git, S_ISREG(status.st_mode), origin, err);
                slash = strrchr(directory, '/');
                if (!slash || !*directory)
                        return 0;
                *slash = '\0';
        }
        return error_memory(err);
}

bool git_leftover_is_possible(const abatis_policy *policy, const char *path)
{
        OWN_FREE char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));

        return !directory || policy_may_write(policy, directory);
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
