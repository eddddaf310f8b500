/* document.c: the tree of a document: building it within bounds, finding keys, saying where something is wrong. */
#define _GNU_SOURCE
#include "policy/document.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* A map with more items is looked up in a balanced tree: a hostile file must not cost the square of its size, and keys
 * can be made to meet in one place of a table, but not to unbalance this. */
enum { INDEX_FROM = 16 };

const char *node_kind_name(enum node_kind kind)
{
        static const char *const names[] = {
                [NODE_NULL] = "nothing",
                [NODE_BOOLEAN] = "true or false",
                [NODE_INTEGER] = "a whole number",
                [NODE_FLOAT] = "a number",
                [NODE_STRING] = "text",
                [NODE_TIME] = "a date or time",
                [NODE_LIST] = "a list",
                [NODE_MAP] = "a map",
        };

        return names[kind];
}

__attribute__((format(printf, 5, 0))) static int set_error(abatis_error *err, const char *name, unsigned line,
                                                           unsigned column, const char *format,
                                                           va_list arguments)
{
        abatis_error below;

        error_set_list(&below, ABATIS_E_INVALID, format, arguments);
        return error_set(err, ABATIS_E_INVALID, "%s:%u:%u: %s", name, line, column, below.message);
}

int document_error(abatis_error *err, const char *name, unsigned line, unsigned column, const char *format,
                   ...)
{
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = set_error(err, name, line, column, format, arguments);
        va_end(arguments);
        return r;
}

int source_error(struct source *source, unsigned line, unsigned column, const char *format, ...)
{
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = set_error(source->err, source->name, line, column, format, arguments);
        va_end(arguments);
        return r;
}

/* ---- building ------------------------------------------------------------------------------------------- */

struct node *node_new(struct source *source, enum node_kind kind, unsigned line, unsigned column)
{
        struct node *node;

        if (source->nodes >= DOCUMENT_NODES_MAX) {
                source_error(source, line, column, "more than %d values", DOCUMENT_NODES_MAX);
                return NULL;
        }
        node = calloc(1, sizeof(*node));
        if (!node) {
                error_memory(source->err);
                return NULL;
        }
        source->nodes++;
        node->kind = kind;
        node->line = line;
        node->column = column;
        return node;
}

static int compare_keys(const void *left, const void *right)
{
        return strcmp(((const struct node *)left)->key, ((const struct node *)right)->key);
}

/* As deep as the parsers go, which is no further than DOCUMENT_DEPTH_MAX. */
void node_free(struct node *node)
{
        if (!node)
                return;
        /* It compares keys, so that it goes before them. */
        while (node->index)
                tdelete(*(struct node **)node->index, &node->index, compare_keys);
        for (size_t i = 0; i < node->count; i++)
                node_free(node->items[i]);
        free(node->items);
        free(node->key);
        free(node->text);
        free(node);
}

static int make_room(struct source *source, struct node *parent)
{
        size_t wanted = parent->capacity ? 2 * parent->capacity : 4;
        struct node **items;

        if (parent->count < parent->capacity)
                return 0;
        items = realloc(parent->items, wanted * sizeof(*items));
        if (!items)
                return error_memory(source->err);
        parent->items = items;
        parent->capacity = wanted;
        return 0;
}

int list_add(struct source *source, struct node *list, struct node *item)
{
        int r = make_room(source, list);

        if (r < 0) {
                node_free(item);
                return r;
        }
        list->items[list->count++] = item;
        return 0;
}

static int index_last(struct source *source, struct node *map)
{
        if (map->count < INDEX_FROM)
                return 0;
        for (size_t i = map->index ? map->count - 1 : 0; i < map->count; i++)
                if (!tsearch(map->items[i], &map->index, compare_keys))
                        return error_memory(source->err);
        return 0;
}

struct node *node_find(const struct node *map, const char *key)
{
        if (map->index) {
                const struct node wanted = { .key = (char *)key };
                struct node *const *found = tfind(&wanted, &map->index, compare_keys);

                return found ? *found : NULL;
        }
        for (size_t i = 0; i < map->count; i++)
                if (!strcmp(map->items[i]->key, key))
                        return map->items[i];
        return NULL;
}

int map_add(struct source *source, struct node *map, const char *key, size_t key_length, unsigned key_line,
            unsigned key_column, struct node *item)
{
        const struct node *other;
        int r;

        item->key_line = key_line;
        item->key_column = key_column;
        if (memchr(key, '\0', key_length))
                r = source_error(source, key_line, key_column, "a NUL in a key");
        else if (!(item->key = strndup(key, key_length)))
                r = error_memory(source->err);
        else if ((other = node_find(map, item->key)))
                r = source_error(source, key_line, key_column, "duplicate key '%s', first on line %u",
                                 item->key, other->key_line);
        else
                r = make_room(source, map);
        if (r < 0) {
                node_free(item);
                return r;
        }
        map->items[map->count++] = item;
        return index_last(source, map);
}

int node_set_text(struct source *source, struct node *node, const char *text, size_t length)
{
        if (memchr(text, '\0', length))
                return source_error(source, node->line, node->column, "a NUL in a text");
        free(node->text);
        node->text = strndup(text, length);
        return node->text ? 0 : error_memory(source->err);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

int source_error_at(struct source *source, size_t offset, const char *what)
{
        unsigned line = 1, column = 1;

        for (size_t i = 0; i < offset && i < source->length; i++) {
                bool is_continued = ((unsigned char)source->text[i] & 0xc0) == 0x80;

                column = source->text[i] == '\n' ? 1 : column + !is_continued;
                line += source->text[i] == '\n';
        }
        return source_error(source, line, column, "%s", what);
}

static int check_text(struct source *source)
{
        const char *nul = memchr(source->text, '\0', source->length);
        size_t good = text_utf8_prefix(source->text, nul ? (size_t)(nul - source->text) : source->length);

        if (good == source->length)
                return 0;
        return source_error_at(source, good, source->text[good] ? "not UTF-8" : "a NUL byte");
}

/* Editors of another system begin every file with it; it is no part of what the file says. */
static void skip_byte_order_mark(struct source *source)
{
        if (source->length >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3)) {
                source->text += 3;
                source->length -= 3;
        }
}

enum document_format document_format_of(const char *name)
{
        const char *dot = strrchr(name, '.');

        if (dot && !strcmp(dot, ".json"))
                return DOCUMENT_JSON;
        if (dot && !strcmp(dot, ".toml"))
                return DOCUMENT_TOML;
        return DOCUMENT_YAML;
}

int document_parse(enum document_format format, const char *name, const char *text, size_t length,
                   struct node **out, abatis_error *err)
{
        abatis_error unwanted = { 0 };
        struct source source = { .name = name, .text = text, .length = length, .err = err ? err : &unwanted };
        int r;

        if (length > DOCUMENT_SIZE_MAX)
                return error_set(err, ABATIS_E_INVALID, "%s: larger than 1 MiB", name);
        r = check_text(&source);
        if (r < 0)
                return r;
        switch (format) {
        case DOCUMENT_YAML:
                skip_byte_order_mark(&source);
                return document_parse_yaml(&source, out);
        case DOCUMENT_JSON:
                skip_byte_order_mark(&source);
                return document_parse_json(&source, out);
        case DOCUMENT_TOML:
                return document_parse_toml(&source, out);
        }
        return error_set(err, ABATIS_E_INVALID, "%s: unknown format", name);
}
