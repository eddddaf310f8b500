/* toml_tree.c: prints what a TOML file says, as the tagged JSON of toml-test.
 *
 *   toml-tree FILE
 *
 * Exits with 0, with 1 and one line on stderr when the file is refused, with 2 when it cannot be read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "policy/document.h"

static json_t *tag(const char *type, json_t *value)
{
        return json_pack("{s:s, s:o}", "type", type, "value", value);
}

static json_t *show_float(double number)
{
        if (isnan(number))
                return json_string("nan");
        return isinf(number) ? json_string(number < 0 ? "-inf" : "inf") : json_sprintf("%.17g", number);
}

static json_t *show(const struct node *node)
{
        static const char *const times[] = { [TIME_OFFSET] = "datetime",
                                             [TIME_LOCAL] = "datetime-local",
                                             [TIME_DATE] = "date-local",
                                             [TIME_CLOCK] = "time-local" };
        json_t *json = NULL;

        switch (node->kind) {
        case NODE_NULL:
                break; /* TOML has none */
        case NODE_BOOLEAN:
                return tag("bool", json_string(node->boolean ? "true" : "false"));
        case NODE_INTEGER:
                return tag("integer", json_sprintf("%lld", (long long)node->integer));
        case NODE_FLOAT:
                return tag("float", show_float(node->number));
        case NODE_STRING:
                return tag("string", json_string(node->text));
        case NODE_TIME:
                return tag(times[node->time], json_string(node->text));
        case NODE_LIST:
                json = json_array();
                for (size_t i = 0; i < node->count; i++)
                        json_array_append_new(json, show(node->items[i]));
                break;
        case NODE_MAP:
                json = json_object();
                for (size_t i = 0; i < node->count; i++)
                        json_object_set_new(json, node->items[i]->key, show(node->items[i]));
                break;
        }
        return json;
}

int main(int argc, char **argv)
{
        static char text[DOCUMENT_SIZE_MAX + 1];
        abatis_error err = { .message = "" };
        struct node *root = NULL;
        json_t *json;
        size_t length;
        FILE *file;

        file = argc == 2 ? fopen(argv[1], "rb") : NULL;
        if (!file)
                return 2;
        length = fread(text, 1, sizeof(text), file);
        fclose(file);
        if (document_parse(DOCUMENT_TOML, argv[1], text, length, &root, &err) < 0) {
                fprintf(stderr, "%s\n", err.message);
                return 1;
        }
        json = show(root);
        node_free(root);
        if (!json || json_dumpf(json, stdout, JSON_INDENT(2)) < 0)
                return 2;
        json_decref(json);
        return 0;
}
