/* test_string.c: the static executable's own memcpy, strlen and strchrnul, beside those of the libc.
 *
 * The source is included with its names changed. Everything lies before a page that may not be read. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "scratch.h"

#define memcpy tested_memcpy
#define __memcpy_fwd tested_memcpy_fwd
#define strlen tested_strlen
#define strchrnul tested_strchrnul
#define __strchrnul tested_inner_strchrnul
#include "libc/string_x86_64.c" // NOLINT(bugprone-suspicious-include): its names are changed only here
#undef memcpy
#undef __memcpy_fwd
#undef strlen
#undef strchrnul
#undef __strchrnul

enum { PAGE = 4096, LONGEST = 600, ALIGNMENTS = 16 };

/* The end of two pages; what comes after it may not be touched. */
static char *edge(void)
{
        static char *end;

        if (!end) {
                char *pages = mmap(NULL, (size_t)3 * PAGE, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                assert_true(pages != MAP_FAILED);
                end = pages + (size_t)2 * PAGE;
                assert_int_equal(mprotect(end, PAGE, PROT_NONE), 0);
        }
        return end;
}

static void fill(char *to, size_t size)
{
        for (size_t i = 0; i < size; i++)
                to[i] = (char)(i * 7 + 1);
}

/* Of any size, from and to any alignment, up to the last byte that there is, and not a byte more. */
static void everything_is_copied_and_nothing_else(void **state)
{
        static char from[LONGEST + ALIGNMENTS];

        (void)state;
        fill(from, sizeof(from));
        for (size_t size = 0; size <= LONGEST; size++)
                for (size_t at = 0; at < ALIGNMENTS; at++) {
                        char *to = edge() - size - (size_t)(size % 3), *before = to - 1;

                        memset(before, 'x', size + 1);
                        assert_ptr_equal(tested_memcpy(to, from + at, size), to);
                        assert_memory_equal(to, from + at, size);
                        assert_int_equal(*before, 'x');
                        assert_ptr_equal(tested_memcpy(from, edge() - size, size), from);
                        fill(from, sizeof(from));
                }
}

static void overlap_is_no_matter_when_the_target_comes_first(void **state)
{
        static char both[2 * LONGEST], wanted[LONGEST];

        (void)state;
        for (size_t size = 0; size <= LONGEST; size++)
                for (size_t distance = 0; distance < 40; distance++) {
                        fill(both, sizeof(both));
                        memcpy(wanted, both + distance, size);
                        assert_ptr_equal(tested_memcpy_fwd(both, both + distance, size), both);
                        assert_memory_equal(both, wanted, size);
                }
}

static void length_is_found_wherever_the_text_lies(void **state)
{
        (void)state;
        for (size_t length = 0; length <= LONGEST; length++)
                for (size_t left = 0; left < ALIGNMENTS; left++) {
                        char *text = edge() - left - 1 - length;

                        /* What comes before it and after it is no part of it. */
                        memset(text - ALIGNMENTS, 0, ALIGNMENTS);
                        memset(text, 'a', length);
                        memset(text + length, 0, left + 1);
                        assert_int_equal(tested_strlen(text), length);
                }
}

static void first_of_a_letter_is_found_or_the_end(void **state)
{
        const char letters[] = { '=', '\0', (char)0x80, (char)0xff };

        (void)state;
        for (size_t length = 0; length <= 100; length++)
                for (size_t at = 0; at <= length; at++)
                        for (size_t i = 0; i < sizeof(letters); i++) {
                                char *text = edge() - 1 - length;

                                memset(text - ALIGNMENTS, letters[i], ALIGNMENTS);
                                memset(text, 'a', length);
                                text[length] = '\0';
                                if (at < length)
                                        text[at] = letters[i];
                                assert_ptr_equal(tested_strchrnul(text, letters[i]), text + at);
                                assert_ptr_equal(tested_inner_strchrnul(text, letters[i]), text + at);
                        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(everything_is_copied_and_nothing_else),
                cmocka_unit_test(overlap_is_no_matter_when_the_target_comes_first),
                cmocka_unit_test(length_is_found_wherever_the_text_lies),
                cmocka_unit_test(first_of_a_letter_is_found_or_the_end),
        };

        return cmocka_run_group_tests_name("string", tests, NULL, NULL);
}
