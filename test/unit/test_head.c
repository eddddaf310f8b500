/* test_head.c: heads and bodies of HTTP requests: whom they are for, and every way to say it twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutations.h"
#include "net/body.h"
#include "net/head.h"
#include "scratch.h"

static const char from_curl[] =
        "GET /a?b=c HTTP/1.1\r\nHost: www.example.org:52559\r\nUser-Agent: curl/7.88.1\r\n"
        "Accept: */*\r\n\r\n";
static const char from_node[] =
        "GET /n HTTP/1.1\r\nhost: localhost:54917\r\nconnection: keep-alive\r\naccept: */*\r\n"
        "accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\n"
        "accept-encoding: gzip, deflate\r\n\r\n";
static const char to_proxy[] =
        "GET http://www.example.org/a HTTP/1.1\r\nHost: www.example.org\r\n"
        "User-Agent: curl/7.88.1\r\nAccept: */*\r\nProxy-Connection: Keep-Alive\r\n\r\n";
static const char connecting[] = "CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org:443\r\n"
                                 "User-Agent: curl/7.88.1\r\nProxy-Connection: Keep-Alive\r\n\r\n";
static const char chunked[] = "POST /u HTTP/1.1\r\nHost: 127.0.0.1:47807\r\nAccept-Encoding: identity\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

#define LENGTH(literal) (sizeof(literal) - 1)
#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: a.org\r\n"

static struct head read_bytes(const char *bytes, size_t length)
{
        char *copy = malloc(length ? length : 1);
        struct head head;

        assert_non_null(copy);
        memcpy(copy, bytes, length);
        head = head_read(copy, length);
        free(copy);
        return head;
}

#define read_text(literal) read_bytes(literal, sizeof(literal) - 1)

static void assert_malformed_bytes(const char *bytes, size_t length, const char *reason)
{
        struct head head = read_bytes(bytes, length);

        if (head.kind != HEAD_MALFORMED)
                fail_msg("'%s' was not refused", bytes);
        assert_string_equal(head.host, "");
        assert_int_equal(head.length, 0);
        if (!strstr(head.reason, reason))
                fail_msg("'%s': '%s' is not about '%s'", bytes, head.reason, reason);
}

#define assert_malformed(literal, reason) assert_malformed_bytes(literal, sizeof(literal) - 1, reason)

static void assert_host_bytes(const char *bytes, size_t length, const char *host, unsigned port)
{
        struct head head = read_bytes(bytes, length);

        if (head.kind != HEAD_HOST)
                fail_msg("'%s': %s", bytes, head.reason ? head.reason : "no host");
        assert_string_equal(head.host, host);
        assert_int_equal(head.port, port);
}

#define assert_host(literal, host, port) assert_host_bytes(literal, sizeof(literal) - 1, host, port)

/* ---- heads ---------------------------------------------------------------------------------------------- */

static void real_clients_name_their_host(void **state)
{
        struct head head = read_text(from_curl);

        (void)state;
        assert_host(from_curl, "www.example.org", 52559);
        assert_int_equal(head.length, LENGTH(from_curl));
        assert_int_equal(head.body, HEAD_BODY_NONE);
        assert_false(head.is_connect || head.wants_upgrade || head.is_address);
        assert_host(from_node, "localhost", 54917);
        assert_host(to_proxy, "www.example.org", 0);
        assert_host(connecting, "www.example.org", 443);
        assert_true(read_text(connecting).is_connect);
        head = read_text(chunked);
        assert_int_equal(head.body, HEAD_BODY_CHUNKED);
        assert_int_equal(head.length, LENGTH(chunked) - 13);
        assert_true(head.is_address);
        assert_int_equal(head.address.bytes[0], 127);
        assert_int_equal(head.port, 47807);
}

static void need_more(const uint8_t *bytes, size_t length, void *state)
{
        (void)state;
        assert_int_equal(head_read((const char *)bytes, length).kind, HEAD_NEEDS_MORE);
}

