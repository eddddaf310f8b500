/* test_seen.c: what is kept of the connections that a relay tells of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/seen_linux.h"

static struct relay_event event_of(enum relay_event_kind kind, uint64_t stream, unsigned number)
{
        struct relay_event event = { .kind = kind,
                                     .object = RELAY_STREAM,
                                     .stream = stream,
                                     .has_address = true,
                                     .address = { .bytes = { 192, 0, (uint8_t)(number >> 8),
                                                             (uint8_t)number } },
                                     .port = 443,
                                     .count = 1 };

        return event;
}

static struct seen *seen_new(void)
{
        struct seen *seen = calloc(1, sizeof(*seen));

        assert_non_null(seen);
        return seen;
}

static void seen_free(struct seen *seen)
{
        seen_done(seen);
        free(seen);
}

static void tell(struct seen *seen, enum relay_event_kind kind, uint64_t stream, unsigned number)
{
        const struct relay_event event = event_of(kind, stream, number);

        seen_add(seen, &event);
}

static void what_is_opened_and_closed_is_one(void **state)
{
        struct seen *seen = seen_new();

        (void)state;
        tell(seen, RELAY_OPENED, 1, 1);
        tell(seen, RELAY_OPENED, 1 + SEEN_PLACES, 1);
        tell(seen, RELAY_CLOSED, 1, 1);
        assert_int_equal(seen->list.count, 2);
        assert_int_equal(seen->list.items[0].kind, RELAY_CLOSED);
        assert_int_equal(seen->list.items[1].kind, RELAY_OPENED);
        seen_free(seen);
}

static void the_same_refusal_is_counted(void **state)
{
        struct seen *seen = seen_new();
        struct relay_event other = event_of(RELAY_REFUSED, 0, 1);

        (void)state;
        for (uint64_t i = 0; i < 10; i++) {
                tell(seen, RELAY_REFUSED, 0, 1);
                tell(seen, RELAY_REFUSED, 100 + i, 2); /* each with a number of its own */
        }
        other.pid = 7;
        other.count = 5;
        seen_add(seen, &other);
        seen_add(seen, &other);
        snprintf(other.name, sizeof(other.name), "a.example");
        seen_add(seen, &other);
        other.sent = 1; /* it was open for a while: there is no other like it */
        seen_add(seen, &other);
        seen_add(seen, &other);
        assert_int_equal(seen->list.count, 6);
        for (int i = 0; i < 3; i++)
                assert_int_equal(seen->list.items[i].count, 10);
        assert_int_equal(seen->list.items[3].count, 5);
        assert_int_equal(seen->list.omitted, 0);
        seen_free(seen);
}

static void neither_kind_hides_the_other(void **state)
{
        (void)state;
        for (int is_refused_first = 0; is_refused_first < 2; is_refused_first++) {
                struct seen *seen = seen_new();

                for (unsigned kind = 0; kind < 2; kind++)
                        for (unsigned i = 0; i < 10000; i++)
                                if (kind == (unsigned)is_refused_first)
                                        tell(seen, RELAY_OPENED, i + 1, 1);
                                else
                                        tell(seen, RELAY_REFUSED, 0, i);
                assert_int_equal(seen->list.count, SEEN_MAX + SEEN_REFUSED_MAX);
                assert_int_equal(seen->refused_count, SEEN_REFUSED_MAX);
                assert_int_equal(seen->list.omitted, 20000 - SEEN_MAX - SEEN_REFUSED_MAX);
                /* And the end is told all the same. */
                tell(seen, RELAY_ENDED, 0, 0);
                assert_int_equal(seen->list.items[seen->list.count - 1].kind, RELAY_ENDED);
                tell(seen, RELAY_CLOSED, 1, 1);
                assert_int_equal(seen->list.items[is_refused_first ? SEEN_REFUSED_MAX : 0].kind,
                                 RELAY_CLOSED);
                seen_free(seen);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_opened_and_closed_is_one),
                cmocka_unit_test(the_same_refusal_is_counted),
                cmocka_unit_test(neither_kind_hides_the_other),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
