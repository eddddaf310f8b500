/* grants_linux.h: opens a plan's grants as Landlock rules. */
#ifndef RUN_GRANTS_LINUX_H
#define RUN_GRANTS_LINUX_H

#include "run/resources_linux.h"

int grants_open(const struct plan *plan, const abatis_policy *policy, int abi, struct resources *resources,
                abatis_error *err);

#endif
