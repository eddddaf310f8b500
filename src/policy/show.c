/* show.c: prints a policy as a file would say it, each line with where it came from. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/own.h"
#include "policy/compose.h"
#include "policy/glob.h"

/* One value of one key. */
struct line {
        enum key_id key;
        char *value;     /* owned; NULL: the key has an empty list */
        bool is_literal; /* needs {path: ...}, or a pattern would be read */
        const char *origin;
};

/* Sticky: after a failure nothing is added. */
struct lines {
        struct line *items; /* owned */
        size_t count;
        bool has_failed;
};

static void add_line(struct lines *lines, enum key_id key, const char *value, bool is_literal,
                     const char *origin)
{
        struct line *items =
                lines->has_failed ? NULL : realloc(lines->items, (lines->count + 1) * sizeof(*items));
        char *copy = value ? strdup(value) : NULL;

        if (items)
                lines->items = items;
        if (!items || (value && !copy)) {
                free(copy);
                lines->has_failed = true;
                return;
        }
        items[lines->count++] = (struct line){ key, copy, is_literal, origin };
}

static void lines_done(struct lines *lines)
{
        for (size_t i = 0; i < lines->count; i++)
                free(lines->items[i].value);
        free(lines->items);
}

#define OWN_LINES __attribute__((cleanup(lines_done)))

/* ---- what there is to say ------------------------------------------------------------------------------- */

/* A path that would be read as something else. */
static bool needs_braces(const char *path)
{
        return glob_has_magic(path) || strstr(path, "${");
}

static void add_rules(struct lines *lines, const abatis_policy *policy, enum key_id key)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == key_rule_kind(key))
                        add_line(lines, key, rule->path, !rule->glob && needs_braces(rule->path),
                                 rule->origin);
        }
}

static void add_trees(struct lines *lines, const abatis_policy *policy, enum key_id key)
{
        size_t before = lines->count;
        bool is_all = key == KEY_READ ? policy->reads_all : key == KEY_EXECUTE && policy->executes_all;

        if (is_all)
                add_line(lines, key, "all", false, policy_origin(policy, key, NULL));
        add_rules(lines, policy, key);
        if (key == KEY_WRITE && policy->has_private_tmp)
                add_line(lines, key, "${tmp}", false, policy_origin(policy, key, "${tmp}"));
        if (lines->count == before)
                add_line(lines, key, NULL, false, "nothing");
}

static void add_list(struct lines *lines, abatis_policy *policy, enum key_id key)
{
        const struct strings *list = policy_list(policy, key);

        for (size_t i = 0; i < list->count; i++)
                add_line(lines, key, list->items[i], false, policy_origin(policy, key, list->items[i]));
}

/* Names that are passed, or what is set. */
static void add_variables(struct lines *lines, const abatis_policy *policy, bool wants_set)
{
        enum key_id key = wants_set ? KEY_ENVIRONMENT_SET : KEY_PASS;
        size_t before = lines->count;

        if (!wants_set && !policy->passes_named_only)
                add_line(lines, key, "all", false, policy_origin(policy, key, NULL));
        for (size_t i = 0; i < policy->environment.count; i++) {
                const char *item = policy->environment.items[i];
                const struct note *note = policy_find_note(policy, KEY_PASS, item);

                if (!note)
                        note = policy_find_note(policy, KEY_ENVIRONMENT_SET, item);
                if (!strchr(item, '=') == !wants_set)
                        add_line(lines, key, item, false, note ? note->origin : "default");
        }
        for (size_t i = 0; !wants_set && i < policy->environment_plain.count; i++) {
                const char *item = policy->environment_plain.items[i];

                add_line(lines, key, item, false, policy_origin(policy, key, item));
        }
        if (!wants_set && lines->count == before)
                add_line(lines, key, NULL, false, policy_origin(policy, key, NULL));
}

static void format_limit(enum key_id key, uint64_t value, char *out, size_t size)
{
        static const struct {
                const char *name;
                uint64_t factor;
        } sizes[] = { { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 }, { "KiB", 1ull << 10 }, { "B", 1 } },
          durations[] = { { "h", 3600 * 1000 }, { "m", 60 * 1000 }, { "s", 1000 }, { "ms", 1 } };
        size_t i = 0;

        if (keys[key].type == TYPE_SIZE) {
                while (value % sizes[i].factor)
                        i++;
                snprintf(out, size, "%" PRIu64 "%s", value / sizes[i].factor, sizes[i].name);
        } else if (keys[key].type == TYPE_DURATION) {
                while (value % durations[i].factor)
                        i++;
                snprintf(out, size, "%" PRIu64 "%s", value / durations[i].factor, durations[i].name);
        } else
                snprintf(out, size, "%" PRIu64, value);
}

