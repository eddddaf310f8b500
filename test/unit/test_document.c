/* test_document.c: what YAML and JSON documents become, where their mistakes are found, and that no input is too much.
 *
 * TOML has a file of its own. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"

static struct node *yaml(const char *text)
{
        return parse(DOCUMENT_YAML, text);
}

static struct node *json(const char *text)
{
        return parse(DOCUMENT_JSON, text);
}

#define refuses_yaml(text, message) assert_refused(DOCUMENT_YAML, text, message)
#define refuses_json(text, message) assert_refused(DOCUMENT_JSON, text, message)

/* ---- places --------------------------------------------------------------------------------------------- */

static void keys_and_values_of_yaml_have_their_place(void **state)
{
        struct node *root = yaml("# first\n"
                                 "a: 1\n"
                                 "b :\n"
                                 "  - x\n"
                                 "  -   {y: 2.5, 'z': [ ~ ]}\n"
                                 "? c\n"
                                 ": \"d\"\n");

        (void)state;
        assert_place(root, "", 0, 0, 2, 1);
        assert_place(root, "a", 2, 1, 2, 4);
        assert_place(root, "b", 3, 1, 4, 3);
        assert_place(root, "b/0", 0, 0, 4, 5);
        assert_place(root, "b/1", 0, 0, 5, 7);
        assert_place(root, "b/1/y", 5, 8, 5, 11);
        assert_place(root, "b/1/z", 5, 16, 5, 21);
        assert_place(root, "b/1/z/0", 0, 0, 5, 23);
        assert_place(root, "c", 6, 3, 7, 3);
        node_free(root);
}

static void keys_and_values_of_json_have_their_place(void **state)
{
        struct node *root = json(" {\"a\": 1,\n"
                                 "\t\"b\" : [ \"x,]}\\\"\",\r\n"
                                 "  {\"y\":2.5e3 ,\"z\":[ null,true]} ]\n"
                                 ", \"c\": {}, \"d\": [], \"e\" : false}");

        (void)state;
        assert_place(root, "", 0, 0, 1, 2);
        assert_place(root, "a", 1, 3, 1, 8);
        assert_place(root, "b", 2, 2, 2, 8);
        assert_place(root, "b/0", 0, 0, 2, 10);
        assert_place(root, "b/1", 0, 0, 3, 3);
        assert_place(root, "b/1/y", 3, 4, 3, 8);
        assert_place(root, "b/1/z", 3, 15, 3, 19);
        assert_place(root, "b/1/z/0", 0, 0, 3, 21);
        assert_place(root, "b/1/z/1", 0, 0, 3, 26);
        assert_place(root, "c", 4, 3, 4, 8);
        assert_place(root, "d", 4, 12, 4, 17);
        assert_place(root, "e", 4, 21, 4, 27);
        node_free(root);
}

/* Two, three and four bytes each. */
#define WIDE "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"

static void columns_count_characters(void **state)
{
        struct node *root = yaml("{" WIDE ": '" WIDE "', a: 1}");

        (void)state;
        assert_place(root, WIDE, 1, 2, 1, 7);
        assert_place(root, "a", 1, 14, 1, 17);
        assert_string_equal(find_node(root, WIDE)->text, WIDE);
        node_free(root);
        root = json("{\"" WIDE "\": \"" WIDE "\", \"a\": 1}");
        assert_place(root, WIDE, 1, 2, 1, 9);
        assert_place(root, "a", 1, 16, 1, 21);
        node_free(root);
}

static void lines_may_end_with_cr_and_lf(void **state)
{
        struct node *unix_lines = yaml("a: 1\nb:\n- x\n- 'y'\n"),
                    *root = yaml("a: 1\r\nb:\r\n- x\r\n- 'y'\r\n");

        (void)state;
        assert_true(is_same(root, unix_lines));
        assert_place(root, "b/1", 0, 0, 4, 3);
        node_free(root);
        node_free(unix_lines);
        root = json("{\"a\":\r\n1,\r\n\"b\": 2}\r\n");
        assert_place(root, "b", 3, 1, 3, 6);
        node_free(root);
}

static void a_byte_order_mark_is_no_character(void **state)
{
        struct node *root = yaml("\xef\xbb\xbf"
                                 "a: 1\nb: 2\n");

        (void)state;
        assert_int_equal(root->count, 2);
        assert_place(root, "a", 1, 1, 1, 4);
        assert_place(root, "b", 2, 1, 2, 4);
        node_free(root);
        root = json("\xef\xbb\xbf{\"a\": 1}");
        assert_place(root, "a", 1, 2, 1, 7);
        node_free(root);
}

