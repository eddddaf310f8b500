/* documents.c: reading a text as a document, finding a node again, the exact words of a refusal. */
#define _GNU_SOURCE
#include "documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int parse_bytes(enum document_format format, const char *text, size_t length, struct node **out,
                abatis_error *err)
{
        char *exact = malloc(length ? length : 1);
        int r;

        assert_non_null(exact);
        memcpy(exact, text, length);
        r = document_parse(format, "f", exact, length, out, err);
        free(exact);
        return r;
}

struct node *parse(enum document_format format, const char *text)
{
        abatis_error err = { .message = "" };
        struct node *root = NULL;

        if (parse_bytes(format, text, strlen(text), &root, &err) < 0)
                fail_msg("%s", err.message);
        assert_non_null(root);
        return root;
}

void assert_refused_bytes(enum document_format format, const char *text, size_t length, const char *message)
{
        struct node untouched, *root = &untouched;
        abatis_error err = { .message = "" };

        if (!parse_bytes(format, text, length, &root, &err))
                fail_msg("read without '%s': %.60s", message, text);
        assert_ptr_equal(root, &untouched);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (strcmp(err.message, message) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
        assert_int_equal(parse_bytes(format, text, length, &root, NULL), ABATIS_E_INVALID);
        assert_ptr_equal(root, &untouched);
}

void assert_refused(enum document_format format, const char *text, const char *message)
{
        assert_refused_bytes(format, text, strlen(text), message);
}

void assert_answered(enum document_format format, const char *text, size_t length)
{
        struct node untouched, *root = &untouched;
        abatis_error err = { .message = "" };
        /* To libyaml the end of a text is the beginning of a line. */
        unsigned line, column, lines = format == DOCUMENT_YAML ? 2 : 1;
        int r = parse_bytes(format, text, length, &root, &err);

        if (!r) {
                node_free(root);
                return;
        }
        for (size_t i = 0; i < length; i++)
                lines += text[i] == '\n';
        assert_ptr_equal(root, &untouched);
        assert_int_equal(r, ABATIS_E_INVALID);
        assert_int_equal(err.code, r);
        if (sscanf(err.message, "f:%u:%u: ", &line, &column) != 2 || !line || !column || line > lines ||
            column > length + 1)
                fail_msg("no place in '%s'", err.message);
        assert_int_equal(parse_bytes(format, text, length, &root, NULL), r);
}

struct node *find_node(struct node *node, const char *path)
{
        char part[64];

        while (*path) {
                size_t length = strcspn(path, "/");

                assert_true(length < sizeof(part));
                memcpy(part, path, length);
                part[length] = '\0';
                path += length + (path[length] == '/');
                if (node->kind == NODE_LIST) {
                        size_t index = strtoul(part, NULL, 10);

                        assert_true(index < node->count);
                        node = node->items[index];
                } else {
                        node = node_find(node, part);
                }
                if (!node)
                        fail_msg("no '%s'", part);
        }
        return node;
}

void assert_place(struct node *root, const char *path, unsigned key_line, unsigned key_column, unsigned line,
                  unsigned column)
{
        const struct node *node = find_node(root, path);

        if (node->key_line != key_line || node->key_column != key_column || node->line != line ||
            node->column != column)
                fail_msg("%s: key at %u:%u, value at %u:%u", path, node->key_line, node->key_column,
                         node->line, node->column);
}

static bool is_same_text(const char *left, const char *right)
{
        return left && right ? !strcmp(left, right) : left == right;
}

bool is_same(const struct node *left, const struct node *right)
{
        if (left->kind != right->kind || left->count != right->count || !is_same_text(left->key, right->key))
                return false;
        if (left->kind == NODE_STRING && !is_same_text(left->text, right->text))
                return false;
        if (left->kind == NODE_BOOLEAN ? left->boolean != right->boolean : left->integer != right->integer)
                return false;
        for (size_t i = 0; i < left->count; i++)
                if (!is_same(left->items[i], right->items[i]))
                        return false;
        return true;
}

char *repeat(const char *before, const char *what, size_t count, const char *after)
{
        size_t length = strlen(what);
        char *text = malloc(strlen(before) + count * length + strlen(after) + 1), *at;

        assert_non_null(text);
        at = stpcpy(text, before);
        for (size_t i = 0; i < count; i++, at += length)
                memcpy(at, what, length);
        strcpy(at, after);
        return text;
}

char *nest(const char *before, const char *open, size_t depth, const char *inside, const char *close)
{
        char *opened = repeat(before, open, depth, inside), *text = repeat(opened, close, depth, "");

        free(opened);
        return text;
}

double seconds_used(void)
{
        return (double)clock() / CLOCKS_PER_SEC;
}
