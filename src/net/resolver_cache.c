/* resolver_cache.c: keeps answers as long as they hold and there is room. */
#define _GNU_SOURCE
#include "net/resolver_cache.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *first, const void *second)
{
        return strcmp(((const struct cached *)first)->name, ((const struct cached *)second)->name);
}

void resolver_cache_init(struct resolver_cache *cache, size_t max)
{
        *cache = (struct resolver_cache){ .max = max };
        list_init(&cache->used);
}

static void forget(struct resolver_cache *cache, struct cached *cached)
{
        tdelete(cached, &cache->names, compare_names);
        list_remove(&cached->link);
        cache->count--;
        free(cached);
}

void resolver_cache_clear(struct resolver_cache *cache)
{
        while (!list_is_empty(&cache->used))
                forget(cache, (struct cached *)cache->used.next);
}

static struct cached *find(struct resolver_cache *cache, const char *name)
{
        struct cached wanted = { .name = name };
        void *const *node = tfind(&wanted, &cache->names, compare_names);

        return node ? *node : NULL;
}

const struct cached *resolver_cache_find(struct resolver_cache *cache, const char *name, int64_t now)
{
        struct cached *found = find(cache, name);

        if (!found)
                return NULL;
        if (found->due <= now) {
                forget(cache, found);
                return NULL;
        }
        list_remove(&found->link);
        list_append(&cache->used, &found->link);
        return found;
}

void resolver_cache_put(struct resolver_cache *cache, const char *name, const struct address *addresses,
                        size_t count, int64_t due)
{
        struct cached *old = find(cache, name);
        size_t length = count * sizeof(*addresses), name_size = strlen(name) + 1;
        struct cached *cached;

        if (old)
                forget(cache, old);
        while (cache->count && cache->count >= cache->max)
                forget(cache, (struct cached *)cache->used.next);
        cached = malloc(sizeof(*cached) + length + name_size);
        if (!cached)
                return;
        if (length)
                memcpy(cached->addresses, addresses, length);
        cached->name = memcpy((char *)cached->addresses + length, name, name_size);
        cached->due = due;
        cached->count = count;
        if (!tsearch(cached, &cache->names, compare_names)) {
                free(cached);
                return;
        }
        list_append(&cache->used, &cached->link);
        cache->count++;
}