static void an_empty_yaml_file_says_nothing(void **state)
{
        static const char *const texts[] = { "",      "\n",         "  \n\n",       "# only a comment",
                                             "---\n", "---\n...\n", "\xef\xbb\xbf", "null",
                                             "~" };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                struct node *root = yaml(texts[i]);

                assert_int_equal(root->kind, NODE_NULL);
                assert_true(root->line >= 1 && root->column >= 1);
                node_free(root);
        }
}

/* ---- what is wrong -------------------------------------------------------------------------------------- */

static void a_duplicate_key_names_both_places(void **state)
{
        (void)state;
        refuses_yaml("a: 1\nb: 2\n\"a\": 3\n", "f:3:1: duplicate key 'a', first on line 1");
        refuses_yaml("{a: {x: 1, y: 2,\n x: 3}}", "f:2:2: duplicate key 'x', first on line 1");
        refuses_yaml("- {a: 1}\n- {a: 1, 'a': 2}\n", "f:2:10: duplicate key 'a', first on line 2");
        /* A map that is looked up by hash. */
        refuses_yaml(
                "{k0: 0,k1: 0,k2: 0,k3: 0,k4: 0,k5: 0,k6: 0,k7: 0,k8: 0,k9: 0,k10: 0,k11: 0,k12: 0,k13: 0,"
                "k14: 0,k15: 0,k16: 0,k17: 0,k18: 0,\nk7: 1}",
                "f:2:1: duplicate key 'k7', first on line 1");
        refuses_json("{\"a\": 1,\n\"a\": 2}", "f:2:3: duplicate object key near '\"a\"'");
        refuses_json("{\"a\": 1,\n\"\\u0061\": 2}", "f:2:8: duplicate object key near '\"\\u0061\"'");
        refuses_json("[{\"x\": {\"a\": 1, \"b\": 2, \"a\": 3}}]",
                     "f:1:27: duplicate object key near '\"a\"'");
}

static void wrong_yaml_names_the_place(void **state)
{
        (void)state;
        refuses_yaml("a: [1, 2\n", "f:2:1: while parsing a flow sequence: did not find expected ',' or ']'");
        refuses_yaml("a:\n\t- b\n",
                     "f:2:1: while scanning for the next token: found character that cannot start any token");
        refuses_yaml("a: 'b\n", "f:2:1: while scanning a quoted scalar: found unexpected end of stream");
        refuses_yaml("a: b: c\n", "f:1:5: mapping values are not allowed in this context");
        refuses_yaml("a: 1\n b: 2\n", "f:2:3: mapping values are not allowed in this context");
        refuses_yaml("a: @x\n",
                     "f:1:4: while scanning for the next token: found character that cannot start any token");
        refuses_yaml("a: \"\\q\"\n", "f:1:5: while parsing a quoted scalar: found unknown escape character");
        refuses_yaml("a: 1\nb\n", "f:3:1: while scanning a simple key: could not find expected ':'");
        refuses_yaml("a: \x01\n", "f:1:4: a control character");
        refuses_yaml("ab: \xc2\x80\n", "f:1:5: a control character");
        refuses_yaml("%YAML 3.0\n---\na: 1\n", "f:1:1: found incompatible YAML document");
}

/* Whoever reads the file before vouching for it must see what it says. */
static void what_an_editor_does_not_show_is_refused(void **state)
{
        struct node *root = yaml("a: \"\\N\\L\\P\\u202e\\r\"\r\nb: \xd7\xa9\n");

        (void)state;
        assert_string_equal(find_node(root, "a")->text, "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\r");
        node_free(root);
        refuses_yaml("a: 1 # harmless\xe2\x80\xa8"
                     "b: 2\n",
                     "f:1:16: a line break that few editors show; in quotes, write \\N, \\L or \\P");
        refuses_yaml("# harmless\xe2\x80\xa9"
                     "b: 2\n",
                     "f:1:11: a line break that few editors show; in quotes, write \\N, \\L or \\P");
        refuses_yaml("# harmless\xc2\x85"
                     "b: 2\n",
                     "f:1:11: a line break that few editors show; in quotes, write \\N, \\L or \\P");
        refuses_yaml("b: 2\r# harmless\n", "f:1:5: a lone carriage return");
        refuses_yaml("b: 2\r\r\n", "f:1:5: a lone carriage return");
        refuses_yaml("b: 2\r", "f:1:5: a lone carriage return");
        refuses_yaml("# \xe2\x80\xae"
                     "x\n",
                     "f:1:3: a character that turns text round; in quotes, write it as \\u....");
        refuses_yaml("a:\n  \xe2\x81\xa6"
                     "x\n",
                     "f:2:3: a character that turns text round; in quotes, write it as \\u....");
}

