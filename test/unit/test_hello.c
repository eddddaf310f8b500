/* test_hello.c: the first message of TLS clients: whom they name, and every way to name somebody twice. */
#include <stdlib.h>
#include <string.h>

#include "mutations.h"
#include "net/hello.h"
#include "scratch.h"

/* What "openssl s_client -tls1_2 -servername www.example.org" sends. */
static const uint8_t from_openssl[] =
        "\x16\x03\x01\x00\xcf\x01\x00\x00\xcb\x03\x03\xae\xf2\x6d\xa5\x37\x73\xf3\xff\xc0\x4a\xf4\x23\x82"
        "\x98\xfe\xdc\xfd\x0d\xf9\x5b\x0e\xab\xd1\x6a\x5f\x00\x5c\x30\xfe\x4f\xaf\xc7\x00\x00\x38\xc0\x2c"
        "\xc0\x30\x00\x9f\xcc\xa9\xcc\xa8\xcc\xaa\xc0\x2b\xc0\x2f\x00\x9e\xc0\x24\xc0\x28\x00\x6b\xc0\x23"
        "\xc0\x27\x00\x67\xc0\x0a\xc0\x14\x00\x39\xc0\x09\xc0\x13\x00\x33\x00\x9d\x00\x9c\x00\x3d\x00\x3c"
        "\x00\x35\x00\x2f\x00\xff\x01\x00\x00\x6a\x00\x00\x00\x14\x00\x12\x00\x00\x0f\x77\x77\x77\x2e\x65"
        "\x78\x61\x6d\x70\x6c\x65\x2e\x6f\x72\x67\x00\x0b\x00\x04\x03\x00\x01\x02\x00\x0a\x00\x0c\x00\x0a"
        "\x00\x1d\x00\x17\x00\x1e\x00\x19\x00\x18\x00\x23\x00\x00\x00\x16\x00\x00\x00\x17\x00\x00\x00\x0d"
        "\x00\x2a\x00\x28\x04\x03\x05\x03\x06\x03\x08\x07\x08\x08\x08\x09\x08\x0a\x08\x0b\x08\x04\x08\x05"
        "\x08\x06\x04\x01\x05\x01\x06\x01\x03\x03\x03\x01\x03\x02\x04\x02\x05\x02\x06\x02";

/* What node sends to registry.example.org: TLS 1.3. */
static const uint8_t from_node[] =
        "\x16\x03\x01\x01\x75\x01\x00\x01\x71\x03\x03\x16\x0e\xe1\xb2\x38\xfe\x38\xde\x50\xc2\xc1\x1c\x44"
        "\x2f\x83\xac\x7f\xe1\x31\x08\x66\x8f\xb9\x75\xcf\x25\x7d\x9c\xea\xc9\x42\x34\x20\x4c\x80\x4a\x25"
        "\x9f\xb3\x8a\x3e\x4c\x94\xdf\x3c\x5d\x72\xf0\xa3\x94\xb3\x74\x6a\xc3\x43\xab\x4a\xda\x8c\x76\x32"
        "\xb9\x72\x5d\x0e\x00\x76\x13\x02\x13\x03\x13\x01\xc0\x2f\xc0\x2b\xc0\x30\xc0\x2c\x00\x9e\xc0\x27"
        "\x00\x67\xc0\x28\x00\x6b\x00\xa3\x00\x9f\xcc\xa9\xcc\xa8\xcc\xaa\xc0\xaf\xc0\xad\xc0\xa3\xc0\x9f"
        "\xc0\x5d\xc0\x61\xc0\x57\xc0\x53\x00\xa2\xc0\xae\xc0\xac\xc0\xa2\xc0\x9e\xc0\x5c\xc0\x60\xc0\x56"
        "\xc0\x52\xc0\x24\x00\x6a\xc0\x23\x00\x40\xc0\x0a\xc0\x14\x00\x39\x00\x38\xc0\x09\xc0\x13\x00\x33"
        "\x00\x32\x00\x9d\xc0\xa1\xc0\x9d\xc0\x51\x00\x9c\xc0\xa0\xc0\x9c\xc0\x50\x00\x3d\x00\x3c\x00\x35"
        "\x00\x2f\x00\xff\x01\x00\x00\xb2\x00\x00\x00\x19\x00\x17\x00\x00\x14\x72\x65\x67\x69\x73\x74\x72"
        "\x79\x2e\x65\x78\x61\x6d\x70\x6c\x65\x2e\x6f\x72\x67\x00\x0b\x00\x04\x03\x00\x01\x02\x00\x0a\x00"
        "\x16\x00\x14\x00\x1d\x00\x17\x00\x1e\x00\x19\x00\x18\x01\x00\x01\x01\x01\x02\x01\x03\x01\x04\x00"
        "\x23\x00\x00\x00\x16\x00\x00\x00\x17\x00\x00\x00\x0d\x00\x2a\x00\x28\x04\x03\x05\x03\x06\x03\x08"
        "\x07\x08\x08\x08\x09\x08\x0a\x08\x0b\x08\x04\x08\x05\x08\x06\x04\x01\x05\x01\x06\x01\x03\x03\x03"
        "\x01\x03\x02\x04\x02\x05\x02\x06\x02\x00\x2b\x00\x05\x04\x03\x04\x03\x03\x00\x2d\x00\x02\x01\x01"
        "\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x20\x2f\x7a\xb6\x7e\xaf\x09\x1f\x57\xef\x44\x40\x4d\x03\x0e"
        "\x1e\x73\x44\xa5\xe9\xda\x46\x62\x0a\x15\xf3\x16\xcb\xc1\x50\x5e\x1a\x35";

