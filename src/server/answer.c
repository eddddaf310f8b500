/* answer.c: the requests that are answered at once, because nothing is started for them. */
#include "server/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/setting.h"

abatis_access answer_access(const char *word)
{
        if (!strcmp(word, "read"))
                return ABATIS_READ;
        return *word == 'w' ? ABATIS_WRITE : ABATIS_EXECUTE;
}

static int check(const struct request *request, abatis_policy *policy, struct text *out, abatis_error *err)
{
        OWN_FREE char *rule = NULL;
        int allowed, r = abatis_policy_check(policy, answer_access(request_string(request, "access")),
                                             request_string(request, "path"), &allowed, &rule, err);

        if (r < 0)
                return r;
        text_addf(out, ",\"result\":{\"allowed\":%s", allowed ? "true" : "false");
        reply_add_string(out, "rule", rule);
        text_add(out, "}");
        return 0;
}

int answer_explain(abatis_policy *policy, bool is_best_effort, struct cache *cache, abatis_format format,
                   char **out, abatis_error *err)
{
        const abatis_sandbox_options options = { .size = sizeof(options), .best_effort = is_best_effort };
        const abatis_host *host;
        /* Nothing will be started that would find out: so really try what this machine can do. */
        int r = cache_host(cache, &host, err);

        return r ? r : abatis_explain(policy, host, &options, format, out, err);
}

static int explain(const struct request *request, abatis_policy *policy, struct cache *cache,
                   struct text *out, abatis_error *err)
{
        OWN_FREE char *plan = NULL;
        int r = answer_explain(policy, request_flag(request, "best_effort"), cache, ABATIS_JSON, &plan, err);

        if (r < 0)
                return r;
        if (request_string(request, "tier")) {
                const abatis_tier *tier = setting_tier(request);

                reply_add_string(out, "tier", tier->name);
                reply_add_string(out, "layers", tier->native);
        }
        reply_add_json(out, "result", plan);
        return 0;
}

static int probe(struct cache *cache, struct text *out, abatis_error *err)
{
        OWN_FREE char *facts = NULL, *tiers = NULL;
        const abatis_host *host;
        int r = cache_host(cache, &host, err);

        if (!r)
                r = abatis_host_print(host, ABATIS_JSON, &facts, err);
        if (!r)
                r = abatis_tier_print(ABATIS_JSON, &tiers, err);
        if (!r) {
                text_addf(out, ",\"result\":{\"protocol\":%d", SERVER_PROTOCOL);
                reply_add_string(out, "version", abatis_version());
                reply_add_json(out, "ready", abatis_host_is_ready(host) ? "true" : "false");
                reply_add_json(out, "tiers", tiers);
                reply_add_json(out, "host", facts);
                text_add(out, "}");
        }
        return r;
}

static int ask_policy(const struct request *request, const char *program, struct cache *cache,
                      struct text *out, abatis_error *err)
{
        abatis_policy *policy;
        int r = setting_make_policy(request, program, NULL, &policy, err);

        if (r < 0)
                return r;
        r = request->method == METHOD_CHECK ? check(request, policy, out, err)
                                            : explain(request, policy, cache, out, err);
        abatis_policy_free(policy);
        return r;
}

void answer_request(const struct request *request, const char *program, struct cache *cache, struct text *out)
{
        size_t before = out->length;
        abatis_error err;
        int r;

        reply_open(out, request->id);
        if (request->method == METHOD_PROBE)
                r = probe(cache, out, &err);
        else
                r = ask_policy(request, program, cache, out, &err);
        if (!r) {
                reply_close(out);
                return;
        }
        out->length = before;
        reply_error(out, request->id, &err);
}
