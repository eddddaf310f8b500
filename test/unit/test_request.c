/* test_request.c: requests that follow each other on one connection, as the relay passes them on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/allowance.h"
#include "net/request.h"
#include "scratch.h"

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: a.org\r\n"

/* Sends this in pieces of so many bytes; returns what request_pump() said last, and what came out. */
static int pump_at_most(uint64_t most, const char *text, size_t piece, char *out, size_t size)
{
        struct allowance allowance = { .most = most };
        struct request *request = request_new("a.org", 80);
        int in[2], through[2], r = 0;
        uint64_t passed = 0;
        ssize_t got;

        assert_non_null(request);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, through), 0);
        for (size_t at = 0, length = strlen(text); at < length && !r; at += piece) {
                size_t part = length - at < piece ? length - at : piece;

                assert_int_equal(send(in[0], text + at, part, 0), part);
                r = request_pump(request, in[1], through[0], &allowance, &passed);
        }
        /* What did not pass at once is tried again, as when there is room. */
        if (!r)
                r = request_pump(request, in[1], through[0], &allowance, &passed);
        got = recv(through[1], out, size - 1, MSG_DONTWAIT);
        out[got > 0 ? got : 0] = '\0';
        assert_int_equal(passed, got > 0 ? got : 0);
        assert_int_equal(allowance.passed, passed);
        request_free(request);
        for (int i = 0; i < 2; i++) {
                close(in[i]);
                close(through[i]);
        }
        return r;
}

static int pump(const char *text, size_t piece, char *out, size_t size)
{
        return pump_at_most(0, text, piece, out, size);
}

static void assert_passes_as(const char *text, const char *expected)
{
        char out[1024];

        for (size_t piece = 1; piece < strlen(text) + 2; piece += 1 + piece / 8) {
                assert_int_equal(pump(text, piece, out, sizeof(out)), 0);
                assert_string_equal(out, expected);
        }
}

static void requests_pass_as_they_came(void **state)
{
        static const char two[] = "POST /a HTTP/1.1\r\n" HOST
                                  "Connection:  keep-alive ,te\r\nContent-Length: 3\r\n\r\nabc" LINE HOST
                                  "Connection: Upgrade\r\nX-Upgrade: a\r\n\r\n";

        (void)state;
        assert_passes_as(two, two);
}

static void another_protocol_is_not_asked_for(void **state)
{
        (void)state;
        assert_passes_as(LINE HOST
                         "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n",
                         LINE HOST "Connection: HTTP2-Settings\r\nHTTP2-Settings: AAM\r\n\r\n");
        assert_passes_as(LINE "upgrade: websocket\r\nCONNECTION:upgrade\r\n" HOST "\r\n" LINE HOST "\r\n",
                         LINE HOST "\r\n" LINE HOST "\r\n");
        assert_passes_as(
                LINE HOST
                "Upgrade: a\r\nConnection: keep-alive ,\tUPGRADE , te\r\nUpgrade: b\r\nConnection: Upgrade\r\n"
                "X: y\r\n\r\n",
                LINE HOST "Connection: keep-alive , te\r\nX: y\r\n\r\n");
        /* What is behind it stays what it is. */
        assert_passes_as("POST / HTTP/1.1\r\n" HOST
                         "Upgrade: h2c\r\nContent-Length: 14\r\n\r\nUpgrade: h2c\r\n" LINE HOST
                         "Upgrade: h2c\r\n\r\n",
                         "POST / HTTP/1.1\r\n" HOST "Content-Length: 14\r\n\r\nUpgrade: h2c\r\n" LINE HOST
                         "\r\n");
}

static void what_follows_is_judged_all_the_same(void **state)
{
        static const char first[] = LINE HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        char text[256], out[1024];

        (void)state;
        snprintf(text, sizeof(text), "%s%s", first, LINE "Host: b.org\r\n\r\n");
        assert_int_equal(pump(text, sizeof(text), out, sizeof(out)), -EACCES);
        assert_string_equal(out, LINE HOST "\r\n");
        snprintf(text, sizeof(text), "%s%s", first, "\x81\x05hello");
        assert_int_equal(pump(text, sizeof(text), out, sizeof(out)), -EACCES);
        assert_string_equal(out, LINE HOST "\r\n");
        snprintf(text, sizeof(text), "%s%s", LINE "Host: b.org\r\n", "Upgrade: h2c\r\n\r\n");
        assert_int_equal(pump(text, sizeof(text), out, sizeof(out)), -EACCES);
        assert_string_equal(out, "");
}

/* As many bytes as may, and then it is told that there were more. */
static void no_more_passes_than_is_allowed(void **state)
{
        static const char text[] = LINE HOST "\r\n";
        char out[1024];

        (void)state;
        for (uint64_t most = 1; most < sizeof(text) + 1; most++)
                for (size_t piece = 1; piece < sizeof(text); piece++) {
                        bool is_enough = most >= strlen(text);

                        /* What is over is noticed with the next byte at the latest. */
                        assert_int_equal(pump_at_most(most, LINE HOST "\r\n" LINE HOST "\r\n", piece, out,
                                                      sizeof(out)),
                                         -EDQUOT);
                        assert_int_equal(strlen(out), most);
                        if (is_enough)
                                assert_int_equal(pump_at_most(most, text, piece, out, sizeof(out)), 0);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_more_passes_than_is_allowed),
                cmocka_unit_test(requests_pass_as_they_came),
                cmocka_unit_test(another_protocol_is_not_asked_for),
                cmocka_unit_test(what_follows_is_judged_all_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
