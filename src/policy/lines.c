/* lines.c: values of keys as the lines of a policy file, which read again say the same. */
#define _GNU_SOURCE
#include "policy/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/layer.h"

void lines_add(struct lines *lines, enum key_id key, const char *value, bool is_literal, const char *origin)
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

void lines_done(struct lines *lines)
{
        for (size_t i = 0; i < lines->count; i++)
                free(lines->items[i].value);
        free(lines->items);
}

static bool is_list(enum key_type type)
{
        return type != TYPE_VERSION && type != TYPE_SESSION && type != TYPE_CALLS && type != TYPE_BACKEND &&
               type != TYPE_MODE && type != TYPE_BOOLEAN && type != TYPE_SIZE && type != TYPE_DURATION &&
               type != TYPE_NUMBER && type != TYPE_LOG;
}

/* What YAML would read as a break, refuse, or not show stands as an escape. */
static void add_quoted(struct text *out, const char *value, size_t length)
{
        text_add(out, "\"");
        while (length) {
                uint32_t character;
                size_t taken = text_character(value, length, &character);

                if (character == '\n')
                        text_add(out, "\\n");
                else if (text_is_hidden(character))
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

        if (type == TYPE_PORTS || (!is_list(type) && type != TYPE_LOG))
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

void lines_print(const struct lines *lines, struct text *out)
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
                                lines_add(&lines, key, layer->entries[i].value, layer->entries[i].is_literal,
                                          NULL);
                if (layer->has[key] && lines.count == before && is_list(keys[key].type))
                        lines_add(&lines, key, NULL, false, NULL);
        }
        if (lines.has_failed)
                return error_memory(err);
        text_add(&text, "version: 1\n");
        lines_print(&lines, &text);
        return text_take(&text, out, err);
}
