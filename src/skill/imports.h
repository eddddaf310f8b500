/* imports.h: which functions and other things a module may ask its engine for. */
#ifndef SKILL_IMPORTS_H
#define SKILL_IMPORTS_H

#include <stdbool.h>

#include "skill/module.h"

/* Every function of WASI preview 1 by its name, and what the list has; see struct module_options. */
bool imports_allow(const struct module_import *import, const char *const *list);

#endif
