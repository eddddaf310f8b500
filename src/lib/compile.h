/* compile.h: a plan for a policy on this machine: what has to be found out for that, and no more. */
#ifndef LIB_COMPILE_H
#define LIB_COMPILE_H

#include "backend/backend.h"

/* What is enough to compile this policy. */
int compile_probe(abatis_policy *policy, abatis_host *host, abatis_error *err);
int compile_here(abatis_policy *policy, abatis_host *host, bool is_best_effort, struct plan **out,
                 abatis_error *err);

#endif
