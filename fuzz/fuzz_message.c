/* fuzz_message.c: whatever a client of MCP sends is taken as a message, or refused by one line of JSON with an id that is its own.
 *
 * links: src/server/mcp_message.c src/server/mcp_tools.c src/server/object.c src/server/value.c src/server/scan.c src/server/reply.c src/base/json_text.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/mcp_message.h"
#include "server/mcp_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the library, which is not part of this. */
const char *abatis_version(void)
{
        return "0.0.0";
}

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

static void check_refusal(const json_t *id, const char *requested, const abatis_error *err)
{
        struct text text = { 0 };
        json_t *reply;

        message_error(&text, id, requested, err);
        check(!text.has_failed && memchr(text.data, '\n', text.length) == text.data + text.length - 1);
        reply = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
        check(reply && json_equal(json_object_get(reply, "id"), id ? id : json_null()));
        check(json_integer_value(json_object_get(json_object_get(reply, "error"), "code")) <= -32000);
        check((err->code == RPC_VERSION) == (requested != NULL));
        json_decref(reply);
        text_done(&text);
}

static void check_taken(struct message *message)
{
        json_t *arguments = json_object_get(message->params, "arguments");
        abatis_error err = { 0 };

        check(!message->id || json_is_string(message->id) || json_is_integer(message->id));
        check(!message->token || json_is_string(message->token) || json_is_integer(message->token));
        check(!message->params || json_is_object(message->params));
        for (int tool = 0; tool < TOOL_COUNT; tool++)
                check(!tool_check((enum tool_kind)tool, arguments, &err) || *err.message);
        if (!tool_check(TOOL_RUN_COMMAND, arguments, &err))
                check(*json_string_value(json_array_get(json_object_get(arguments, "command"), 0)));
        message_done(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        char *copy = malloc(size ? size : 1), *requested = NULL;
        struct message message;
        abatis_error err = { 0 };
        json_t *id = NULL;

        if (!copy)
                abort();
        if (size)
                memcpy(copy, data, size);
        if (message_parse(copy, size, &message, &id, &requested, &err) < 0)
                check_refusal(id, requested, &err);
        else
                check_taken(&message);
        json_decref(id);
        free(requested);
        free(copy);
        return 0;
}
