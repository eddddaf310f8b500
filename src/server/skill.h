/* skill.h: requests to run a WebAssembly module. */
#ifndef SERVER_SKILL_H
#define SERVER_SKILL_H

#include "server/order.h"
#include "server/request.h"

/* What has to be run for it, of a method `skill` or of exec-request with `wasm`. Who does not wait has nothing compiled. */
int skill_make_order(const struct request *request, const char *program, bool waits, struct order *out,
                     abatis_error *err);

#endif
