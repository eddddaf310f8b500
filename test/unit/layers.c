/* layers.c: a layer from a text, its entries, the exact words of a refusal. */
#define _GNU_SOURCE
#include "layers.h"

#include <stdio.h>
#include <string.h>

struct layer *read_layer(enum document_format format, const char *text)
{
        abatis_error err = { .message = "" };
        struct layer *layer = NULL;

        if (layer_read(format, "f", text, strlen(text), &layer, &err) < 0)
                fail_msg("%s", err.message);
        assert_non_null(layer);
        return layer;
}

void assert_layer_refused(enum document_format format, const char *text, const char *message)
{
        struct layer untouched, *layer = &untouched;
        abatis_error err = { .message = "" };

        if (!layer_read(format, "f", text, strlen(text), &layer, &err))
                fail_msg("read without '%s': %.60s", message, text);
        assert_ptr_equal(layer, &untouched);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (strcmp(err.message, message) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
        assert_int_equal(layer_read(format, "f", text, strlen(text), &layer, NULL), ABATIS_E_INVALID);
        assert_ptr_equal(layer, &untouched);
}

const char *values_of(const struct layer *layer, enum key_id key)
{
        static char out[4096];
        size_t used = 0;

        *out = '\0';
        for (size_t i = 0; i < layer->count && used < sizeof(out); i++) {
                const struct entry *entry = &layer->entries[i];

                if (entry->key == key)
                        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s%s%s", used ? "|" : "",
                                                 entry->is_literal ? "{" : "", entry->value,
                                                 entry->is_literal ? "}" : "");
        }
        return out;
}

void assert_values(const struct layer *layer, enum key_id key, const char *values)
{
        assert_true(layer->has[key]);
        assert_string_equal(values_of(layer, key), values);
}

void assert_same_layers(const struct layer *left, const struct layer *right)
{
        for (enum key_id key = KEY_VERSION; key < KEY_COUNT; key++) {
                char values[4096];

                assert_int_equal(left->has[key], right->has[key]);
                snprintf(values, sizeof(values), "%s", values_of(left, key));
                assert_string_equal(values, values_of(right, key));
        }
        assert_int_equal(left->count, right->count);
        assert_int_equal(left->is_disabled, right->is_disabled);
}
