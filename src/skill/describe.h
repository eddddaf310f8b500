/* describe.h: what there is to say of a skill, as JSON and in words. */
#ifndef SKILL_DESCRIBE_H
#define SKILL_DESCRIBE_H

#include <jansson.h>

#include "base/text.h"
#include "skill/package.h"

/* For a list; NULL when there is no memory. Of one that was changed nothing is known but its name and `problem`. */
json_t *describe_briefly(const struct package *package);
json_t *describe_changed(const char *name, const char *problem);
/* All of it; the module is the package's. */
json_t *describe_fully(const struct package *package, const struct module *module);
void describe_in_words(const struct package *package, const struct module *module, struct text *out);

#endif
