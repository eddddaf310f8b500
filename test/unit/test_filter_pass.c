/* test_filter_pass.c: the word that lets a keeper and its inits do what the command may not. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>

#include "answers.h"
#include "bpf.h"
#include "scratch.h"

enum { LAST_TRIED = 600 };

static uint32_t ask_sixth(uint32_t number, uint64_t sixth, unsigned *steps)
{
        const struct seccomp_data data = { .nr = (int)number,
                                           .arch = NATIVE,
                                           .args = { CLONE_NEWNS, 2, 3, 4, 5, sixth } };

        return bpf_run(filter.code, filter.length, &data, steps);
}

/* Who knows the word does what is refused to all others, and nobody else notices that there is one: not by what a call gets, and
 * not by what one takes that is allowed. */
static void a_pass_is_good_for_who_has_it(void **state)
{
        const uint64_t pass = 0x123456789abcdef0, others[] = { 0,
                                                               ~0ull,
                                                               pass ^ 1,
                                                               pass ^ 1ull << 63,
                                                               (uint32_t)pass,
                                                               pass & ~0xffffffffull,
                                                               pass << 32 | pass >> 32 };
        uint32_t before[LAST_TRIED + 1];
        unsigned taken[LAST_TRIED + 1], steps;

        (void)state;
        build_with((struct filter_options){ .network = NETWORK_DENY, .has_memory_files = true });
        for (uint32_t number = 0; number <= LAST_TRIED; number++)
                before[number] = ask_sixth(number, pass, &taken[number]);
        build_with(
                (struct filter_options){ .network = NETWORK_DENY, .has_memory_files = true, .pass = pass });
        for (uint32_t number = 0; number <= LAST_TRIED; number++) {
                assert_int_equal(ask_sixth(number, pass, &steps), ALLOWED);
                if (before[number] == ALLOWED)
                        assert_int_equal(steps, taken[number]);
                for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                        assert_int_equal(ask_sixth(number, others[i], NULL), before[number]);
        }
        assert_int_equal(before[SYS_mount], REFUSED);
        assert_int_equal(before[SYS_clone], REFUSED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_pass_is_good_for_who_has_it),
        };

        return cmocka_run_group_tests_name("filter_pass", tests, NULL, NULL);
}
