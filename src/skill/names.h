/* names.h: whether a name has come before. */
#ifndef SKILL_NAMES_H
#define SKILL_NAMES_H

#include <stdbool.h>

#include "skill/wire.h"

enum { NAMES_SLOTS = 16384, NAMES_MAX = NAMES_SLOTS / 3 * 2 };

/* As large for one name as for all. Begins as zeros. */
struct names {
        uint64_t keys[NAMES_SLOTS]; /* a part of the name's hash, or 0 */
};

/* False when it is there already. For NAMES_MAX of them. */
bool names_add(struct names *names, struct wire_name name);

#endif
