/* mcp_message.h: one message of MCP, which is JSON-RPC, and the frame of what is said to it.
 *
 * There are two eras. Until 2025-11-25 a client says `initialize` first, and then speaks as agreed. Since 2026-07-28 every request says
 * itself in its _meta which revision it is of, and what its client can. Nothing is remembered here: a request that names its revision
 * is answered as that wants it, and any other as the older ones did. So both may come to the same process, in any order. */
#ifndef SERVER_MCP_MESSAGE_H
#define SERVER_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

/* Codes of an abatis_error that only JSON-RPC and MCP have. */
enum {
        RPC_PARSE = -32700,
        RPC_REQUEST = -32600,
        RPC_METHOD = -32601,
        RPC_PARAMS = -32602,
        RPC_INTERNAL = -32603,
        RPC_BUSY = -32000,
        RPC_VERSION = -32022, /* of a request: another revision than ours */
};

#define MCP_STATELESS "2026-07-28"

struct message {
        json_t *root;       /* owned */
        json_t *id;         /* borrowed; NULL: a notification, which nobody answers */
        const char *method; /* borrowed; NULL: an answer or a wrong notification, not for us */
        json_t *params;     /* borrowed, or NULL */
        json_t *token;      /* borrowed: by which to tell of progress; or NULL */
        bool is_stateless;  /* of the revision 2026-07-28 */
};

/* When it fails, *id is the id where it is known, and owned by the caller, or NULL; *requested is the revision that was wanted, owned, or
 * NULL. */
int message_parse(const char *line, size_t length, struct message *out, json_t **id, char **requested,
                  abatis_error *err);
void message_done(struct message *message);

/* {"id":ID,"jsonrpc":"2.0","result":{ and what every result of the era has, with a comma behind it. */
void message_open_result(struct text *out, const json_t *id, bool is_stateless);
void message_close_result(struct text *out);
/* The whole line. A revision that was `requested` and is not ours comes with those that are. */
void message_error(struct text *out, const json_t *id, const char *requested, const abatis_error *err);
/* "serverInfo" of the handshake, and what stands for it in _meta. */
void message_add_identity(struct text *out);

#endif
