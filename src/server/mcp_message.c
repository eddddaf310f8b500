/* mcp_message.c: one message of MCP, which is JSON-RPC, and the frame of what is said to it. */
#include "server/mcp_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/object.h"
#include "server/reply.h"
#include "server/value.h"

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char capabilities_key[] = "io.modelcontextprotocol/clientCapabilities";

/* ---- what is said to us --------------------------------------------------------------------------------- */

/* Which revision the request is of, if it says so, and all that this one demands then. */
static int check_revision(const json_t *meta, struct message *out, char **requested, abatis_error *err)
{
        const json_t *version = json_object_get(meta, version_key);

        if (!version)
                return 0;
        out->is_stateless = true;
        if (!json_is_string(version))
                return error_set(err, RPC_PARAMS, "_meta: '%s' must be a string", version_key);
        if (strcmp(json_string_value(version), MCP_STATELESS) != 0) {
                *requested = strdup(json_string_value(version));
                return error_set(err, RPC_VERSION,
                                 "this server does not speak the revision that is asked for");
        }
        if (!json_is_object(json_object_get(meta, capabilities_key)))
                return error_set(err, RPC_PARAMS, "_meta: '%s' must be an object", capabilities_key);
        return 0;
}

static int check_params(struct message *out, char **requested, abatis_error *err)
{
        json_t *meta;

        out->params = json_object_get(out->root, "params");
        if (!out->params)
                return 0;
        if (!json_is_object(out->params))
                return error_set(err, RPC_PARAMS, "'params' must be an object");
        meta = json_object_get(out->params, "_meta");
        if (!meta)
                return 0;
        if (!json_is_object(meta))
                return error_set(err, RPC_PARAMS, "'_meta' must be an object");
        out->token = json_object_get(meta, "progressToken");
        if (out->token && !value_is_id(out->token))
                return error_set(err, RPC_PARAMS, "'progressToken' must be %s",
                                 value_judge(TYPE_ID, out->token));
        return check_revision(meta, out, requested, err);
}

/* What nobody waits for an answer to. Who answered an answer, or a notification that is wrong, might never come to an end with it. */
static bool is_answer(const json_t *root)
{
        return !json_object_get(root, "method") &&
               (json_object_get(root, "result") || json_object_get(root, "error"));
}

/* Other keys than these may be there: who comes later may know more. */
static int check(struct message *out, char **requested, abatis_error *err)
{
        const json_t *version = json_object_get(out->root, "jsonrpc"),
                     *method = json_object_get(out->root, "method");
        int r;

        if (is_answer(out->root))
                return 0;
        out->id = json_object_get(out->root, "id");
        if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
                return error_set(err, RPC_REQUEST, "'jsonrpc' must be \"2.0\"");
        if (out->id && !value_is_id(out->id))
                return error_set(err, RPC_REQUEST, "'id' must be %s", value_judge(TYPE_ID, out->id));
        if (!json_is_string(method))
                return error_set(err, RPC_REQUEST, "'method' must be a string");
        r = check_params(out, requested, err);
        if (r < 0 && !out->id)
                return 0;
        out->method = json_string_value(method);
        return r;
}

int message_parse(const char *line, size_t length, struct message *out, json_t **id, char **requested,
                  abatis_error *err)
{
        struct message message = { .root = NULL };
        int r = object_load(line, length, &message.root, id, err);

        if (r < 0) {
                err->code = r == PROTOCOL_JSON      ? RPC_PARSE
                            : r == PROTOCOL_REQUEST ? RPC_REQUEST
                                                    : RPC_INTERNAL;
                return err->code;
        }
        r = check(&message, requested, err);
        if (r < 0) {
                *id = message.id && value_is_id(message.id) ? json_incref(message.id) : NULL;
                json_decref(message.root);
                return r;
        }
        *out = message;
        return 0;
}

void message_done(struct message *message)
{
        json_decref(message->root);
}

/* ---- what we say ---------------------------------------------------------------------------------------- */

void message_add_identity(struct text *out)
{
        text_addf(out,
                  "{\"name\":\"abatis\",\"title\":\"abatis, a sandbox for commands\",\"version\":\"%s\"}",
                  abatis_version());
}

static void open_line(struct text *out, const json_t *id)
{
        reply_open(out, id);
        reply_add_string(out, "jsonrpc", "2.0");
}

void message_open_result(struct text *out, const json_t *id, bool is_stateless)
{
        open_line(out, id);
        text_add(out, ",\"result\":{");
        if (!is_stateless)
                return;
        text_add(out, "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":");
        message_add_identity(out);
        text_add(out, "},");
}

void message_close_result(struct text *out)
{
        text_add(out, "}");
        reply_close(out);
}

void message_error(struct text *out, const json_t *id, const char *requested, const abatis_error *err)
{
        open_line(out, id);
        text_addf(out, ",\"error\":{\"code\":%d", err->code);
        reply_add_string(out, "message", err->message);
        if (requested) {
                text_add(out, ",\"data\":{\"supported\":[\"" MCP_STATELESS "\"]");
                reply_add_string(out, "requested", requested);
                text_add(out, "}");
        }
        text_add(out, "}");
        reply_close(out);
}
