/* document_json.c: JSON, read by jansson, as a tree; the places come from a second walk over the text. */
#define _GNU_SOURCE
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "policy/document.h"

/* jansson does not tell where a value stands. The text is known to be JSON when this walks over it. */
struct cursor {
        struct source *source;
        size_t at;
        unsigned line, column;
};

static char current(const struct cursor *cursor)
{
        return cursor->at < cursor->source->length ? cursor->source->text[cursor->at] : '\0';
}

static void step(struct cursor *cursor)
{
        char c = current(cursor);

        cursor->at++;
        if (c == '\n') {
                cursor->line++;
                cursor->column = 1;
        } else if (((unsigned char)current(cursor) & 0xc0) != 0x80)
                cursor->column++; /* behind a whole character */
}

/* To the next value, key or closing bracket. */
static void skip_to_token(struct cursor *cursor)
{
        while (current(cursor) && strchr(" \t\r\n,:", current(cursor)))
                step(cursor);
}

static void skip_string(struct cursor *cursor)
{
        step(cursor);
        while (current(cursor) && current(cursor) != '"') {
                if (current(cursor) == '\\')
                        step(cursor);
                step(cursor);
        }
        step(cursor);
}

static void skip_scalar(struct cursor *cursor)
{
        if (current(cursor) == '"')
                skip_string(cursor);
        else
                while (current(cursor) && !strchr(" \t\r\n,:]}", current(cursor)))
                        step(cursor);
}

static struct node *build(struct cursor *cursor, json_t *json, unsigned depth);

static int build_list(struct cursor *cursor, struct node *list, json_t *json, unsigned depth)
{
        json_t *value;
        size_t i;

        json_array_foreach(json, i, value)
        {
                struct node *item = build(cursor, value, depth);

                if (!item || list_add(cursor->source, list, item) < 0)
                        return -1;
        }
        return 0;
}

/* In the order of the text, which is the order in which jansson keeps the keys. */
static int build_map(struct cursor *cursor, struct node *map, json_t *json, unsigned depth)
{
        const char *key;
        json_t *value;

        json_object_foreach(json, key, value)
        {
                struct node *item;
                unsigned line, column;

                skip_to_token(cursor);
                line = cursor->line;
                column = cursor->column;
                skip_string(cursor);
                item = build(cursor, value, depth);
                if (!item || map_add(cursor->source, map, key, strlen(key), line, column, item) < 0)
                        return -1;
        }
        return 0;
}

static int fill(struct cursor *cursor, struct node *node, json_t *json, unsigned depth)
{
        int r;

        if (json_is_string(json))
                return node_set_text(cursor->source, node, json_string_value(json), json_string_length(json));
        if (!json_is_array(json) && !json_is_object(json)) {
                if (json_is_integer(json))
                        node->integer = json_integer_value(json);
                else if (json_is_real(json))
                        node->number = json_real_value(json);
                else
                        node->boolean = json_is_true(json);
                return 0;
        }
        if (depth > DOCUMENT_DEPTH_MAX)
                return source_error(cursor->source, node->line, node->column, "nested deeper than 64 levels");
        step(cursor);
        r = json_is_array(json) ? build_list(cursor, node, json, depth + 1)
                                : build_map(cursor, node, json, depth + 1);
        skip_to_token(cursor);
        step(cursor);
        return r;
}

static enum node_kind kind_of(const json_t *json)
{
        switch (json_typeof(json)) {
        case JSON_OBJECT:
                return NODE_MAP;
        case JSON_ARRAY:
                return NODE_LIST;
        case JSON_STRING:
                return NODE_STRING;
        case JSON_INTEGER:
                return NODE_INTEGER;
        case JSON_REAL:
                return NODE_FLOAT;
        case JSON_TRUE:
        case JSON_FALSE:
                return NODE_BOOLEAN;
        case JSON_NULL:
                break;
        }
        return NODE_NULL;
}

/* NULL with the error set. */
static struct node *build(struct cursor *cursor, json_t *json, unsigned depth)
{
        struct node *node;

        skip_to_token(cursor);
        node = node_new(cursor->source, kind_of(json), cursor->line, cursor->column);
        if (!node)
                return NULL;
        if (fill(cursor, node, json, depth) < 0) {
                node_free(node);
                return NULL;
        }
        if (node->kind != NODE_LIST && node->kind != NODE_MAP)
                skip_scalar(cursor);
        return node;
}

int document_parse_json(struct source *source, struct node **out)
{
        struct cursor cursor = { .source = source, .line = 1, .column = 1 };
        json_error_t error;
        struct node *root;
        json_t *json;

        json = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        /* jansson has no words for the lack of memory. */
        if (!json && (!*error.text || json_error_code(&error) == json_error_out_of_memory))
                return error_memory(source->err);
        if (!json)
                return source_error(source, error.line > 0 ? (unsigned)error.line : 1,
                                    error.column > 0 ? (unsigned)error.column : 1, "%s", error.text);
        root = build(&cursor, json, 1);
        json_decref(json);
        if (!root)
                return source->err->code;
        *out = root;
        return 0;
}
