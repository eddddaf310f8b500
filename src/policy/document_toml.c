/* document_toml.c: the structure of a TOML 1.0 document: keys, tables, and who may add to which. */
#include "policy/document_toml.h"

#include "base/error.h"
#include "base/own.h"

/* How a table came to be decides who may add to it later. An array of tables is TABLE_HEADER, any other list is
 * TABLE_CLOSED. */
enum table_state {
        TABLE_IMPLIED, /* named on the way to another: [a] after [a.b] */
        TABLE_HEADER,  /* has its own header, and may not have a second one */
        TABLE_DOTTED,  /* a dotted key made it: only dotted keys of the same table add to it */
        TABLE_CLOSED,  /* written out between braces or brackets */
};

/* Where a key leads: its last part, and the table to put it into. */
struct path {
        struct node *table; /* borrowed */
        unsigned depth;     /* of the table; the document itself is 1 */
        struct text key;    /* owned */
        unsigned line, column;
};

static void path_done(struct path *path)
{
        text_done(&path->key);
}

#define OWN_PATH __attribute__((cleanup(path_done)))

/* Kept where a scalar has its value: tables and lists have none. */
static enum table_state state_of(const struct node *node)
{
        return (enum table_state)node->integer;
}

static void set_state(struct node *node, enum table_state state)
{
        node->integer = state;
}

/* ---- characters ----------------------------------------------------------------------------------------- */

