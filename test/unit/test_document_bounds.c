/* test_document_bounds.c: the limits of documents, what is not text, and texts that were cut off or changed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"

/* Both formats are held to the same limits. */
static const enum document_format both[] = { DOCUMENT_YAML, DOCUMENT_JSON };

/* ---- depth ---------------------------------------------------------------------------------------------- */

/* 64 levels are read, the 65th is refused where it begins. */
static void assert_depth(enum document_format format, const char *open, const char *inside, const char *close,
                         unsigned line, unsigned column)
{
        char *deep = nest("", open, 64, inside, close), *deeper = nest("", open, 65, inside, close),
             message[64];

        snprintf(message, sizeof(message), "f:%u:%u: nested deeper than 64 levels", line, column);
        node_free(parse(format, deep));
        assert_refused(format, deeper, message);
        free(deep);
        free(deeper);
}

static void lists_and_maps_go_64_levels_deep(void **state)
{
        (void)state;
        for (size_t i = 0; i < 2; i++) {
                assert_depth(both[i], "[", "", "]", 1, 65);
                assert_depth(both[i], "[", "1", "]", 1, 65);
                assert_depth(both[i], "{\"a\":", "1", "}", 1, 321);
        }
        assert_depth(DOCUMENT_YAML, "- ", "1", "", 1, 129);
}

/* Each line one column further in than the one above. */
static char *indent(size_t depth)
{
        size_t size = depth * (depth + 4) + 8, used = 0;
        char *text = malloc(size);

        assert_non_null(text);
        for (size_t i = 0; i < depth; i++)
                used += (size_t)snprintf(text + used, size - used, "%*sa:\n", (int)i, "");
        snprintf(text + used, size - used, "%*s1\n", (int)depth, "");
        return text;
}

static void indented_maps_go_64_levels_deep(void **state)
{
        char *deep = indent(64), *deeper = indent(65);

        (void)state;
        node_free(parse(DOCUMENT_YAML, deep));
        assert_refused(DOCUMENT_YAML, deeper, "f:65:65: nested deeper than 64 levels");
        free(deep);
        free(deeper);
}

/* Lists and maps in turn. */
static void mixed_values_go_64_levels_deep(void **state)
{
        (void)state;
        for (size_t i = 0; i < 2; i++) {
                char *deep = nest("", "[{\"a\":", 32, "1", "}]"),
                     *deeper = nest("", "[{\"a\":", 32, "[]", "}]");

                node_free(parse(both[i], deep));
                assert_refused(both[i], deeper, "f:1:193: nested deeper than 64 levels");
                free(deep);
                free(deeper);
        }
}

/* What an alias leads to counts from where the alias stands. */
static void aliases_go_64_levels_deep(void **state)
{
        char *inside = nest("", "[", 40, "1", "]"), *text = NULL, *outside[2];

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                char *around = nest("", "[", 23 + i, "*x", "]");

                assert_true(asprintf(&outside[i], "a: &x %s\nb: %s\n", inside, around) > 0);
                free(around);
        }
        node_free(parse(DOCUMENT_YAML, outside[0]));
        assert_refused(DOCUMENT_YAML, outside[1], "f:2:28: nested deeper than 64 levels");
        free(outside[0]);
        free(outside[1]);
        /* Each anchor holds the one before: 70 levels out of lines that are flat. */
        text = repeat("- &a [1]\n", "- &b [*a]\n- &a [*b]\n", 35, "");
        assert_refused(DOCUMENT_YAML, text, "f:64:7: nested deeper than 64 levels");
        free(text);
        free(inside);
}

/* Far beyond what any stack holds. */
static void a_megabyte_of_brackets_ends_early(void **state)
{
        static const char *const opens[] = { "[", "{\"a\":", "- ", "? ", "[[{\"a\":[", "{? ", "[? ", "*" };
        double before = seconds_used();

        (void)state;
        for (size_t i = 0; i < sizeof(opens) / sizeof(*opens); i++) {
                char *text = repeat("", opens[i], DOCUMENT_SIZE_MAX / strlen(opens[i]), "");

                for (size_t j = 0; j < 2; j++) {
                        struct node *root = NULL;

                        assert_int_equal(parse_bytes(both[j], text, strlen(text), &root, NULL),
                                         ABATIS_E_INVALID);
                }
                free(text);
        }
        assert_true(seconds_used() - before < 30);
}

/* ---- size ----------------------------------------------------------------------------------------------- */

static void a_document_holds_a_megabyte(void **state)
{
        char *text = repeat("[1]", " ", DOCUMENT_SIZE_MAX - 3, ""),
             *more = repeat("[1]", " ", DOCUMENT_SIZE_MAX - 2, "");

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct node *root = parse(both[i], text);

                assert_int_equal(root->count, 1);
                node_free(root);
                assert_refused(both[i], more, "f: larger than 1 MiB");
        }
        free(text);
        free(more);
}