static void tags_are_refused_wherever_they_stand(void **state)
{
        (void)state;
        refuses_yaml("a: !!str 1\n", "f:1:4: tags are not supported");
        refuses_yaml("a: ! 1\n", "f:1:4: tags are not supported");
        refuses_yaml("a: !local {b: 1}\n", "f:1:4: tags are not supported");
        refuses_yaml("a:\n- !!python/object:os.system [x]\n", "f:2:3: tags are not supported");
        refuses_yaml("!!map {a: 1}\n", "f:1:1: tags are not supported");
        refuses_yaml("!!str a: 1\n", "f:1:1: tags are not supported");
        refuses_yaml("%TAG ! tag:example.org:\n---\na: !x 1\n", "f:3:4: tags are not supported");
}

static void a_second_document_is_refused(void **state)
{
        struct node *root = yaml("%YAML 1.1\n---\na: 1\n...\n# no more\n");

        (void)state;
        node_free(root);
        refuses_yaml("a: 1\n---\nb: 2\n", "f:2:1: a second document in one file");
        refuses_yaml("---\n---\n", "f:2:1: a second document in one file");
        refuses_yaml("a: 1\n...\n---\n", "f:3:1: a second document in one file");
}

static void a_key_is_a_word(void **state)
{
        struct node *root = yaml("1: a\nyes: b\n\"\": c\n~: d\n");

        (void)state;
        assert_string_equal(find_node(root, "1")->text, "a");
        assert_string_equal(find_node(root, "yes")->text, "b");
        assert_string_equal(find_node(root, "~")->text, "d");
        node_free(root);
        refuses_yaml("[a]: 1\n", "f:1:1: a key must be a word");
        refuses_yaml("{a: 1}: 1\n", "f:1:1: a key must be a word");
        refuses_yaml("? - a\n: 1\n", "f:1:3: a key must be a word");
        refuses_yaml("a: &x b\n*x : c\n", "f:2:1: a key must be a word");
        refuses_yaml("\"a\\0b\": 1\n", "f:1:1: a NUL in a key");
        refuses_json("{\"a\\u0000b\": 1}",
                     "f:1:11: NUL byte in object key not supported near '\"a\\u0000b\"'");
}

/* ---- values --------------------------------------------------------------------------------------------- */

static void assert_kind(const char *text, enum node_kind kind)
{
        struct node *root = yaml(text);

        if (root->kind != kind)
                fail_msg("'%s' is %s", text, node_kind_name(root->kind));
        node_free(root);
}

static void assert_integer(const char *text, int64_t value)
{
        struct node *root = yaml(text);

        assert_int_equal(root->kind, NODE_INTEGER);
        assert_true(root->integer == value);
        assert_string_equal(root->text, text);
        node_free(root);
}

static void yaml_scalars_are_those_of_the_core_schema(void **state)
{
        static const char *const words[] = { "yes",      "no", "on",    "off",       "y",    "n",    "0b1",
                                             "1_000",    "0x", "0o8",   "1:30",      "tRUE", "nuLL", "+",
                                             ".",        "1e", "e1",    "0xg",       "--1",  "'1'",  "'~'",
                                             "\"true\"", "''", "|\n 1", "2001-01-01" };
        static const char *const numbers[] = { "1.5",  "-.5",   "+1.e3", "1e3", "1E-3",
                                               ".inf", "-.INF", ".nan",  "1." };

        (void)state;
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
                assert_kind(words[i], NODE_STRING);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                assert_kind(numbers[i], NODE_FLOAT);
        assert_kind("True", NODE_BOOLEAN);
        assert_kind("FALSE", NODE_BOOLEAN);
        assert_kind("Null", NODE_NULL);
        assert_integer("0", 0);
        assert_integer("-12", -12);
        assert_integer("+7", 7);
        assert_integer("010", 10);
        assert_integer("0o17", 15);
        assert_integer("0xfF", 255);
        assert_integer("9223372036854775807", INT64_MAX);
        assert_integer("-9223372036854775808", INT64_MIN);
        assert_integer("0x7fffffffffffffff", INT64_MAX);
}

