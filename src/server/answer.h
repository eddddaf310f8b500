/* answer.h: the requests that are answered at once, because nothing is started for them. */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include "base/text.h"
#include "server/cache.h"
#include "server/request.h"

/* check, explain, probe or skill: one line, the result or an error. */
void answer_request(const struct request *request, const char *program, struct cache *cache,
                    struct text *out);

#endif
