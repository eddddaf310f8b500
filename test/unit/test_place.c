/* test_place.c: entries of network.connect, names and addresses: what is meant, and whatever could be meant in two ways. */
#include <stdlib.h>
#include <string.h>

#include "policy/place.h"
#include "scratch.h"

static struct place parsed(const char *text)
{
        struct place place = { 0 };
        abatis_error err = { .message = "" };

        if (place_parse(text, &place, &err) < 0)
                fail_msg("'%s': %s", text, err.message);
        return place;
}

static void assert_refused(const char *text, const char *why)
{
        struct place place = { .prefix = 4711 };
        abatis_error err = { 0 };

        if (place_parse(text, &place, &err) != ABATIS_E_INVALID)
                fail_msg("'%s' was not refused", text);
        assert_int_equal(place.prefix, 4711);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (!strstr(err.message, why))
                fail_msg("'%s': '%s' is not about '%s'", text, err.message, why);
        assert_int_equal(place_parse(text, &place, NULL), ABATIS_E_INVALID);
}

static void names_are_compared_in_lower_case_and_without_the_last_dot(void **state)
{
        static const char *const same[] = { "example.org:443", "Example.ORG:443", "example.org.:443" };
        struct place place;

        (void)state;
        for (size_t i = 0; i < 3; i++) {
                place = parsed(same[i]);
                assert_int_equal(place.kind, PLACE_NAME);
                assert_string_equal(place.name, "example.org");
                assert_int_equal(place.port_count, 1);
                assert_int_equal(place.ports[0].low, 443);
                assert_int_equal(place.ports[0].high, 443);
                assert_false(place.is_udp);
        }
        assert_string_equal(parsed("xn--bcher-kva.example:1").name, "xn--bcher-kva.example");
        assert_string_equal(parsed("_service.a_b.example:1").name, "_service.a_b.example");
        assert_string_equal(parsed("3com.com:1").name, "3com.com");
        assert_string_equal(parsed("host.abatis:5432").name, "host.abatis");
}

static void a_star_stands_for_whole_labels_in_front_or_for_every_name(void **state)
{
        struct place place = parsed("*.Example.org:443");

        (void)state;
        assert_int_equal(place.kind, PLACE_BELOW);
        assert_string_equal(place.name, "example.org");
        assert_int_equal(parsed("*:443").kind, PLACE_ANY_NAME);
        assert_refused("a*.example.org:1", "write *.example.org");
        assert_refused("*a.example.org:1", "write *.example.org");
        assert_refused("a.*.org:1", "write *.example.org");
        assert_refused("*.*.org:1", "write *.example.org");
        assert_refused("**.org:1", "write *.example.org");
        assert_refused("*.:1", "'*.:1' has");
}

static void addresses_and_ranges_are_of_both_families(void **state)
{
        struct place place = parsed("192.0.2.1:80");
        char text[ADDRESS_TEXT_SIZE];

        (void)state;
        assert_int_equal(place.kind, PLACE_ADDRESSES);
        assert_int_equal(place.prefix, 32);
        address_print(&place.base, text);
        assert_string_equal(text, "192.0.2.1");
        place = parsed("10.0.0.0/8:9");
        assert_int_equal(place.prefix, 8);
        assert_int_equal(parsed("0.0.0.0/0:9").prefix, 0);
        place = parsed("[2001:DB8::1]:443");
        assert_int_equal(place.prefix, 128);
        address_print(&place.base, text);
        assert_string_equal(text, "2001:db8::1");
        assert_int_equal(parsed("[2001:db8::/32]:443").prefix, 32);
        assert_int_equal(parsed("[::/0]:443").prefix, 0);
        assert_int_equal(parsed("[64:ff9b::192.0.2.1]:443").prefix, 128);
}

