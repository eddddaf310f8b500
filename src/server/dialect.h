/* dialect.h: what clients that speak differently say differently; all else about them and their tasks is the same for all. */
#ifndef SERVER_DIALECT_H
#define SERVER_DIALECT_H

#include "base/text.h"
#include "server/cache.h"
#include "server/order.h"
#include "server/server.h"

struct client;
struct task;

struct dialect {
        /* A line of a client: it is answered at once, or becomes a task. */
        void (*hear)(struct client *client, const char *line, size_t length,
                     const struct server_options *options, struct cache *cache);
        /* One that is too long, of which this is the beginning. */
        void (*refuse_long)(struct client *client, const char *line, size_t length);
        /* What a line that became a task wants to have run. */
        int (*read_order)(const char *line, size_t length, const struct server_options *options,
                          struct order *out, abatis_error *err);
        /* The reply to a task that is done. */
        void (*reply)(const struct task *task, struct text *out);
};

extern const struct dialect lines_dialect;

#endif
