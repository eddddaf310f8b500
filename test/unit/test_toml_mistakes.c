/* test_toml_mistakes.c: where the mistakes in a TOML document are found, and in which words. */
#include "documents.h"

struct mistake {
        const char *text, *message;
};

static void assert_all_refused(const struct mistake *cases, size_t count)
{
        for (size_t i = 0; i < count; i++)
                assert_refused(DOCUMENT_TOML, cases[i].text, cases[i].message);
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
                { "a\xef\xbb\xbf = 1", "f:1:2: expected '=' after the key, not '\\ufeff'" },
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
                node_free(parse(DOCUMENT_TOML, cases[i]));
}

static void what_is_no_text_is_refused(void **state)
{
        (void)state;
        assert_refused(DOCUMENT_TOML, "a = 1\nb = '\xff'", "f:2:6: not UTF-8");
        assert_refused_bytes(DOCUMENT_TOML, "a\0= 1", 5, "f:1:2: a NUL byte");
}

static void an_error_is_not_asked_for_by_everyone(void **state)
{
        struct node untouched, *root = &untouched;

        (void)state;
        assert_int_equal(parse_bytes(DOCUMENT_TOML, "a", 1, &root, NULL), ABATIS_E_INVALID);
        assert_int_equal(parse_bytes(DOCUMENT_TOML, "[a]\n[a]", 7, &root, NULL), ABATIS_E_INVALID);
        assert_ptr_equal(root, &untouched);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mistakes_in_lines_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_lists_and_inline_tables_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_strings_are_found_where_they_are),
                cmocka_unit_test(mistakes_in_scalars_are_found_where_they_are),
                cmocka_unit_test(what_is_defined_twice_is_refused_with_both_places),
                cmocka_unit_test(tables_may_be_extended_where_toml_says_so),
                cmocka_unit_test(what_is_no_text_is_refused),
                cmocka_unit_test(an_error_is_not_asked_for_by_everyone),
        };

        return cmocka_run_group_tests_name("toml_mistakes", tests, NULL, NULL);
}