static void ports_are_sorted_and_joined(void **state)
{
        struct place place = parsed("a:443,80,8000-8099,8100,8050-8070,81");

        (void)state;
        assert_int_equal(place.port_count, 3);
        assert_int_equal(place.ports[0].low, 80);
        assert_int_equal(place.ports[0].high, 81);
        assert_int_equal(place.ports[1].low, 443);
        assert_int_equal(place.ports[1].high, 443);
        assert_int_equal(place.ports[2].low, 8000);
        assert_int_equal(place.ports[2].high, 8100);
        assert_true(place_has_port(&place, 8100));
        assert_false(place_has_port(&place, 8101));
        assert_false(place_has_port(&place, 79));
        place = parsed("a:*");
        assert_true(place_has_port(&place, 1) && place_has_port(&place, 65535));
        assert_false(place_has_port(&place, 0));
        assert_int_equal(parsed("a:65535,1-65534").port_count, 1);
        assert_int_equal(parsed("a:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31").port_count, 16);
        assert_refused("a:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33", "write several entries");
        assert_refused("a:8100-8000", "does not ascend");
        assert_refused("a:80-80", "does not ascend");
}

static void udp_has_to_be_said(void **state)
{
        (void)state;
        assert_true(parsed("a:443/udp").is_udp);
        assert_true(parsed("10.0.0.0/8:53,5353/udp").is_udp);
        assert_true(parsed("[2001:db8::/32]:*/udp").is_udp);
        assert_refused("a:443/tcp", "HOST:PORT/udp");
        assert_refused("a:443/", "HOST:PORT/udp");
        assert_refused("a:/udp", "HOST:PORT");
}

