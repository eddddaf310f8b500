/* tree.h: what every parser of documents owes, whatever it is given; for the fuzz targets of documents. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How deep the tree is; every map finds its own items again, and every place lies in the text. */
static inline unsigned check_node(const struct node *node, unsigned lines, size_t *count)
{
        bool is_container = node->kind == NODE_LIST || node->kind == NODE_MAP;
        unsigned deepest = 0;

        if (!node->line || !node->column || node->line > lines || ++*count > DOCUMENT_NODES_MAX)
                abort();
        if ((node->kind == NODE_STRING && !node->text) || (is_container && node->text) ||
            (!is_container && node->count))
                abort();
        if (node->text && !text_is_utf8(node->text, strlen(node->text)))
                abort();
        for (size_t i = 0; i < node->count; i++) {
                const struct node *item = node->items[i];
                unsigned depth = check_node(item, lines, count);

                if ((node->kind == NODE_MAP) != (item->key != NULL))
                        abort();
                if (item->key && (node_find(node, item->key) != item || !item->key_line ||
                                  !item->key_column || item->key_line > lines))
                        abort();
                deepest = depth > deepest ? depth : deepest;
        }
        return deepest + is_container;
}

/* Refused with a place in the text, or a tree within bounds. */
static inline void check_document(enum document_format format, const uint8_t *data, size_t size)
{
        const char *text = size ? (const char *)data : "";
        abatis_error err = { .message = "" };
        struct node *root = NULL;
        size_t count = 0;
        /* To libyaml the end of a text is the beginning of a line. */
        unsigned lines = 1 + (format == DOCUMENT_YAML);
        int r = document_parse(format, "f", text, size, &root, &err);

        for (size_t i = 0; i < size; i++)
                lines += text[i] == '\n';
        if (r < 0) {
                if (root || err.code != ABATIS_E_INVALID || strncmp(err.message, "f:", 2) != 0 ||
                    document_parse(format, "f", text, size, &root, NULL) != r)
                        abort();
                return;
        }
        if (!root || check_node(root, lines, &count) > DOCUMENT_DEPTH_MAX)
                abort();
        node_free(root);
}

#endif
