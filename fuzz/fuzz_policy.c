/* fuzz_policy.c: whatever is read as a policy file is printed as one that says the same, and is printed the same again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/layer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(const char *what, const char *more)
{
        fprintf(stderr, "%s: %s\n", what, more);
        abort();
}

static void check_same(const struct layer *before, const struct layer *after)
{
        size_t at = 0;

        for (enum key_id key = KEY_EXTENDS; key < KEY_COUNT; key++) {
                if (before->has[key] != after->has[key])
                        complain("another key", keys[key].name);
                /* The order of the keys is the table's, that of the values is theirs. */
                for (size_t i = 0; i < before->count; i++) {
                        const struct entry *entry = &before->entries[i];

                        if (entry->key != key)
                                continue;
                        if (at == after->count || after->entries[at].key != key ||
                            after->entries[at].is_literal != entry->is_literal ||
                            strcmp(after->entries[at].value, entry->value) != 0)
                                complain("another value", entry->value);
                        at++;
                }
        }
        if (at != after->count)
                complain("more values", after->entries[at].value);
}

static void check_again(const struct layer *layer, const char *printed)
{
        abatis_error err = { .message = "" };
        struct layer *again = NULL;
        char *twice = NULL;

        if (layer_read(DOCUMENT_YAML, "f", printed, strlen(printed), &again, &err) < 0)
                complain(err.message, printed);
        check_same(layer, again);
        if (layer_print(again, &twice, &err) < 0)
                complain(err.message, printed);
        if (strcmp(printed, twice) != 0)
                complain("printed twice", printed);
        free(twice);
        layer_free(again);
}

static void check_policy(enum document_format format, const char *text, size_t size)
{
        abatis_error err = { .message = "" };
        struct layer *layer = NULL;
        char *printed = NULL;
        int r = layer_read(format, "f", text, size, &layer, &err);

        if (r < 0) {
                if (layer || r != ABATIS_E_INVALID || err.code != r || strncmp(err.message, "f:", 2) != 0)
                        complain("refused without a place", err.message);
                return;
        }
        r = layer_print(layer, &printed, &err);
        if (r < 0 && !layer->is_disabled)
                complain("not printed", err.message);
        /* What is printed may be longer than what may be read. */
        if (!r && strlen(printed) <= DOCUMENT_SIZE_MAX)
                check_again(layer, printed);
        free(printed);
        layer_free(layer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = size ? (const char *)data : "";

        check_policy(DOCUMENT_YAML, text, size);
        check_policy(DOCUMENT_JSON, text, size);
        check_policy(DOCUMENT_TOML, text, size);
        return 0;
}