static void every_beginning_needs_more(void **state)
{
        (void)state;
        read_every_prefix(from_curl, LENGTH(from_curl), need_more, NULL);
        read_every_prefix(from_node, LENGTH(from_node), need_more, NULL);
        read_every_prefix(to_proxy, LENGTH(to_proxy), need_more, NULL);
        read_every_prefix(connecting, LENGTH(connecting), need_more, NULL);
        read_every_prefix(chunked, LENGTH(chunked) - 13, need_more, NULL);
        assert_int_equal(read_text("").kind, HEAD_NEEDS_MORE);
}

static void hosts_are_read_in_one_form(void **state)
{
        (void)state;
        assert_host(LINE "Host: A.Org\r\n\r\n", "a.org", 0);
        assert_host(LINE "hOST:a.org.\r\n\r\n", "a.org", 0);
        assert_host(LINE "Host: \t a.org:8080 \t\r\n\r\n", "a.org", 8080);
        assert_host(LINE "Host: [2001:db8::1]:80\r\n\r\n", "", 80);
        assert_host(LINE "Host: [::1]\r\n\r\n", "", 0);
        assert_true(read_text(LINE "Host: [::1]\r\n\r\n").address.is_v6);
        assert_host("GET /\xc3\xa9 HTTP/1.0\r\nHost: a.org\r\nX: \xc3\xa9\r\n\r\n", "a.org", 0);
        assert_host("OPTIONS * HTTP/1.1\r\nHost: a.org\r\n\r\n", "a.org", 0);
        assert_host("GET //evil.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", "a.org", 0);
}

static void a_request_may_have_no_host(void **state)
{
        (void)state;
        assert_int_equal(read_text("GET / HTTP/1.0\r\n\r\n").kind, HEAD_NO_HOST);
        assert_int_equal(read_text("GET / HTTP/1.0\r\n\r\n").length, 18);
        assert_int_equal(read_text(LINE "Accept: */*\r\n\r\n").kind, HEAD_NO_HOST);
        assert_int_equal(read_text(LINE "Host:\r\n\r\n").kind, HEAD_NO_HOST);
        assert_int_equal(read_text(LINE "Host: \r\n\r\n").kind, HEAD_NO_HOST);
}

static void what_is_no_host_is_refused(void **state)
{
        (void)state;
        assert_malformed(LINE "Host: a.org, b.org\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org b.org\r\n\r\n", "no host");
        assert_malformed(LINE "Host: user@a.org\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org/\r\n\r\n", "no host");
        assert_malformed(LINE "Host: http://a.org\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org:\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org:0\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org:080\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org:65536\r\n\r\n", "no host");
        assert_malformed(LINE "Host: a.org:80:80\r\n\r\n", "no host");
        assert_malformed(LINE "Host: :80\r\n\r\n", "no host");
        assert_malformed(LINE "Host: ::1\r\n\r\n", "no host");
        assert_malformed(LINE "Host: [::1\r\n\r\n", "no host");
        assert_malformed(LINE "Host: [::1]80\r\n\r\n", "no host");
        assert_malformed(LINE "Host: [a.org]\r\n\r\n", "no host");
        assert_malformed(LINE "Host: [127.0.0.1]\r\n\r\n", "no host");
        assert_malformed(LINE "Host: []\r\n\r\n", "no host");
        assert_malformed(LINE "Host: 127.1\r\n\r\n", "no host");
        assert_malformed(LINE "Host: 0x7f000001\r\n\r\n", "no host");
        assert_malformed(LINE "Host: b\xc3\xbc"
                              "cher.example\r\n\r\n",
                         "no host");
}

