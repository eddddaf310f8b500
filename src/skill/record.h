/* record.h: what is written down of a skill when it is installed. */
#ifndef SKILL_RECORD_H
#define SKILL_RECORD_H

#include "skill/package.h"

enum { RECORD_SIZE_MAX = 64 * 1024 };

/* As JSON, with the time of now; owned by the caller. */
int record_print(const struct package *package, char **out, abatis_error *err);
/* Whether the package is the one of the record; if so it gets what the record says. `name` is that of the skill. */
int record_apply(const char *json, size_t length, const char *name, struct package *package,
                 abatis_error *err);

#endif