static void a_wrong_form_is_refused(void **state)
{
        static const char *const wrong[] = {
                "",         ":",         "a",
                ":80",      "a:",        "a:0",
                "a:080",    "a:65536",   "a:99999999999999999999",
                "a:x",      "a b:1",     "a:1 ",
                " a:1",     "a:-1",      "a:+1",
                "a:1.0",    "a:**",      "a:1,",
                "a:,1",     "a:1-",      "a:-2",
                "a:1--2",   "a:1-*",     "a:*,1",
                "a:1\n",    "a\t:1",     "::1:443",
                "[a:1",     "]:1",       "[::1]",
                "[::1]:",   "[::1]1",    "[::1]a:1",
                "a[::1]:1", "[[::1]]:1", "a:b:1",
                "[::1]::1",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
                assert_refused(wrong[i], "HOST:PORT");
        assert_refused("https://example.org:443", "is a URL");
        assert_refused("[a]:1", "brackets");
        assert_refused("[10.0.0.1]:1", "brackets");
        assert_refused("user@example.org:1", "no name of a host");
        assert_refused("-a.org:1", "no name of a host");
        assert_refused("a-.org:1", "no name of a host");
        assert_refused("a..org:1", "no name of a host");
        assert_refused(".org:1", "no name of a host");
        assert_refused("a.org..:1", "no name of a host");
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
        (void)state;
        /* Addresses to inet_aton(), names to a resolver. */
        assert_refused("127.1:1", "four decimal parts");
        assert_refused("2130706433:1", "four decimal parts");
        assert_refused("0x7f000001:1", "four decimal parts");
        assert_refused("0177.0.0.1:1", "four decimal parts");
        assert_refused("1.2.3.4.5:1", "four decimal parts");
        assert_refused("1.2.3.4.:1", "four decimal parts");
        assert_refused("example.0x1F:1", "four decimal parts");
        assert_refused("*.1:1", "four decimal parts");
        assert_refused("[::ffff:127.0.0.1]:1", "write the IPv4 address");
        assert_refused("[::ffff:0:0/96]:1", "write the IPv4 address");
        assert_refused("0.0.0.0:1", "every address or the loopback");
        assert_refused("[::]:1", "every address or the loopback");
        assert_refused("0.0.0.0/32:1", "every address or the loopback");
        /* One address, or all round it. */
        assert_refused("10.1.2.3/8:1", "first address");
        assert_refused("[2001:db8::1/32]:1", "first address");
        assert_refused("10.0.0.0/33:1", "range that is none");
        assert_refused("10.0.0.0/08:1", "range that is none");
        assert_refused("10.0.0.0/:1", "range that is none");
        assert_refused("[::/129]:1", "range that is none");
        assert_refused("example.org/24:1", "no address");
        assert_refused("[fe80::1%eth0]:1", "no address");
        assert_refused("[::1::2]:1", "no address");
        /* Letters that look alike. */
        assert_refused("b\xc3\xbc"
                       "cher.example:1",
                       "xn--");
        assert_refused("ex\xd0\xb0mple.org:443", "xn--");
        /* Nobody's, or two hosts'. */
        assert_refused("localhost:5432", "127.0.0.1 or host.abatis");
        assert_refused("a.LOCALHOST.:1", "127.0.0.1 or host.abatis");
        assert_refused("*.localhost:1", "127.0.0.1 or host.abatis");
        assert_refused("other.abatis:1", "only host.abatis");
        assert_refused("*.abatis:1", "only host.abatis");
        assert_refused("*.host.abatis:1", "only host.abatis");
}

static void a_name_has_253_characters_at_most(void **state)
{
        char text[300], name[HOST_NAME_SIZE] = "";

        (void)state;
        memset(text, 'a', sizeof(text));
        text[63] = text[127] = text[191] = '.';
        assert_true(host_name_read(text, 253, name));
        assert_int_equal(strlen(name), 253);
        assert_false(host_name_read(text, 254, name));
        text[253] = '.';
        assert_true(host_name_read(text, 254, name));
        text[63] = 'a';
        assert_false(host_name_read(text, 100, name)); /* a label of 64 and more */
}

static void a_name_is_below_another_by_whole_labels(void **state)
{
        (void)state;
        assert_true(host_name_is_below("a.example.org", "example.org"));
        assert_true(host_name_is_below("a.b.example.org", "example.org"));
        assert_false(host_name_is_below("example.org", "example.org"));
        assert_false(host_name_is_below(".example.org", "example.org"));
        assert_false(host_name_is_below("badexample.org", "example.org"));
        assert_false(host_name_is_below("org", "example.org"));
}

static void an_address_is_in_a_range_of_its_own_family(void **state)
{
        struct address base, address, last;
        char text[ADDRESS_TEXT_SIZE];

        (void)state;
        assert_true(address_parse("172.16.0.0", 10, &base) && address_parse("172.31.255.255", 14, &address));
        assert_true(address_is_in(&address, &base, 12));
        assert_false(address_is_in(&address, &base, 13));
        assert_true(address_is_in(&address, &base, 0));
        last = address_last(&base, 12);
        assert_true(address_equals(&last, &address));
        assert_true(address_parse("::ac10:0", 8, &address));
        assert_false(address_is_in(&address, &base, 0));
        last = address_last(&address, 33);
        address_print(&last, text);
        assert_string_equal(text, "::7fff:ffff:ffff:ffff:ffff:ffff");
        assert_true(address_parse("::ffff:10.0.0.1", 15, &address));
        address = address_unmapped(&address);
        address_print(&address, text);
        assert_string_equal(text, "10.0.0.1");
        /* The terminator counts too. */
        assert_false(address_parse("1.2.3.4\0005", 9, &address));
        assert_false(address_parse("", 0, &address));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_compared_in_lower_case_and_without_the_last_dot),
                cmocka_unit_test(a_star_stands_for_whole_labels_in_front_or_for_every_name),
                cmocka_unit_test(addresses_and_ranges_are_of_both_families),
                cmocka_unit_test(ports_are_sorted_and_joined),
                cmocka_unit_test(udp_has_to_be_said),
                cmocka_unit_test(a_wrong_form_is_refused),
                cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
                cmocka_unit_test(a_name_has_253_characters_at_most),
                cmocka_unit_test(a_name_is_below_another_by_whole_labels),
                cmocka_unit_test(an_address_is_in_a_range_of_its_own_family),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