static void two_hosts_are_refused(void **state)
{
        (void)state;
        assert_malformed(LINE HOST HOST "\r\n", "two Host");
        assert_malformed(LINE HOST "hosT: b.org\r\n\r\n", "two Host");
        assert_malformed(LINE "Host:\r\n" HOST "\r\n", "two Host");
        assert_malformed(LINE HOST "Connection: close, Host\r\n\r\n", "takes out");
        assert_malformed(LINE HOST "Connection:\tCONTENT-LENGTH\r\n\r\n", "takes out");
        assert_malformed("GET http://b.org/ HTTP/1.1\r\n" HOST "\r\n", "another host");
        assert_malformed("GET http://a.org:81/ HTTP/1.1\r\n" HOST "\r\n", "another host");
        assert_malformed("GET http://a.org/ HTTP/1.1\r\nHost: a.org:81\r\n\r\n", "another host");
        assert_malformed("GET http://a.org/ HTTP/1.1\r\nHost:\r\n\r\n", "another host");
        assert_malformed("GET http://a.org/ HTTP/1.0\r\n\r\n", "another host");
        assert_malformed("GET http://a.org@b.org/ HTTP/1.1\r\n" HOST "\r\n", "names no host");
        assert_malformed("GET http://a.org\\@b.org/ HTTP/1.1\r\n" HOST "\r\n", "names no host");
        assert_malformed("GET http:/a.org/ HTTP/1.1\r\n" HOST "\r\n", "neither a path");
        assert_malformed("GET https://a.org/ HTTP/1.1\r\n" HOST "\r\n", "neither a path");
        assert_malformed("GET a.org HTTP/1.1\r\n" HOST "\r\n", "neither a path");
        assert_malformed("GET * HTTP/1.1\r\n" HOST "\r\n", "neither a path");
        assert_malformed("CONNECT b.org:443 HTTP/1.1\r\n" HOST "\r\n", "another host");
        assert_malformed("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:80\r\n\r\n", "another host");
        assert_malformed("CONNECT a.org HTTP/1.1\r\n" HOST "\r\n", "no port");
        assert_malformed("CONNECT / HTTP/1.1\r\n" HOST "\r\n", "names no host");
        assert_malformed("CONNECT a.org:443 HTTP/1.1\r\n\r\n", "another host");
        assert_malformed("CONNECT a.org:443 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n", "has a body");
        /* The same, said twice. */
        assert_host("GET http://A.org:80 HTTP/1.1\r\n" HOST "\r\n", "a.org", 80);
        assert_host("GET HTTP://a.org?x HTTP/1.1\r\nHost: a.org:80\r\n\r\n", "a.org", 80);
        assert_host("GET http://[::1]:8080/ HTTP/1.1\r\nHost: [0::1]:8080\r\n\r\n", "", 8080);
        assert_host("CONNECT a.org:443 HTTP/1.1\r\n" HOST "\r\n", "a.org", 443);
}

static void lines_have_one_form(void **state)
{
        (void)state;
        assert_malformed("GET / HTTP/1.1\nHost: a.org\n\n", "without a carriage return");
        assert_malformed(LINE "Host: a.org\n\r\n", "without a carriage return");
        assert_malformed(LINE HOST "\n", "without a carriage return");
        assert_malformed(LINE "X: a\rHost: b.org\r\n" HOST "\r\n", "within a line");
        assert_int_equal(read_text(LINE "X: a\r").kind, HEAD_NEEDS_MORE);
        assert_malformed(LINE "X: a\rb", "within a line");
        assert_malformed(LINE "X: a\r\r\n", "within a line");
}