#define LENGTH(literal) (sizeof(literal) - 1)

/* ---- making them ---------------------------------------------------------------------------------------- */

/* A hello is made from the inside out: extensions, the message round them, records round that. */
struct made {
        uint8_t bytes[40000];
        size_t length;
};

static void put(struct made *made, const void *bytes, size_t length)
{
        assert_true(made->length + length <= sizeof(made->bytes));
        memcpy(made->bytes + made->length, bytes, length);
        made->length += length;
}

static void put16(struct made *made, size_t value)
{
        const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

        put(made, bytes, 2);
}

static void put_extension(struct made *made, unsigned type, const void *bytes, size_t length)
{
        put16(made, type);
        put16(made, length);
        put(made, bytes, length);
}

/* The extension with one name of this type. */
static void put_name(struct made *made, uint8_t type, const void *name, size_t length)
{
        put16(made, 0);
        put16(made, length + 5);
        put16(made, length + 3);
        put(made, &type, 1);
        put16(made, length);
        put(made, name, length);
}

/* The whole message; without a length of extensions if there are none. */
static void wrap_message(struct made *made, const struct made *extensions)
{
        static const uint8_t start[] = "\x03\x03RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR\x00\x00\x02\x13\x01\x01\x00";
        size_t length = LENGTH(start) + (extensions ? 2 + extensions->length : 0);
        const uint8_t head[] = { 1, (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length };

        made->length = 0;
        put(made, head, 4);
        put(made, start, LENGTH(start));
        if (extensions) {
                put16(made, extensions->length);
                put(made, extensions->bytes, extensions->length);
        }
}

/* In records of so many bytes. */
static void wrap_records(struct made *made, const struct made *message, size_t size)
{
        made->length = 0;
        for (size_t at = 0; at < message->length; at += size) {
                size_t part = message->length - at < size ? message->length - at : size;

                put(made, "\x16\x03\x01", 3);
                put16(made, part);
                put(made, message->bytes + at, part);
        }
}

static struct hello read_exactly(const uint8_t *bytes, size_t length)
{
        uint8_t *copy = malloc(length ? length : 1);
        struct hello hello;

        assert_non_null(copy);
        memcpy(copy, bytes, length);
        hello = hello_read(copy, length);
        free(copy);
        return hello;
}

static struct hello read_wrapped(const struct made *extensions, size_t size)
{
        static struct made message, records;

        wrap_message(&message, extensions);
        wrap_records(&records, &message, size);
        return read_exactly(records.bytes, records.length);
}

static struct hello read_name(const void *name, size_t length)
{
        static struct made extensions;

        extensions.length = 0;
        put_name(&extensions, 0, name, length);
        return read_wrapped(&extensions, 16384);
}

static void assert_malformed(struct hello hello, const char *reason)
{
        assert_int_equal(hello.kind, HELLO_MALFORMED);
        assert_string_equal(hello.name, "");
        assert_non_null(hello.reason);
        if (!strstr(hello.reason, reason))
                fail_msg("'%s' is not about '%s'", hello.reason, reason);
}

/* ---- reading them --------------------------------------------------------------------------------------- */

static void real_clients_name_their_server(void **state)
{
        struct hello hello = read_exactly(from_openssl, LENGTH(from_openssl));

        (void)state;
        assert_int_equal(hello.kind, HELLO_NAME);
        assert_string_equal(hello.name, "www.example.org");
        assert_false(hello.has_ech);
        assert_null(hello.reason);
        hello = read_exactly(from_node, LENGTH(from_node));
        assert_int_equal(hello.kind, HELLO_NAME);
        assert_string_equal(hello.name, "registry.example.org");
}

static void need_more(const uint8_t *bytes, size_t length, void *state)
{
        (void)state;
        assert_int_equal(hello_read(bytes, length).kind, HELLO_NEEDS_MORE);
}

static void every_beginning_needs_more(void **state)
{
        static struct made extensions, message, records;

        (void)state;
        read_every_prefix(from_openssl, LENGTH(from_openssl), need_more, NULL);
        read_every_prefix(from_node, LENGTH(from_node), need_more, NULL);
        extensions.length = 0;
        put_name(&extensions, 0, "example.org", 11);
        wrap_message(&message, &extensions);
        for (size_t size = 1; size < 9; size++) {
                wrap_records(&records, &message, size);
                read_every_prefix(records.bytes, records.length, need_more, NULL);
        }
}

static void a_hello_may_lie_in_many_records(void **state)
{
        static struct made extensions;

        (void)state;
        extensions.length = 0;
        put_extension(&extensions, 43, "\x02\x03\x04", 3);
        put_name(&extensions, 0, "WWW.example.org.", 16);
        put_extension(&extensions, 16, "\x00\x03\x02h2", 5);
        for (size_t size = 1; size < 120; size++) {
                struct hello hello = read_wrapped(&extensions, size);

                assert_int_equal(hello.kind, HELLO_NAME);
                assert_string_equal(hello.name, "www.example.org");
        }
}

static void what_follows_in_other_records_is_not_looked_at(void **state)
{
        static struct made extensions, message, records;

        (void)state;
        extensions.length = 0;
        put_name(&extensions, 0, "example.org", 11);
        wrap_message(&message, &extensions);
        wrap_records(&records, &message, 50);
        put(&records, "\x17\x03\x03\x00\x05hello garbage", 18);
        assert_int_equal(read_exactly(records.bytes, records.length).kind, HELLO_NAME);
}

static void a_hello_may_name_nobody(void **state)
{
        static struct made extensions;

        (void)state;
        assert_int_equal(read_wrapped(NULL, 1000).kind, HELLO_NO_NAME);
        extensions.length = 0;
        assert_int_equal(read_wrapped(&extensions, 1000).kind, HELLO_NO_NAME);
        put_extension(&extensions, 43, "\x02\x03\x04", 3);
        assert_int_equal(read_wrapped(&extensions, 1000).kind, HELLO_NO_NAME);
}

static void an_encrypted_hello_is_told_beside_the_outer_name(void **state)
{
        static const uint8_t grease[] = "\x00\x00\x01\x00\x01\x2a\x00\x04"
                                        "EEEE\x00\x04PPPP";
        static struct made extensions;
        struct hello hello;

        (void)state;
        extensions.length = 0;
        put_name(&extensions, 0, "example.org", 11);
        put_extension(&extensions, 0xfe0d, grease, LENGTH(grease));
        hello = read_wrapped(&extensions, 1000);
        assert_int_equal(hello.kind, HELLO_NAME);
        assert_string_equal(hello.name, "example.org");
        assert_true(hello.has_ech);
        put_extension(&extensions, 0xfe0d, grease, LENGTH(grease));
        assert_malformed(read_wrapped(&extensions, 1000), "encrypted hello");
        extensions.length = 0;
        put_extension(&extensions, 0xfe0d, grease, LENGTH(grease));
        hello = read_wrapped(&extensions, 1000);
        assert_int_equal(hello.kind, HELLO_NO_NAME);
        assert_true(hello.has_ech);
        /* The inner one, and an empty one. */
        extensions.length = 0;
        put_extension(&extensions, 0xfe0d, "\x01", 1);
        assert_malformed(read_wrapped(&extensions, 1000), "encrypted hello");
        extensions.length = 0;
        put_extension(&extensions, 0xfe0d, "", 0);
        assert_int_equal(read_wrapped(&extensions, 1000).kind, HELLO_MALFORMED);
}

static void names_that_no_host_has_are_refused(void **state)
{
        static const char longest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaa";

        (void)state;
        assert_malformed(read_name("127.0.0.1", 9), "one name of a host");
        assert_malformed(read_name("::1", 3), "one name of a host");
        assert_malformed(read_name("a\0b.org", 7), "one name of a host");
        assert_malformed(read_name("example.org\0", 12), "one name of a host");
        assert_malformed(read_name("example.org\r\n", 13), "one name of a host");
        assert_malformed(read_name("b\xc3\xbc"
                                   "cher.example",
                                   14),
                         "one name of a host");
        assert_malformed(read_name("*.example.org", 13), "one name of a host");
        assert_malformed(read_name("example.org:443", 15), "one name of a host");
        assert_malformed(read_name("", 0), "one name of a host");
        assert_malformed(read_name(".", 1), "one name of a host");
        assert_malformed(read_name(longest, 257), "one name of a host");
        assert_int_equal(read_name(longest, 253).kind, HELLO_NAME);
}

static void several_names_are_refused(void **state)
{
        static struct made extensions;

        (void)state;
        extensions.length = 0;
        put_name(&extensions, 0, "a.example", 9);
        put_name(&extensions, 0, "b.example", 9);
        assert_malformed(read_wrapped(&extensions, 1000), "twice");
        extensions.length = 0;
        put_extension(&extensions, 0,
                      "\x00\x08\x00\x00\x01"
                      "a\x00\x00\x01"
                      "b",
                      10);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
        /* Of another type, with a list that is too short, too long, or empty; and no list at all. */
        extensions.length = 0;
        put_name(&extensions, 1, "a.example", 9);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
        extensions.length = 0;
        put_extension(&extensions, 0,
                      "\x00\x03\x00\x00\x01"
                      "a",
                      6);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
        extensions.length = 0;
        put_extension(&extensions, 0,
                      "\x00\x05\x00\x00\x01"
                      "a",
                      6);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
        extensions.length = 0;
        put_extension(&extensions, 0,
                      "\x00\x04\x00\x00\x01"
                      "ab",
                      7);
        assert_int_equal(read_wrapped(&extensions, 1000).kind, HELLO_MALFORMED);
        extensions.length = 0;
        put_extension(&extensions, 0, "\x00\x00", 2);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
        extensions.length = 0;
        put_extension(&extensions, 0, "", 0);
        assert_malformed(read_wrapped(&extensions, 1000), "one name");
}

static void what_is_no_hello_is_told_at_once(void **state)
{
        static struct made message, records;

        (void)state;
        assert_malformed(read_exactly((const uint8_t *)"GET", 3), "does not begin");
        assert_malformed(read_exactly((const uint8_t *)"\x80\x2e\x01\x03\x01", 5),
                         "does not begin"); /* SSL 2 */
        assert_malformed(read_exactly((const uint8_t *)"\x15\x03\x01\x00\x02\x02\x28", 7), "does not begin");
        assert_malformed(read_exactly((const uint8_t *)"\x16\x02", 2), "version");
        assert_malformed(read_exactly((const uint8_t *)"\x16\x03\x01\x00\x00", 5), "length");
        assert_malformed(read_exactly((const uint8_t *)"\x16\x03\x01\x40\x01", 5), "length");
        assert_malformed(read_exactly((const uint8_t *)"\x16\x03\x01\x00\x04\x02", 6), "no client hello");
        assert_int_equal(read_exactly((const uint8_t *)"", 0).kind, HELLO_NEEDS_MORE);
        /* Something else between its records, and behind it in the last. */
        wrap_message(&message, NULL);
        wrap_records(&records, &message, 20);
        records.bytes[25] = 23;
        assert_malformed(read_exactly(records.bytes, records.length), "does not begin");
        wrap_message(&message, NULL);
        put(&message, "x", 1);
        wrap_records(&records, &message, 1000);
        assert_malformed(read_exactly(records.bytes, records.length), "more in its record");
        assert_malformed(read_exactly(records.bytes, 9), "more in its record");
}

static void a_hello_has_a_length(void **state)
{
        static struct made extensions, message, records;
        static uint8_t filling[HELLO_MAX];

        (void)state;
        extensions.length = 0;
        put_extension(&extensions, 21, filling, 16000);
        put_name(&extensions, 0, "example.org", 11);
        assert_int_equal(read_wrapped(&extensions, 16384).kind, HELLO_NAME);
        /* It says itself that it will be too long. */
        assert_int_equal(read_exactly((const uint8_t *)"\x16\x03\x01\x40\x00\x01\x00\x40\x00", 9).kind,
                         HELLO_TOO_LONG);
        assert_int_equal(read_exactly((const uint8_t *)"\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9).kind,
                         HELLO_TOO_LONG);
        /* In so many records that it is, at the limit and when all is there. */
        wrap_message(&message, &extensions);
        wrap_records(&records, &message, 5);
        assert_int_equal(read_exactly(records.bytes, HELLO_MAX - 1).kind, HELLO_NEEDS_MORE);
        assert_int_equal(read_exactly(records.bytes, HELLO_MAX).kind, HELLO_TOO_LONG);
        assert_int_equal(read_exactly(records.bytes, records.length).kind, HELLO_TOO_LONG);
}

static void read_damaged(const uint8_t *bytes, size_t length, void *state)
{
        struct hello hello = hello_read(bytes, length);
        size_t *kinds = state;

        kinds[hello.kind]++;
        assert_true((hello.kind == HELLO_NAME) == (*hello.name != '\0'));
        assert_true((hello.kind == HELLO_MALFORMED) == (hello.reason != NULL));
}

static void damaged_hellos_do_no_harm(void **state)
{
        static struct made extensions, message, records;
        size_t kinds[HELLO_TOO_LONG + 1] = { 0 };

        (void)state;
        read_every_mutation(from_openssl, LENGTH(from_openssl), read_damaged, kinds);
        read_every_mutation(from_node, LENGTH(from_node), read_damaged, kinds);
        extensions.length = 0;
        put_name(&extensions, 0, "example.org", 11);
        put_extension(&extensions, 0xfe0d, "\x00\x01", 2);
        wrap_message(&message, &extensions);
        wrap_records(&records, &message, 7);
        read_every_mutation(records.bytes, records.length, read_damaged, kinds);
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                assert_true(kinds[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(real_clients_name_their_server),
                cmocka_unit_test(every_beginning_needs_more),
                cmocka_unit_test(a_hello_may_lie_in_many_records),
                cmocka_unit_test(what_follows_in_other_records_is_not_looked_at),
                cmocka_unit_test(a_hello_may_name_nobody),
                cmocka_unit_test(an_encrypted_hello_is_told_beside_the_outer_name),
                cmocka_unit_test(names_that_no_host_has_are_refused),
                cmocka_unit_test(several_names_are_refused),
                cmocka_unit_test(what_is_no_hello_is_told_at_once),
                cmocka_unit_test(a_hello_has_a_length),
                cmocka_unit_test(damaged_hellos_do_no_harm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
