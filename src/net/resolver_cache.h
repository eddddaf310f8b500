/* resolver_cache.h: answers that still hold, by name. */
#ifndef NET_RESOLVER_CACHE_H
#define NET_RESOLVER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "net/list.h"

struct cached {
        struct link link;
        const char *name; /* borrowed: it lies behind the addresses */
        int64_t due;      /* from then on it does not hold */
        size_t count;     /* 0: there is no such name */
        struct address addresses[];
};

struct resolver_cache {
        void *names;      /* owned: see tsearch(3), which no choice of names makes slow */
        struct link used; /* the one used longest ago first */
        size_t count, max;
};

void resolver_cache_init(struct resolver_cache *cache, size_t max);
/* Empties it; it can be used on. */
void resolver_cache_clear(struct resolver_cache *cache);
/* Borrowed until the next call, or NULL. */
const struct cached *resolver_cache_find(struct resolver_cache *cache, const char *name, int64_t now);
/* In place of what there was for the name. For want of memory nothing is kept. */
void resolver_cache_put(struct resolver_cache *cache, const char *name, const struct address *addresses,
                        size_t count, int64_t due);

#endif
