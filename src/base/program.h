/* program.h: finds the program a command names, as a shell would. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "abatis.h"

/* The path to execute, owned: as it is when it has a slash, else searched in the PATH of `envp`. Fails with
 * ABATIS_E_NOT_FOUND or ABATIS_E_NOT_EXECUTABLE. */
int program_find(const char *name, const char *const *envp, char **out, abatis_error *err);

#endif