static void a_number_that_is_too_large_is_refused(void **state)
{
        (void)state;
        refuses_yaml("a: 9223372036854775808", "f:1:4: the number 9223372036854775808 is too large");
        refuses_yaml("a: -9223372036854775809", "f:1:4: the number -9223372036854775809 is too large");
        refuses_yaml("a: 0x8000000000000000", "f:1:4: the number 0x8000000000000000 is too large");
        refuses_json("{\"a\": 9223372036854775808}", "f:1:25: too big integer near '9223372036854775808'");
        refuses_json("{\"a\": -9223372036854775809}",
                     "f:1:26: too big negative integer near '-9223372036854775809'");
        refuses_json("{\"a\": 1e999}", "f:1:11: real number overflow near '1e999'");
}

static void json_values_are_what_they_are(void **state)
{
        struct node *root =
                json("[9223372036854775807, -9223372036854775808, 1.5, 1.0, true, false, null, \"\"]");

        (void)state;
        assert_true(find_node(root, "0")->integer == INT64_MAX);
        assert_true(find_node(root, "1")->integer == INT64_MIN);
        assert_true(find_node(root, "2")->number == 1.5);
        assert_int_equal(find_node(root, "3")->kind, NODE_FLOAT);
        assert_true(find_node(root, "4")->boolean);
        assert_false(find_node(root, "5")->boolean);
        assert_int_equal(find_node(root, "6")->kind, NODE_NULL);
        assert_string_equal(find_node(root, "7")->text, "");
        node_free(root);
}

static void json_escapes_are_characters(void **state)
{
        struct node *root = json("[\"\\ud83d\\ude00\", \"\\u00e9\\/\\n\\\\\", \"\xf0\x9f\x98\x80\"]");

        (void)state;
        assert_string_equal(find_node(root, "0")->text, "\xf0\x9f\x98\x80");
        assert_string_equal(find_node(root, "1")->text, "\xc3\xa9/\n\\");
        assert_string_equal(find_node(root, "2")->text, "\xf0\x9f\x98\x80");
        node_free(root);
        refuses_json("[\"\\ud83d\"]", "f:1:9: invalid Unicode '\\uD83D' near '\"\\ud83d\"'");
        refuses_json("[\"\\ude00\"]", "f:1:9: invalid Unicode '\\uDE00' near '\"\\ude00\"'");
        refuses_json("[\"\\ud83dx\"]", "f:1:10: invalid Unicode '\\uD83D' near '\"\\ud83dx\"'");
        refuses_json("[\"\\ud83d\\u0041\"]",
                     "f:1:15: invalid Unicode '\\uD83D\\u0041' near '\"\\ud83d\\u0041\"'");
        refuses_json("[\"\\u0000\"]",
                     "f:1:9: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"\\u0000\"'");
}

static void wrong_json_names_the_place(void **state)
{
        (void)state;
        refuses_json("", "f:1:1: unexpected token near end of file");
        refuses_json("{\"a\": 1} x", "f:1:10: end of file expected near 'x'");
        refuses_json("{\"a\": 1}\n{}", "f:2:1: end of file expected near '{'");
        refuses_json("{\"a\": 1,}", "f:1:9: string or '}' expected near '}'");
        refuses_json("{'a': 1}", "f:1:2: string or '}' expected near '''");
        refuses_json("{a: 1}", "f:1:2: string or '}' expected near 'a'");
        refuses_json("// x\n{}", "f:1:1: invalid token near '/'");
        refuses_json("[1 2]", "f:1:4: ']' expected near '2'");
        refuses_json("[\"a\nb\"]", "f:1:3: unexpected newline near '\"a'");
        refuses_json("[NaN]", "f:1:4: invalid token near 'NaN'");
        refuses_json("[01]", "f:1:2: invalid token near '0'");
}

/* ---- anchors -------------------------------------------------------------------------------------------- */

static void an_alias_is_a_copy_at_its_own_place(void **state)
{
        struct node *root = yaml("a: &x {k: [1, true, 'z']}\nb: *x\nc: &x 5\nd: [*x]\ne: &y ''\nf: *y\n");
        struct node *wanted = yaml("b: {k: [1, true, 'z']}");

        (void)state;
        assert_place(root, "b", 2, 1, 2, 4);
        assert_place(root, "b/k", 1, 8, 2, 4);
        assert_int_equal(find_node(root, "d/0")->integer, 5); /* the last one of a name counts */
        assert_string_equal(find_node(root, "f")->text, "");
        assert_true(is_same(find_node(root, "b"), find_node(wanted, "b")));
        assert_ptr_not_equal(find_node(root, "a/k"), find_node(root, "b/k"));
        node_free(root);
        node_free(wanted);
}

