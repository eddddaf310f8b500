/* broker_linux.h: what the broker in init decides by. */
#ifndef RUN_BROKER_LINUX_H
#define RUN_BROKER_LINUX_H

#include "run/resources_linux.h"

int broker_make(const struct plan *plan, const abatis_policy *policy, struct resources *resources,
                abatis_error *err);
/* How many threads answer; 0 where there is no broker. */
unsigned broker_threads(const struct plan *plan);
void broker_done(struct resources *resources);

#endif
