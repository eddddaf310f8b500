/* test_document_keys.c: a key is found among many, and twice is noticed, however the keys were chosen. */
#define _GNU_SOURCE
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "documents.h"

static const enum document_format formats[] = { DOCUMENT_YAML, DOCUMENT_JSON, DOCUMENT_TOML };
enum { FORMATS = sizeof(formats) / sizeof(*formats), MANY = 50 * 1000, SOME = 2000 };

/* Ways to choose keys that are hard for one way or another to find them again. */
enum choice { COUNT_UP, COUNT_DOWN, SAME_BEGINNING, SAME_HASH };
enum { CHOICES = SAME_HASH + 1 };

/* FNV-1a from its published beginning, as it would be in a table that nobody has seeded. */
static uint64_t hash(const char *key)
{
        uint64_t value = 14695981039346656037ull;

        for (; *key; key++)
                value = (value ^ (unsigned char)*key) * 1099511628211ull;
        return value;
}

/* `count` different keys of the same choice, each no longer than 63; the caller frees them. */
static char (*choose(enum choice choice, size_t count))[64]
{
        char(*keys)[64] = malloc(count * sizeof(*keys));
        size_t tried = 0;

        assert_non_null(keys);
        for (size_t i = 0; i < count; i++) {
                switch (choice) {
                case COUNT_UP:
                        snprintf(keys[i], sizeof(*keys), "%06zx", i);
                        break;
                case COUNT_DOWN:
                        snprintf(keys[i], sizeof(*keys), "%06zx", count - i);
                        break;
                case SAME_BEGINNING:
                        snprintf(keys[i], sizeof(*keys), "%08d%05zx", 0, i * 7919 % count);
                        break;
                case SAME_HASH:
                        /* One of 32 parts of any table whose size is a power of two. */
                        do {
                                snprintf(keys[i], sizeof(*keys), "%zx", tried++);
                        } while (hash(keys[i]) % 32);
                        break;
                }
        }
        return keys;
}

/* One key on each line; with one more at the end that is there already if `twice` is not NULL. */
static char *write_down(enum document_format format, char (*keys)[64], size_t count, const char *twice)
{
        struct text text = { 0 };
        char *whole;

        text_add(&text, format == DOCUMENT_JSON ? "{" : "");
        for (size_t i = 0; i < count + !!twice; i++)
                text_addf(&text, "%s\"%s\"%s1",
                          !i                        ? ""
                          : format == DOCUMENT_JSON ? ",\n"
                                                    : "\n",
                          i < count ? keys[i] : twice, format == DOCUMENT_TOML ? "=" : ": ");
        text_add(&text, format == DOCUMENT_JSON ? "}" : "");
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

static int deepest;

static void look_how_deep(const void *item, VISIT visit, int depth)
{
        (void)item;
        (void)visit;
        if (depth > deepest)
                deepest = depth;
}

/* The lookups are never further from the root than twice the height of the fullest tree. */
static void no_choice_of_keys_makes_the_way_to_them_long(void **state)
{
        (void)state;
        for (int choice = 0; choice < CHOICES; choice++) {
                char(*keys)[64] = choose((enum choice)choice, MANY);

                for (size_t i = 0; i < FORMATS; i++) {
                        char *text = write_down(formats[i], keys, MANY, NULL);
                        struct node *root = parse(formats[i], text);

                        assert_int_equal(root->count, MANY);
                        assert_non_null(root->index);
                        deepest = 0;
                        twalk(root->index, look_how_deep);
                        assert_in_range(deepest, 15, 2 * 16);
                        node_free(root);
                        free(text);
                }
                free(keys);
        }
}

static void every_key_is_found_and_no_other(void **state)
{
        (void)state;
        for (int choice = 0; choice < CHOICES; choice++) {
                char(*keys)[64] = choose((enum choice)choice, SOME + 1);

                for (size_t i = 0; i < FORMATS; i++) {
                        char *text = write_down(formats[i], keys, SOME, NULL);
                        struct node *root = parse(formats[i], text);

                        for (size_t key = 0; key < SOME; key++) {
                                assert_ptr_equal(node_find(root, keys[key]), root->items[key]);
                                assert_int_equal(root->items[key]->key_line, key + 1);
                        }
                        assert_null(node_find(root, keys[SOME]));
                        assert_null(node_find(root, ""));
                        node_free(root);
                        free(text);
                }
                free(keys);
        }
}

static void assert_twice(enum document_format format, char (*keys)[64], size_t count, size_t which)
{
        char *text = write_down(format, keys, count, keys[which]), message[128];

        if (format == DOCUMENT_JSON)
                snprintf(message, sizeof(message), "f:%zu:%zu: duplicate object key near '\"%s\"'", count + 1,
                         strlen(keys[which]) + 2, keys[which]);
        else
                snprintf(message, sizeof(message), "f:%zu:1: duplicate key '%s', first on line %zu",
                         count + 1, keys[which], which + 1);
        assert_refused(format, text, message);
        free(text);
}

/* Also where a map is just about to be looked up in another way. */
static void a_key_that_is_there_already_is_found_wherever_it_stands(void **state)
{
        static const size_t counts[] = { 1, 15, 16, 17, SOME };

        (void)state;
        for (int choice = 0; choice < CHOICES; choice++) {
                char(*keys)[64] = choose((enum choice)choice, SOME);

                for (size_t i = 0; i < FORMATS; i++)
                        for (size_t j = 0; j < sizeof(counts) / sizeof(*counts); j++) {
                                assert_twice(formats[i], keys, counts[j], 0);
                                assert_twice(formats[i], keys, counts[j], counts[j] / 2);
                                assert_twice(formats[i], keys, counts[j], counts[j] - 1);
                        }
                free(keys);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_choice_of_keys_makes_the_way_to_them_long),
                cmocka_unit_test(every_key_is_found_and_no_other),
                cmocka_unit_test(a_key_that_is_there_already_is_found_wherever_it_stands),
        };

        /* The square of fifty thousand would go on for minutes, under valgrind for hours. */
        alarm(300);
        return cmocka_run_group_tests_name("document_keys", tests, NULL, NULL);
}
