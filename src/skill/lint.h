/* lint.h: what is wrong with a skill package or a module, all of it and not only the first. */
#ifndef SKILL_LINT_H
#define SKILL_LINT_H

#include "base/text.h"

/* Adds one line for each to `out`. */
int lint_package(const char *directory, struct text *out, int *count, abatis_error *err);
int lint_module(const char *file, struct text *out, int *count, abatis_error *err);

#endif
