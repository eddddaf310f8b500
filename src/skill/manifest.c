/* manifest.c: reads skill.yaml: every key is known, every value of the right kind, or the error names the place. */
#define _GNU_SOURCE
#include "skill/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/layer.h"
#include "skill/tree.h"

/* While one file is read. */
struct reading {
        struct manifest *manifest;
        const char *file; /* borrowed */
        abatis_error *err;
};

#define fail_at(reading, node, ...) \
        document_error((reading)->err, (reading)->file, (node)->line, (node)->column, __VA_ARGS__)

bool manifest_is_of_file(const char *word)
{
        size_t length = strlen(word);

        return length >= 5 && !strcmp(word + length - 5, ".wasm");
}

bool manifest_is_name(const char *word)
{
        static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789",
                          others[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
        size_t length = strlen(word);

        return length && length <= MANIFEST_NAME_MAX && strchr(first, *word) &&
               strspn(word, others) == length && !manifest_is_of_file(word);
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

static int wrong_kind(const struct reading *reading, const struct node *node, const char *wanted)
{
        return fail_at(reading, node, "%s takes %s, not %s", node->key, wanted, node_kind_name(node->kind));
}

static int keep(const struct reading *reading, const char *text, char **out)
{
        *out = strdup(text);
        return *out ? 0 : error_memory(reading->err);
}

/* What would break a line, drive a terminal or turn text round has no place where people and models read it. */
static bool is_one_line(const char *text)
{
        for (size_t left = strlen(text), taken; left; left -= taken, text += taken) {
                char shown[TEXT_SHOWN_SIZE];

                taken = text_show(text, left, shown);
                if (strncmp(text, shown, strlen(shown)) != 0)
                        return false;
        }
        return true;
}

static int read_format(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_INTEGER || node->integer != 1)
                return fail_at(reading, node, "abatis: this abatis reads format 1 only");
        return 0;
}

static int read_name(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_STRING)
                return wrong_kind(reading, node, "a name");
        if (!manifest_is_name(node->text))
                return fail_at(
                        reading, node,
                        "name: '%s' is not of a-z, 0-9, '.', '_' and '-', 64 of them at most, a letter or "
                        "digit first",
                        node->text);
        return keep(reading, node->text, &reading->manifest->name);
}

static int read_version(struct reading *reading, const struct node *node)
{
        if (node->kind == NODE_INTEGER || node->kind == NODE_FLOAT)
                return fail_at(reading, node, "version takes a text; put the number in quotes");
        if (node->kind != NODE_STRING)
                return wrong_kind(reading, node, "a text");
        if (!*node->text || strlen(node->text) > MANIFEST_NAME_MAX || !is_one_line(node->text) ||
            strpbrk(node->text, " /\\"))
                return fail_at(reading, node, "version: '%s' is not one word of 64 bytes at most",
                               node->text);
        return keep(reading, node->text, &reading->manifest->version);
}

static int read_description(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_STRING)
                return wrong_kind(reading, node, "a text");
        if (!*node->text)
                return fail_at(reading, node, "description: it is empty");
        if (strlen(node->text) > MANIFEST_DESCRIPTION_MAX)
                return fail_at(reading, node, "description: it has more than %d bytes",
                               MANIFEST_DESCRIPTION_MAX);
        if (!is_one_line(node->text))
                return fail_at(reading, node,
                               "description: it is one line, without characters that are not seen");
        return keep(reading, node->text, &reading->manifest->description);
}

static bool is_inner_path(const char *path)
{
        if (!*path || strlen(path) > MANIFEST_MODULE_MAX || !is_one_line(path))
                return false;
        for (const char *name = path; name;) {
                size_t length = strcspn(name, "/");

                if (!length || (*name == '.' && (length == 1 || (length == 2 && name[1] == '.'))))
                        return false;
                name = name[length] ? name + length + 1 : NULL;
        }
        return true;
}

static int read_module(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_STRING)
                return wrong_kind(reading, node, "the path of a file in the package");
        if (!is_inner_path(node->text))
                return fail_at(reading, node, "module: '%s' is not the path of a file in the package",
                               node->text);
        return keep(reading, node->text, &reading->manifest->module);
}

static int read_sha256(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_STRING || strlen(node->text) != SHA256_TEXT_SIZE - 1 ||
            !sha256_is_text(node->text))
                return fail_at(reading, node, "sha256 takes 64 digits of 0-9 and a-f");
        memcpy(reading->manifest->sha256, node->text, SHA256_TEXT_SIZE);
        return 0;
}

static int read_tier(struct reading *reading, const struct node *node)
{
        static const char *const tiers[] = { "local", "verified", "untrusted", NULL };
        char hint[128];

        if (node->kind != NODE_STRING)
                return wrong_kind(reading, node, "local, verified or untrusted");
        for (const char *const *tier = tiers; *tier; tier++)
                if (!strcmp(*tier, node->text)) {
                        reading->manifest->tier = abatis_tier_find(*tier);
                        return 0;
                }
        explain_unknown(node->text, tiers, hint, sizeof(hint));
        return fail_at(reading, node, "tier: unknown tier '%s'; %s", node->text, hint);
}