/* A hundred thousand, the list itself included. */
static void a_document_holds_a_hundred_thousand_values(void **state)
{
        char *text = repeat("[", "1,", DOCUMENT_NODES_MAX - 2, "1]"),
             *more = repeat("[", "1,", DOCUMENT_NODES_MAX - 1, "1]");

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct node *root = parse(both[i], text);

                assert_int_equal(root->count, DOCUMENT_NODES_MAX - 1);
                node_free(root);
                assert_refused(both[i], more, "f:1:200000: more than 100000 values");
        }
        free(text);
        free(more);
}

/* The square of it would take minutes. */
static void many_keys_take_no_time(void **state)
{
        size_t count = DOCUMENT_NODES_MAX - 1, size = count * 10 + 16, used = 1;
        char *text = malloc(size);
        double before = seconds_used();

        (void)state;
        assert_non_null(text);
        *text = '{';
        for (size_t i = 0; i < count; i++)
                used += (size_t)snprintf(text + used, size - used, "%s\"%zx\":1", i ? "," : "", i);
        strcpy(text + used, "}");
        for (size_t i = 0; i < 2; i++) {
                struct node *root = parse(both[i], text);

                assert_int_equal(root->count, count);
                assert_ptr_equal(node_find(root, "0"), root->items[0]);
                assert_ptr_equal(node_find(root, "ff"), root->items[255]);
                assert_null(node_find(root, "no"));
                node_free(root);
        }
        assert_true(seconds_used() - before < 20);
        free(text);
}

