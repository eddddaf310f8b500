/* copies_linux.h: files that the command gets a copy of instead of the host's own. */
#ifndef RUN_COPIES_LINUX_H
#define RUN_COPIES_LINUX_H

#include <stddef.h>

#include "plan/plan.h"

struct copy {
        unsigned char *bytes; /* owned */
        size_t length;
};

struct copies {
        struct copy *items; /* owned: one for each step of the plan that asks for one, in their order */
        size_t count;
};

/* Whether a step of the plan asks for a copy of its path. */
bool copies_are_for(const struct step *step);
/* Reads what the plan wants copies of; loaders are changed so that they cannot be started by themselves. */
int copies_read(const struct plan *plan, struct copies *out, abatis_error *err);
void copies_done(struct copies *copies);

#endif