static int read_engine(struct reading *reading, const struct node *node)
{
        if (node->kind != NODE_STRING || !manifest_is_name(node->text))
                return fail_at(reading, node, "engine takes the name of an engine");
        return keep(reading, node->text, &reading->manifest->engine);
}

/* ---- what it asks for ----------------------------------------------------------------------------------- */

/* "MODULE.NAME" or "MODULE.*". */
static bool is_import(const char *text)
{
        const char *dot = strrchr(text, '.');

        return dot && dot != text && dot[1] && is_one_line(text) && strlen(text) <= MANIFEST_MODULE_MAX;
}

static int read_imports(struct reading *reading, const struct node *node)
{
        char **imports;

        if (node->kind != NODE_LIST)
                return wrong_kind(reading, node, "a list of MODULE.NAME or MODULE.*");
        if (node->count > MANIFEST_IMPORTS_MAX)
                return fail_at(reading, node, "imports: there are more than %d", MANIFEST_IMPORTS_MAX);
        imports = calloc(node->count + 1, sizeof(*imports));
        if (!imports)
                return error_memory(reading->err);
        free(reading->manifest->imports);
        reading->manifest->imports = imports;
        for (size_t i = 0; i < node->count; i++) {
                const struct node *item = node->items[i];

                if (item->kind != NODE_STRING || !is_import(item->text))
                        return fail_at(reading, item,
                                       "imports: an entry is of the form MODULE.NAME or MODULE.*");
                if (keep(reading, item->text, &imports[i]) < 0)
                        return ABATIS_E_MEMORY;
        }
        return 0;
}

/* Who packs a skill knows nothing of the home it will run in. */
static bool is_known_place(const char *path)
{
        static const char *const variables[] = { "${workspace}", "${data}", "${tmp}" };

        for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
                size_t length = strlen(variables[i]);

                if (!strncmp(path, variables[i], length) && (!path[length] || path[length] == '/'))
                        return !strstr(path + length, "${");
        }
        return *path != '~' && !strstr(path, "${");
}

static bool is_path(const struct entry *entry)
{
        enum key_type type = keys[entry->key].type;

        return !entry->is_literal &&
               (type == TYPE_TREES || type == TYPE_HOLES || type == TYPE_PATHS || type == TYPE_PROGRAMS);
}

/* "NAME=VALUE", whose value may be a path with a variable, too. */
static const char *value_of(const struct entry *entry)
{
        return keys[entry->key].type == TYPE_ASSIGNMENTS ? strchr(entry->value, '=') + 1 : entry->value;
}

static int check_places(const struct reading *reading, const struct layer *layer)
{
        for (size_t i = 0; i < layer->count; i++) {
                const struct entry *entry = &layer->entries[i];
                bool is_value = keys[entry->key].type == TYPE_ASSIGNMENTS;

                if ((is_path(entry) || is_value) && !is_known_place(value_of(entry)))
                        return document_error(
                                reading->err, reading->file, entry->line, entry->column,
                                "policy.%s: '%s': a skill knows ${workspace}, ${data} and ${tmp}, and no "
                                "home",
                                keys[entry->key].name, value_of(entry));
        }
        return 0;
}

/* Keys of a policy that are for whoever runs the skill to say. */
static int check_policy_keys(const struct reading *reading, const struct node *map)
{
        static const char *const words[] = { "extends", "session", "backend", "audit" };

        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
                const struct node *found = node_find(map, words[i]);

                if (found)
                        return document_error(reading->err, reading->file, found->key_line, found->key_column,
                                              "policy.%s is not for a skill to say", words[i]);
        }
        return 0;
}

static int read_policy(struct reading *reading, const struct node *node)
{
        OWN_LAYER struct layer *layer = NULL;
        int r;

        if (node->kind != NODE_MAP)
                return wrong_kind(reading, node, "a map with the keys of a policy file");
        if (foreign_detect(node))
                return fail_at(reading, node,
                               "policy takes the keys of a policy file, not those of another tool");
        r = layer_parse(node, reading->file, &layer, reading->err);
        if (!r)
                r = check_policy_keys(reading, node);
        if (!r)
                r = check_places(reading, layer);
        return r ? r : tree_to_json(node, reading->file, &reading->manifest->policy_json, reading->err);
}

/* ---- schemas -------------------------------------------------------------------------------------------- */

static int check_type(const struct reading *reading, const struct node *type)
{
        static const char *const types[] = { "object",  "array",   "string", "number",
                                             "integer", "boolean", "null",   NULL };
        char hint[128];

        if (type->kind != NODE_STRING)
                return fail_at(reading, type, "a schema's type is a text, not %s",
                               node_kind_name(type->kind));
        for (const char *const *known = types; *known; known++)
                if (!strcmp(*known, type->text))
                        return 0;
        explain_unknown(type->text, types, hint, sizeof(hint));
        return fail_at(reading, type, "unknown type '%s' in a schema; %s", type->text, hint);
}

static int check_schema(const struct reading *reading, const struct node *schema);

