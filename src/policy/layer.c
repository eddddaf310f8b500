/* layer.c: a document becomes a layer: every key is known, every value of the right kind, or the error names the place. */
#define _GNU_SOURCE
#include "policy/layer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/place.h"
#include "policy/policy.h"

/* While one document is read. */
struct reading {
        struct layer *layer;
        abatis_error *err;
};

struct layer *layer_new(const char *name)
{
        struct layer *layer = calloc(1, sizeof(*layer));

        if (layer)
                layer->name = strdup(name);
        if (layer && !layer->name) {
                free(layer);
                return NULL;
        }
        return layer;
}

void layer_free(struct layer *layer)
{
        if (!layer)
                return;
        for (size_t i = 0; i < layer->count; i++)
                free(layer->entries[i].value);
        free(layer->entries);
        free(layer->name);
        free(layer);
}

int layer_add(struct layer *layer, enum key_id key, const char *value, const struct node *place,
              abatis_error *err)
{
        struct entry entry = { .key = key, .line = place->line, .column = place->column };

        if (layer->count == layer->capacity) {
                size_t wanted = layer->capacity ? 2 * layer->capacity : 16;
                struct entry *entries = realloc(layer->entries, wanted * sizeof(*entries));

                if (!entries)
                        return error_memory(err);
                layer->entries = entries;
                layer->capacity = wanted;
        }
        entry.value = strdup(value);
        if (!entry.value)
                return error_memory(err);
        layer->has[key] = true;
        layer->entries[layer->count++] = entry;
        return 0;
}

#define fail_at(reading, node, ...) \
        document_error((reading)->err, (reading)->layer->name, (node)->line, (node)->column, __VA_ARGS__)

void explain_unknown(const char *word, const char *const *valid, char *out, size_t size)
{
        const char *nearest = abatis_suggest(word, valid);
        size_t used;

        if (nearest) {
                snprintf(out, size, "did you mean '%s'?", nearest);
                return;
        }
        snprintf(out, size, "there are");
        for (used = strlen(out); *valid && used < size; valid++)
                used += (size_t)snprintf(out + used, size - used, " %s%s", *valid, valid[1] ? "," : "");
}

/* ---- values --------------------------------------------------------------------------------------------- */

static int wrong_type(const struct reading *reading, enum key_id key, const struct node *node,
                      const char *wanted)
{
        return fail_at(reading, node, "%s takes %s, not %s", keys[key].name, wanted,
                       node_kind_name(node->kind));
}

/* A path may be given as a map, {path: ...}, in which every character stands for itself. */
static int add_path(struct reading *reading, enum key_id key, const struct node *node)
{
        const struct node *literal = NULL;
        int r;

        if (node->kind == NODE_MAP) {
                literal = node_find(node, "path");
                if (node->count != 1 || !literal || literal->kind != NODE_STRING)
                        return fail_at(reading, node, "%s: a map here is of the form {path: \"/some/path\"}",
                                       keys[key].name);
                node = literal;
        }
        /* YAML reads a lone ~ as nothing. */
        if (node->kind == NODE_NULL && node->text && !strcmp(node->text, "~"))
                return fail_at(reading, node, "%s: in YAML a lone ~ means nothing; write \"~\"",
                               keys[key].name);
        if (node->kind != NODE_STRING)
                return wrong_type(reading, key, node, "a list of paths");
        if (!*node->text)
                return fail_at(reading, node, "%s: an empty path", keys[key].name);
        r = layer_add(reading->layer, key, node->text, node, reading->err);
        if (!r)
                reading->layer->entries[reading->layer->count - 1].is_literal = literal;
        return r;
}

static bool is_name(const char *text)
{
        return *text && !strpbrk(text, "=\n ");
}

bool layer_is_port(const char *text)
{
        size_t digits = strspn(text, "0123456789");

        return digits && digits <= 5 && !text[digits] && *text != '0' && strtol(text, NULL, 10) <= 65535;
}