static void add_limit(struct lines *lines, const abatis_policy *policy, enum key_id key)
{
        uint64_t value = policy->limits[key_limit(key)];
        char text[32];

        if (!value)
                return;
        format_limit(key, value, text, sizeof(text));
        add_line(lines, key, text, false, policy_origin(policy, key, NULL));
}

static void add_key(struct lines *lines, abatis_policy *policy, enum key_id key)
{
        switch (key) {
        case KEY_READ:
        case KEY_WRITE:
        case KEY_EXECUTE:
                add_trees(lines, policy, key);
                return;
        case KEY_DENY:
        case KEY_PROTECT:
                add_rules(lines, policy, key);
                return;
        case KEY_NETWORK:
                add_line(lines, key, network_mode_name(policy->network), false,
                         policy_origin(policy, key, NULL));
                return;
        case KEY_CONNECT:
        case KEY_BIND:
        case KEY_UNIX:
        case KEY_COMMANDS:
        case KEY_ENVIRONMENT_DENY:
                add_list(lines, policy, key);
                return;
        case KEY_FORK:
                if (policy->forbids_forks)
                        add_line(lines, key, "false", false, policy_origin(policy, key, NULL));
                return;
        case KEY_SIGNALS:
                return; /* never */
        case KEY_CHECK_ARGUMENTS:
                if (policy->argument_check != CHECK_WITH_LIST)
                        add_line(lines, key, policy->argument_check == CHECK_ALWAYS ? "true" : "false", false,
                                 policy_origin(policy, key, NULL));
                return;
        case KEY_PASS:
        case KEY_ENVIRONMENT_SET:
                add_variables(lines, policy, key == KEY_ENVIRONMENT_SET);
                return;
        case KEY_MEMORY:
        case KEY_PROCESSES:
        case KEY_OPEN_FILES:
        case KEY_CPU:
        case KEY_FILE_SIZE:
        case KEY_TIMEOUT:
        case KEY_OUTPUT:
                add_limit(lines, policy, key);
                return;
        case KEY_VERSION:
        case KEY_EXTENDS:
        case KEY_COUNT:
                return;
        }
}

/* ---- as YAML -------------------------------------------------------------------------------------------- */

static bool is_list(enum key_type type)
{
        return type != TYPE_VERSION && type != TYPE_MODE && type != TYPE_BOOLEAN && type != TYPE_SIZE &&
               type != TYPE_DURATION && type != TYPE_NUMBER;
}

/* What YAML would read as a break, refuse, or not show: everything but this may stand in quotes as it is. */
static bool needs_escape(uint32_t character)
{
        return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x2028 ||
               character == 0x2029 || character == 0xfeff || character == 0xfffe || character == 0xffff;
}

static void add_quoted(struct text *out, const char *value, size_t length)
{
        text_add(out, "\"");
        while (length) {
                uint32_t character;
                size_t taken = text_character(value, length, &character);

                if (needs_escape(character))
                        text_addf(out, character < 0x100 ? "\\x%02x" : "\\u%04x", character);
                else if (character == '"' || character == '\\')
                        text_addf(out, "\\%c", (int)character);
                else
                        text_add_bytes(out, value, taken);
                value += taken;
                length -= taken;
        }
        text_add(out, "\"");
}

/* Words, numbers and units need no quotes; everything else gets them. */
static void add_scalar(struct text *out, const struct line *line, const char *value)
{
        enum key_type type = keys[line->key].type;

        if (type == TYPE_PORTS || !is_list(type))
                text_add(out, value);
        else
                add_quoted(out, value, strlen(value));
}

static void add_origin(struct text *out, size_t line_start, const char *origin)
{
        size_t width = out->length - line_start;

        if (origin) {
                text_addf(out, "%*s# ", width < 44 ? (int)(44 - width) : 1, "");
                text_add_line(out, origin);
        }
        text_add(out, "\n");
}

static bool is_plain_name(const char *name, size_t length)
{
        if (!length || length > 256 || (*name >= '0' && *name <= '9'))
                return false;
        return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") >= length;
}

static void add_name(struct text *out, const char *name, size_t length)
{
        if (is_plain_name(name, length))
                text_addf(out, "    %.*s: ", (int)length, name);
        else {
                /* YAML finds the colon behind a short key only; a longer one must be announced. */
                text_add(out, length > 128 ? "    ? " : "    ");
                add_quoted(out, name, length);
                text_add(out, length > 128 ? "\n    : " : ": ");
        }
}

static void add_item(struct text *out, const struct line *line)
{
        size_t start = out->length;

        if (keys[line->key].type == TYPE_ASSIGNMENTS) {
                size_t length = strcspn(line->value, "=");

                add_name(out, line->value, length);
                add_scalar(out, line, line->value + length + 1);
        } else {
                text_add(out, line->is_literal ? "    - {path: " : "    - ");
                add_scalar(out, line, line->value);
                text_add(out, line->is_literal ? "}" : "");
        }
        add_origin(out, start, line->origin);
}

