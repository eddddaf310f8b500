/* test_excerpt.c: what is kept of bytes that come in pieces: all of few, the beginning and the end of many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "scratch.h"

enum { PIECES = 7 };

/* What must come out, made the plain way from all of it. */
static char *expect(const char *all, size_t length, size_t room, size_t head)
{
        size_t start = length - (room - head);
        char *out = calloc(1, length + 100), longest[100] = "";

        assert_non_null(out);
        if (length <= room) {
                memcpy(out, all, length);
                return out;
        }
        while (head && (all[head] & 0xc0) == 0x80)
                head--;
        sprintf(longest, "\n… %zu bytes omitted …\n", length);
        if (strlen(longest) > (length - start) / 2)
                longest[0] = '\0';
        start += strlen(longest);
        while (start < length && (all[start] & 0xc0) == 0x80)
                start++;
        if (*longest)
                sprintf(longest, "%s… %zu bytes omitted …%s", head && all[head - 1] != '\n' ? "\n" : "",
                        start - head, start < length && all[start] != '\n' ? "\n" : "");
        sprintf(out, "%.*s%s%s", (int)head, all, longest, all + start);
        return out;
}

static void assert_kept(const char *all, size_t length, size_t room, size_t head, size_t piece)
{
        struct excerpt excerpt = { .room = room, .head = head };
        char *expected = expect(all, length, room, head);

        for (size_t at = 0; at < length; at += piece)
                excerpt_add(&excerpt, all + at, length - at < piece ? length - at : piece);
        assert_int_equal(excerpt.total, length);
        assert_int_equal(excerpt_finish(&excerpt), length > room);
        if (length && strcmp(excerpt.text.data, expected))
                fail_msg("%zu of %zu bytes in pieces of %zu:\n%s\ninstead of\n%s", room, length, piece,
                         excerpt.text.data, expected);
        assert_int_equal(excerpt.text.length, strlen(expected));
        assert_true(excerpt.text.length <= room);
        assert_true(excerpt.text.capacity <= room + 1);
        excerpt_done(&excerpt);
        free(expected);
}

static void assert_kept_in_every_way(const char *all, size_t most)
{
        static const size_t pieces[PIECES] = { 1, 2, 3, 5, 16, 100, 100000 };
        size_t length = strlen(all);

        for (size_t room = 1; room <= most; room++)
                for (size_t i = 0; i < PIECES; i++) {
                        assert_kept(all, length, room, room / 2, pieces[i]);
                        assert_kept(all, length, room, 0, pieces[i]);
                }
}

static void all_of_few_bytes_is_kept(void **state)
{
        (void)state;
        assert_kept("", 0, 10, 5, 1);
        assert_kept("0123456789", 10, 10, 5, 3);
        assert_kept("0123456789", 10, 11, 5, 3);
}

static void of_many_the_beginning_and_the_end_are_kept(void **state)
{
        char all[400] = "";

        (void)state;
        for (int i = 0; i < 100; i++)
                sprintf(all + strlen(all), "%d%s", i, i % 7 ? "" : "\n");
        assert_kept_in_every_way(all, 170);
}

static void it_is_cut_between_characters(void **state)
{
        (void)state;
        assert_kept_in_every_way("aß日𝄞\nß日𝄞aß日𝄞aaß日𝄞𝄞𝄞日日ßßaaß日𝄞aaß日𝄞𝄞𝄞日日ßßa", 110);
}

/* Bytes that are no characters are kept by the byte: at most three are taken for the rest of one. */
static void what_is_no_text_is_kept_too(void **state)
{
        char all[1000];
        struct excerpt excerpt = { .room = 100, .head = 50 };

        (void)state;
        memset(all, 0x80, sizeof(all));
        excerpt_add(&excerpt, all, sizeof(all));
        assert_true(excerpt_finish(&excerpt));
        assert_true(excerpt.text.length >= 97 && excerpt.text.length <= 100);
        excerpt_done(&excerpt);
}

static void bytes_before_it_end_with_a_newline(void **state)
{
        struct excerpt excerpt = { .room = 60, .before = 'x' };

        (void)state;
        for (int i = 0; i < 10; i++)
                excerpt_add(&excerpt, "0123456789", 10);
        assert_true(excerpt_finish(&excerpt));
        assert_string_equal(excerpt.text.data, "\n… 67 bytes omitted …\n789012345678901234567890123456789");
        excerpt_done(&excerpt);
}

static void without_room_bytes_are_only_counted(void **state)
{
        struct excerpt excerpt = { 0 };

        (void)state;
        excerpt_add(&excerpt, "0123456789", 10);
        assert_int_equal(excerpt.total, 10);
        assert_true(excerpt_finish(&excerpt));
        assert_int_equal(excerpt.text.length, 0);
        excerpt_done(&excerpt);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_of_few_bytes_is_kept),
                cmocka_unit_test(of_many_the_beginning_and_the_end_are_kept),
                cmocka_unit_test(it_is_cut_between_characters),
                cmocka_unit_test(what_is_no_text_is_kept_too),
                cmocka_unit_test(bytes_before_it_end_with_a_newline),
                cmocka_unit_test(without_room_bytes_are_only_counted),
        };

        return cmocka_run_group_tests_name("excerpt", tests, NULL, NULL);
}
