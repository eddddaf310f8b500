/* test_passage.c: what goes one way through a stream, where whoever listens does not. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/allowance.h"
#include "net/passage.h"

static char bytes[64 * 1024];

/* As the relay has them: what is urgent is a byte like any other. */
static void connect_pair(int ends[2])
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t size = sizeof(address);
        const int yes = 1;
        int listener = socket(AF_INET, SOCK_STREAM, 0);

        assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes)), 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
        ends[0] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(ends[0], (struct sockaddr *)&address, size), 0);
        ends[1] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        assert_true(ends[1] >= 0);
        close(listener);
}

static void await(int fd, short what)
{
        struct pollfd wait = { fd, what, 0 };

        assert_int_equal(poll(&wait, 1, 10000), 1);
}

static int first_free(void)
{
        int fd = dup(0);

        close(fd);
        return fd;
}

/* Until it takes nothing more, also of what is under way. */
static void fill(int fd)
{
        struct pollfd wait = { fd, POLLOUT, 0 };

        do
                while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
                        ;
        while (poll(&wait, 1, 100) > 0);
        while (send(fd, bytes, 1, MSG_DONTWAIT) > 0)
                ;
}

static void an_urgent_byte_behind_much_waits_in_the_pipe_that_is_there(void **state)
{
        int before = first_free();

        (void)state;
        for (int round = 0; round < 3; round++) {
                struct allowance allowance = { .passed = 0 };
                struct passage passage;
                int in[2], out[2];

                connect_pair(in);
                connect_pair(out);
                passage_init(&passage, in[1], out[1], NULL, &allowance);
                /* Much comes, and is passed on. */
                assert_int_equal(send(in[0], bytes, 8192, 0), 8192);
                await(in[1], POLLIN);
                assert_int_equal(passage_pump(&passage), 0);
                assert_true(passage.passed > 0);
                fill(out[1]);
                assert_int_equal(send(in[0], "!", 1, MSG_OOB), 1);
                await(in[1], POLLPRI);
                assert_int_equal(passage_pump(&passage), 0);
                assert_true(passage.wants_write);
                assert_true(passage.in_pipe > 0);
                passage_done(&passage);
                for (int i = 0; i < 2; i++) {
                        close(in[i]);
                        close(out[i]);
                }
        }
        assert_int_equal(first_free(), before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_urgent_byte_behind_much_waits_in_the_pipe_that_is_there),
        };

        return cmocka_run_group_tests_name("passage", tests, NULL, NULL);
}
