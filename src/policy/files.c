/* files.c: finds and reads the policy files of the machine, the user, the project and the caller. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/compose.h"

static const char system_path[] = "/etc/abatis/policy.yaml";
static const char project_name[] = ".abatis.yaml";

static int xdg_path(const char *variable, const char *below_home, const char *name, char **out,
                    abatis_error *err)
{
        const char *base = getenv(variable), *home = getenv("HOME");
        /* As the specification says: a relative one counts as not set. */
        bool is_set = base && *base == '/';
        OWN_FREE char *directory = NULL;

        *out = NULL;
        if (!is_set && (!home || *home != '/'))
                return 0;
        directory = is_set ? strdup(base) : text_join(home, below_home, "");
        *out = directory ? text_join(directory, "/abatis/", name) : NULL;
        return *out ? 0 : error_memory(err);
}

int config_path(const char *name, char **out, abatis_error *err)
{
        return xdg_path("XDG_CONFIG_HOME", "/.config", name, out, err);
}

int state_path(const char *name, char **out, abatis_error *err)
{
        return xdg_path("XDG_STATE_HOME", "/.local/state", name, out, err);
}

int data_path(const char *name, char **out, abatis_error *err)
{
        return xdg_path("XDG_DATA_HOME", "/.local/share", name, out, err);
}

int cache_path(const char *name, char **out, abatis_error *err)
{
        return xdg_path("XDG_CACHE_HOME", "/.cache", name, out, err);
}

static const char log_in_home[] = "/.local/state/abatis/audit.jsonl";

/* Whose log can be written has one. Root could write everybody's. */
static bool has_own_log(const char *home)
{
        OWN_FREE char *lock = text_join(home, log_in_home, ".lock");

        return geteuid() && lock && !access(lock, W_OK);
}

/* That of whoever called sudo or started a service is not, nor is "/nonexistent", nor what everybody may write, nor what a
 * sandbox around this one has made read-only. */
static bool is_own_home(const char *home)
{
        struct stat status;

        if (!home || *home != '/' || !home[1])
                return false;
        if (has_own_log(home))
                return true;
        return !stat(home, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
               (!(status.st_mode & S_IWOTH) || status.st_mode & S_ISVTX) &&
               !faccessat(AT_FDCWD, home, W_OK, AT_EACCESS);
}

int usual_log_path(char **out, abatis_error *err)
{
        const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        OWN_FREE char *account = NULL;
        char user[32];
        int r = 0;

        if (base && *base == '/') {
                *out = text_join(base, "/abatis/audit.jsonl", "");
                return *out ? 0 : error_memory(err);
        }
        if (!is_own_home(home)) {
                r = account_home(&account, err);
                home = is_own_home(account) ? account : NULL;
        }
        if (r < 0)
                return r;
        if (home)
                *out = text_join(home, log_in_home, "");
        else {
                snprintf(user, sizeof(user), "%u", geteuid());
                *out = text_join(access("/var/tmp", W_OK) ? "/tmp/abatis-" : "/var/tmp/abatis-", user,
                                 "/audit.jsonl");
        }
        return *out ? 0 : error_memory(err);
}

int make_directories(char *path, bool with_last, abatis_error *err)
{
        for (char *end = strchr(path + 1, '/'); end || with_last; end = end ? strchr(end + 1, '/') : NULL) {
                int r = 0;

                if (end)
                        *end = '\0';
                if (reach_make_directory(path, 0700) < 0 && errno != EEXIST)
                        r = error_os(err, errno, "cannot make '%s'", path);
                if (r < 0 || !end)
                        return r;
                *end = '/';
        }
        return 0;
}

static int check_file(int fd, const char *path, enum file_care care, abatis_error *err)
{
        struct stat status;

        if (fstat(fd, &status) < 0)
                return error_os(err, errno, "policy '%s'", path);
        if (!S_ISREG(status.st_mode))
                return error_set(err, ABATIS_E_INVALID, "policy '%s' is not a regular file", path);
        if (care == FILE_OURS && status.st_uid && status.st_uid != geteuid())
                return error_set(err, ABATIS_E_INVALID,
                                 "policy '%s' belongs to another user; it must be yours or root's", path);
        if (care == FILE_OURS && status.st_mode & S_IWOTH)
                return error_set(err, ABATIS_E_INVALID,
                                 "policy '%s' can be written by everybody; run chmod o-w", path);
        if (status.st_size > DOCUMENT_SIZE_MAX)
                return error_set(err, ABATIS_E_INVALID, "policy '%s' is larger than 1 MiB", path);
        return 0;
}

static int read_all(int fd, const char *path, char **out, size_t *length, abatis_error *err)
{
        /* One more than allowed: a file that grows meanwhile is found too large, not cut. */
        OWN_FREE char *text = malloc(DOCUMENT_SIZE_MAX + 2);
        size_t have = 0;
        ssize_t got;

        if (!text)
                return error_memory(err);
        while ((got = read(fd, text + have, DOCUMENT_SIZE_MAX + 1 - have)) > 0)
                have += (size_t)got;
        if (got < 0)
                return error_os(err, errno, "policy '%s'", path);
        text[have] = '\0';
        *length = have;
        *out = take_pointer(text);
        return 0;
}

/* What somebody has put there to be read must not be taken for nothing because a link on the way leads nowhere now. */
static int check_absent(const char *path, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        int r = *path == '/' ? path_resolve(path, NULL, &facts, err) : 0;
        struct stat status;

        for (size_t i = 0; i < facts.links.count && !r; i++)
                if (reach_stat(facts.links.items[i], &status) < 0)
                        r = error_set(err, ABATIS_E_INVALID,
                                      "policy '%s': the symbolic link '%s' leads nowhere", path,
                                      facts.links.items[i]);
        return r;
}

int file_read(const char *path, enum file_care care, char **out, size_t *length, abatis_error *err)
{
        int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (care == FILE_NO_LINK ? O_NOFOLLOW : 0);
        OWN_FD int fd = reach_open_without_links(path, (unsigned)flags);
        bool has_no_link = fd >= 0 || (errno != ELOOP && errno != ENOSYS);
        int r;

        if (!has_no_link)
                fd = reach_open(path, flags);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
                r = has_no_link ? 0 : check_absent(path, err);
                if (!r)
                        *out = NULL;
                return r;
        }
        if (fd < 0 && errno == ELOOP)
                return error_set(err, ABATIS_E_INVALID, "policy '%s' is a symbolic link", path);
        if (fd < 0)
                return error_os(err, errno, "policy '%s'", path);
        r = check_file(fd, path, care, err);
        return r ? r : read_all(fd, path, out, length, err);
}

