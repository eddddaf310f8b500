/* document_yaml.c: YAML, read by libyaml event by event, as a tree. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/system.h"
#include "base/text.h"
#include "policy/document.h"

/* Looked up one by one. */
enum { ANCHORS_MAX = 256 };

struct anchor {
        char *name;        /* owned */
        struct node *node; /* borrowed from the tree */
        bool is_open;      /* still being read: an alias to it would be a circle */
};

struct reader {
        struct source *source;
        yaml_parser_t parser;
        struct anchor *anchors; /* owned */
        size_t anchor_count;
};

static unsigned line_of(yaml_mark_t mark)
{
        return (unsigned)mark.line + 1;
}

static unsigned column_of(yaml_mark_t mark)
{
        return (unsigned)mark.column + 1;
}

static int fail_at(struct reader *reader, yaml_mark_t mark, const char *what)
{
        return source_error(reader->source, line_of(mark), column_of(mark), "%s", what);
}

static int next_event(struct reader *reader, yaml_event_t *event)
{
        const yaml_parser_t *parser = &reader->parser;

        if (yaml_parser_parse(&reader->parser, event))
                return 0;
        switch (parser->error) {
        case YAML_MEMORY_ERROR:
                return error_memory(reader->source->err);
        case YAML_READER_ERROR:
                /* The bytes are UTF-8: what is left is a character that YAML does not allow. */
                return source_error_at(reader->source, parser->problem_offset, "a control character");
        case YAML_NO_ERROR:
        case YAML_SCANNER_ERROR:
        case YAML_PARSER_ERROR:
        case YAML_COMPOSER_ERROR:
        case YAML_WRITER_ERROR:
        case YAML_EMITTER_ERROR:
                break;
        }
        return source_error(reader->source, line_of(parser->problem_mark), column_of(parser->problem_mark),
                            "%s%s%s", parser->context ? parser->context : "", parser->context ? ": " : "",
                            parser->problem ? parser->problem : "not YAML");
}

/* ---- scalars: the core schema of YAML 1.2, in which yes and no are words ---------------------------------- */

static bool is_one_of(const char *text, const char *const *words)
{
        for (; *words; words++)
                if (!strcmp(text, *words))
                        return true;
        return false;
}

static bool looks_like_integer(const char *text)
{
        const char *digits = "0123456789";

        if (!strncmp(text, "0x", 2)) {
                digits = "0123456789abcdefABCDEF";
                text += 2;
        } else if (!strncmp(text, "0o", 2)) {
                digits = "01234567";
                text += 2;
        } else
                text += *text == '-' || *text == '+';
        return *text && !text[strspn(text, digits)];
}

