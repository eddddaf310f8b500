/* program.h: finds the program a command names, as a shell would. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>

#include "abatis.h"

struct program_search {
        const char *const *envp; /* its PATH counts */
        const char *directory;   /* what relative paths are of, or NULL: the working directory */
        /* What of PATH is passed over as long as there is another; NULL: nothing. */
        bool (*is_startable)(const void *user, const char *path);
        const void *user;
};

/* The path to execute, owned: that of the name when it has a slash, else searched in PATH; absolute where there is a directory. Fails
 * with ABATIS_E_NOT_FOUND or ABATIS_E_NOT_EXECUTABLE. */
int program_find(const char *name, const struct program_search *search, char **out, abatis_error *err);

#endif
