/* program.c: finds the program a command names, as a shell would. */
#define _GNU_SOURCE
#include "base/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"

static const char *find_path_variable(const char *const *envp)
{
        for (size_t i = 0; envp[i]; i++)
                if (!strncmp(envp[i], "PATH=", 5))
                        return envp[i] + 5;
        return "/usr/local/bin:/usr/bin:/bin";
}

static int examine(const char *path, abatis_error *err)
{
        struct stat status;

        if (stat(path, &status) < 0) {
                if (errno == EACCES)
                        return error_set(err, ABATIS_E_NOT_EXECUTABLE,
                                         "'%s' cannot be reached: permission denied", path);
                if (errno == ENAMETOOLONG)
                        return error_set(
                                err, ABATIS_E_NOT_FOUND,
                                "'%s' is longer than the path of any program that the kernel starts; "
                                "go to its directory first",
                                path);
                return error_set(err, ABATIS_E_NOT_FOUND, "'%s' does not exist", path);
        }
        if (S_ISDIR(status.st_mode))
                return error_set(err, ABATIS_E_NOT_EXECUTABLE, "'%s' is a directory", path);
        if (access(path, X_OK) < 0)
                return error_set(err, ABATIS_E_NOT_EXECUTABLE, "'%s' is not executable", path);
        return 0;
}

/* From where the command will be. */
static int locate(const char *path, const char *directory, char **out, abatis_error *err)
{
        while (directory && !strncmp(path, "./", 2))
                path += 2 + strspn(path + 2, "/");
        *out = directory && *path != '/' ? path_join(directory, path) : strdup(path);
        return *out ? 0 : error_memory(err);
}

/* What a part of PATH has of that name, or NULL in *out; what is there and no program is told in `refused`. */
static int try(const char *part, size_t length, const char *name, const struct program_search *search,
               char **out, abatis_error *refused, abatis_error *err)
{
        OWN_FREE char *relative = NULL, *candidate = NULL;
        int r;

        if (!length)
                return 0;
        if (asprintf(&relative, "%.*s/%s", (int)length, part, name) < 0) {
                relative = NULL;
                return error_memory(err);
        }
        r = locate(relative, search->directory, &candidate, err);
        if (r < 0)
                return r;
        r = examine(candidate, err);
        if (!r)
                *out = take_pointer(candidate);
        else if (r == ABATIS_E_NOT_EXECUTABLE)
                error_set(refused, r, "'%s' is not executable", candidate);
        return 0;
}

static int find_by_path(const char *name, const struct program_search *search, char **out, abatis_error *err)
{
        OWN_FREE char *found = NULL;
        int r = locate(name, search->directory, &found, err);

        if (!r)
                r = examine(found, err);
        if (!r)
                *out = take_pointer(found);
        return r;
}

int program_find(const char *name, const struct program_search *search, char **out, abatis_error *err)
{
        const char *part = find_path_variable(search->envp);
        OWN_FREE char *shadow = NULL;
        abatis_error refused = { 0 };
        size_t length;

        if (!*name)
                return error_set(err, ABATIS_E_NOT_FOUND, "the program's name is empty");
        if (strchr(name, '/'))
                return find_by_path(name, search, out, err);
        for (;; part += length + 1) {
                OWN_FREE char *found = NULL;
                int r;

                length = strcspn(part, ":");
                r = try(part, length, name, search, &found, &refused, err);
                if (r < 0)
                        return r;
                if (found && (!search->is_startable || search->is_startable(search->user, found))) {
                        *out = take_pointer(found);
                        return 0;
                }
                if (!shadow)
                        shadow = take_pointer(found);
                if (!part[length])
                        break;
        }
        if (shadow) {
                *out = take_pointer(shadow);
                return 0;
        }
        if (refused.code)
                return error_set(err, refused.code, "%s", refused.message);
        return error_set(err, ABATIS_E_NOT_FOUND, "'%s' was not found in PATH", name);
}