static bool looks_like_float(const char *text)
{
        static const char *const special[] = { ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                               "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL };
        size_t before, after = 0;

        if (is_one_of(text, special))
                return true;
        text += *text == '-' || *text == '+';
        text += before = strspn(text, "0123456789");
        if (*text == '.') {
                text++;
                text += after = strspn(text, "0123456789");
        }
        if (!before && !after)
                return false;
        if (*text == 'e' || *text == 'E') {
                text++;
                text += *text == '-' || *text == '+';
                return *text && !text[strspn(text, "0123456789")];
        }
        return !*text;
}

static int set_integer(struct reader *reader, struct node *node, const char *text)
{
        int base = !strncmp(text, "0x", 2) ? 16 : !strncmp(text, "0o", 2) ? 8 : 10;

        errno = 0;
        node->kind = NODE_INTEGER;
        node->integer = strtoll(base == 8 ? text + 2 : text, NULL, base);
        if (errno)
                return source_error(reader->source, node->line, node->column, "the number %s is too large",
                                    text);
        return 0;
}

/* Not by strtod() alone, which goes by the host's locale. */
static int set_float(struct reader *reader, struct node *node, const char *text)
{
        node->kind = NODE_FLOAT;
        if (strpbrk(text, "iI"))
                node->number = *text == '-' ? (double)-INFINITY : (double)INFINITY;
        else if (strpbrk(text, "nN"))
                node->number = (double)NAN;
        else if (system_read_decimal(text, &node->number) < 0)
                return error_memory(reader->source->err);
        return 0;
}

static int set_scalar(struct reader *reader, struct node *node, const yaml_event_t *event)
{
        static const char *const nothing[] = { "", "~", "null", "Null", "NULL", NULL };
        static const char *const yes[] = { "true", "True", "TRUE", NULL };
        static const char *const no[] = { "false", "False", "FALSE", NULL };
        const char *text = (const char *)event->data.scalar.value;
        bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        int r;

        /* Kept of every scalar: "~" and "8080" may turn out to be meant as texts. */
        r = node_set_text(reader->source, node, text, event->data.scalar.length);
        if (r < 0)
                return r;
        node->kind = NODE_STRING;
        if (!is_plain)
                return 0;
        if (is_one_of(text, nothing))
                node->kind = NODE_NULL;
        else if (is_one_of(text, yes) || is_one_of(text, no)) {
                node->kind = NODE_BOOLEAN;
                node->boolean = is_one_of(text, yes);
        } else if (looks_like_integer(text))
                return set_integer(reader, node, text);
        else if (looks_like_float(text))
                return set_float(reader, node, text);
        return 0;
}

/* ---- anchors -------------------------------------------------------------------------------------------- */

static int set_anchor(struct reader *reader, const yaml_char_t *name, struct node *node, bool is_open)
{
        struct anchor *anchors;

        if (!name)
                return 0;
        if (reader->anchor_count == ANCHORS_MAX)
                return source_error(reader->source, node->line, node->column, "more than %d anchors",
                                    ANCHORS_MAX);
        anchors = realloc(reader->anchors, (reader->anchor_count + 1) * sizeof(*anchors));
        if (!anchors)
                return error_memory(reader->source->err);
        reader->anchors = anchors;
        anchors[reader->anchor_count] = (struct anchor){ strdup((const char *)name), node, is_open };
        return anchors[reader->anchor_count++].name ? 0 : error_memory(reader->source->err);
}

static void close_anchor(struct reader *reader, const struct node *node)
{
        for (size_t i = 0; i < reader->anchor_count; i++)
                if (reader->anchors[i].node == node)
                        reader->anchors[i].is_open = false;
}

static int count_copied(struct reader *reader, const struct node *from, yaml_mark_t mark)
{
        size_t length = (from->text ? strlen(from->text) : 0) + (from->key ? strlen(from->key) : 0);

        reader->source->copied += length;
        if (reader->source->copied > DOCUMENT_SIZE_MAX)
                return fail_at(reader, mark, "aliases make more than 1 MiB of text");
        return 0;
}

/* A copy, with the alias's place: the number of nodes and the length of their texts are limited, so an alias bomb ends
 * there. */
static struct node *copy_node(struct reader *reader, const struct node *from, unsigned depth,
                              yaml_mark_t mark)
{
        struct source *source = reader->source;
        struct node *copy;
        int r = 0;

        if (depth > DOCUMENT_DEPTH_MAX && (from->kind == NODE_LIST || from->kind == NODE_MAP)) {
                fail_at(reader, mark, "nested deeper than 64 levels");
                return NULL;
        }
        if (count_copied(reader, from, mark) < 0)
                return NULL;
        copy = node_new(source, from->kind, line_of(mark), column_of(mark));
        if (!copy)
                return NULL;
        copy->integer = from->integer;
        if (from->text)
                r = node_set_text(source, copy, from->text, strlen(from->text));
        for (size_t i = 0; i < from->count && !r; i++) {
                const struct node *item = from->items[i];
                struct node *copied = copy_node(reader, item, depth + 1, mark);

                if (!copied)
                        r = -1;
                else if (item->key)
                        r = map_add(source, copy, item->key, strlen(item->key), item->key_line,
                                    item->key_column, copied);
                else
                        r = list_add(source, copy, copied);
        }
        if (r < 0) {
                node_free(copy);
                return NULL;
        }
        return copy;
}

static struct node *follow_alias(struct reader *reader, const yaml_event_t *event, unsigned depth)
{
        const char *name = (const char *)event->data.alias.anchor;

        /* The last one of a name counts. */
        for (size_t i = reader->anchor_count; i--;) {
                if (strcmp(reader->anchors[i].name, name))
                        continue;
                if (reader->anchors[i].is_open) {
                        fail_at(reader, event->start_mark, "an alias to a value that it is part of");
                        return NULL;
                }
                return copy_node(reader, reader->anchors[i].node, depth, event->start_mark);
        }
        source_error(reader->source, line_of(event->start_mark), column_of(event->start_mark),
                     "alias '%s' has no anchor before it", name);
        return NULL;
}

/* ---- structure ------------------------------------------------------------------------------------------ */

static struct node *read_node(struct reader *reader, const yaml_event_t *event, unsigned depth);

static int read_list(struct reader *reader, struct node *list, unsigned depth)
{
        for (;;) {
                struct node *item;
                yaml_event_t event;
                int r = next_event(reader, &event);

                if (r < 0)
                        return r;
                if (event.type == YAML_SEQUENCE_END_EVENT) {
                        yaml_event_delete(&event);
                        return 0;
                }
                item = read_node(reader, &event, depth);
                yaml_event_delete(&event);
                if (!item || list_add(reader->source, list, item) < 0)
                        return -1;
        }
}

static int read_item(struct reader *reader, struct node *map, const yaml_event_t *key, unsigned depth)
{
        yaml_event_t event;
        struct node *item;
        int r;

        if (key->type != YAML_SCALAR_EVENT)
                return fail_at(reader, key->start_mark, "a key must be a word");
        if (key->data.scalar.tag)
                return fail_at(reader, key->start_mark, "tags are not supported");
        r = next_event(reader, &event);
        if (r < 0)
                return r;
        item = read_node(reader, &event, depth);
        yaml_event_delete(&event);
        if (!item)
                return -1;
        return map_add(reader->source, map, (const char *)key->data.scalar.value, key->data.scalar.length,
                       line_of(key->start_mark), column_of(key->start_mark), item);
}

static int read_map(struct reader *reader, struct node *map, unsigned depth)
{
        for (;;) {
                yaml_event_t event;
                bool is_end;
                int r = next_event(reader, &event);

                if (r < 0)
                        return r;
                is_end = event.type == YAML_MAPPING_END_EVENT;
                r = is_end ? 0 : read_item(reader, map, &event, depth);
                yaml_event_delete(&event);
                if (r < 0 || is_end)
                        return r;
        }
}

static const yaml_char_t *tag_of(const yaml_event_t *event)
{
        if (event->type == YAML_SCALAR_EVENT)
                return event->data.scalar.tag;
        return event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.tag
                                                        : event->data.mapping_start.tag;
}

static int fill_node(struct reader *reader, struct node *node, const yaml_event_t *event, unsigned depth)
{
        const yaml_char_t *anchor;
        int r;

        if (tag_of(event))
                return fail_at(reader, event->start_mark, "tags are not supported");
        if (event->type == YAML_SCALAR_EVENT) {
                r = set_anchor(reader, event->data.scalar.anchor, node, false);
                return r ? r : set_scalar(reader, node, event);
        }
        if (depth > DOCUMENT_DEPTH_MAX)
                return fail_at(reader, event->start_mark, "nested deeper than 64 levels");
        anchor = node->kind == NODE_LIST ? event->data.sequence_start.anchor
                                         : event->data.mapping_start.anchor;
        r = set_anchor(reader, anchor, node, true);
        if (!r)
                r = node->kind == NODE_LIST ? read_list(reader, node, depth + 1)
                                            : read_map(reader, node, depth + 1);
        if (!r && anchor)
                close_anchor(reader, node);
        return r;
}

/* The value that begins with this event; NULL with the error set. */
static struct node *read_node(struct reader *reader, const yaml_event_t *event, unsigned depth)
{
        enum node_kind kind = event->type == YAML_SEQUENCE_START_EVENT  ? NODE_LIST
                              : event->type == YAML_MAPPING_START_EVENT ? NODE_MAP
                                                                        : NODE_NULL;
        struct node *node;

        if (event->type == YAML_ALIAS_EVENT)
                return follow_alias(reader, event, depth);
        node = node_new(reader->source, kind, line_of(event->start_mark), column_of(event->start_mark));
        if (node && fill_node(reader, node, event, depth) < 0) {
                node_free(node);
                return NULL;
        }
        return node;
}

/* Between the start and the end of the stream: one document or, in an empty file, none. */
static int read_document(struct reader *reader, struct node **out)
{
        OWN_NODE struct node *root = NULL;
        yaml_event_t event;
        bool is_over = false;

        while (!is_over) {
                int r = next_event(reader, &event);

                if (r < 0)
                        return r;
                switch (event.type) {
                case YAML_STREAM_END_EVENT:
                        is_over = true;
                        break;
                case YAML_NO_EVENT:
                case YAML_STREAM_START_EVENT:
                case YAML_DOCUMENT_END_EVENT:
                        break;
                case YAML_DOCUMENT_START_EVENT:
                        if (root)
                                r = fail_at(reader, event.start_mark, "a second document in one file");
                        break;
                case YAML_ALIAS_EVENT:
                case YAML_SCALAR_EVENT:
                case YAML_SEQUENCE_START_EVENT:
                case YAML_SEQUENCE_END_EVENT:
                case YAML_MAPPING_START_EVENT:
                case YAML_MAPPING_END_EVENT:
                        root = read_node(reader, &event, 1);
                        r = root ? 0 : -1;
                        break;
                }
                yaml_event_delete(&event);
                if (r < 0)
                        return r;
        }
        if (!root)
                root = node_new(reader->source, NODE_NULL, 1, 1);
        *out = root;
        root = NULL;
        return *out ? 0 : -1;
}

/* YAML 1.1 takes these for ends of lines, where editors and terminals go on with the comment, write over the line, or
 * turn it round: whoever vouches for a file must have seen what it says. */
static const char *find_hidden(uint32_t character, bool is_before_newline)
{
        if (character == '\r' && !is_before_newline)
                return "a lone carriage return";
        if (character == 0x85 || character == 0x2028 || character == 0x2029)
                return "a line break that few editors show; in quotes, write \\N, \\L or \\P";
        if ((character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069))
                return "a character that turns text round; in quotes, write it as \\u....";
        return NULL;
}

static int check_hidden(struct source *source)
{
        for (size_t at = 0; at < source->length;) {
                uint32_t character;
                size_t taken = text_character(source->text + at, source->length - at, &character);
                bool is_before_newline = at + 1 < source->length && source->text[at + 1] == '\n';
                const char *hidden = find_hidden(character, is_before_newline);

                if (hidden)
                        return source_error_at(source, at, hidden);
                at += taken;
        }
        return 0;
}

int document_parse_yaml(struct source *source, struct node **out)
{
        struct reader reader = { .source = source };
        struct node *root = NULL;
        int r = check_hidden(source);

        if (r < 0)
                return r;
        if (!yaml_parser_initialize(&reader.parser))
                return error_memory(source->err);
        yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&reader.parser, (const unsigned char *)source->text, source->length);
        r = read_document(&reader, &root);
        yaml_parser_delete(&reader.parser);
        for (size_t i = 0; i < reader.anchor_count; i++)
                free(reader.anchors[i].name);
        free(reader.anchors);
        if (r < 0)
                return source->err->code;
        *out = root;
        return 0;
}