static int check_schemas(const struct reading *reading, const struct node *map)
{
        if (map->kind != NODE_MAP)
                return fail_at(reading, map, "properties takes a map of schemas, not %s",
                               node_kind_name(map->kind));
        for (size_t i = 0; i < map->count; i++) {
                int r = check_schema(reading, map->items[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Types, and what is below properties and items: the rest is for whoever uses it. `true` and `false` are schemas, too. */
static int check_schema(const struct reading *reading, const struct node *schema)
{
        const struct node *type, *properties, *items;
        int r = 0;

        if (schema->kind == NODE_BOOLEAN)
                return 0;
        if (schema->kind != NODE_MAP)
                return fail_at(reading, schema, "a schema is a map, not %s", node_kind_name(schema->kind));
        type = node_find(schema, "type");
        properties = node_find(schema, "properties");
        items = node_find(schema, "items");
        if (type && type->kind != NODE_LIST)
                r = check_type(reading, type);
        for (size_t i = 0; type && type->kind == NODE_LIST && i < type->count && !r; i++)
                r = check_type(reading, type->items[i]);
        if (!r && properties)
                r = check_schemas(reading, properties);
        return r || !items ? r : check_schema(reading, items);
}

static int read_schema(struct reading *reading, const struct node *node, char **out)
{
        OWN_FREE char *text = NULL;
        int r;

        if (node->kind != NODE_MAP)
                return wrong_kind(reading, node, "a JSON Schema, which is a map");
        if (tree_depth(node) > MANIFEST_SCHEMA_DEPTH)
                return fail_at(reading, node, "%s: it is deeper than %d levels", node->key,
                               MANIFEST_SCHEMA_DEPTH);
        if (!node_find(node, "type"))
                return fail_at(reading, node, "%s: a schema says its type", node->key);
        r = check_schema(reading, node);
        if (!r)
                r = tree_to_json(node, reading->file, &text, reading->err);
        if (r < 0 || !text)
                return r;
        if (strlen(text) > MANIFEST_SCHEMA_MAX)
                return fail_at(reading, node, "%s: it has more than 64 KiB", node->key);
        *out = take_pointer(text);
        return 0;
}

static int read_input(struct reading *reading, const struct node *node)
{
        return read_schema(reading, node, &reading->manifest->input_json);
}

static int read_output(struct reading *reading, const struct node *node)
{
        return read_schema(reading, node, &reading->manifest->output_json);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static const struct field {
        const char *name;
        int (*read)(struct reading *reading, const struct node *node);
        bool is_needed;
} fields[] = {
        { "abatis", read_format, false },   { "name", read_name, true },
        { "version", read_version, true },  { "description", read_description, true },
        { "module", read_module, true },    { "sha256", read_sha256, false },
        { "tier", read_tier, false },       { "engine", read_engine, false },
        { "imports", read_imports, false }, { "policy", read_policy, false },
        { "input", read_input, false },     { "output", read_output, false },
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

static int read_field(struct reading *reading, const struct node *item)
{
        const char *words[FIELDS + 1] = { 0 };
        char hint[256];

        for (size_t i = 0; i < FIELDS; i++) {
                if (!strcmp(fields[i].name, item->key))
                        return fields[i].read(reading, item);
                words[i] = fields[i].name;
        }
        explain_unknown(item->key, words, hint, sizeof(hint));
        return document_error(reading->err, reading->file, item->key_line, item->key_column,
                              "unknown key '%s'; %s", item->key, hint);
}

static int read_fields(struct reading *reading, const struct node *root)
{
        int r = 0;

        if (root->kind != NODE_MAP)
                return fail_at(reading, root, "a skill's manifest is a map, not %s",
                               node_kind_name(root->kind));
        for (size_t i = 0; i < root->count && !r; i++)
                r = read_field(reading, root->items[i]);
        for (size_t i = 0; i < FIELDS && !r; i++)
                if (fields[i].is_needed && !node_find(root, fields[i].name))
                        r = fail_at(reading, root, "there is no '%s', which every skill has", fields[i].name);
        return r;
}

int manifest_read(const char *file, const char *text, size_t length, struct manifest **out, abatis_error *err)
{
        OWN_MANIFEST struct manifest *manifest = calloc(1, sizeof(*manifest));
        struct reading reading = { manifest, file, err };
        OWN_NODE struct node *root = NULL;
        int r;

        if (!manifest)
                return error_memory(err);
        manifest->tier = abatis_tier_find(NULL);
        manifest->imports = calloc(1, sizeof(*manifest->imports));
        if (!manifest->imports)
                return error_memory(err);
        r = document_parse(DOCUMENT_YAML, file, text, length, &root, err);
        if (!r)
                r = read_fields(&reading, root);
        if (!r)
                *out = take_pointer(manifest);
        return r;
}

void manifest_free(struct manifest *manifest)
{
        if (!manifest)
                return;
        for (size_t i = 0; manifest->imports && manifest->imports[i]; i++)
                free(manifest->imports[i]);
        free(manifest->imports);
        free(manifest->name);
        free(manifest->version);
        free(manifest->description);
        free(manifest->module);
        free(manifest->engine);
        free(manifest->policy_json);
        free(manifest->input_json);
        free(manifest->output_json);
        free(manifest);
}
