/* stamps_linux.h: what Landlock's rules were made from, to be able to tell whether they still fit.
 *
 * A rule belongs to a file or a directory, not to its name, and where rights go to the entries of a directory, a newcomer has none. So
 * rules that were made ahead are too old once a path leads elsewhere, or one of those directories has changed. */
#ifndef RUN_STAMPS_LINUX_H
#define RUN_STAMPS_LINUX_H

#include "run/resources_linux.h"

struct stamp;

struct stamps {
        struct stamp *items; /* owned: one for each of the rules */
};

/* Before the rules are made. -1 if memory is short. */
int stamps_take(struct stamps *stamps, const struct resources *resources);
bool stamps_are_current(const struct stamps *stamps, const struct resources *resources);
void stamps_done(struct stamps *stamps);

#endif
