/* test_connection.c: a connection as a host program is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/connection.h"

static const struct relay_event refusal = { .kind = RELAY_REFUSED,
                                            .object = RELAY_STREAM,
                                            .stream = 7,
                                            .port = 443,
                                            .count = 3,
                                            .name = "example.org" };

static void a_caller_gets_all_that_it_knows_of(void **state)
{
        abatis_connection connection = { .size = sizeof(connection) };

        (void)state;
        connection_give(&refusal, &connection);
        assert_int_equal(connection.size, sizeof(connection));
        assert_string_equal(connection.verdict, "refused");
        assert_string_equal(connection.name, "example.org");
        assert_int_equal(connection.port, 443);
        assert_int_equal(connection.count, 3);
}

/* Compiled before there were counts. */
static void an_older_caller_gets_no_more_than_it_has_room_for(void **state)
{
        struct {
                abatis_connection connection;
                char behind[16];
        } room;

        (void)state;
        memset(&room, 0x5a, sizeof(room));
        room.connection.size = offsetof(abatis_connection, count);
        connection_give(&refusal, &room.connection);
        assert_int_equal(room.connection.size, offsetof(abatis_connection, count));
        assert_string_equal(room.connection.name, "example.org");
        assert_int_equal(room.connection.count, 0x5a5a5a5a5a5a5a5a);
        assert_int_equal(room.behind[0], 0x5a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_caller_gets_all_that_it_knows_of),
                cmocka_unit_test(an_older_caller_gets_no_more_than_it_has_room_for),
        };

        return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
