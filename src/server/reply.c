/* reply.c: what the server says: one line of JSON each. */
#include "server/reply.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"

static const struct {
        int code;
        const char *name;
} codes[] = {
        { ABATIS_E_INVALID, "ABATIS_E_INVALID" },
        { ABATIS_E_UNENFORCEABLE, "ABATIS_E_UNENFORCEABLE" },
        { ABATIS_E_SYSTEM, "ABATIS_E_SYSTEM" },
        { ABATIS_E_NOT_FOUND, "ABATIS_E_NOT_FOUND" },
        { ABATIS_E_NOT_EXECUTABLE, "ABATIS_E_NOT_EXECUTABLE" },
        { ABATIS_E_MEMORY, "ABATIS_E_MEMORY" },
        { ABATIS_E_NO_RESULT, "ABATIS_E_NO_RESULT" },
        { ABATIS_E_BACKEND, "ABATIS_E_BACKEND" },
        { ABATIS_E_NO_BACKEND, "ABATIS_E_NO_BACKEND" },
        { PROTOCOL_JSON, "PROTOCOL_JSON" },
        { PROTOCOL_REQUEST, "PROTOCOL_REQUEST" },
        { PROTOCOL_LENGTH, "PROTOCOL_LENGTH" },
        { PROTOCOL_ID, "PROTOCOL_ID" },
        { PROTOCOL_BUSY, "PROTOCOL_BUSY" },
        { PROTOCOL_CANCELLED, "PROTOCOL_CANCELLED" },
        { PROTOCOL_UNSUPPORTED, "PROTOCOL_UNSUPPORTED" },
        { PROTOCOL_PEER, "PROTOCOL_PEER" },
        { PROTOCOL_FAILED, "PROTOCOL_FAILED" },
};

const char *reply_code(int code)
{
        for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
                if (codes[i].code == code)
                        return codes[i].name;
        return "ABATIS_E_SYSTEM";
}

static void add_key(struct text *text, const char *key, const char *end)
{
        text_add(text, ",\"");
        text_add(text, key);
        text_add(text, end);
}

void reply_open(struct text *text, const json_t *id)
{
        text_add(text, "{\"id\":");
        if (json_is_string(id))
                json_text_string(text, json_string_value(id), json_string_length(id));
        else if (json_is_integer(id))
                text_addf(text, "%" PRId64, (int64_t)json_integer_value(id));
        else
                text_add(text, "null");
}

void reply_add_string(struct text *text, const char *key, const char *string)
{
        add_key(text, key, "\":");
        json_text_string(text, string, strlen(string));
}

void reply_add_bytes(struct text *text, const char *key, const char *bytes, size_t length)
{
        bool is_plain = text_is_plain(bytes, length);

        add_key(text, key, is_plain ? "\":\"" : "_base64\":\"");
        if (is_plain)
                json_text_characters(text, bytes, length);
        else
                text_add_base64(text, bytes, length);
        text_add(text, "\"");
}

/* In JSON a newline stands between values only. */
void reply_add_json(struct text *text, const char *key, const char *json)
{
        add_key(text, key, "\":");
        while (*json) {
                size_t length = strcspn(json, "\n");

                text_add_bytes(text, json, length);
                json += length;
                json += strspn(json, "\n ");
        }
}

void reply_close(struct text *text)
{
        text_add(text, "}\n");
}

void reply_describe_error(struct text *text, const abatis_error *err)
{
        text_addf(text, "{\"code\":\"%s\"", reply_code(err->code));
        reply_add_string(text, "message", err->message);
        if (err->os_errno)
                text_addf(text, ",\"errno\":%d", err->os_errno);
        text_add(text, "}");
}

void reply_error(struct text *text, const json_t *id, const abatis_error *err)
{
        reply_open(text, id);
        text_add(text, ",\"error\":");
        reply_describe_error(text, err);
        reply_close(text);
}
