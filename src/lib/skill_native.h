/* skill_native.h: modules that have become programs: found, or made in a sandbox. */
#ifndef LIB_SKILL_NATIVE_H
#define LIB_SKILL_NATIVE_H

#include <stdbool.h>

#include "skill/module.h"

/* *out, owned by the caller, is the directory with the program, whose path is *program; both NULL if there is none and none `is_made` now. The
 * hash is the module's, of all its bytes. What no program can be made of is refused by name. */
int skill_native_find(const struct module *module, const char *hash, bool is_made, char **out, char **program,
                      abatis_error *err);

#endif