static void strange_characters_are_refused(void **state)
{
        (void)state;
        assert_malformed(LINE "X: a\0b\r\n" HOST "\r\n", "NUL");
        assert_malformed(LINE "X: a\x01\r\n" HOST "\r\n", "no field may have");
        assert_malformed(LINE "X: a\x7f\r\n" HOST "\r\n", "no field may have");
        assert_malformed(LINE "Host : a.org\r\n\r\n", "not a word");
        assert_malformed(LINE "Host\t: a.org\r\n\r\n", "not a word");
        assert_malformed(LINE ": a.org\r\n\r\n", "not a word");
        assert_malformed(LINE "Host\r\n\r\n", "not a word");
        assert_malformed(LINE "Ho\xc3\xa9st: a.org\r\n\r\n", "not a word");
        assert_malformed(LINE HOST " b.org\r\n\r\n", "folded");
        assert_malformed(LINE HOST "\tb.org\r\n\r\n", "folded");
        assert_malformed(LINE " Host: a.org\r\n\r\n", "folded");
        assert_malformed("GET  / HTTP/1.1\r\n" HOST "\r\n", "first line");
        assert_malformed("GET / HTTP/1.1 \r\n" HOST "\r\n", "neither of");
        assert_malformed("GET /  HTTP/1.1\r\n" HOST "\r\n", "neither of");
        assert_malformed("GET /a b HTTP/1.1\r\n" HOST "\r\n", "neither of");
        assert_malformed("GET /\t HTTP/1.1\r\n" HOST "\r\n", "target has characters");
        assert_malformed("GET /\r\n" HOST "\r\n", "first line");
        assert_malformed("GET\r\n" HOST "\r\n", "first line");
        assert_malformed("GET / HTTP/1.2\r\n" HOST "\r\n", "neither of");
        assert_malformed("GET / HTTP/2.0\r\n" HOST "\r\n", "neither of");
        assert_malformed("GET / http/1.1\r\n" HOST "\r\n", "neither of");
        assert_malformed("G(T / HTTP/1.1\r\n" HOST "\r\n", "not a word");
        assert_malformed("SSH-2.0-OpenSSH_9.2\r\n", "first line");
}

