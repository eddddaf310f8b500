/* test_toml_bounds.c: the limits of TOML documents, and texts that were cut off or changed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "documents.h"

static struct node *toml(const char *text)
{
        struct node *root = parse(DOCUMENT_TOML, text);

        assert_int_equal(root->kind, NODE_MAP);
        return root;
}

/* Exactly so many levels are read, and one more is refused. */
static void assert_deepest(const char *begin, const char *middle, size_t count, const char *end,
                           const char *end_each, const char *message)
{
        char *deep = nest(begin, middle, count, end, end_each);
        char *deeper = nest(begin, middle, count + 1, end, end_each);

        node_free(toml(deep));
        assert_refused(DOCUMENT_TOML, deeper, message);
        free(deep);
        free(deeper);
}

/* The document itself is the first level. */
static void nothing_is_deeper_than_the_limit(void **state)
{
        (void)state;
        assert_deepest("a=", "[", 63, "", "]", "f:1:66: more than 64 levels deep");
        assert_deepest("a=", "{a=", 63, "1", "}", "f:1:192: more than 64 levels deep");
        assert_deepest("a=", "[{a=", 31, "[1]", "}]", "f:1:128: more than 64 levels deep");
        assert_deepest("", "a.", 63, "a=1", "", "f:1:127: more than 64 levels deep");
        assert_deepest("", "a.", 62, "a={}", "", "f:1:129: more than 64 levels deep");
        assert_deepest("[", "a.", 62, "a]", "", "f:1:128: more than 64 levels deep");
        assert_deepest("[[", "a.", 61, "a]]", "", "f:1:127: more than 64 levels deep");
        assert_deepest("a={", "a.", 62, "a=1}", "", "f:1:128: more than 64 levels deep");
        /* Levels of a header count for the keys below it. */
        assert_deepest("[a.a.a]\n", "a.", 60, "b=1", "", "f:2:121: more than 64 levels deep");
        assert_deepest("[[a.a]]\n", "a.", 60, "b=1", "", "f:2:121: more than 64 levels deep");
        assert_deepest("[a.a.a]\nb=", "[", 60, "", "]", "f:2:63: more than 64 levels deep");
}

static void arrays_of_tables_in_arrays_of_tables_end_too(void **state)
{
        struct text text = { 0 };
        struct text name = { 0 };

        (void)state;
        for (unsigned i = 0; i < 32; i++) {
                text_add(&name, i ? ".a" : "a");
                if (i == 31) {
                        /* 31 lists of 31 tables are 63 levels with the document. */
                        struct node *root = toml(text.data);

                        node_free(root);
                }
                text_addf(&text, "[[%s]]\n", name.data);
        }
        assert_refused(DOCUMENT_TOML, text.data, "f:32:65: more than 64 levels deep");
        text_done(&text);
        text_done(&name);
}

