/* test_rate.c: no second has more than it may, wherever it begins, and what is over is over. */
#include "net/rate.h"
#include "scratch.h"

enum { START = 1000000 };

static void as_many_as_said_begin_at_once(void **state)
{
        struct rate rate = { 0 };

        (void)state;
        for (int i = 0; i < 5; i++)
                assert_true(rate_take(&rate, START, 5));
        assert_false(rate_take(&rate, START, 5));
}

static void without_a_limit_all_begin(void **state)
{
        struct rate rate = { 0 };

        (void)state;
        for (int i = 0; i < 100000; i++)
                assert_true(rate_take(&rate, START, 0));
}

/* Two bursts, wherever the first one falls: the second must wait for the whole second to pass. */
static void the_end_of_one_second_and_the_beginning_of_the_next_are_one(void **state)
{
        (void)state;
        for (int at = 0; at < 1000; at++) {
                struct rate rate = { 0 };

                for (int i = 0; i < 3; i++)
                        assert_true(rate_take(&rate, START + at, 3));
                assert_false(rate_take(&rate, START + at + 999, 3));
                assert_true(rate_take(&rate, START + at + 1000 + RATE_PART_MS, 3));
        }
}

static void no_second_of_a_long_time_has_more(void **state)
{
        enum { TIME = 20000, MOST = 7 };
        static bool has_begun[TIME];
        struct rate rate = { 0 };
        int last = 0, begun = 0;

        (void)state;
        for (int at = 0; at < TIME; at++) {
                has_begun[at] = rate_take(&rate, START + at, MOST);
                last += has_begun[at] - (at >= 1000 && has_begun[at - 1000]);
                begun += has_begun[at];
                assert_true(last <= MOST);
        }
        /* Who was refused does not count: it goes on. */
        assert_true(begun >= MOST * (TIME / 1000 * 10 / 11));
}

static void a_long_silence_is_forgotten(void **state)
{
        struct rate rate = { 0 };

        (void)state;
        assert_true(rate_take(&rate, 0, 1));
        assert_false(rate_take(&rate, 0, 1));
        assert_true(rate_take(&rate, INT64_MAX / 2, 1));
        assert_false(rate_take(&rate, INT64_MAX / 2 + 500, 1));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(as_many_as_said_begin_at_once),
                cmocka_unit_test(without_a_limit_all_begin),
                cmocka_unit_test(the_end_of_one_second_and_the_beginning_of_the_next_are_one),
                cmocka_unit_test(no_second_of_a_long_time_has_more),
                cmocka_unit_test(a_long_silence_is_forgotten),
        };

        return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
