/* cache.h: what is kept for the next request: open sandboxes, one for each policy, and what this machine can do. */
#ifndef SERVER_CACHE_H
#define SERVER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "abatis.h"

enum {
        CACHE_IDLE_MAX = 16,     /* sandboxes that nobody uses */
        CACHE_SESSIONS_MAX = 16, /* of one client */
        CACHE_HOST_MS = 5 * 1000
};

struct warm {
        abatis_sandbox *sandbox;         /* owned */
        char digest[ABATIS_DIGEST_SIZE]; /* of its policy */
        bool is_best_effort;
        const void *client; /* borrowed, and only compared: of a session, whose it is; else NULL */
        char *session;      /* owned: its name, or NULL */
        unsigned users;     /* jobs that have not ended */
        bool is_leaving;    /* nobody gets it any more */
        struct warm *next;  /* the one that was used before it */
};

struct cache {
        struct warm *first; /* the one that was used last */
        abatis_host *host;  /* owned; NULL: not asked yet */
        int64_t host_until; /* milliseconds: then it is asked again */
};

/* Whose session it is, and its name; no session has no name. */
struct session_key {
        const void *client;
        const char *name;
};

/* One for this policy, opened now if there is none. It stays until cache_release(), once for each time. */
int cache_acquire(struct cache *cache, abatis_policy *policy, bool is_best_effort,
                  const struct session_key *session, struct warm **out, abatis_error *err);
/* Nobody gets it again when it `has_failed`. */
void cache_release(struct cache *cache, struct warm *warm, bool has_failed);
/* Ends a session, or all of a client's when the key has no name, as soon as no job uses it. False when there is none. */
bool cache_end_session(struct cache *cache, const struct session_key *session);
/* What was really tried, some seconds ago at most: it takes longer than all other answers. Borrowed until the next call. */
int cache_host(struct cache *cache, const abatis_host **out, abatis_error *err);
/* Everything; no job may be left. */
void cache_done(struct cache *cache);

#endif
