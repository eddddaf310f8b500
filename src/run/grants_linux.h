/* grants_linux.h: turns a plan's grants into Landlock rules. */
#ifndef RUN_GRANTS_LINUX_H
#define RUN_GRANTS_LINUX_H

#include "run/resources_linux.h"

int grants_make(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                struct resources *resources, abatis_error *err);

#endif
