/* fuzz_toml.c: whatever is read as TOML is refused with a place, or becomes a tree that is within bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How deep the tree is; every map finds its own items again, and every place lies in the text. */
static unsigned check_node(const struct node *node, unsigned lines)
{
        unsigned deepest = 0;

        if (!node->line || !node->column || node->line > lines)
                abort();
        if ((node->kind == NODE_STRING || node->kind == NODE_TIME) != (node->text != NULL))
                abort();
        if (node->text && !text_is_utf8(node->text, strlen(node->text)))
                abort();
        for (size_t i = 0; i < node->count; i++) {
                const struct node *item = node->items[i];
                unsigned depth = check_node(item, lines);

                if (node->kind == NODE_MAP && (node_find(node, item->key) != item || !item->key_line ||
                                               !item->key_column || item->key_line > lines))
                        abort();
                deepest = depth > deepest ? depth : deepest;
        }
        return deepest + (node->kind == NODE_LIST || node->kind == NODE_MAP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = size ? (const char *)data : "";
        abatis_error err = { .message = "" };
        struct node *root = NULL;
        unsigned lines = 1;
        int r;

        for (size_t i = 0; i < size; i++)
                lines += text[i] == '\n';
        r = document_parse(DOCUMENT_TOML, "f", text, size, &root, &err);
        if (r < 0) {
                if (root || err.code != r || strncmp(err.message, "f:", 2) != 0)
                        abort();
                return 0;
        }
        if (!root || root->kind != NODE_MAP || check_node(root, lines) > DOCUMENT_DEPTH_MAX)
                abort();
        node_free(root);
        return 0;
}