static int read_layer(const char *path, enum file_care care, struct layer **out, abatis_error *err)
{
        OWN_FREE char *text = NULL;
        size_t length = 0;
        int r = file_read(path, care, &text, &length, err);

        if (r < 0 || !text)
                return r;
        return layer_read(document_format_of(path), path, text, length, out, err);
}

/* ---- the project's -------------------------------------------------------------------------------------- */

static int has_entry(const char *directory, const char *name, bool *out, abatis_error *err)
{
        OWN_FREE char *path = path_join(directory, name);
        struct stat status;

        if (!path)
                return error_memory(err);
        *out = !reach_lstat(path, &status);
        if (!*out && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
                return error_os(err, errno, "'%s'", path);
        return 0;
}

/* The nearest one in `directory` or above it, but not above `root`, below which it lies. */
static int find_nearest(const char *directory, const char *root, char **out, abatis_error *err)
{
        OWN_FREE char *at = strdup(directory);
        bool is_there = false;

        if (!at)
                return error_memory(err);
        for (;;) {
                int r = has_entry(at, project_name, &is_there, err);

                if (r < 0)
                        return r;
                if (is_there)
                        *out = path_join(at, project_name);
                if (is_there && !*out)
                        return error_memory(err);
                if (is_there || !strcmp(at, root))
                        return 0;
                *strrchr(at, '/') = '\0';
        }
}

/* Outside of a repository only the workspace's own counts. */
int files_find_project(const char *workspace, char **out, abatis_error *err)
{
        OWN_FREE char *root = strdup(workspace);
        bool is_repository = false;

        *out = NULL;
        if (!root)
                return error_memory(err);
        for (;;) {
                char *slash = strrchr(root, '/');
                int r = has_entry(root, ".git", &is_repository, err);

                if (r < 0)
                        return r;
                if (is_repository)
                        return find_nearest(workspace, root, out, err);
                if (!slash || slash == root)
                        return find_nearest(workspace, workspace, out, err);
                *slash = '\0';
        }
}

static int read_project(const char *workspace, struct files *files, abatis_error *err)
{
        OWN_FREE char *text = NULL;
        size_t length = 0;
        int r = files_find_project(workspace, &files->project_path, err);

        if (r < 0 || !files->project_path)
                return r;
        r = file_read(files->project_path, FILE_NO_LINK, &text, &length, err);
        if (r < 0 || !text)
                return r;
        r = layer_read(DOCUMENT_YAML, files->project_path, text, length, &files->project, err);
        if (!r)
                r = trust_check(files->project_path, text, length, &files->is_project_trusted, err);
        return r;
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

int files_find(const abatis_policy_options *options, const char *workspace, struct files *out,
               abatis_error *err)
{
        int r = 0;

        if (options->layers & ABATIS_LAYER_SYSTEM)
                r = read_layer(system_path, FILE_OURS, &out->system, err);
        if (!r && options->layers & ABATIS_LAYER_USER) {
                OWN_FREE char *path = NULL;

                r = config_path("policy.yaml", &path, err);
                if (!r && path)
                        r = read_layer(path, FILE_OURS, &out->user, err);
        }
        if (!r && options->layers & ABATIS_LAYER_PROJECT)
                r = read_project(workspace, out, err);
        if (!r && options->text && !options->file)
                r = error_set(err, ABATIS_E_INVALID, "abatis_policy_options.text needs a name in file");
        else if (!r && options->text)
                r = layer_read(document_format_of(options->file), options->file, options->text,
                               strlen(options->text), &out->given, err);
        else if (!r && options->file)
                r = read_layer(options->file, FILE_ANY, &out->given, err);
        if (!r && options->file && !out->given)
                r = error_set(err, ABATIS_E_INVALID, "policy '%s' does not exist", options->file);
        return r;
}

void files_done(struct files *files)
{
        layer_free(files->system);
        layer_free(files->user);
        layer_free(files->project);
        layer_free(files->given);
        free(files->project_path);
}
