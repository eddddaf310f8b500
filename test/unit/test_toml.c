/* test_toml.c: what TOML documents become, and where it stands in them.
 *
 * That all of the language is read as it should be is test/toml's business. */
#include <math.h>

#include "documents.h"

static struct node *toml(const char *text)
{
        struct node *root = parse(DOCUMENT_TOML, text);

        assert_int_equal(root->kind, NODE_MAP);
        return root;
}

/* ---- places --------------------------------------------------------------------------------------------- */

static void keys_and_values_have_their_place(void **state)
{
        struct node *root = toml("a = 1\n"
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
        struct node *root = toml("[a.b]\n"
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
        struct node *root = toml("\xef\xbb\xbf"
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
                struct node *root = toml(cases[i].text);

                assert_int_equal(find_node(root, "v")->kind, NODE_INTEGER);
                assert_true(find_node(root, "v")->integer == cases[i].value);
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
                root = toml(cases[i].text);
                assert_int_equal(find_node(root, "v")->kind, NODE_FLOAT);
                assert_true(find_node(root, "v")->number == cases[i].value);
                node_free(root);
        }
        root = toml("v=+nan\nz=-0.0");
        assert_true(isnan(find_node(root, "v")->number));
        assert_true(signbit(find_node(root, "z")->number));
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
                struct node *root = toml(cases[i].written);

                assert_int_equal(find_node(root, "v")->kind, NODE_TIME);
                assert_int_equal(find_node(root, "v")->time, cases[i].kind);
                assert_string_equal(find_node(root, "v")->text, cases[i].text);
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
                struct node *root = toml(cases[i].written);

                assert_int_equal(find_node(root, "v")->kind, NODE_STRING);
                assert_string_equal(find_node(root, "v")->text, cases[i].text);
                node_free(root);
        }
}

static void a_map_keeps_the_order_of_the_file(void **state)
{
        struct node *root = toml("z=1\n[y.x]\n[w]\n[y]\nv=1");

        (void)state;
        assert_int_equal(root->count, 3);
        assert_string_equal(root->items[0]->key, "z");
        assert_string_equal(root->items[1]->key, "y");
        assert_string_equal(root->items[2]->key, "w");
        assert_int_equal(find_node(root, "y")->count, 2);
        node_free(root);
}

static void an_empty_document_is_an_empty_map(void **state)
{
        static const char *const cases[] = { "", " ", "\n", "\r\n\t#", "\xef\xbb\xbf" };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct node *root = toml(cases[i]);

                assert_int_equal(root->count, 0);
                node_free(root);
        }
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
        };

        return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