/* As much of the same as a document may have: refused, or read, and neither with a crash nor after minutes. */
static void a_megabyte_of_the_same_is_no_problem(void **state)
{
        static const struct {
                const char *begin, *middle;
                bool is_valid;
        } cases[] = {
                { "", "[", false },
                { "a=", "[", false },
                { "a=[", "[],", false },
                { "", "{", false },
                { "a=", "{a=", false },
                { "", "a.", false },
                { "[", "a.", false },
                { "", "[[a]]\n", false },
                { "", "[[a.b]]\n", false },
                { "", "a", false },
                { "", "'", false },
                { "", "\"", false },
                { "a=", "'", false },
                { "a='''", "''x", false },
                { "a=\"", "\\", false },
                { "a=\"", "\\\\", false },
                { "a=\"\"\"", "\\\n", false },
                { "a=\"\"\"\\", " ", false },
                { "a=\"\"\"", "\\  ", false },
                { "a=\"", "\\u00e9", false },
                { "a=", "1", false },
                { "a=", "1_", false },
                { "a=0.", "0", true },
                { "a=1.", "1", true },
                { "a=1e-", "9", true },
                { "a=1e", "9", false },
                { "a=0x", "f", false },
                { "a=0x", "0", true },
                { "a=12:00:00.", "0", true },
                { "a=", "-", false },
                { "a=", "x", false },
                { "#", "#", true },
                { "", " ", true },
                { "", "\n", true },
                { "", "#\r\n", true },
                { "", "\r", false },
                { "a=[", "\n#\n", false },
                { "", "=", false },
                { "", "]", false },
                { "", "a=1\n", false },
                { "a.a.a.a.a.a.a.a.b=1\n", "a.a.a.a.a.a.a.a.b=1\n", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                size_t count = (DOCUMENT_SIZE_MAX - strlen(cases[i].begin)) / strlen(cases[i].middle);
                char *whole = repeat(cases[i].begin, cases[i].middle, count, "");
                abatis_error err = { .message = "" };
                struct node *root = NULL;
                int r = parse_bytes(DOCUMENT_TOML, whole, strlen(whole), &root, &err);

                if ((r == 0) != cases[i].is_valid)
                        fail_msg("'%s' and many of '%s': %s", cases[i].begin, cases[i].middle, err.message);
                assert_int_equal(r, cases[i].is_valid ? 0 : ABATIS_E_INVALID);
                node_free(root);
                free(whole);
        }
}

/* Lines with a number each, between BEFORE and AFTER. */
static char *many_lines(size_t count, const char *before, const char *after)
{
        struct text text = { 0 };
        char *whole;

        for (size_t i = 0; i < count; i++)
                text_addf(&text, "%s%zx%s\n", before, i, after);
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

static void many_keys_are_read_up_to_the_limit(void **state)
{
        char *whole = many_lines(DOCUMENT_NODES_MAX - 1, "", "=1");
        struct node *root = toml(whole);

        (void)state;
        assert_int_equal(root->count, DOCUMENT_NODES_MAX - 1);
        assert_int_equal(find_node(root, "1869e")->line, DOCUMENT_NODES_MAX - 1);
        node_free(root);
        free(whole);
        whole = many_lines(DOCUMENT_NODES_MAX, "", "=1");
        assert_refused(DOCUMENT_TOML, whole, "f:100000:7: more than 100000 values");
        free(whole);
        whole = many_lines(DOCUMENT_NODES_MAX - 1, "[", "]");
        root = toml(whole);
        assert_int_equal(root->count, DOCUMENT_NODES_MAX - 1);
        node_free(root);
        free(whole);
}

static void a_document_larger_than_a_megabyte_is_refused(void **state)
{
        char *whole = repeat("#", " ", DOCUMENT_SIZE_MAX, "");

        (void)state;
        assert_refused(DOCUMENT_TOML, whole, "f: larger than 1 MiB");
        free(whole);
}

static const char rich[] = "\xef\xbb\xbf# A comment \xe2\x82\xac\r\n"
                           "title = \"T\\u00e9\\n\" # more\n"
                           "a . 'b' . \"c\\\"\" = [ 1, -2.5e3, inf, [ ], {} , # in it\n"
                           "  0x1F, 0o7, 0b1, true, 1_000, ]\n"
                           "t = { x = 2024-02-29 12:00:00.5+01:00, y.z = 07:32:00, w = '' }\n"
                           "s = \"\"\"\nfold \\\r\n   ed \"\" \\U0001F600\"\"\"\"\n"
                           "l = '''\nraw '' \xc3\xa9'''\n"
                           "[ table . sub ] # c\n"
                           "k = nan\n"
                           "[[list]]\n"
                           "[[list.of]]\n"
                           "d = 1979-05-27\n"
                           "[[list]]\n"
                           "[table]\n"
                           "last = false";

static void a_document_cut_off_anywhere_is_survived(void **state)
{
        (void)state;
        node_free(toml(rich));
        for (size_t length = 0; length < sizeof(rich); length++)
                assert_answered(DOCUMENT_TOML, rich, length);
}

static void a_document_with_any_byte_changed_is_survived(void **state)
{
        static const char others[] = "\"'[]{}=.,#\\\n\r\t 0_-+eTx:\x01\x7f\x80\xc3";
        char changed[sizeof(rich)];

        (void)state;
        memcpy(changed, rich, sizeof(rich));
        for (size_t at = 0; at < sizeof(rich) - 1; at++) {
                for (size_t i = 0; i < sizeof(others); i++) {
                        changed[at] = others[i];
                        assert_answered(DOCUMENT_TOML, changed, sizeof(rich) - 1);
                }
                changed[at] = rich[at];
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_deeper_than_the_limit),
                cmocka_unit_test(arrays_of_tables_in_arrays_of_tables_end_too),
                cmocka_unit_test(a_megabyte_of_the_same_is_no_problem),
                cmocka_unit_test(many_keys_are_read_up_to_the_limit),
                cmocka_unit_test(a_document_larger_than_a_megabyte_is_refused),
                cmocka_unit_test(a_document_cut_off_anywhere_is_survived),
                cmocka_unit_test(a_document_with_any_byte_changed_is_survived),
        };

        /* Work that grows with the square of a megabyte would go on for hours. */
        alarm(300);
        return cmocka_run_group_tests_name("toml_bounds", tests, NULL, NULL);
}
