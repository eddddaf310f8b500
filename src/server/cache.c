/* cache.c: what is kept for the next request: open sandboxes, one for each policy, and what this machine can do.
 *
 * A policy is put together anew for every request, which costs a tenth of a start; only what was made of it is kept, by a digest
 * of all that it says. So a file that was changed, or a path that is there now, is another policy. */
#include "server/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/clock.h"
#include "server/reply.h"

static bool is_session(const struct warm *warm, const struct session_key *session)
{
        return !warm->is_leaving && warm->session && warm->client == session->client &&
               (!session->name || !strcmp(warm->session, session->name));
}

static bool has_policy(const struct warm *warm, const char *digest, bool is_best_effort)
{
        return !strcmp(warm->digest, digest) && warm->is_best_effort == is_best_effort;
}

static void end(struct warm *warm)
{
        abatis_sandbox_free(warm->sandbox);
        free(warm->session);
        free(warm);
}

/* Frees who leaves, and those that were used longest ago of more than may wait. Sessions stay: somebody has left something there. */
static void tidy(struct cache *cache)
{
        unsigned idle = 0;

        for (struct warm **at = &cache->first; *at;) {
                struct warm *warm = *at;
                bool is_idle = !warm->users && !warm->session && !warm->is_leaving;

                idle += is_idle;
                if (warm->users || (!warm->is_leaving && (!is_idle || idle <= CACHE_IDLE_MAX))) {
                        at = &warm->next;
                        continue;
                }
                *at = warm->next;
                end(warm);
        }
}

static int open_one(struct cache *cache, abatis_policy *policy, const struct warm *wanted,
                    const struct session_key *session, struct warm **out, abatis_error *err)
{
        const abatis_sandbox_options options = { .size = sizeof(options),
                                                 .best_effort = wanted->is_best_effort };
        struct warm *warm = calloc(1, sizeof(*warm));
        int r = 0;

        if (!warm)
                return error_memory(err);
        *warm = *wanted;
        if (session->name) {
                warm->client = session->client;
                warm->session = strdup(session->name);
                r = warm->session ? 0 : error_memory(err);
        }
        if (!r)
                r = abatis_sandbox_open(policy, &options, &warm->sandbox, err);
        if (r < 0) {
                free(warm->session);
                free(warm);
                return r;
        }
        warm->next = cache->first;
        cache->first = warm;
        *out = warm;
        return 0;
}

static void move_to_front(struct cache *cache, struct warm **at)
{
        struct warm *warm = *at;

        *at = warm->next;
        warm->next = cache->first;
        cache->first = warm;
}

/* NULL in *out when there is none yet. */
static int find_session(struct cache *cache, const struct warm *wanted, const struct session_key *session,
                        struct warm **out, abatis_error *err)
{
        const struct session_key all = { session->client, NULL };
        unsigned count = 0;

        *out = NULL;
        for (struct warm *warm = cache->first; warm; warm = warm->next) {
                count += is_session(warm, &all);
                if (!is_session(warm, session))
                        continue;
                if (!has_policy(warm, wanted->digest, wanted->is_best_effort))
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "the session '%s' began with another policy; end it with cancel, or take another name",
                                session->name);
                *out = warm;
                return 0;
        }
        if (count >= CACHE_SESSIONS_MAX)
                return error_set(err, PROTOCOL_BUSY, "there are %u sessions already; end one with cancel",
                                 count);
        return 0;
}

static struct warm *find_private(struct cache *cache, const struct warm *wanted)
{
        for (struct warm **at = &cache->first; *at; at = &(*at)->next)
                if (!(*at)->session && !(*at)->is_leaving &&
                    has_policy(*at, wanted->digest, wanted->is_best_effort)) {
                        move_to_front(cache, at);
                        return cache->first;
                }
        return NULL;
}

int cache_acquire(struct cache *cache, abatis_policy *policy, bool is_best_effort,
                  const struct session_key *session, struct warm **out, abatis_error *err)
{
        struct warm wanted = { .is_best_effort = is_best_effort }, *found = NULL;
        int r = abatis_policy_digest(policy, wanted.digest, err);

        if (!r && session->name)
                r = find_session(cache, &wanted, session, &found, err);
        else if (!r)
                found = find_private(cache, &wanted);
        if (!r && !found)
                r = open_one(cache, policy, &wanted, session, &found, err);
        if (!found)
                return r;
        found->users++;
        tidy(cache);
        *out = found;
        return 0;
}

void cache_release(struct cache *cache, struct warm *warm, bool has_failed)
{
        warm->users--;
        /* A session that has broken is not begun anew under its name: what was in it would be missing. */
        warm->is_leaving |= has_failed && !warm->session;
        tidy(cache);
}

bool cache_end_session(struct cache *cache, const struct session_key *session)
{
        bool has_any = false;

        for (struct warm *warm = cache->first; warm; warm = warm->next)
                if (is_session(warm, session))
                        has_any = warm->is_leaving = true;
        tidy(cache);
        return has_any;
}

int cache_host(struct cache *cache, const abatis_host **out, abatis_error *err)
{
        abatis_host *host;
        int r;

        if (!cache->host || clock_ms() >= cache->host_until) {
                r = abatis_host_probe(&host, err);
                if (r < 0)
                        return r;
                abatis_host_free(cache->host);
                cache->host = host;
                cache->host_until = clock_ms() + CACHE_HOST_MS;
        }
        *out = cache->host;
        return 0;
}

void cache_done(struct cache *cache)
{
        abatis_host_free(cache->host);
        while (cache->first) {
                struct warm *warm = cache->first;

                cache->first = warm->next;
                end(warm);
        }
}
