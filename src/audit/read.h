/* read.h: answers from the log: whether it is whole, and what was run. */
#ifndef AUDIT_READ_H
#define AUDIT_READ_H

#include "abatis.h"

/* What is wrong with it, one line each, then what there is; *faults says how many of the lines accuse. A NULL path is
 * audit_default_path(). */
int audit_verify(const char *path, char **out, int *faults, abatis_error *err);

#endif