static void an_alias_leads_to_something_finished(void **state)
{
        (void)state;
        refuses_yaml("a: *x\n", "f:1:4: alias 'x' has no anchor before it");
        refuses_yaml("a: *x\nb: &x 1\n", "f:1:4: alias 'x' has no anchor before it");
        refuses_yaml("a: &x [1, *x]\n", "f:1:11: an alias to a value that it is part of");
        refuses_yaml("&x a: {b: [*x]}\n", "f:1:12: alias 'x' has no anchor before it");
        refuses_yaml("&x {a: {b: [*x]}}\n", "f:1:13: an alias to a value that it is part of");
        refuses_yaml("a: &x [&y {k: *y}, *x]\n", "f:1:15: an alias to a value that it is part of");
        refuses_yaml("- &a [*b]\n- &b [*a]\n", "f:1:7: alias 'b' has no anchor before it");
}

static void anchors_are_counted(void **state)
{
        char *text = repeat("[", "&a 1,", 256, "]"), *more = repeat("[", "&a 1,", 257, "]");

        (void)state;
        node_free(yaml(text));
        refuses_yaml(more, "f:1:1282: more than 256 anchors");
        free(text);
        free(more);
}

/* Each line has ten of the one above: from the sixth on there are more values than there may be. */
static void an_alias_bomb_ends_early(void **state)
{
        static const char maps[] = "a: &a {b: 1}\n"
                                   "b: &b {1: *a,2: *a,3: *a,4: *a,5: *a,6: *a,7: *a,8: *a,9: *a}\n"
                                   "c: &c {1: *b,2: *b,3: *b,4: *b,5: *b,6: *b,7: *b,8: *b,9: *b}\n"
                                   "d: &d {1: *c,2: *c,3: *c,4: *c,5: *c,6: *c,7: *c,8: *c,9: *c}\n"
                                   "e: &e {1: *d,2: *d,3: *d,4: *d,5: *d,6: *d,7: *d,8: *d,9: *d}\n"
                                   "f: &f {1: *e,2: *e,3: *e,4: *e,5: *e,6: *e,7: *e,8: *e,9: *e}\n"
                                   "g: &g {1: *f,2: *f,3: *f,4: *f,5: *f,6: *f,7: *f,8: *f,9: *f}\n";
        static const char lists[] = "- &a [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
                                    "- &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                                    "- &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                                    "- &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                                    "- &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                                    "- &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        double before = seconds_used();

        (void)state;
        refuses_yaml(maps, "f:6:47: more than 100000 values");
        refuses_yaml(lists, "f:5:28: more than 100000 values");
        assert_true(seconds_used() - before < 10);
}

/* One long text, or one long key, many times. */
static void an_alias_bomb_of_text_ends_early(void **state)
{
        char *value = repeat("a: &a ", "x", 300000, "\nb: ["),
             *key = repeat("a: &a\n  ? ", "x", 300000, "\n  : 1\nb: [");
        char *values = repeat(value, "*a,", 90000, "]"), *keys = repeat(key, "*a,", 90000, "]");

        (void)state;
        refuses_yaml(values, "f:2:14: aliases make more than 1 MiB of text");
        refuses_yaml(keys, "f:4:14: aliases make more than 1 MiB of text");
        free(value);
        free(values);
        free(key);
        free(keys);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys_and_values_of_yaml_have_their_place),
                cmocka_unit_test(keys_and_values_of_json_have_their_place),
                cmocka_unit_test(columns_count_characters),
                cmocka_unit_test(lines_may_end_with_cr_and_lf),
                cmocka_unit_test(a_byte_order_mark_is_no_character),
                cmocka_unit_test(an_empty_yaml_file_says_nothing),
                cmocka_unit_test(a_duplicate_key_names_both_places),
                cmocka_unit_test(wrong_yaml_names_the_place),
                cmocka_unit_test(what_an_editor_does_not_show_is_refused),
                cmocka_unit_test(tags_are_refused_wherever_they_stand),
                cmocka_unit_test(a_second_document_is_refused),
                cmocka_unit_test(a_key_is_a_word),
                cmocka_unit_test(yaml_scalars_are_those_of_the_core_schema),
                cmocka_unit_test(a_number_that_is_too_large_is_refused),
                cmocka_unit_test(json_values_are_what_they_are),
                cmocka_unit_test(json_escapes_are_characters),
                cmocka_unit_test(wrong_json_names_the_place),
                cmocka_unit_test(an_alias_is_a_copy_at_its_own_place),
                cmocka_unit_test(an_alias_leads_to_something_finished),
                cmocka_unit_test(anchors_are_counted),
                cmocka_unit_test(an_alias_bomb_ends_early),
                cmocka_unit_test(an_alias_bomb_of_text_ends_early),
        };

        return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
