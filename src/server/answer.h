/* answer.h: the requests that are answered at once, because nothing is started for them. */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include "base/text.h"
#include "server/cache.h"
#include "server/request.h"

/* What explain says, owned by the caller; whatever this machine can do is really tried for it. */
int answer_explain(abatis_policy *policy, bool is_best_effort, struct cache *cache, abatis_format format,
                   char **out, abatis_error *err);
/* The access that a word stands for. */
abatis_access answer_access(const char *word);
/* check, explain, probe or skill: one line, the result or an error. */
void answer_request(const struct request *request, const char *program, struct cache *cache,
                    struct text *out);

#endif