/* Long texts, comments, lines and escapes: none of them costs the square of its length. */
static void a_megabyte_of_anything_takes_no_time(void **state)
{
        static const struct {
                const char *before, *what, *after;
        } kinds[] = {
                { "a: \"", "x", "\"" },
                { "a: '", "''", "'" },
                { "a: ", "x ", "" },
                { "a: |\n", " x\n", "" },
                { "a: >\n", " x\n", "" },
                { "a: \"", "\\u00e9", "\"" },
                { "", "# x\n", "" },
                { "a: >\n", "\n", " x" },
                { "a:\n", " \n", "" },
                { "a: [", "&a 1,", "]" },
                { "a: [", "*a,", "]" },
                { "", "a", ": 1" },
                { "", "%x y\n", "" },
                { "a: ", "!x ", "" },
                { "", "- \n", "" },
                { "", "? \n", "" },
                { "", ": \n", "" },
                { "a: \"", "\\\n", "\"" },
                { "a: [", ",", "]" },
                { "a: [", "a: 1,", "]" },
                { "", "---\n", "" },
                { "", "...\n", "" },
                { "a: \"", "\n", "\"" },
                { "", "\"\":\n", "" },
                { "[\"", "\\\\", "\"]" },
                { "[1", "0", "]" },
                { "[0.", "0", "1]" },
                { "", "a: b\n", "" },
                { "{", "\"\":1,", "\"\":1}" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
                size_t fixed = strlen(kinds[i].before) + strlen(kinds[i].after);
                char *text = repeat(kinds[i].before, kinds[i].what,
                                    (DOCUMENT_SIZE_MAX - fixed) / strlen(kinds[i].what), kinds[i].after);
                double before = seconds_used();

                for (size_t j = 0; j < 2; j++) {
                        struct node *root = NULL;

                        if (!parse_bytes(both[j], text, strlen(text), &root, NULL))
                                node_free(root);
                }
                if (seconds_used() - before > 20)
                        fail_msg("'%s' takes %.0f seconds", kinds[i].what, seconds_used() - before);
                free(text);
        }
}

/* ---- bytes ---------------------------------------------------------------------------------------------- */

static void what_is_not_text_is_refused_at_its_place(void **state)
{
        (void)state;
        for (size_t i = 0; i < 2; i++) {
                assert_refused_bytes(both[i], "[1,\n 2,\0 3]", 11, "f:2:4: a NUL byte");
                assert_refused_bytes(both[i], "\0", 1, "f:1:1: a NUL byte");
                assert_refused(both[i], "[1,\n\"\xe2\x82\xac\xff\"]", "f:2:3: not UTF-8");
                assert_refused(both[i], "\xc3", "f:1:1: not UTF-8");
                assert_refused(both[i], "[\"\xc0\xaf\"]", "f:1:3: not UTF-8");     /* longer than needed */
                assert_refused(both[i], "[\"\xed\xa0\x80\"]", "f:1:3: not UTF-8"); /* half of a pair */
                assert_refused(both[i], "[\"\xf4\x90\x80\x80\"]", "f:1:3: not UTF-8"); /* beyond the last */
                assert_refused_bytes(both[i], "[\"\xff\0\"]", 6, "f:1:3: not UTF-8"); /* whichever is first */
                assert_refused_bytes(both[i], "[\"\0\xff\"]", 6, "f:1:3: a NUL byte");
        }
        /* Other encodings of Unicode begin with what is not UTF-8, or have NULs. */
        assert_refused_bytes(DOCUMENT_YAML,
                             "\xff\xfe"
                             "a\0",
                             4, "f:1:1: not UTF-8");
        assert_refused_bytes(DOCUMENT_YAML, "\xfe\xff\0a", 4, "f:1:1: not UTF-8");
        assert_refused(DOCUMENT_YAML, "a: \"b\\0c\"", "f:1:4: a NUL in a text");
        assert_refused(DOCUMENT_YAML, "a: \"\\x00\"", "f:1:4: a NUL in a text");
}

static const char rich_yaml[] = "# yaml-language-server: $schema=x\r\n%YAML 1.1\n---\n"
                                "a: &x [1, -2.5, 0x1f, ~, true, \"q\\u00e9\\n\", 'it''s']\n"
                                "b: {k: *x, \"l\": {}, ? m : n}\n"
                                "c: |+2\n    text\n\n  more\n"
                                "d: >-\n  folded\n  \xe2\x82\xac\n"
                                "? e\n: - f\n  - - g\n    - &y h\n"
                                "i: *y # end\n...\n";
static const char rich_json[] = "{\"a\": [1, -2.5e+3, null, true, false, \"q\\u00e9\\n\\\"\"],\r\n"
                                " \"b\\ud83d\\ude00\": {\"k\": {}, \"l\": [[], [{}]]},\n"
                                "\t\"\xe2\x82\xac\": \"\xf0\x9f\x98\x80\", \"d\": 9223372036854775807}\n";

static void a_document_may_end_at_every_byte(void **state)
{
        (void)state;
        for (size_t length = 0; length < sizeof(rich_yaml); length++)
                assert_answered(DOCUMENT_YAML, rich_yaml, length);
        for (size_t length = 0; length < sizeof(rich_json); length++)
                assert_answered(DOCUMENT_JSON, rich_json, length);
        node_free(parse(DOCUMENT_YAML, strstr(rich_yaml, "%YAML")));
        node_free(parse(DOCUMENT_JSON, rich_json));
        /* A JSON document that was cut off is never taken for a whole one. */
        for (size_t length = 0; length + 2 < sizeof(rich_json); length++) {
                struct node *root;

                assert_int_equal(parse_bytes(DOCUMENT_JSON, rich_json, length, &root, NULL),
                                 ABATIS_E_INVALID);
        }
}

static void every_byte_may_be_another(void **state)
{
        static const char others[] = "\0\n\t \"'\\{}[]:,-?&*!#|>%@`0a\x80\xff";

        (void)state;
        for (size_t i = 0; i + 1 < sizeof(rich_yaml) || i + 1 < sizeof(rich_json); i++)
                for (size_t j = 0; j + 1 < sizeof(others); j++) {
                        char text[sizeof(rich_yaml) > sizeof(rich_json) ? sizeof(rich_yaml)
                                                                        : sizeof(rich_json)];

                        memcpy(text, rich_yaml, sizeof(rich_yaml));
                        text[i] = others[j];
                        assert_answered(DOCUMENT_YAML, text, sizeof(rich_yaml) - 1);
                        memcpy(text, rich_json, sizeof(rich_json));
                        text[i] = others[j];
                        assert_answered(DOCUMENT_JSON, text, sizeof(rich_json) - 1);
                }
}

static void the_format_is_in_the_name(void **state)
{
        (void)state;
        assert_int_equal(document_format_of("policy.json"), DOCUMENT_JSON);
        assert_int_equal(document_format_of("/a.d/b.toml"), DOCUMENT_TOML);
        assert_int_equal(document_format_of("policy.yaml"), DOCUMENT_YAML);
        assert_int_equal(document_format_of("policy"), DOCUMENT_YAML);
        assert_int_equal(document_format_of("a.json/policy"), DOCUMENT_YAML);
        assert_int_equal(document_format_of("policy.json.yaml"), DOCUMENT_YAML);
        assert_int_equal(document_format_of(""), DOCUMENT_YAML);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lists_and_maps_go_64_levels_deep),
                cmocka_unit_test(indented_maps_go_64_levels_deep),
                cmocka_unit_test(mixed_values_go_64_levels_deep),
                cmocka_unit_test(aliases_go_64_levels_deep),
                cmocka_unit_test(a_megabyte_of_brackets_ends_early),
                cmocka_unit_test(a_document_holds_a_megabyte),
                cmocka_unit_test(a_document_holds_a_hundred_thousand_values),
                cmocka_unit_test(many_keys_take_no_time),
                cmocka_unit_test(a_megabyte_of_anything_takes_no_time),
                cmocka_unit_test(what_is_not_text_is_refused_at_its_place),
                cmocka_unit_test(a_document_may_end_at_every_byte),
                cmocka_unit_test(every_byte_may_be_another),
                cmocka_unit_test(the_format_is_in_the_name),
        };

        return cmocka_run_group_tests_name("document_bounds", tests, NULL, NULL);
}
