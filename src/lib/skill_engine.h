/* skill_engine.h: engines for WebAssembly as commands in sandboxes: to run, to compile, to say who they are. */
#ifndef LIB_SKILL_ENGINE_H
#define LIB_SKILL_ENGINE_H

#include "policy/policy.h"
#include "skill/engine.h"

/* Lets the policy start this engine and nothing else. */
int skill_engine_let_in(abatis_policy *policy, const struct engine *engine, const char *program,
                        abatis_error *err);
/* Has it compile order->module, which lies in the directory, into order->cache: in a sandbox that can write nothing else. */
int skill_engine_compile(const struct engine *engine, const struct engine_order *order, const char *directory,
                         abatis_error *err);

#endif
