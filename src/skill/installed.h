/* installed.h: the user's store of skills, each with a record of what it was when it was installed.
 *
 *   $XDG_DATA_HOME/abatis/skills/NAME/        0700, as the store itself
 *     skill.yaml, module.wasm, record.json    0400
 *
 * A record is as good as the store: who can write there can install. So policy/itself.c keeps commands from it, and owner and modes are looked
 * at with every use. */
#ifndef SKILL_INSTALLED_H
#define SKILL_INSTALLED_H

#include <stdbool.h>

#include "base/text.h"
#include "skill/package.h"

/* The skill as it was installed. ABATIS_E_NOT_FOUND: there is none of that name; ABATIS_E_INVALID: something of it was changed since. */
int installed_open(const char *name, struct package **out, abatis_error *err);
/* The same, or what a path leads to: whatever is no name of a skill is one, "./hello" say. */
int installed_find(const char *skill, struct package **out, abatis_error *err);
/* The names of what is there, changed or not, in their order. */
int installed_list(struct strings *out, abatis_error *err);

/* What has become of the store. */
enum installed_how { INSTALLED_NEW, INSTALLED_REPLACED, INSTALLED_ALREADY };

/* The package must have been checked; its `tier` and `signer` are recorded. One of that name that is another, and unchanged, is replaced only by
 * force. Whatever happens meanwhile, there is the old one or the new one, or none if there was none. */
int installed_add(const struct package *package, bool is_forced, enum installed_how *how, abatis_error *err);
int installed_remove(const char *name, abatis_error *err);

#endif
