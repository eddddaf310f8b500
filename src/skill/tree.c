/* tree.c: a part of a document as JSON. */
#include "skill/tree.h"

#include <math.h>

#include "base/error.h"
#include "base/json.h"

unsigned tree_depth(const struct node *node)
{
        unsigned deepest = 0;

        for (size_t i = 0; i < node->count; i++) {
                unsigned depth = tree_depth(node->items[i]);

                deepest = depth > deepest ? depth : deepest;
        }
        return deepest + 1;
}

static const struct node *find_infinite(const struct node *node)
{
        const struct node *found = node->kind == NODE_FLOAT && !isfinite(node->number) ? node : NULL;

        for (size_t i = 0; i < node->count && !found; i++)
                found = find_infinite(node->items[i]);
        return found;
}

static json_t *make_value(const struct node *node);

static json_t *make_list(const struct node *node)
{
        json_t *list = json_array();

        for (size_t i = 0; i < node->count && list; i++)
                if (json_array_append_new(list, make_value(node->items[i])) < 0) {
                        json_decref(list);
                        list = NULL;
                }
        return list;
}

static json_t *make_map(const struct node *node)
{
        json_t *map = json_object();

        for (size_t i = 0; i < node->count && map; i++)
                if (json_object_set_new(map, node->items[i]->key, make_value(node->items[i])) < 0) {
                        json_decref(map);
                        map = NULL;
                }
        return map;
}

static json_t *make_value(const struct node *node)
{
        switch (node->kind) {
        case NODE_NULL:
                return json_null();
        case NODE_BOOLEAN:
                return json_boolean(node->boolean);
        case NODE_INTEGER:
                return json_integer(node->integer);
        case NODE_FLOAT:
                return json_real(node->number);
        case NODE_STRING:
        case NODE_TIME:
                return json_string(node->text);
        case NODE_LIST:
                return make_list(node);
        case NODE_MAP:
                return make_map(node);
        }
        return NULL;
}

int tree_to_json(const struct node *node, const char *file, char **out, abatis_error *err)
{
        const struct node *infinite = find_infinite(node);

        if (infinite)
                return document_error(err, file, infinite->line, infinite->column, "JSON has no such number");
        return json_to_text(make_value(node), JSON_COMPACT | JSON_ENCODE_ANY, out, err);
}
