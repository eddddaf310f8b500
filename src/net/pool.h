/* pool.h: keeps what is freed for whoever needs one of the same kind next.
 *
 * A C library may give the memory of one that is alone back to the kernel, which then clears a page for the next one: some
 * microseconds for each stream. */
#ifndef NET_POOL_H
#define NET_POOL_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_MAX = 16 };

struct pool {
        size_t size;          /* of one */
        void *kept[POOL_MAX]; /* owned */
        size_t count;
};

/* All zeros, or NULL. */
static inline void *pool_take(struct pool *pool)
{
        return pool->count ? memset(pool->kept[--pool->count], 0, pool->size) : calloc(1, pool->size);
}

static inline void pool_give(struct pool *pool, void *one)
{
        if (one && pool->count < POOL_MAX)
                pool->kept[pool->count++] = one;
        else
                free(one);
}

#endif