static int add_word(struct reading *reading, enum key_id key, const struct node *node)
{
        char number[24];
        const char *text = node->text;
        bool is_inherited = node->kind == NODE_STRING && !strcmp(text, "inherited");
        struct place place;
        abatis_error below;

        if (keys[key].type == TYPE_PORTS && !is_inherited) {
                if (node->kind != NODE_INTEGER)
                        return wrong_type(reading, key, node, "a list of port numbers");
                if (node->integer < 1 || node->integer > 65535)
                        return fail_at(reading, node, "%s: %" PRId64 " is not a port, 1 to 65535",
                                       keys[key].name, node->integer);
                snprintf(number, sizeof(number), "%" PRId64, node->integer);
                return layer_add(reading->layer, key, number, node, reading->err);
        }
        if (node->kind != NODE_STRING)
                return wrong_type(reading, key, node, "a list of texts");
        if (keys[key].type == TYPE_HOSTS) {
                if (!is_inherited && place_parse(text, &place, &below) < 0)
                        return fail_at(reading, node, "%s: %s", keys[key].name, below.message);
        } else if (!is_name(text))
                return fail_at(reading, node, "%s: '%s' is not a name", keys[key].name, text);
        return layer_add(reading->layer, key, text, node, reading->err);
}

static int add_list(struct reading *reading, enum key_id key, const struct node *node, const char *wanted,
                    int (*add)(struct reading *, enum key_id, const struct node *))
{
        if (node->kind != NODE_LIST)
                return wrong_type(reading, key, node, wanted);
        for (size_t i = 0; i < node->count; i++) {
                int r = add(reading, key, node->items[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* One word, or a list of them. */
static int add_words(struct reading *reading, enum key_id key, const struct node *node, const char *wanted)
{
        if (node->kind == NODE_STRING)
                return add_word(reading, key, node);
        return add_list(reading, key, node, wanted, add_word);
}

static int add_assignments(struct reading *reading, enum key_id key, const struct node *node)
{
        if (node->kind != NODE_MAP)
                return wrong_type(reading, key, node, "a map of names to texts");
        for (size_t i = 0; i < node->count; i++) {
                const struct node *item = node->items[i];
                OWN_FREE char *assignment = NULL;
                int r;

                if (!is_name(item->key))
                        return document_error(reading->err, reading->layer->name, item->key_line,
                                              item->key_column, "%s: '%s' is not the name of a variable",
                                              keys[key].name, item->key);
                if (item->kind != NODE_STRING)
                        return fail_at(reading, item, "%s.%s takes text, not %s; put it in quotes",
                                       keys[key].name, item->key, node_kind_name(item->kind));
                assignment = text_join(item->key, "=", item->text);
                if (!assignment)
                        return error_memory(reading->err);
                r = layer_add(reading->layer, key, assignment, item, reading->err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Sizes and counts may be bare numbers, durations may not: nobody knows of what. A limit may be "none". */
static int add_quantity(struct reading *reading, enum key_id key, const struct node *node)
{
        enum key_type type = keys[key].type;
        const char *wanted = type == TYPE_SIZE       ? "a size such as 512MiB"
                             : type == TYPE_DURATION ? "a duration such as 30s"
                                                     : "a whole number";
        char number[24];
        const char *text = node->text;
        abatis_error below;
        uint64_t value;

        if (node->kind == NODE_INTEGER && type != TYPE_DURATION) {
                snprintf(number, sizeof(number), "%" PRId64, node->integer);
                text = number;
        } else if (node->kind == NODE_INTEGER)
                return fail_at(reading, node, "%s: %" PRId64 " has no unit; write %" PRId64 "s for seconds",
                               keys[key].name, node->integer, node->integer);
        else if (node->kind != NODE_STRING ||
                 (type == TYPE_NUMBER && (strcmp(text, "none") || !key_takes_none(key))))
                return wrong_type(reading, key, node, wanted);
        if (key_parse_limit(key, text, &value, &below) < 0)
                return fail_at(reading, node, "%s: %s", keys[key].name, below.message);
        /* Printed without quotes, zeros before a number would be read as part of it once and left out once. */
        return layer_add(reading->layer, key, text + strspn(text, "0"), node, reading->err);
}

static int add_choice(struct reading *reading, enum key_id key, const struct node *node, const char *what,
                      const char *const *choices, const char *wanted)
{
        char hint[256];

        if (node->kind != NODE_STRING)
                return wrong_type(reading, key, node, wanted);
        for (const char *const *choice = choices; *choice; choice++)
                if (!strcmp(*choice, node->text))
                        return layer_add(reading->layer, key, node->text, node, reading->err);
        explain_unknown(node->text, choices, hint, sizeof(hint));
        return fail_at(reading, node, "%s: unknown %s '%s'; %s", keys[key].name, what, node->text, hint);
}

static int add_mode(struct reading *reading, enum key_id key, const struct node *node)
{
        static const char *const modes[] = { "deny", "unix-only", "allow", "list", NULL };

        return add_choice(reading, key, node, "mode", modes, "deny, unix-only, allow or list");
}

static int add_session(struct reading *reading, enum key_id key, const struct node *node)
{
        static const char *const modes[] = { "private", "shared", NULL };

        return add_choice(reading, key, node, "mode", modes, "private or shared");
}

static int add_calls(struct reading *reading, enum key_id key, const struct node *node)
{
        static const char *const choices[] = { "usual", "few", NULL };

        return add_choice(reading, key, node, "choice", choices, "usual or few");
}

static int add_backend(struct reading *reading, enum key_id key, const struct node *node)
{
        if (node->kind == NODE_STRING && !*node->text)
                return layer_add(reading->layer, key, "auto", node, reading->err);
        return add_choice(reading, key, node, "backend", backend_names,
                          "auto, native, bwrap, seatbelt, appcontainer or none");
}

bool layer_is_log(const char *text)
{
        size_t length = strlen(text);

        return (!strncmp(text, "/", 1) || !strncmp(text, "~/", 2) || !strncmp(text, "${", 2)) && length > 1 &&
               text[length - 1] != '/' && !strchr(text, '\n');
}

static int add_log(struct reading *reading, enum key_id key, const struct node *node)
{
        if (node->kind == NODE_BOOLEAN)
                return layer_add(reading->layer, key, node->boolean ? "on" : "off", node, reading->err);
        if (node->kind != NODE_STRING)
                return wrong_type(reading, key, node, "on, off or the path of a file");
        if (strcmp(node->text, "on") && strcmp(node->text, "off") && !layer_is_log(node->text))
                return fail_at(reading, node, "%s: '%s' is not on, off or the absolute path of a file",
                               keys[key].name, node->text);
        return layer_add(reading->layer, key, node->text, node, reading->err);
}

static int add_value(struct reading *reading, enum key_id key, const struct node *node)
{
        reading->layer->has[key] = true;
        switch (keys[key].type) {
        case TYPE_VERSION:
                if (node->kind != NODE_INTEGER || node->integer != 1)
                        return fail_at(reading, node, "version: this abatis reads version 1 only");
                return 0;
        case TYPE_BASES:
                return add_words(reading, key, node, "a preset or profile, or a list of them");
        case TYPE_SESSION:
                return add_session(reading, key, node);
        case TYPE_CALLS:
                return add_calls(reading, key, node);
        case TYPE_BACKEND:
                return add_backend(reading, key, node);
        case TYPE_TREES:
        case TYPE_HOLES:
        case TYPE_PATHS:
                return add_list(reading, key, node, "a list of paths", add_path);
        case TYPE_MODE:
                return add_mode(reading, key, node);
        case TYPE_HOSTS:
                return add_list(reading, key, node, "a list of HOST:PORT", add_word);
        case TYPE_PORTS:
                return add_list(reading, key, node, "a list of port numbers", add_word);
        case TYPE_PROGRAMS:
                return add_list(reading, key, node, "a list of programs", add_path);
        case TYPE_BOOLEAN:
                if (node->kind != NODE_BOOLEAN)
                        return wrong_type(reading, key, node, "true or false");
                return layer_add(reading->layer, key, node->boolean ? "true" : "false", node, reading->err);
        case TYPE_VARIABLES:
                return add_words(reading, key, node, "all, none, or a list of names");
        case TYPE_MASKS:
                return add_list(reading, key, node, "a list of names", add_word);
        case TYPE_ASSIGNMENTS:
                return add_assignments(reading, key, node);
        case TYPE_SIZE:
        case TYPE_DURATION:
        case TYPE_NUMBER:
                return add_quantity(reading, key, node);
        case TYPE_LOG:
                return add_log(reading, key, node);
        }
        return 0;
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

/* The valid words at one level: the keys of a section, or of the top, where sections are words too. */
static void list_words(const char *section, const char *out[KEY_COUNT + 8])
{
        static const char *const sections[] = { "filesystem",  "network", "process",
                                                "environment", "limits",  "audit" };
        size_t count = 0, length = strlen(section);

        for (size_t i = 0; i < KEY_COUNT; i++)
                if (key_section_length(&keys[i]) == length && !strncmp(keys[i].name, section, length))
                        out[count++] = key_leaf(&keys[i]);
        for (size_t i = 0; !length && i < sizeof(sections) / sizeof(*sections); i++)
                out[count++] = sections[i];
        out[count] = NULL;
}

static bool is_section(const char *word)
{
        size_t length = strlen(word);

        for (size_t i = 0; i < KEY_COUNT; i++)
                if (length && key_section_length(&keys[i]) == length && !strncmp(keys[i].name, word, length))
                        return true;
        return false;
}

static int fail_unknown(const struct reading *reading, const char *section, const struct node *item)
{
        const char *words[KEY_COUNT + 8];
        char hint[512];

        list_words(section, words);
        explain_unknown(item->key, words, hint, sizeof(hint));
        return document_error(reading->err, reading->layer->name, item->key_line, item->key_column,
                              "unknown key '%s'%s%s; %s", item->key, *section ? " in " : "", section, hint);
}

static int read_section(struct reading *reading, const char *section, const struct node *map)
{
        if (map->kind == NODE_NULL)
                return 0;
        /* "audit: off" */
        if (map->kind != NODE_MAP && !strcmp(section, "audit"))
                return add_value(reading, KEY_AUDIT_LOG, map);
        if (map->kind != NODE_MAP)
                return fail_at(reading, map, "%s takes a map, not %s", section, node_kind_name(map->kind));
        for (size_t i = 0; i < map->count; i++) {
                const struct node *item = map->items[i];
                OWN_FREE char *name = text_join(section, ".", item->key);
                enum key_id key;
                int r;

                if (!name)
                        return error_memory(reading->err);
                key = key_find(name, strlen(name));
                r = key == KEY_COUNT ? fail_unknown(reading, section, item) : add_value(reading, key, item);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_top(struct reading *reading, const struct node *root)
{
        for (size_t i = 0; i < root->count; i++) {
                const struct node *item = root->items[i];
                enum key_id key = key_find(item->key, strlen(item->key));
                int r;

                if (is_section(item->key))
                        r = read_section(reading, item->key, item);
                else if (key == KEY_COUNT || strchr(item->key, '.'))
                        r = fail_unknown(reading, "", item);
                else
                        r = add_value(reading, key, item);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const struct entry *find_entry(const struct layer *layer, enum key_id key)
{
        for (size_t i = 0; i < layer->count; i++)
                if (layer->entries[i].key == key)
                        return &layer->entries[i];
        return NULL;
}

/* What only the whole can tell. */
static int check_whole(const struct reading *reading)
{
        const struct layer *layer = reading->layer;
        const struct entry *mode = find_entry(layer, KEY_NETWORK), *connect = find_entry(layer, KEY_CONNECT);

        if (mode && connect && strcmp(mode->value, "list"))
                return document_error(reading->err, layer->name, connect->line, connect->column,
                                      "network.connect needs network.mode list, not %s", mode->value);
        return 0;
}

int layer_parse(const struct node *root, const char *name, struct layer **out, abatis_error *err)
{
        OWN_LAYER struct layer *layer = layer_new(name);
        struct reading reading = { layer, err };
        enum foreign foreign;
        int r = 0;

        if (!layer)
                return error_memory(err);
        if (root->kind != NODE_MAP && root->kind != NODE_NULL)
                return fail_at(&reading, root, "a policy is a map, not %s", node_kind_name(root->kind));
        foreign = foreign_detect(root);
        r = foreign ? foreign_parse(foreign, root, layer, err) : read_top(&reading, root);
        if (!r)
                r = check_whole(&reading);
        if (!r)
                *out = take_pointer(layer);
        return r;
}

int layer_read(enum document_format format, const char *name, const char *text, size_t length,
               struct layer **out, abatis_error *err)
{
        OWN_NODE struct node *root = NULL;
        int r = document_parse(format, name, text, length, &root, err);

        return r ? r : layer_parse(root, name, out, err);
}
