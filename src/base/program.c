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

int program_find(const char *name, const char *const *envp, char **out, abatis_error *err)
{
        const char *search = find_path_variable(envp);
        abatis_error refused = { 0 };

        if (!*name)
                return error_set(err, ABATIS_E_NOT_FOUND, "the program's name is empty");
        if (strchr(name, '/')) {
                int r = examine(name, err);

                if (r < 0)
                        return r;
                *out = strdup(name);
                return *out ? 0 : error_memory(err);
        }
        for (size_t length; *search || *name; search += length + !!search[length]) {
                OWN_FREE char *candidate = NULL;

                length = strcspn(search, ":");
                if (asprintf(&candidate, "%.*s%s%s", (int)length, search, length ? "/" : "", name) < 0) {
                        candidate = NULL;
                        return error_memory(err);
                }
                switch (length ? examine(candidate, err) : ABATIS_E_NOT_FOUND) {
                case 0:
                        *out = take_pointer(candidate);
                        return 0;
                case ABATIS_E_NOT_EXECUTABLE:
                        error_set(&refused, ABATIS_E_NOT_EXECUTABLE, "'%s' is not executable", candidate);
                        break;
                }
                if (!search[length])
                        break;
        }
        if (refused.code)
                return error_set(err, refused.code, "%s", refused.message);
        return error_set(err, ABATIS_E_NOT_FOUND, "'%s' was not found in PATH", name);
}
