/* dialect.h: what JSON lines and MCP say differently; all else about clients and their tasks is the same for both.
 *
 *   as they are      server.c the loop, socket.c and peer_*.c who comes, intake.c lines, outlet.c bytes out, cache.c warm sandboxes
 *   by this table    client.c one who asks, task.c a command from its arrival to its reply
 *   JSON lines       lines.c, with request.c, setting.c (a request names its policy), answer.c, flow.c (output as events), reply.c
 *   MCP              mcp.c, with mcp_*.c; the policy is the server's own, and progress.c tells how far a command is
 */
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
        /* How far a task is; NULL where nobody is told. */
        void (*tell_progress)(const struct task *task, struct text *out);
};

extern const struct dialect lines_dialect, mcp_dialect;

#endif