static void print_key(struct text *out, const struct lines *lines, size_t first, size_t count)
{
        const struct line *line = &lines->items[first];
        const struct key *key = &keys[line->key];
        size_t start = out->length;
        bool is_top = !key_section_length(key);

        text_addf(out, "%s%s:", is_top ? "" : "  ", key_leaf(key));
        if (!line->value) {
                text_add(out, key->type == TYPE_ASSIGNMENTS ? " {}" : " []");
                add_origin(out, start, line->origin);
        } else if (!is_list(key->type)) {
                text_add(out, " ");
                add_scalar(out, line, line->value);
                add_origin(out, start, line->origin);
        } else {
                text_add(out, "\n");
                for (size_t i = first; i < first + count; i++)
                        add_item(out, &lines->items[i]);
        }
}

static void print_yaml(struct text *out, const struct lines *lines)
{
        size_t count;

        for (size_t i = 0; i < lines->count; i += count) {
                const struct key *key = &keys[lines->items[i].key];
                size_t section = key_section_length(key);

                for (count = 1;
                     i + count < lines->count && lines->items[i + count].key == lines->items[i].key;)
                        count++;
                if (section && (!i || key_section_length(&keys[lines->items[i - 1].key]) != section ||
                                strncmp(keys[lines->items[i - 1].key].name, key->name, section)))
                        text_addf(out, "%.*s:\n", (int)section, key->name);
                print_key(out, lines, i, count);
        }
}

/* ---- as JSON -------------------------------------------------------------------------------------------- */

/* A list of {key, value, origin}: the same for every key, so that a program needs to know none of them. */
static int print_json(const struct lines *lines, char **out, abatis_error *err)
{
        json_t *list = json_array();

        for (size_t i = 0; list && i < lines->count; i++) {
                const struct line *line = &lines->items[i];

                json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "key", keys[line->key].name, "value",
                                                      json_from_string(line->value), "origin",
                                                      json_from_string(line->origin)));
        }
        return json_to_text(list ? json_pack("{s:o}", "policy", list) : NULL, JSON_INDENT(2), out, err);
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

int abatis_policy_print(abatis_policy *policy, abatis_format format, char **out, abatis_error *err)
{
        OWN_LINES struct lines lines = { 0 };
        OWN_TEXT struct text text = { 0 };
        int r = policy_finish(policy, err);

        if (r < 0)
                return r;
        for (enum key_id key = KEY_READ; key < KEY_COUNT; key++)
                add_key(&lines, policy, key);
        if (lines.has_failed)
                return error_memory(err);
        if (format == ABATIS_JSON)
                return print_json(&lines, out, err);
        /* Read again, it means the same: nothing lies below it. */
        text_addf(&text, "# workspace: %s\nversion: 1\nextends: []\n", policy->workspace);
        print_yaml(&text, &lines);
        return text_take(&text, out, err);
}

int layer_print(const struct layer *layer, char **out, abatis_error *err)
{
        OWN_LINES struct lines lines = { 0 };
        OWN_TEXT struct text text = { 0 };

        if (layer->is_disabled)
                return error_set(err, ABATIS_E_INVALID,
                                 "%s: sandbox is disabled; there is no policy that runs nothing",
                                 layer->name);
        for (enum key_id key = KEY_EXTENDS; key < KEY_COUNT; key++) {
                size_t before = lines.count;

                for (size_t i = 0; i < layer->count; i++)
                        if (layer->entries[i].key == key)
                                add_line(&lines, key, layer->entries[i].value, layer->entries[i].is_literal,
                                         NULL);
                if (layer->has[key] && lines.count == before && is_list(keys[key].type))
                        add_line(&lines, key, NULL, false, NULL);
        }
        if (lines.has_failed)
                return error_memory(err);
        text_add(&text, "version: 1\n");
        print_yaml(&text, &lines);
        return text_take(&text, out, err);
}

int abatis_policy_convert(const char *file, char **out, abatis_error *err)
{
        OWN_FREE char *bytes = NULL;
        OWN_LAYER struct layer *layer = NULL;
        size_t length = 0;
        int r = file_read(file, FILE_ANY, &bytes, &length, err);

        if (!r && !bytes)
                r = error_set(err, ABATIS_E_INVALID, "policy '%s' does not exist", file);
        if (!r)
                r = layer_read(document_format_of(file), file, bytes, length, &layer, err);
        return r ? r : layer_print(layer, out, err);
}

uint64_t abatis_policy_limit(const abatis_policy *policy, const char *key)
{
        enum limit limit = key_limit(key_find(key, strlen(key)));

        return limit == LIMIT_COUNT ? 0 : policy->limits[limit];
}
