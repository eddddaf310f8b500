/* test_units.c: sizes, durations and counts: what people write, and every way to write it wrong. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "scratch.h"

typedef int parser(const char *text, uint64_t *out, abatis_error *err);

static void assert_parses(parser *parse, const char *text, uint64_t expected)
{
        abatis_error err = { .message = "" };
        uint64_t value = 0;

        if (parse(text, &value, &err) < 0)
                fail_msg("'%s': %s", text, err.message);
        if (value != expected)
                fail_msg("'%s' is %llu instead of %llu", text, (unsigned long long)value,
                         (unsigned long long)expected);
}

static void assert_refused(parser *parse, const char *text)
{
        abatis_error err = { 0 };
        uint64_t value = 4711;

        if (parse(text, &value, &err) != ABATIS_E_INVALID)
                fail_msg("'%s' was not refused", text);
        assert_int_equal(value, 4711);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "'"));
        assert_int_equal(parse(text, &value, NULL), ABATIS_E_INVALID);
}

static void sizes_have_binary_and_decimal_units(void **state)
{
        (void)state;
        assert_parses(units_parse_size, "1", 1);
        assert_parses(units_parse_size, "007", 7);
        assert_parses(units_parse_size, "512B", 512);
        assert_parses(units_parse_size, "1K", 1024);
        assert_parses(units_parse_size, "1KiB", 1024);
        assert_parses(units_parse_size, "1KB", 1000);
        assert_parses(units_parse_size, "512MiB", 512ull << 20);
        assert_parses(units_parse_size, "3MB", 3000000);
        assert_parses(units_parse_size, "2G", 2ull << 30);
        assert_parses(units_parse_size, "2GiB", 2ull << 30);
        assert_parses(units_parse_size, "2GB", 2000000000);
        assert_parses(units_parse_size, "5TiB", 5ull << 40);
}

static void durations_need_a_unit_and_become_milliseconds(void **state)
{
        (void)state;
        assert_parses(units_parse_duration, "500ms", 500);
        assert_parses(units_parse_duration, "30s", 30000);
        assert_parses(units_parse_duration, "2m", 120000);
        assert_parses(units_parse_duration, "24h", 86400000);
        assert_refused(units_parse_duration, "30");
        assert_refused(units_parse_duration, "30S");
        assert_refused(units_parse_duration, "30 s");
        assert_refused(units_parse_duration, "1d");
        assert_refused(units_parse_duration, "1.5s");
        assert_refused(units_parse_duration, "1m30s");
}

static void counts_are_bare_numbers(void **state)
{
        (void)state;
        assert_parses(units_parse_count, "256", 256);
        assert_refused(units_parse_count, "256B");
        assert_refused(units_parse_count, "1K");
        assert_refused(units_parse_count, "1e3");
}

static void what_is_no_positive_number_is_refused(void **state)
{
        static const char *const cases[] = { "",    " ",      "-1",    "+1",       " 1",  "1 ",
                                             "one", "0",      "00",    "0x10",     "1,5", "1.5",
                                             "1\n", "MiB",    "-",     "\xd9\xa1", "1\t", "-0",
                                             "1--", "99,999", "1KiBB", "NaN",      "inf", "1 KiB" };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_refused(units_parse_size, cases[i]);
                assert_refused(units_parse_duration, cases[i]);
                assert_refused(units_parse_count, cases[i]);
        }
        assert_refused(units_parse_size, "0MiB");
        assert_refused(units_parse_size, "1kib");
        assert_refused(units_parse_size, "1Kib");
        assert_refused(units_parse_duration, "0s");
}

static void overflow_is_refused_not_wrapped(void **state)
{
        (void)state;
        assert_refused(units_parse_count, "18446744073709551615"); /* 2^64 - 1 */
        assert_refused(units_parse_count, "18446744073709551616"); /* 2^64 */
        assert_refused(units_parse_count, "18446744073709551617");
        assert_refused(units_parse_count, "9223372036854775808");
        assert_refused(units_parse_count, "99999999999999999999999999999999999999999999");
        assert_refused(units_parse_size, "18014398509481985K"); /* 2^54 + 1, times 2^10 wraps to 1024 */
        assert_refused(units_parse_size, "16777216TiB");        /* 2^64 */
        assert_refused(units_parse_size, "16777217TiB");
        assert_refused(units_parse_duration, "5124095576030432h"); /* wraps to less than an hour */
        assert_refused(units_parse_duration, "18446744073709552s");
}

/* Whatever is accepted can be doubled and turned into a signed 64-bit number. */
static void the_largest_accepted_values_leave_room(void **state)
{
        uint64_t value;

        (void)state;
        assert_parses(units_parse_count, "4611686018427387903", INT64_MAX / 2);
        assert_refused(units_parse_count, "4611686018427387904");
        assert_int_equal(units_parse_size("4194303TiB", &value, NULL), 0);
        assert_true(value <= INT64_MAX / 2);
        assert_refused(units_parse_size, "4194304TiB");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes_have_binary_and_decimal_units),
                cmocka_unit_test(durations_need_a_unit_and_become_milliseconds),
                cmocka_unit_test(counts_are_bare_numbers),
                cmocka_unit_test(what_is_no_positive_number_is_refused),
                cmocka_unit_test(overflow_is_refused_not_wrapped),
                cmocka_unit_test(the_largest_accepted_values_leave_room),
        };

        return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