static void what_does_not_begin_like_http_is_told_at_once(void **state)
{
        (void)state;
        assert_int_equal(read_text("\x16\x03\x01").kind, HEAD_NOT_HTTP);
        assert_int_equal(read_text("\r\n" LINE HOST "\r\n").kind, HEAD_NOT_HTTP);
        assert_int_equal(read_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").kind, HEAD_NOT_HTTP);
        assert_int_equal(read_text("PRI * HTTP/2.0\r\n").kind, HEAD_NOT_HTTP);
        assert_int_equal(read_text("PRI * HTTP/2.0\r").kind, HEAD_NEEDS_MORE);
}

static void a_body_has_one_length(void **state)
{
        struct head head = read_text("POST / HTTP/1.1\r\n" HOST "Content-Length: 0042\r\n\r\nrest");

        (void)state;
        assert_int_equal(head.body, HEAD_BODY_LENGTH);
        assert_int_equal(head.body_length, 42);
        assert_int_equal(head.length, 54);
        assert_int_equal(read_text(LINE HOST "Content-Length: 0\r\n\r\n").body, HEAD_BODY_NONE);
        assert_int_equal(read_text(LINE HOST "Transfer-Encoding: Chunked\r\n\r\n").body, HEAD_BODY_CHUNKED);
        assert_malformed(LINE HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "two Content-Length");
        assert_malformed(LINE HOST "Content-Length: 1, 1\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Content-Length: +1\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Content-Length: -1\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Content-Length: 0x1\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Content-Length:\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Content-Length: 18446744073709551617\r\n\r\n", "no number");
        assert_malformed(LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "forbids one");
        assert_malformed(LINE HOST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "forbids one");
        assert_malformed(LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", "not chunked");
        assert_malformed(LINE HOST "Transfer-Encoding: identity\r\n\r\n", "not chunked");
        assert_malformed(LINE HOST "Transfer-Encoding: xchunked\r\n\r\n", "not chunked");
        assert_malformed(LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
                         "two Transfer");
        assert_malformed(LINE HOST "Transfer-Encoding: \x0b"
                                   "chunked\r\n\r\n",
                         "no field may have");
        assert_malformed("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "forbids one");
        assert_true(read_text(LINE HOST "Upgrade: h2c\r\n\r\n").wants_upgrade);
}

static void a_head_has_a_length(void **state)
{
        size_t size = HEAD_MAX + 100, used = LENGTH(LINE HOST);
        char *text = malloc(size);

        (void)state;
        assert_non_null(text);
        memset(text, 'a', size);
        memcpy(text, LINE HOST "X: ", used + 3);
        assert_int_equal(read_bytes(text, HEAD_MAX - 1).kind, HEAD_NEEDS_MORE);
        assert_int_equal(read_bytes(text, HEAD_MAX).kind, HEAD_TOO_LONG);
        memcpy(text + HEAD_MAX - 4, "\r\n\r\n", 4);
        assert_int_equal(read_bytes(text, HEAD_MAX).kind, HEAD_HOST);
        assert_int_equal(read_bytes(text, size).kind, HEAD_HOST);
        memcpy(text + HEAD_MAX - 4, "aaa\r\n\r\n", 7);
        assert_int_equal(read_bytes(text, size).kind, HEAD_TOO_LONG);
        free(text);
}

static void read_damaged(const uint8_t *bytes, size_t length, void *state)
{
        struct head head = head_read((const char *)bytes, length);
        size_t *kinds = state;

        kinds[head.kind]++;
        assert_true((head.kind == HEAD_HOST) == (*head.host || head.is_address));
        assert_true((head.kind == HEAD_MALFORMED) == (head.reason != NULL));
        assert_true((head.kind == HEAD_HOST || head.kind == HEAD_NO_HOST) == (head.length > 0));
        assert_true(head.length <= length);
}

static void damaged_heads_do_no_harm(void **state)
{
        size_t kinds[HEAD_NOT_HTTP + 1] = { 0 };

        (void)state;
        read_every_mutation(from_curl, LENGTH(from_curl), read_damaged, kinds);
        read_every_mutation(from_node, LENGTH(from_node), read_damaged, kinds);
        read_every_mutation(to_proxy, LENGTH(to_proxy), read_damaged, kinds);
        read_every_mutation(connecting, LENGTH(connecting), read_damaged, kinds);
        read_every_mutation(chunked, LENGTH(chunked), read_damaged, kinds);
        assert_true(kinds[HEAD_HOST] && kinds[HEAD_NO_HOST] && kinds[HEAD_MALFORMED] && kinds[HEAD_NOT_HTTP]);
}

/* ---- bodies --------------------------------------------------------------------------------------------- */

/* Walks in pieces of so many bytes; returns what belongs to the body. */
static size_t walk(const struct head *head, const char *bytes, size_t length, size_t piece,
                   enum body_state *out)
{
        struct body body;
        size_t at = 0, taken = 1;

        body_init(&body, head);
        while (at < length && taken) {
                taken = body_walk(&body, bytes + at, length - at < piece ? length - at : piece);
                at += taken;
        }
        *out = body.state;
        return at;
}

static void a_body_ends_where_its_length_says(void **state)
{
        static const struct head none = { .body = HEAD_BODY_NONE },
                                 ten = { .body = HEAD_BODY_LENGTH, .body_length = 10 };
        enum body_state end;

        (void)state;
        for (size_t piece = 1; piece < 20; piece++) {
                assert_int_equal(walk(&none, "GET", 3, piece, &end), 0);
                assert_int_equal(end, BODY_DONE);
                assert_int_equal(walk(&ten, "0123456789GET", 13, piece, &end), 10);
                assert_int_equal(end, BODY_DONE);
                assert_int_equal(walk(&ten, "012345678", 9, piece, &end), 9);
                assert_int_equal(end, BODY_DATA);
        }
}

static void chunks_end_with_an_empty_one(void **state)
{
        static const struct head head = { .body = HEAD_BODY_CHUNKED };
        static const char whole[] = "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n",
                          next[] = "GET / HTTP/1.1\r\n";
        static const char *const wrong[] = { "\r\n",
                                             "g\r\n",
                                             "3;x=y\nabc",
                                             ";x\r\nabc",
                                             "3;x\ry\r\nabc",
                                             "3 ;x\r\nabc",
                                             "3;\x01\r\nabc",
                                             "3 \r\nabc",
                                             "0x3\r\nabc",
                                             "3\nabc",
                                             "3\r\nabcd\r\n",
                                             "3\r\nabc\n",
                                             "-1\r\n",
                                             "0\r\nX: y\n\r\n",
                                             "0\r\nX : y\r\n\r\n",
                                             "0\r\n: y\r\n\r\n",
                                             "0\r\nX: y\r\n z\r\n\r\n",
                                             "0\r\nX: \x7f\r\n\r\n",
                                             "0\r\nX: y\rz\r\n\r\n",
                                             "0\r\nhost: a.org\r\n\r\n",
                                             "0\r\nX: y\r\nContent-Length: 3\r\n\r\n",
                                             "0\r\nUpgrade: h2c\r\n\r\n",
                                             "0\r\nTransfer-Encoding: chunked\r\n\r\n",
                                             "0\r\n\n",
                                             "3\rabc",
                                             " 3\r\nabc",
                                             "0\r\nGET /",
                                             "0000000000000001\r\na" };
        char text[64];
        enum body_state end;

        (void)state;
        strcpy(text, whole);
        strcat(text, next);
        for (size_t piece = 1; piece < 50; piece++) {
                assert_int_equal(walk(&head, text, strlen(text), piece, &end), LENGTH(whole));
                assert_int_equal(end, BODY_DONE);
                for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                        walk(&head, wrong[i], strlen(wrong[i]), piece, &end);
                        if (end != BODY_MALFORMED)
                                fail_msg("'%s' is not malformed", wrong[i]);
                }
        }
}

static void what_is_beside_the_chunks_is_read_over(void **state)
{
        static const struct head head = { .body = HEAD_BODY_CHUNKED };
        static const char *const right[] = {
                "3;name=value\r\nabc\r\n0\r\n\r\n",
                "3;a;b=\"c; d\"\r\nabc\r\n0;last\r\n\r\n",
                "3\r\nabc\r\n0\r\nChecksum: \xc3\xa4 b\tc\r\nX-Hosts:\r\nHosts: a\r\n\r\n",
        };
        char text[9000];
        enum body_state end;

        (void)state;
        for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
                snprintf(text, sizeof(text), "%sGET /", right[i]);
                for (size_t piece = 1; piece < 80; piece++) {
                        assert_int_equal(walk(&head, text, strlen(text), piece, &end), strlen(right[i]));
                        assert_int_equal(end, BODY_DONE);
                }
        }
        /* Not without end. */
        memset(text, 'a', sizeof(text));
        memcpy(text, "3;", 2);
        walk(&head, text, 8000, 8000, &end);
        assert_int_equal(end, BODY_EXTENSION);
        walk(&head, text, sizeof(text), sizeof(text), &end);
        assert_int_equal(end, BODY_MALFORMED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(real_clients_name_their_host),
                cmocka_unit_test(every_beginning_needs_more),
                cmocka_unit_test(hosts_are_read_in_one_form),
                cmocka_unit_test(a_request_may_have_no_host),
                cmocka_unit_test(what_is_no_host_is_refused),
                cmocka_unit_test(two_hosts_are_refused),
                cmocka_unit_test(lines_have_one_form),
                cmocka_unit_test(strange_characters_are_refused),
                cmocka_unit_test(what_does_not_begin_like_http_is_told_at_once),
                cmocka_unit_test(a_body_has_one_length),
                cmocka_unit_test(a_head_has_a_length),
                cmocka_unit_test(damaged_heads_do_no_harm),
                cmocka_unit_test(a_body_ends_where_its_length_says),
                cmocka_unit_test(what_is_beside_the_chunks_is_read_over),
                cmocka_unit_test(chunks_end_with_an_empty_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
