/* test_text.c: growing strings, UTF-8, base64, error messages and strings for JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/text.h"
#include "scratch.h"

/* ---- growing strings ------------------------------------------------------------------------------------ */

static void a_text_grows_and_stays_terminated(void **state)
{
        struct text text = { 0 };
        char *taken = NULL;

        (void)state;
        for (int i = 0; i < 1000; i++) {
                text_addf(&text, "%03d", i);
                text_add(&text, ",");
                text_add_bytes(&text, "x\0y", 2);
                assert_int_equal(text.length, (size_t)(i + 1) * 6);
                assert_int_equal(text.data[text.length], '\0');
        }
        assert_false(text.has_failed);
        assert_int_equal(text_take(&text, &taken, NULL), 0);
        assert_memory_equal(taken,
                            "000,x\0"
                            "001,x\0"
                            "002,x\0",
                            18);
        assert_null(text.data);
        assert_int_equal(text.length, 0);
        free(taken);
}

static void an_empty_text_is_taken_as_an_empty_string(void **state)
{
        struct text text = { 0 };
        char *taken = NULL;

        (void)state;
        assert_int_equal(text_take(&text, &taken, NULL), 0);
        assert_string_equal(taken, "");
        free(taken);
        text_done(&text);
        text_add(&text, "");
        assert_non_null(text.data);
        text_done(&text);
        assert_null(text.data);
}

static void after_a_failure_builders_do_nothing_and_taking_fails(void **state)
{
        struct text text = { 0 };
        char untouched, *taken = &untouched;
        abatis_error err = { 0 };

        (void)state;
        text_add(&text, "before");
        text_add_bytes(&text, "", SIZE_MAX / 2); /* more than any memory; the bytes are never looked at */
        assert_true(text.has_failed);
        assert_string_equal(text.data, "before");
        text_add(&text, "after");
        text_addf(&text, "%d", 1);
        text_add_bytes(&text, "x", 1);
        text_add_base64(&text, "x", 1);
        assert_string_equal(text.data, "before");
        assert_int_equal(text.length, 6);
        assert_int_equal(text_take(&text, &taken, &err), ABATIS_E_MEMORY);
        assert_ptr_equal(taken, &untouched);
        assert_int_equal(err.code, ABATIS_E_MEMORY);
        assert_null(text.data);
        assert_false(text.has_failed);
}

static void a_line_stays_one(void **state)
{
        struct text text = { 0 };

        (void)state;
        text_add(&text, "first\n");
        text_add_line(&text, "a\nb\n\n");
        text_add_line(&text, "");
        assert_string_equal(text.data, "first\na\\nb\\n\\n");
        text_done(&text);
}