static size_t character_length(int first)
{
        return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

int toml_expected(struct toml *toml, const char *what)
{
        int next = toml_peek(toml, 0);

        if (next == TOML_END)
                return toml_error(toml, "expected %s, not the end of the file", what);
        if (toml_line_break(toml))
                return toml_error(toml, "expected %s, not the end of the line", what);
        if (toml_is_control(next))
                return toml_error(toml, "expected %s, not the control character U+%04X", what,
                                  (unsigned)next);
        return toml_error(toml, "expected %s, not '%.*s'", what, (int)character_length(next),
                          toml->source->text + toml->at);
}

static void skip_space(struct toml *toml)
{
        while (toml_is_space(toml_peek(toml, 0)))
                toml_step(toml);
}

static int skip_comment(struct toml *toml)
{
        if (toml_peek(toml, 0) != '#')
                return 0;
        while (toml_peek(toml, 0) != TOML_END && !toml_line_break(toml)) {
                if (toml_is_control(toml_peek(toml, 0)))
                        return toml_expected(toml, "text in the comment");
                toml_step(toml);
        }
        return 0;
}

/* Everything that may stand between two items: blanks, comments, line breaks. */
static int skip_lines(struct toml *toml)
{
        for (;;) {
                int r;

                skip_space(toml);
                r = skip_comment(toml);
                if (r < 0 || !toml_line_break(toml))
                        return r;
                for (size_t length = toml_line_break(toml); length; length--)
                        toml_step(toml);
        }
}

static int end_line(struct toml *toml)
{
        int r;

        skip_space(toml);
        r = skip_comment(toml);
        if (r < 0 || toml_peek(toml, 0) == TOML_END || toml_line_break(toml))
                return r;
        return toml_expected(toml, "the end of the line");
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

static bool is_bare(int byte)
{
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
               byte == '_' || byte == '-';
}

/* One part of a key, with the blanks behind it. */
static int read_part(struct toml *toml, struct path *path)
{
        size_t start = toml->at;

        path->line = toml->line;
        path->column = toml->column;
        path->key.length = 0;
        if (toml_peek(toml, 0) == '"' || toml_peek(toml, 0) == '\'') {
                int r = toml_read_string(toml, true, &path->key);

                if (r < 0)
                        return r;
        } else {
                while (is_bare(toml_peek(toml, 0)))
                        toml_step(toml);
                if (toml->at == start)
                        return toml_expected(toml, "a key (letters, digits, - and _, or anything in quotes)");
                text_add_bytes(&path->key, toml->source->text + start, toml->at - start);
                if (path->key.has_failed)
                        return error_memory(toml->source->err);
        }
        skip_space(toml);
        return 0;
}

static int refuse_depth(struct toml *toml, unsigned line, unsigned column)
{
        source_error(toml->source, line, column, "more than %d levels deep", DOCUMENT_DEPTH_MAX);
        return ABATIS_E_INVALID;
}

/* A new item of the path's table under the path's key; `*out` is borrowed. */
static int add_item(struct toml *toml, const struct path *path, enum node_kind kind, enum table_state state,
                    struct node **out)
{
        struct node *item; /* the table's, as soon as it is added */
        int r;

        if (path->depth >= DOCUMENT_DEPTH_MAX)
                return refuse_depth(toml, path->line, path->column);
        item = node_new(toml->source, kind, path->line, path->column);
        if (!item)
                return toml_node_error(toml);
        set_state(item, state);
        r = map_add(toml->source, path->table, path->key.data, path->key.length, path->line, path->column,
                    item);
        if (r < 0)
                return r;
        *out = item;
        return 0;
}

static int refuse_to_enter(struct toml *toml, const struct path *path, const struct node *item)
{
        const char *what = node_kind_name(item->kind);

        if (item->kind == NODE_MAP)
                what = state_of(item) == TABLE_CLOSED ? "closed by its '}'" : "a table with its own header";
        else if (item->kind == NODE_LIST && state_of(item) == TABLE_HEADER)
                what = "an array of tables";
        return source_error(toml->source, path->line, path->column,
                            "nothing can be added to '%s' here: it is %s, from line %u", path->key.data, what,
                            item->key_line);
}

/* A header may lead through any table that is not closed, a dotted key only through those without a header. */
static bool can_enter(const struct node *item, bool is_header)
{
        if (item->kind != NODE_MAP && item->kind != NODE_LIST)
                return false;
        return state_of(item) != TABLE_CLOSED && (is_header || state_of(item) != TABLE_HEADER);
}

/* Goes into the table that a part before the last names; makes it if need be. */
static int enter(struct toml *toml, bool is_header, struct path *path)
{
        struct node *item = node_find(path->table, path->key.data);

        if (!item) {
                int r = add_item(toml, path, NODE_MAP, is_header ? TABLE_IMPLIED : TABLE_DOTTED, &item);

                if (r < 0)
                        return r;
        }
        if (!can_enter(item, is_header))
                return refuse_to_enter(toml, path, item);
        if (item->kind == NODE_LIST) {
                item = item->items[item->count - 1];
                path->depth++;
        } else if (!is_header) {
                set_state(item, TABLE_DOTTED);
        }
        path->table = item;
        path->depth++;
        return 0;
}

/* Reads a whole key from the table on that the path is set to. */
static int follow(struct toml *toml, bool is_header, struct path *path)
{
        for (;;) {
                int r = read_part(toml, path);

                if (r < 0 || toml_peek(toml, 0) != '.')
                        return r;
                toml_step(toml);
                skip_space(toml);
                r = enter(toml, is_header, path);
                if (r < 0)
                        return r;
        }
}

/* ---- values --------------------------------------------------------------------------------------------- */

static int parse_value(struct toml *toml, unsigned depth, struct node **out);
static int parse_pair(struct toml *toml, struct node *table, unsigned depth);

static int parse_string(struct toml *toml, struct node **out)
{
        OWN_NODE struct node *node = node_new(toml->source, NODE_STRING, toml->line, toml->column);
        OWN_TEXT struct text text = { 0 };
        int r;

        if (!node)
                return toml_node_error(toml);
        r = toml_read_string(toml, false, &text);
        if (!r)
                r = node_set_text(toml->source, node, text.data, text.length);
        if (r < 0)
                return r;
        *out = take_pointer(node);
        return 0;
}

/* Behind the bracket; leaves the closing one to the caller. */
static int parse_items(struct toml *toml, struct node *list, unsigned depth)
{
        for (;;) {
                struct node *item = NULL;
                int r = skip_lines(toml);

                if (r < 0 || toml_peek(toml, 0) == ']')
                        return r;
                if (toml_peek(toml, 0) == TOML_END)
                        return toml_error(toml, "the list that begins on line %u is not closed; expected ']'",
                                          list->line);
                r = parse_value(toml, depth, &item);
                if (!r)
                        r = list_add(toml->source, list, item);
                if (!r)
                        r = skip_lines(toml);
                if (r < 0)
                        return r;
                if (toml_peek(toml, 0) == ',')
                        toml_step(toml);
                else if (toml_peek(toml, 0) != ']')
                        return toml_expected(toml, "',' or ']' in the list");
        }
}

/* Behind the brace; leaves the closing one to the caller. */
static int parse_pairs(struct toml *toml, struct node *table, unsigned depth)
{
        skip_space(toml);
        if (toml_peek(toml, 0) == '}')
                return 0;
        for (;;) {
                int r = parse_pair(toml, table, depth);

                if (r < 0)
                        return r;
                skip_space(toml);
                if (toml_peek(toml, 0) == '}')
                        return 0;
                if (toml_peek(toml, 0) != ',')
                        return toml_expected(toml, "',' or '}' in the table, which is written on one line");
                toml_step(toml);
                skip_space(toml);
                if (toml_peek(toml, 0) == '}')
                        return toml_expected(toml, "another key after the comma");
        }
}

static int parse_container(struct toml *toml, enum node_kind kind, unsigned depth, struct node **out)
{
        OWN_NODE struct node *node = NULL;
        int r;

        if (depth >= DOCUMENT_DEPTH_MAX)
                return refuse_depth(toml, toml->line, toml->column);
        node = node_new(toml->source, kind, toml->line, toml->column);
        if (!node)
                return toml_node_error(toml);
        set_state(node, TABLE_CLOSED);
        toml_step(toml);
        r = kind == NODE_LIST ? parse_items(toml, node, depth + 1) : parse_pairs(toml, node, depth + 1);
        if (r < 0)
                return r;
        toml_step(toml);
        *out = take_pointer(node);
        return 0;
}

/* `depth` is that of the table or list the value goes into. */
static int parse_value(struct toml *toml, unsigned depth, struct node **out)
{
        switch (toml_peek(toml, 0)) {
        case '"':
        case '\'':
                return parse_string(toml, out);
        case '[':
                return parse_container(toml, NODE_LIST, depth, out);
        case '{':
                return parse_container(toml, NODE_MAP, depth, out);
        default:
                return toml_parse_scalar(toml, out);
        }
}

static int parse_pair(struct toml *toml, struct node *table, unsigned depth)
{
        OWN_PATH struct path path = { .table = table, .depth = depth };
        struct node *value = NULL;
        int r = follow(toml, false, &path);

        if (r < 0)
                return r;
        if (toml_peek(toml, 0) != '=')
                return toml_expected(toml, "'=' after the key");
        toml_step(toml);
        skip_space(toml);
        r = parse_value(toml, path.depth, &value);
        if (r < 0)
                return r;
        return map_add(toml->source, path.table, path.key.data, path.key.length, path.line, path.column,
                       value);
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static int refuse_header(struct toml *toml, const struct path *path, const struct node *item)
{
        return source_error(toml->source, path->line, path->column, "duplicate table '%s', first on line %u",
                            path->key.data, item->key_line);
}

/* [a.b]: the table is new, or only implied so far. */
static int open_table(struct toml *toml, const struct path *path, struct node **out)
{
        struct node *item = node_find(path->table, path->key.data);

        if (!item)
                return add_item(toml, path, NODE_MAP, TABLE_HEADER, out);
        if (item->kind != NODE_MAP || state_of(item) != TABLE_IMPLIED)
                return refuse_header(toml, path, item);
        set_state(item, TABLE_HEADER);
        item->key_line = path->line;
        item->key_column = path->column;
        *out = item;
        return 0;
}

/* [[a.b]]: one more table at the end of the list. */
static int open_item(struct toml *toml, const struct path *path, struct node **out)
{
        struct node *list = node_find(path->table, path->key.data), *item;
        int r = 0;

        if (!list)
                r = add_item(toml, path, NODE_LIST, TABLE_HEADER, &list);
        else if (list->kind != NODE_LIST || state_of(list) != TABLE_HEADER)
                return refuse_header(toml, path, list);
        if (r < 0)
                return r;
        if (path->depth + 1 >= DOCUMENT_DEPTH_MAX)
                return refuse_depth(toml, path->line, path->column);
        item = node_new(toml->source, NODE_MAP, path->line, path->column);
        if (!item)
                return toml_node_error(toml);
        set_state(item, TABLE_HEADER);
        r = list_add(toml->source, list, item);
        if (!r)
                *out = item;
        return r;
}

/* Sets the table that the pairs of the following lines go into. */
static int parse_header(struct toml *toml, struct node *root, struct node **table, unsigned *depth)
{
        OWN_PATH struct path path = { .table = root, .depth = 1 };
        const struct toml start = *toml;
        bool is_item = toml_peek(toml, 1) == '[';
        int r;

        toml_step(toml);
        if (is_item)
                toml_step(toml);
        skip_space(toml);
        r = follow(toml, true, &path);
        if (r < 0)
                return r;
        if (toml_peek(toml, 0) != ']' || (is_item && toml_peek(toml, 1) != ']'))
                return toml_expected(toml, is_item ? "']]' after the name of the table"
                                                   : "']' after the name of the table");
        toml_step(toml);
        if (is_item)
                toml_step(toml);
        r = is_item ? open_item(toml, &path, table) : open_table(toml, &path, table);
        if (r < 0)
                return r;
        (*table)->line = start.line;
        (*table)->column = start.column;
        *depth = path.depth + 1 + is_item;
        return end_line(toml);
}

static int parse_lines(struct toml *toml, struct node *root)
{
        struct node *table = root;
        unsigned depth = 1;

        for (;;) {
                int r = skip_lines(toml);

                if (r < 0 || toml_peek(toml, 0) == TOML_END)
                        return r;
                if (toml_peek(toml, 0) == '[') {
                        r = parse_header(toml, root, &table, &depth);
                } else {
                        r = parse_pair(toml, table, depth);
                        if (!r)
                                r = end_line(toml);
                }
                if (r < 0)
                        return r;
        }
}

int document_parse_toml(struct source *source, struct node **out)
{
        struct toml toml = { .source = source, .line = 1, .column = 1 };
        OWN_NODE struct node *root = node_new(source, NODE_MAP, 1, 1);
        int r;

        if (!root)
                return toml_node_error(&toml);
        set_state(root, TABLE_HEADER);
        /* Some editors begin every file with a byte order mark. */
        if (toml_peek(&toml, 0) == 0xef && toml_peek(&toml, 1) == 0xbb && toml_peek(&toml, 2) == 0xbf)
                toml.at = 3;
        r = parse_lines(&toml, root);
        if (r < 0)
                return r;
        *out = take_pointer(root);
        return 0;
}
