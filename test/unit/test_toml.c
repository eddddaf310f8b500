/* test_toml.c: what TOML documents become, where their mistakes are found, and that no input is too much.
 *
 * That all of the language is read as it should be is test/toml's business. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "policy/document.h"
#include "scratch.h"

/* A copy without slack behind it: valgrind and the sanitizers see a read past the end. */
static int parse_bytes(const char *text, size_t length, struct node **out, abatis_error *err)
{
        char *exact = malloc(length ? length : 1);
        int r;

        assert_non_null(exact);
        memcpy(exact, text, length);
        r = document_parse(DOCUMENT_TOML, "f", exact, length, out, err);
        free(exact);
        return r;
}

static struct node *parse(const char *text)
{
        abatis_error err = { .message = "" };
        struct node *root = NULL;

        if (parse_bytes(text, strlen(text), &root, &err) < 0)
                fail_msg("%s", err.message);
        assert_int_equal(root->kind, NODE_MAP);
        return root;
}

/* Refused, with this message, and nothing handed out. */
static void assert_refused_bytes(const char *text, size_t length, const char *message)
{
        struct node untouched, *root = &untouched;
        abatis_error err = { .message = "" };

        if (!parse_bytes(text, length, &root, &err))
                fail_msg("read without '%s': %.60s", message, text);
        assert_ptr_equal(root, &untouched);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (strcmp(err.message, message) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
}

static void assert_refused(const char *text, const char *message)
{
        assert_refused_bytes(text, strlen(text), message);
}

/* The node that keys, or the indexes of lists, lead to. */
static struct node *find(struct node *node, const char *path)
{
        char part[64];

        while (*path) {
                size_t length = strcspn(path, "/");

                assert_true(length < sizeof(part));
                memcpy(part, path, length);
                part[length] = '\0';
                path += length + (path[length] == '/');
                if (node->kind == NODE_LIST) {
                        size_t index = strtoul(part, NULL, 10);

                        assert_true(index < node->count);
                        node = node->items[index];
                } else {
                        node = node_find(node, part);
                }
                if (!node)
                        fail_msg("no '%s'", part);
        }
        return node;
}

static void assert_place(struct node *root, const char *path, unsigned key_line, unsigned key_column,
                         unsigned line, unsigned column)
{
        const struct node *node = find(root, path);

        if (node->key_line != key_line || node->key_column != key_column || node->line != line ||
            node->column != column)
                fail_msg("%s: key at %u:%u, value at %u:%u", path, node->key_line, node->key_column,
                         node->line, node->column);
}

/* ---- places --------------------------------------------------------------------------------------------- */

static void keys_and_values_have_their_place(void **state)
{
        struct node *root = parse("a = 1\n"
                                  "  \"b c\"\t= [ 'x',\n"
                                  "    {y = 2.5} ]\n"
                                  "d . e=true\n");

        (void)state;
        assert_place(root, "a", 1, 1, 1, 5);
        assert_place(root, "b c", 2, 3, 2, 11);
        assert_place(root, "b c/0", 0, 0, 2, 13);
        assert_place(root, "b c/1", 0, 0, 3, 5);
        assert_place(root, "b c/1/y", 3, 6, 3, 10);
        assert_place(root, "d", 4, 1, 4, 1);
        assert_place(root, "d/e", 4, 5, 4, 7);
        node_free(root);
}

static void tables_have_the_place_of_their_header(void **state)
{
        struct node *root = parse("[a.b]\n"
                                  "  [ a ]\n"
                                  "k = 1\n"
                                  "[[l.m]]\n"
                                  "[[ l.m ]]\n");

        (void)state;
        assert_place(root, "", 0, 0, 1, 1);
        assert_place(root, "a", 2, 5, 2, 3);
        assert_place(root, "a/b", 1, 4, 1, 1);
        assert_place(root, "a/k", 3, 1, 3, 5);
        assert_place(root, "l", 4, 3, 4, 3);
        assert_place(root, "l/m", 4, 5, 4, 5);
        assert_place(root, "l/m/0", 0, 0, 4, 1);
        assert_place(root, "l/m/1", 0, 0, 5, 1);
        node_free(root);
}

static void columns_count_characters_and_lines_count_breaks(void **state)
{
        struct node *root = parse("\xef\xbb\xbf"
                                  "'\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80' = 1 # \xe2\x82\xac\r\n"
                                  "t = \"\"\"a\r\n\xe2\x82\xac\n\"\"\" # x\r\n"
                                  "z = 2");

        (void)state;
        assert_place(root, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 1, 1, 1, 9);
        assert_place(root, "t", 2, 1, 2, 5);
        assert_place(root, "z", 5, 1, 5, 5);
        node_free(root);
}

/* ---- values --------------------------------------------------------------------------------------------- */

static void integers_have_64_bits(void **state)
{
        static const struct {
                const char *text;
                int64_t value;
        } cases[] = {
                { "v=0", 0 },
                { "v=-0", 0 },
                { "v=+7", 7 },
                { "v=1_2_3", 123 },
                { "v=9223372036854775807", INT64_MAX },
                { "v=-9223372036854775808", INT64_MIN },
                { "v=0x7fff_FFFF_ffff_ffff", INT64_MAX },
                { "v=0o0755", 0755 },
                { "v=0b0_11", 3 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct node *root = parse(cases[i].text);

                assert_int_equal(find(root, "v")->kind, NODE_INTEGER);
                assert_true(find(root, "v")->integer == cases[i].value);
                node_free(root);
        }
}

static void floats_are_the_nearest_double(void **state)
{
        static const struct {
                const char *text;
                double value;
        } cases[] = {
                { "v=0.1", 0.1 },
                { "v=-1_0.2_5", -10.25 },
                { "v=1e3", 1000 },
                { "v=1E-0_2", 0.01 },
                { "v=+1.7976931348623157e308", 1.7976931348623157e308 },
                { "v=1e-400", 0 },
                { "v=inf", (double)INFINITY },
                { "v=-inf", -(double)INFINITY },
        };
        struct node *root;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                root = parse(cases[i].text);
                assert_int_equal(find(root, "v")->kind, NODE_FLOAT);
                assert_true(find(root, "v")->number == cases[i].value);
                node_free(root);
        }
        root = parse("v=+nan\nz=-0.0");
        assert_true(isnan(find(root, "v")->number));
        assert_true(signbit(find(root, "z")->number));
        node_free(root);
}

static void times_keep_their_text_with_a_t(void **state)
{
        static const struct {
                const char *written, *text;
                enum time_kind kind;
        } cases[] = {
                { "v=2024-02-29", "2024-02-29", TIME_DATE },
                { "v=2000-02-29 # x", "2000-02-29", TIME_DATE },
                { "v=1979-05-27t07:32:00", "1979-05-27T07:32:00", TIME_LOCAL },
                { "v=1979-05-27 07:32:00.5", "1979-05-27T07:32:00.5", TIME_LOCAL },
                { "v=1990-12-31 23:59:60z", "1990-12-31T23:59:60z", TIME_OFFSET },
                { "v=1979-05-27T00:32:00.250-07:00", "1979-05-27T00:32:00.250-07:00", TIME_OFFSET },
                { "v=07:32:00", "07:32:00", TIME_CLOCK },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct node *root = parse(cases[i].written);

                assert_int_equal(find(root, "v")->kind, NODE_TIME);
                assert_int_equal(find(root, "v")->time, cases[i].kind);
                assert_string_equal(find(root, "v")->text, cases[i].text);
                node_free(root);
        }
}

static void strings_are_read_in_four_ways(void **state)
{
        static const struct {
                const char *written, *text;
        } cases[] = {
                { "v=\"\"", "" },
                { "v=''", "" },
                { "v=\"a\\b\\t\\n\\f\\r\\\"\\\\z\"", "a\b\t\n\f\r\"\\z" },
                { "v=\"\\u00e9\\u20AC\\U0001F600\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
                { "v='C:\\n\"'", "C:\\n\"" },
                { "v=\"\"\"\nx \\\n \n\t y\"\"\"", "x y" },
                { "v=\"\"\"\"\"two\"\"\"\"\"", "\"\"two\"\"" },
                { "v='''\r\n'a'\r\nb''''", "'a'\nb'" },
                { "v='''\n\n'''", "\n" },
                { "v=\"\"\"a\\\r\n  b\"\"\"", "ab" },
                { "v=\"\t\x7e\xc2\x80\"", "\t\x7e\xc2\x80" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct node *root = parse(cases[i].written);

                assert_int_equal(find(root, "v")->kind, NODE_STRING);
                assert_string_equal(find(root, "v")->text, cases[i].text);
                node_free(root);
        }
}

static void a_map_keeps_the_order_of_the_file(void **state)
{
        struct node *root = parse("z=1\n[y.x]\n[w]\n[y]\nv=1");

        (void)state;
        assert_int_equal(root->count, 3);
        assert_string_equal(root->items[0]->key, "z");
        assert_string_equal(root->items[1]->key, "y");
        assert_string_equal(root->items[2]->key, "w");
        assert_int_equal(find(root, "y")->count, 2);
        node_free(root);
}

static void an_empty_document_is_an_empty_map(void **state)
{
        static const char *const cases[] = { "", " ", "\n", "\r\n\t#", "\xef\xbb\xbf" };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct node *root = parse(cases[i]);

                assert_int_equal(root->count, 0);
                node_free(root);
        }
}

/* ---- mistakes ------------------------------------------------------------------------------------------- */

struct mistake {
        const char *text, *message;
};

static void assert_all_refused(const struct mistake *cases, size_t count)
{
        for (size_t i = 0; i < count; i++)
                assert_refused(cases[i].text, cases[i].message);
}

#define KEY "expected a key (letters, digits, - and _, or anything in quotes), "

static void mistakes_in_lines_are_found_where_they_are(void **state)
{
        static const struct mistake cases[] = {
                { "a = 1\n  b 2", "f:2:5: expected '=' after the key, not '2'" },
                { "a", "f:1:2: expected '=' after the key, not the end of the file" },
                { "a\r\n= 1", "f:1:2: expected '=' after the key, not the end of the line" },
                { "a =", "f:1:4: expected a value, not the end of the file" },
                { "a = \n1", "f:1:5: expected a value, not the end of the line" },
                { "a = # 1", "f:1:5: expected a value, not '#'" },
                { "a = 1 b = 2", "f:1:7: expected the end of the line, not 'b'" },
                { "a = 1\r", "f:1:6: expected the end of the line, not the control character U+000D" },
                { "a = \xe2\x82\xac", "f:1:5: expected a value, not '\xe2\x82\xac'" },
                { "'\xe2\x82\xac' 1", "f:1:5: expected '=' after the key, not '1'" },
                { "= 1", "f:1:1: " KEY "not '='" },
                { "a..b = 1", "f:1:3: " KEY "not '.'" },
                { "a. = 1", "f:1:4: " KEY "not '='" },
                { "a.\nb = 1", "f:1:3: " KEY "not the end of the line" },
                { "\xc3\xa9 = 1", "f:1:1: " KEY "not '\xc3\xa9'" },
                { "a\xef\xbb\xbf = 1", "f:1:2: expected '=' after the key, not '\xef\xbb\xbf'" },
                { "\"\"\"a\"\"\" = 1",
                  "f:1:1: a key is written on one line, between single or double quotes" },
                { "# a\x01", "f:1:4: expected text in the comment, not the control character U+0001" },
                { "# a\rb", "f:1:4: expected text in the comment, not the control character U+000D" },
                { "[]", "f:1:2: " KEY "not ']'" },
                { "[ [a]]", "f:1:3: " KEY "not '['" },
                { "[a", "f:1:3: expected ']' after the name of the table, not the end of the file" },
                { "[a b]", "f:1:4: expected ']' after the name of the table, not 'b'" },
                { "[[a]", "f:1:4: expected ']]' after the name of the table, not ']'" },
                { "[[a] ]", "f:1:4: expected ']]' after the name of the table, not ']'" },
                { "[a] b = 1", "f:1:5: expected the end of the line, not 'b'" },
        };

        (void)state;
        assert_all_refused(cases, sizeof(cases) / sizeof(*cases));
}

static void mistakes_in_lists_and_inline_tables_are_found_where_they_are(void **state)
{
        static const struct mistake cases[] = {
                { "a = [1 2]", "f:1:8: expected ',' or ']' in the list, not '2'" },
                { "a = [,]", "f:1:6: expected a value, not ','" },
                { "a = [1,,2]", "f:1:8: expected a value, not ','" },
                { "a = [1\n", "f:2:1: expected ',' or ']' in the list, not the end of the file" },
                { "\na = [1,\n", "f:3:1: the list that begins on line 2 is not closed; expected ']'" },
                { "a = {,}", "f:1:6: " KEY "not ','" },
                { "a = {b = 1,}", "f:1:12: expected another key after the comma, not '}'" },
                { "a = {b = 1\n}",
                  "f:1:11: expected ',' or '}' in the table, which is written on one line, not the end of the line" },
                { "a = {b = 1 c = 2}",
                  "f:1:12: expected ',' or '}' in the table, which is written on one line, not 'c'" },
                { "a = {\n}", "f:1:6: " KEY "not the end of the line" },
                { "a = {b}", "f:1:7: expected '=' after the key, not '}'" },
        };

        (void)state;
        assert_all_refused(cases, sizeof(cases) / sizeof(*cases));
}

#define ESCAPE                                                                                          \
        "expected one of b t n f r u U \" \\ after the backslash (a backslash itself is written \\\\, " \
        "or as it is between single quotes), "

static void mistakes_in_strings_are_found_where_they_are(void **state)
{
        static const struct mistake cases[] = {
                { "a = \"b", "f:1:7: expected the closing \", not the end of the file" },
                { "a = 'b\nc'", "f:1:7: expected the closing ', not the end of the line" },
                { "a = \"\\", "f:1:7: " ESCAPE "not the end of the file" },
                { "a = \"\\x41\"", "f:1:7: " ESCAPE "not 'x'" },
                { "a = \"\"\"\\ x\"\"\"", "f:1:9: " ESCAPE "not ' '" },
                { "a = \"\\u12g4\"", "f:1:10: expected four hexadecimal digits after \\u, not 'g'" },
                { "a = \"\\U0010\"", "f:1:12: expected eight hexadecimal digits after \\U, not '\"'" },
                { "a = \"b\\ud800\"", "f:1:7: U+D800 is not a character" },
                { "a = \"\\U00110000\"", "f:1:6: U+110000 is not a character" },
                { "a = \"\\UFFFFFFFF\"", "f:1:6: U+FFFFFFFF is not a character" },
                { "a = \"b\\u0000\"", "f:1:7: a NUL in a text" },
                { "\"b\\U00000000\" = 1", "f:1:3: a NUL in a text" },
                { "a = \"\x01\"", "f:1:6: expected an escape such as \\u0001 in the string, "
                                  "not the control character U+0001" },
                { "a = '''\n\x7f'''", "f:2:1: expected an escape such as \\u0001 in the string, "
                                      "not the control character U+007F" },
                { "a = \"\"\"\nb\rc\"\"\"", "f:2:2: expected an escape such as \\u0001 in the string, "
                                            "not the control character U+000D" },
                { "\na = '''\nb''", "f:3:4: the string that begins on line 2 is not closed; expected '''" },
                { "a = \"\"\"b\"\"\"\"\"\"", "f:1:14: expected the end of the line, not '\"'" },
        };

        (void)state;
        assert_all_refused(cases, sizeof(cases) / sizeof(*cases));
}

static void mistakes_in_scalars_are_found_where_they_are(void **state)
{
        static const struct mistake cases[] = {
                { "a = yes", "f:1:5: expected a value, not 'yes'; text is written in quotes" },
                { "a = True", "f:1:5: expected a value, not 'True'; text is written in quotes" },
                { "a = 07", "f:1:5: a number does not begin with a zero" },
                { "a = -0_7", "f:1:6: a number does not begin with a zero" },
                { "a = 1__2", "f:1:7: expected a decimal digit" },
                { "a = 1_", "f:1:7: expected a decimal digit" },
                { "a = _1", "f:1:5: expected a value, not '_1'; text is written in quotes" },
                { "a = .5", "f:1:5: expected a value, not '.5'; text is written in quotes" },
                { "a = -.5", "f:1:6: expected a decimal digit" },
                { "a = 5.", "f:1:7: expected a decimal digit" },
                { "a = 1.5e", "f:1:9: expected a decimal digit" },
                { "a = 1.5.2", "f:1:8: expected the end of the number, not '.'" },
                { "a = 12K", "f:1:7: expected the end of the number, not 'K'" },
                { "a = 0x", "f:1:7: expected a hexadecimal digit" },
                { "a = 0o78", "f:1:8: expected an octal digit, not '8'" },
                { "a = 0b102", "f:1:9: expected a binary digit, not '2'" },
                { "a = -0x1", "f:1:7: expected the end of the number, not 'x'" },
                { "a = 9223372036854775808", "f:1:5: the number does not fit in 64 bits" },
                { "a = -9223372036854775809", "f:1:5: the number does not fit in 64 bits" },
                { "a = 0xffffffffffffffff", "f:1:5: the number does not fit in 64 bits" },
                { "a = 1e309", "f:1:5: the number does not fit in 64 bits" },
                { "a = 2023-02-29", "f:1:13: the day is not between 01 and 28" },
                { "a = 1900-02-29", "f:1:13: the day is not between 01 and 28" },
                { "a = 2023-04-31", "f:1:13: the day is not between 01 and 30" },
                { "a = 2023-13-01", "f:1:10: the month is not between 01 and 12" },
                { "a = 2023-1-01", "f:1:11: expected the month as 2 digits" },
                { "a = 2023-01-1", "f:1:14: expected the day as 2 digits" },
                { "a = 2023-01T01", "f:1:12: expected '-' after the month" },
                { "a = 2023-01-01T", "f:1:16: expected the hour as 2 digits" },
                { "a = 2023-01-01x", "f:1:15: expected 'T' and a time, or the end of the date" },
                { "a = 2023-01-01 24:00:00", "f:1:16: the hour is not between 00 and 23" },
                { "a = 12:60:00", "f:1:8: the minute is not between 00 and 59" },
                { "a = 12:30", "f:1:10: expected ':' after the minute" },
                { "a = 12:30:61", "f:1:11: the second is not between 00 and 60" },
                { "a = 12:30:00.", "f:1:14: expected a digit of the fraction of the second" },
                { "a = 12:30:00Z", "f:1:13: expected the end of the time, not 'Z'" },
                { "a = 2023-01-01T12:30:00x",
                  "f:1:24: expected the end of the time, or an offset such as Z or +01:00" },
                { "a = 2023-01-01T12:30:00+25:00",
                  "f:1:25: the hour of the offset is not between 00 and 23" },
                { "a = 2023-01-01T12:30:00+01", "f:1:27: expected ':' after the hour of the offset" },
                { "a = 2023-01-01T12:30:00Zx", "f:1:25: expected the end of the time, not 'x'" },
        };

        (void)state;
        assert_all_refused(cases, sizeof(cases) / sizeof(*cases));
}

static void what_is_defined_twice_is_refused_with_both_places(void **state)
{
        static const struct mistake cases[] = {
                { "a = 1\n\na = 2", "f:3:1: duplicate key 'a', first on line 1" },
                { "a = 1\n\"\\u0061\" = 2", "f:2:1: duplicate key 'a', first on line 1" },
                { "\n[a]\nb = 1\n[a]", "f:4:2: duplicate table 'a', first on line 2" },
                { "[a.b]\n[a]\n[ a ]", "f:3:3: duplicate table 'a', first on line 2" },
                { "a = 1\n[a]", "f:2:2: duplicate table 'a', first on line 1" },
                { "[a]\nb.c = 1\n[a.b]", "f:3:4: duplicate table 'b', first on line 2" },
                { "[a]\nb.c = 1\n[[a.b]]", "f:3:5: duplicate table 'b', first on line 2" },
                { "[[a]]\n[a]", "f:2:2: duplicate table 'a', first on line 1" },
                { "[a]\n[[a]]", "f:2:3: duplicate table 'a', first on line 1" },
                { "a = []\n[[a]]", "f:2:3: duplicate table 'a', first on line 1" },
                { "[a.b]\n[a]\nb = 1", "f:3:1: duplicate key 'b', first on line 1" },
                { "a.b = 1\na = {}", "f:2:1: duplicate key 'a', first on line 1" },
                { "a = 1\na.b = 2",
                  "f:2:1: nothing can be added to 'a' here: it is a whole number, from line 1" },
                { "a = 'x'\n[a.b]", "f:2:2: nothing can be added to 'a' here: it is text, from line 1" },
                { "a = {}\na.b = 2",
                  "f:2:1: nothing can be added to 'a' here: it is closed by its '}', from line 1" },
                { "a = {}\n[a.b]",
                  "f:2:2: nothing can be added to 'a' here: it is closed by its '}', from line 1" },
                { "a = [{}]\n[a.b]", "f:2:2: nothing can be added to 'a' here: it is a list, from line 1" },
                { "a = { b = {}, b.c = 1 }",
                  "f:1:15: nothing can be added to 'b' here: it is closed by its '}', from line 1" },
                { "[a.b]\n[a]\nb.c = 1",
                  "f:3:1: nothing can be added to 'b' here: it is a table with its own header, from line 1" },
                { "[[a.b]]\n[a]\nb.c = 1",
                  "f:3:1: nothing can be added to 'b' here: it is an array of tables, from line 1" },
        };

        (void)state;
        assert_all_refused(cases, sizeof(cases) / sizeof(*cases));
}

static void tables_may_be_extended_where_toml_says_so(void **state)
{
        static const char *const cases[] = {
                "[a.b.c]\n[a]\nk = 1\n[a.b]\nk = 1",
                "[a.b.c]\n[a]\nb.k = 1\nb.l = 2",
                "[a]\nb.c = 1\nb.d = 2\n[a.b.e]\n[a.b.f.g]\n[a.b.f]",
                "[[a.b]]\n[a]\nk = 1\n[[a.b]]\n[a.b.c]\n[[a.b]]\n[a.b.c]",
                "a = { b.c = 1, b.d = 2 }",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                node_free(parse(cases[i]));
}

static void what_is_no_text_is_refused(void **state)
{
        (void)state;
        assert_refused("a = 1\nb = '\xff'", "f:2:6: not UTF-8");
        assert_refused_bytes("a\0= 1", 5, "f:1:2: a NUL byte");
}

/* ---- too much ------------------------------------------------------------------------------------------- */

/* BEGIN, MIDDLE again and again, END. */
static char *repeat(const char *begin, const char *middle, size_t count, const char *end,
                    const char *end_each)
{
        struct text text = { 0 };
        char *whole;

        text_add(&text, begin);
        for (size_t i = 0; i < count; i++)
                text_add(&text, middle);
        text_add(&text, end);
        for (size_t i = 0; i < count; i++)
                text_add(&text, end_each);
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

/* Exactly so many levels are read, and one more is refused. */
static void assert_deepest(const char *begin, const char *middle, size_t count, const char *end,
                           const char *end_each, const char *message)
{
        char *deep = repeat(begin, middle, count, end, end_each);
        char *deeper = repeat(begin, middle, count + 1, end, end_each);

        node_free(parse(deep));
        assert_refused(deeper, message);
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
                        struct node *root = parse(text.data);

                        node_free(root);
                }
                text_addf(&text, "[[%s]]\n", name.data);
        }
        assert_refused(text.data, "f:32:65: more than 64 levels deep");
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
                char *whole = repeat(cases[i].begin, cases[i].middle, count, "", "");
                abatis_error err = { .message = "" };
                struct node *root = NULL;
                int r = parse_bytes(whole, strlen(whole), &root, &err);

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
        struct node *root = parse(whole);

        (void)state;
        assert_int_equal(root->count, DOCUMENT_NODES_MAX - 1);
        assert_int_equal(find(root, "1869e")->line, DOCUMENT_NODES_MAX - 1);
        node_free(root);
        free(whole);
        whole = many_lines(DOCUMENT_NODES_MAX, "", "=1");
        assert_refused(whole, "f:100000:7: more than 100000 values");
        free(whole);
        whole = many_lines(DOCUMENT_NODES_MAX - 1, "[", "]");
        root = parse(whole);
        assert_int_equal(root->count, DOCUMENT_NODES_MAX - 1);
        node_free(root);
        free(whole);
}

static void a_document_larger_than_a_megabyte_is_refused(void **state)
{
        char *whole = repeat("#", " ", DOCUMENT_SIZE_MAX, "", "");

        (void)state;
        assert_refused(whole, "f: larger than 1 MiB");
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

/* Whatever comes out: freed, or refused with a place that lies in the text. */
static void assert_survives(const char *text, size_t length)
{
        struct node untouched, *root = &untouched;
        abatis_error err = { .message = "" };
        int r = parse_bytes(text, length, &root, &err);
        unsigned long lines = 1;

        if (!r) {
                node_free(root);
                return;
        }
        for (size_t i = 0; i < length; i++)
                lines += text[i] == '\n';
        assert_ptr_equal(root, &untouched);
        assert_int_equal(r, ABATIS_E_INVALID);
        assert_memory_equal(err.message, "f:", 2);
        assert_true(strtoul(err.message + 2, NULL, 10) >= 1);
        assert_true(strtoul(err.message + 2, NULL, 10) <= lines);
}

static void a_document_cut_off_anywhere_is_survived(void **state)
{
        (void)state;
        node_free(parse(rich));
        for (size_t length = 0; length < sizeof(rich); length++)
                assert_survives(rich, length);
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
                        assert_survives(changed, sizeof(rich) - 1);
                }
                changed[at] = rich[at];
        }
}

static void an_error_is_not_asked_for_by_everyone(void **state)
{
        struct node untouched, *root = &untouched;

        (void)state;
        assert_int_equal(parse_bytes("a", 1, &root, NULL), ABATIS_E_INVALID);
        assert_int_equal(parse_bytes("[a]\n[a]", 7, &root, NULL), ABATIS_E_INVALID);
        assert_ptr_equal(root, &untouched);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys_and_values_have_their_place),
                cmocka_unit_test(tables_have_the_place_of_their_header),
                cmocka_unit_test(columns_count_characters_and_lines_count_breaks),
                cmocka_unit_test(integers_have_64_bits),
                cmocka_unit_test(floats_are_the_nearest_double),
                cmocka_unit_test(times_keep_their_text_with_a_t),
                cmocka_unit_test(strings_are_read_in_four_ways),
                cmocka_unit_test(a_map_keeps_the_order_of_the_file),
                cmocka_unit_test(an_empty_document_is_an_empty_map),
                cmocka_unit_test(mistakes_in_lines_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_lists_and_inline_tables_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_strings_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_scalars_are_found_where_they_are),
                cmocka_unit_test(what_is_defined_twice_is_refused_with_both_places),
                cmocka_unit_test(tables_may_be_extended_where_toml_says_so),
                cmocka_unit_test(what_is_no_text_is_refused),
                cmocka_unit_test(nothing_is_deeper_than_the_limit),
                cmocka_unit_test(arrays_of_tables_in_arrays_of_tables_end_too),
                cmocka_unit_test(a_megabyte_of_the_same_is_no_problem),
                cmocka_unit_test(many_keys_are_read_up_to_the_limit),
                cmocka_unit_test(a_document_larger_than_a_megabyte_is_refused),
                cmocka_unit_test(a_document_cut_off_anywhere_is_survived),
                cmocka_unit_test(a_document_with_any_byte_changed_is_survived),
                cmocka_unit_test(an_error_is_not_asked_for_by_everyone),
        };

        /* Work that grows with the square of a megabyte would go on for hours. */
        alarm(300);
        return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