/* Each is shown, and no two look the same. */
static void what_a_line_cannot_show_stands_as_an_escape(void **state)
{
        static const char *const cases[][2] = {
                { "a b'c\"d{e}", "a b'c\"d{e}" },
                { "\xc3\xbc\xe6\x97\xa5", "\xc3\xbc\xe6\x97\xa5" },
                { "\n", "\\n" },
                { "\\n", "\\\\n" },
                { "\\\n", "\\\\\\n" },
                { "\t\r", "\\t\\r" },
                { "\x01\x1b[2J\x7f", "\\x01\\x1b[2J\\x7f" },
                { "\xc2\x85\xc2\x9b", "\\u0085\\u009b" },
                { "\x85\xff", "\\x85\\xff" },
                { "\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf", "\\u202e\\u2028\\ufeff" },
                { "\\u202e", "\\\\u202e" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct text text = { 0 };

                text_add_line(&text, cases[i][0]);
                assert_string_equal(text.data, cases[i][1]);
                text_done(&text);
        }
}

static void a_length_that_overflows_is_a_failure(void **state)
{
        struct text text = { 0 };

        (void)state;
        text_add(&text, "x");
        text_add_bytes(&text, "", SIZE_MAX);
        assert_true(text.has_failed);
        text_done(&text);
}

static void a_list_owns_copies(void **state)
{
        struct strings list = { 0 };
        char item[8] = "one";

        (void)state;
        assert_int_equal(strings_add(&list, item, NULL), 0);
        item[0] = 'X';
        for (int i = 0; i < 100; i++)
                assert_int_equal(strings_add(&list, "more", NULL), 0);
        assert_string_equal(list.items[0], "one");
        assert_int_equal(list.count, 101);
        strings_done(&list);
        assert_null(list.items);
        assert_int_equal(list.count, 0);
}

/* ---- UTF-8 ---------------------------------------------------------------------------------------------- */

#define BYTES(literal) literal, sizeof(literal) - 1

static void a_character_is_taken_off_with_its_bytes(void **state)
{
        static const struct {
                const char *bytes;
                size_t length, taken;
                uint32_t character;
        } cases[] = {
                { BYTES("a\xc3\xa9"), 1, 'a' },         { BYTES("\0"), 1, 0 },
                { BYTES("\xc2\x80z"), 2, 0x80 },        { BYTES("\xdf\xbf"), 2, 0x7ff },
                { BYTES("\xe2\x82\xac"), 3, 0x20ac },   { BYTES("\xf4\x8f\xbf\xbf"), 4, 0x10ffff },
                { BYTES("\xff\xfe"), 1, 0x1100ff },     { BYTES("\xe2\x82"), 1, 0x1100e2 },
                { BYTES("\xed\xa0\x80"), 1, 0x1100ed },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                uint32_t character = 1;

                assert_int_equal(text_character(cases[i].bytes, cases[i].length, &character), cases[i].taken);
                assert_int_equal(character, cases[i].character);
        }
}

static void utf8_is_told_from_what_looks_like_it(void **state)
{
        static const struct {
                const char *bytes;
                size_t length;
                bool is_valid;
        } cases[] = {
                { BYTES(""), true },
                { BYTES("plain"), true },
                { BYTES("\0"), true },
                { BYTES("\x7f"), true },
                { BYTES("\xc2\x80"), true },         /* U+0080, the first of two bytes */
                { BYTES("\xdf\xbf"), true },         /* U+07FF */
                { BYTES("\xe0\xa0\x80"), true },     /* U+0800 */
                { BYTES("\xed\x9f\xbf"), true },     /* U+D7FF, the last before the surrogates */
                { BYTES("\xee\x80\x80"), true },     /* U+E000, the first after them */
                { BYTES("\xef\xbf\xbf"), true },     /* U+FFFF */
                { BYTES("\xf0\x90\x80\x80"), true }, /* U+10000 */
                { BYTES("\xf4\x8f\xbf\xbf"), true }, /* U+10FFFF, the last of all */
                { BYTES("a\xc3\xa9z\xe2\x82\xac!\xf0\x9f\x98\x80"), true },
                { BYTES("\x80"), false }, /* a continuation alone */
                { BYTES("\xbf"), false },
                { BYTES("a\x80"), false },
                { BYTES("\xc0\x80"), false }, /* overlong NUL */
                { BYTES("\xc0\xaf"), false }, /* overlong slash */
                { BYTES("\xc1\xbf"), false },
                { BYTES("\xe0\x80\xaf"), false },
                { BYTES("\xe0\x9f\xbf"), false },
                { BYTES("\xf0\x80\x80\xaf"), false },
                { BYTES("\xf0\x8f\xbf\xbf"), false },
                { BYTES("\xed\xa0\x80"), false },     /* U+D800 */
                { BYTES("\xed\xbf\xbf"), false },     /* U+DFFF */
                { BYTES("\xf4\x90\x80\x80"), false }, /* U+110000 */
                { BYTES("\xf5\x80\x80\x80"), false },
                { BYTES("\xf8\x88\x80\x80\x80"), false }, /* five and six bytes are no more */
                { BYTES("\xfc\x84\x80\x80\x80\x80"), false },
                { BYTES("\xfe"), false },
                { BYTES("\xff"), false },
                { BYTES("\xc2"), false }, /* cut off */
                { BYTES("\xe2\x82"), false },
                { BYTES("\xf0\x9f\x98"), false },
                { BYTES("\xc2\xc2\x80"), false },
                { BYTES("\xe2\x28\xa1"), false },
                { BYTES("\xe2\x82\x28"), false },
                { BYTES("\xf0\x28\x8c\xbc"), false },
                { BYTES("\xf0\x90\x28\xbc"), false },
                { BYTES("\xf0\x90\x8c\x28"), false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                /* A copy without slack: a read past the end is seen by the sanitizers. */
                char *exact = malloc(cases[i].length ? cases[i].length : 1);

                assert_non_null(exact);
                memcpy(exact, cases[i].bytes, cases[i].length);
                if (text_is_utf8(exact, cases[i].length) != cases[i].is_valid)
                        fail_msg("case %zu should be %s", i, cases[i].is_valid ? "valid" : "invalid");
                free(exact);
        }
}

static void every_code_point_is_valid_but_the_surrogates(void **state)
{
        (void)state;
        for (unsigned code = 0x80; code < 0x120000; code++) {
                bool is_valid = code < 0xd800 || (code > 0xdfff && code < 0x110000);
                char bytes[4];
                size_t length;

                if (code < 0x800) {
                        length = 2;
                        bytes[0] = (char)(0xc0 | code >> 6);
                } else if (code < 0x10000) {
                        length = 3;
                        bytes[0] = (char)(0xe0 | code >> 12);
                        bytes[1] = (char)(0x80 | (code >> 6 & 63));
                } else {
                        length = 4;
                        bytes[0] = (char)(0xf0 | code >> 18);
                        bytes[1] = (char)(0x80 | (code >> 12 & 63));
                        bytes[2] = (char)(0x80 | (code >> 6 & 63));
                }
                bytes[length - 1] = (char)(0x80 | (code & 63));
                if (text_is_utf8(bytes, length) != is_valid)
                        fail_msg("U+%04X should be %s", code, is_valid ? "valid" : "invalid");
        }
}

static void plain_text_has_no_nul(void **state)
{
        (void)state;
        assert_true(text_is_plain(BYTES("")));
        assert_true(text_is_plain(BYTES("caf\xc3\xa9\n\t\x1b")));
        assert_false(text_is_plain(BYTES("a\0b")));
        assert_false(text_is_plain(BYTES("a\0")));
        assert_false(text_is_plain(BYTES("\xff")));
}

/* ---- base64 --------------------------------------------------------------------------------------------- */

static void base64_matches_the_vectors_of_rfc_4648(void **state)
{
        static const struct {
                const char *bytes;
                size_t length;
                const char *encoded;
        } cases[] = {
                { BYTES(""), "" },
                { BYTES("f"), "Zg==" },
                { BYTES("fo"), "Zm8=" },
                { BYTES("foo"), "Zm9v" },
                { BYTES("foob"), "Zm9vYg==" },
                { BYTES("fooba"), "Zm9vYmE=" },
                { BYTES("foobar"), "Zm9vYmFy" },
                { BYTES("\0"), "AA==" },
                { BYTES("\0\0\0"), "AAAA" },
                { BYTES("\xff\xff\xff"), "////" },
                { BYTES("\xfb\xef\xbe"), "++++" },
                { BYTES("\xff\xfe"), "//4=" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct text text = { 0 };
                char *encoded;

                text_add_base64(&text, cases[i].bytes, cases[i].length);
                assert_int_equal(text_take(&text, &encoded, NULL), 0);
                assert_string_equal(encoded, cases[i].encoded);
                assert_true(text_add_decoded(&text, encoded, strlen(encoded)));
                assert_int_equal(text.length, cases[i].length);
                if (text.length)
                        assert_memory_equal(text.data, cases[i].bytes, text.length);
                text_done(&text);
                free(encoded);
        }
}

static void what_no_bytes_encode_to_is_no_base64(void **state)
{
        static const char *const cases[] = {
                "Z",      "Zg",   "Zg=",  "=",    "====", "Z===",  "Zg==Zg==", "Zh==", "Zm9=",
                "Zm9v\n", "Zm 9", "Zm9-", "Zm9_", "Zm=v", "Zm9vZ", "Zg==\n",   "=g==", "Zm9v\xff\xff\xff\xff"
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct text text = { 0 };

                text_add(&text, "before");
                if (text_add_decoded(&text, cases[i], strlen(cases[i])) || text.length != 6)
                        fail_msg("'%s' was taken", cases[i]);
                text_done(&text);
        }
}

static unsigned value_of(char digit)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

        return digit == '=' ? 0 : (unsigned)(strchr(digits, digit) - digits);
}

static void base64_brings_every_byte_back(void **state)
{
        unsigned char bytes[256 + 2];

        (void)state;
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(i * 7);
        for (size_t length = 254; length <= sizeof(bytes); length++) {
                struct text text = { 0 };

                text_add_base64(&text, bytes, length);
                assert_int_equal(text.length, (length + 2) / 3 * 4);
                for (size_t i = 0; i < length; i++) {
                        const char *group = text.data + i / 3 * 4;
                        unsigned all = value_of(group[0]) << 18 | value_of(group[1]) << 12 |
                                       value_of(group[2]) << 6 | value_of(group[3]);

                        assert_int_equal(all >> (16 - 8 * (i % 3)) & 0xff, bytes[i]);
                }
                text_done(&text);
        }
}

/* ---- errors --------------------------------------------------------------------------------------------- */

static void an_error_holds_code_message_and_errno(void **state)
{
        abatis_error err;

        (void)state;
        assert_int_equal(error_set(&err, ABATIS_E_INVALID, "%s %d", "rule", 7), ABATIS_E_INVALID);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        assert_int_equal(err.os_errno, 0);
        assert_string_equal(err.message, "rule 7");
        assert_int_equal(error_os(&err, ENOENT, "open '%s'", "/x"), ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, ENOENT);
        assert_string_equal(err.message, "open '/x': No such file or directory");
        assert_int_equal(error_memory(&err), ABATIS_E_MEMORY);
        assert_true(*err.message);
}

static void an_error_from_below_keeps_its_code_and_errno(void **state)
{
        abatis_error err, below;

        (void)state;
        error_os(&below, ELOOP, "resolve '%s'", "/x");
        assert_int_equal(error_within(&err, &below, "%s:%d", "file", 7), ABATIS_E_SYSTEM);
        assert_int_equal(err.code, ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, ELOOP);
        assert_string_equal(err.message, "file:7: resolve '/x': Too many levels of symbolic links");
        error_set(&below, ABATIS_E_NOT_FOUND, "no");
        assert_int_equal(error_within(&err, &below, "a\nb"), ABATIS_E_NOT_FOUND);
        assert_int_equal(err.code, ABATIS_E_NOT_FOUND);
        assert_int_equal(err.os_errno, 0);
        assert_string_equal(err.message, "a\\nb: no");
        assert_int_equal(error_within(NULL, &below, "x"), ABATIS_E_NOT_FOUND);
}

static void an_error_struct_may_be_null(void **state)
{
        (void)state;
        assert_int_equal(error_set(NULL, ABATIS_E_NOT_FOUND, "x"), ABATIS_E_NOT_FOUND);
        assert_int_equal(error_os(NULL, EPERM, "x"), ABATIS_E_SYSTEM);
        assert_int_equal(error_memory(NULL), ABATIS_E_MEMORY);
}

static void a_message_is_one_printable_line_whatever_a_path_holds(void **state)
{
        abatis_error err;

        (void)state;
        error_set(&err, ABATIS_E_INVALID, "'%s'", "a\nb\r\t\x1b[31m\x7f\x01");
        assert_string_equal(err.message, "'a\\nb\\r\\t\\x1b[31m\\x7f\\x01'");
        error_set(&err, ABATIS_E_INVALID, "'%s'", "caf\xc3\xa9");
        assert_string_equal(err.message, "'caf\xc3\xa9'");
}

/* U+009B is a control sequence introducer too, and terminals that read UTF-8 obey it. */
static void a_message_carries_no_c1_control_character(void **state)
{
        abatis_error err;

        (void)state;
        error_set(&err, ABATIS_E_INVALID, "'%s'",
                  "x\xc2\x9b"
                  "2Jy\xc2\x85z");
        assert_null(strstr(err.message, "\xc2\x9b"));
        assert_null(strstr(err.message, "\xc2\x85"));
}

/* Its beginning, its end and what is said about it stay. */
static void a_message_too_long_loses_the_middle_of_a_path(void **state)
{
        static const char *const fillings[] = { "x", "\n", "\xc3\xbc", "\xff", "\xe2\x80\xae", "a b ", " " };
        char *long_path = malloc(70000);
        abatis_error err, above;

        (void)state;
        assert_non_null(long_path);
        for (size_t i = 0; i < sizeof(fillings) / sizeof(*fillings); i++) {
                for (size_t length = 1000; length < 65000; length = length < 1100 ? length + 1 : 2 * length) {
                        size_t used = (size_t)sprintf(long_path, "/begin/");

                        while (used < length)
                                used += (size_t)sprintf(long_path + used, "%s", fillings[i]);
                        strcpy(long_path + used, "/end");
                        memset(&err, 0x55, sizeof(err));
                        error_os(&err, EPERM, "cannot open '%s'", long_path);
                        assert_non_null(memchr(err.message, '\0', sizeof(err.message)));
                        assert_null(strchr(err.message, '\n'));
                        assert_true(text_is_utf8(err.message, strlen(err.message)));
                        assert_int_equal(strncmp(err.message, "cannot open '/begin/", 20), 0);
                        assert_non_null(strstr(err.message, "/end': Operation not permitted"));
                        if (length > 1024)
                                assert_non_null(strstr(err.message, "[...]"));
                        error_set(&above, ABATIS_E_INVALID, "%s:1:2: %s", long_path, err.message);
                        assert_non_null(strstr(above.message, "/end': Operation not permitted"));
                        assert_null(strchr(above.message, '\n'));
                }
        }
        /* With two of them, what is said between them stays too. */
        memset(long_path, 'y', 9000);
        long_path[9000] = '\0';
        error_set(&err, ABATIS_E_INVALID, "'/a/%s/b' leads to '/c/%s/d', which is denied", long_path,
                  long_path);
        assert_non_null(strstr(err.message, "/b' leads to '/c/"));
        assert_non_null(strstr(err.message, "/d', which is denied"));
        free(long_path);
}

/* ---- JSON ----------------------------------------------------------------------------------------------- */

static void a_string_that_is_no_text_goes_into_json_as_base64(void **state)
{
        static const struct {
                const char *string, *json;
        } cases[] = {
                { NULL, "null" },
                { "", "\"\"" },
                { "a\"\n\\", "\"a\\\"\\n\\\\\"" },
                { "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
                { "/tmp/\xff\xfe", "{\"base64\":\"L3RtcC///g==\"}" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char *text = NULL;

                assert_int_equal(json_to_text(json_from_string(cases[i].string),
                                              JSON_ENCODE_ANY | JSON_COMPACT, &text, NULL),
                                 0);
                assert_string_equal(text, cases[i].json);
                free(text);
        }
}

static void json_that_could_not_be_built_is_an_error(void **state)
{
        char untouched, *text = &untouched;
        abatis_error err;

        (void)state;
        assert_int_equal(json_to_text(NULL, 0, &text, &err), ABATIS_E_MEMORY);
        assert_ptr_equal(text, &untouched);
}

/* What is written by hand reads as what the library for JSON would have written. */
static void assert_reads_as(const char *bytes, size_t length)
{
        OWN_TEXT struct text text = { 0 };
        json_t *read, *expected = json_from_string(bytes);

        json_text_string(&text, bytes, length);
        assert_false(text.has_failed);
        read = json_loads(text.data, JSON_DECODE_ANY, NULL);
        assert_non_null(read);
        assert_true(json_equal(read, expected));
        json_decref(read);
        json_decref(expected);
}

static void a_string_of_json_holds_every_character(void **state)
{
        char bytes[5] = { 0 };

        (void)state;
        assert_reads_as("", 0);
        assert_reads_as("plain", 5);
        for (int first = 1; first < 256; first++) {
                bytes[0] = (char)first;
                bytes[1] = '\0';
                assert_reads_as(bytes, 1);
                for (int second = 1; second < 256; second++) {
                        bytes[1] = (char)second;
                        assert_reads_as(bytes, 2);
                }
        }
        assert_reads_as("\xf0\x9f\x98\x80\xe2\x80\xa8\n\t\r\"\\", 12);
}

static void numbers_of_json_do_not_depend_on_the_locale(void **state)
{
        OWN_TEXT struct text text = { 0 };

        (void)state;
        json_text_number(&text, 0);
        text_add(&text, " ");
        json_text_number(&text, UINT64_MAX);
        text_add(&text, " ");
        json_text_decimal(&text, 1.2345);
        text_add(&text, " ");
        json_text_decimal(&text, 0.9996);
        text_add(&text, " ");
        json_text_decimal(&text, -3);
        assert_string_equal(text.data, "0 18446744073709551615 1.235 1.000 0.000");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_string_of_json_holds_every_character),
                cmocka_unit_test(numbers_of_json_do_not_depend_on_the_locale),
                cmocka_unit_test(a_text_grows_and_stays_terminated),
                cmocka_unit_test(an_empty_text_is_taken_as_an_empty_string),
                cmocka_unit_test(after_a_failure_builders_do_nothing_and_taking_fails),
                cmocka_unit_test(a_line_stays_one),
                cmocka_unit_test(what_a_line_cannot_show_stands_as_an_escape),
                cmocka_unit_test(a_length_that_overflows_is_a_failure),
                cmocka_unit_test(a_list_owns_copies),
                cmocka_unit_test(a_character_is_taken_off_with_its_bytes),
                cmocka_unit_test(utf8_is_told_from_what_looks_like_it),
                cmocka_unit_test(every_code_point_is_valid_but_the_surrogates),
                cmocka_unit_test(plain_text_has_no_nul),
                cmocka_unit_test(base64_matches_the_vectors_of_rfc_4648),
                cmocka_unit_test(what_no_bytes_encode_to_is_no_base64),
                cmocka_unit_test(base64_brings_every_byte_back),
                cmocka_unit_test(an_error_holds_code_message_and_errno),
                cmocka_unit_test(an_error_from_below_keeps_its_code_and_errno),
                cmocka_unit_test(an_error_struct_may_be_null),
                cmocka_unit_test(a_message_is_one_printable_line_whatever_a_path_holds),
                cmocka_unit_test(a_message_carries_no_c1_control_character),
                cmocka_unit_test(a_message_too_long_loses_the_middle_of_a_path),
                cmocka_unit_test(a_string_that_is_no_text_goes_into_json_as_base64),
                cmocka_unit_test(json_that_could_not_be_built_is_an_error),
        };

        return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
