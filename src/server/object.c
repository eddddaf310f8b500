/* object.c: one JSON object of bytes from anywhere, within bounds, and whose it is also when it is none. */
#include "server/object.h"

#include <string.h>

#include "base/error.h"
#include "server/reply.h"
#include "server/scan.h"
#include "server/value.h"

/* The parser's own words are for who has called it. */
static const char *describe(enum json_error_code code)
{
        switch (code) {
        case json_error_unknown:
        case json_error_out_of_memory:
        case json_error_cannot_open_file:
        case json_error_invalid_argument:
        case json_error_invalid_format:
        case json_error_wrong_type:
        case json_error_null_character:
        case json_error_null_value:
        case json_error_item_not_found:
        case json_error_index_out_of_range:
        case json_error_stack_overflow:
        case json_error_invalid_syntax:
                break;
        case json_error_invalid_utf8:
                return "not UTF-8";
        case json_error_premature_end_of_input:
                return "it ends too early";
        case json_error_end_of_input_expected:
                return "there is more after the end";
        case json_error_null_byte_in_key:
                return "a key has \\u0000 in it";
        case json_error_duplicate_key:
                return "a key is there twice";
        case json_error_numeric_overflow:
                return "a number is too large";
        }
        return NULL;
}

/* A string with \u0000 in it is a mistake in the parser's eyes as any other of syntax. */
static int complain_json(const json_error_t *error, size_t length, abatis_error *err)
{
        const char *what = describe(json_error_code(error));

        if (!length)
                return error_set(err, PROTOCOL_JSON, "empty: a request is an object");
        if (!what)
                what = strstr(error->text, "JSON_ALLOW_NUL") ? "a string has \\u0000 in it" : "not JSON";
        return error_set(err, PROTOCOL_JSON, "column %d: %s", error->column, what);
}

static int load(const char *text, size_t length, const struct scan *scan, json_t **out, abatis_error *err)
{
        json_error_t error;
        json_t *root;

        if (scan->is_too_deep)
                return error_set(err, PROTOCOL_JSON, "nested deeper than %d levels", SCAN_DEPTH_MAX);
        if (scan->has_too_many)
                return error_set(err, PROTOCOL_JSON, "more than %d values", SCAN_VALUES_MAX);
        root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        if (!root && (!*error.text || json_error_code(&error) == json_error_out_of_memory))
                return error_memory(err);
        if (!root)
                return complain_json(&error, length, err);
        if (!json_is_object(root)) {
                json_decref(root);
                return error_set(err, PROTOCOL_REQUEST, "a request is an object");
        }
        *out = root;
        return 0;
}

static json_t *parse_id(const struct scan *scan)
{
        json_t *id = scan->id ? json_loadb(scan->id, scan->id_length, JSON_DECODE_ANY, NULL) : NULL;

        if (id && value_is_id(id))
                return id;
        json_decref(id);
        return NULL;
}

json_t *object_find_id(const char *line, size_t length)
{
        const struct scan scan = scan_line(line, length);

        return parse_id(&scan);
}
int object_load(const char *text, size_t length, json_t **out, json_t **id, abatis_error *err)
{
        const struct scan scan = scan_line(text, length);
        int r = load(text, length, &scan, out, err);

        if (r < 0 && id)
                *id = parse_id(&scan);
        return r;
}
