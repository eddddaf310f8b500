/* test_allow.c: what the list of network.connect allows, by which entry, and what no entry can give by accident. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/allow.h"
#include "net/ranges.h"
#include "scratch.h"
#include "shortage.h"

static struct allow *listed_items(const char *const *items, size_t count)
{
        struct strings entries = { 0 };
        struct allow *allow = NULL;
        abatis_error err = { .message = "" };

        for (size_t i = 0; i < count; i++)
                assert_int_equal(strings_add(&entries, items[i], NULL), 0);
        if (allow_new(&entries, &allow, &err) < 0)
                fail_msg("%s", err.message);
        /* The list keeps what it needs. */
        strings_done(&entries);
        return allow;
}

#define listed(...)                                        \
        listed_items((const char *const[]){ __VA_ARGS__ }, \
                     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static struct address address_of(const char *text)
{
        struct address address;

        if (!address_parse(text, strlen(text), &address))
                fail_msg("'%s' is no address", text);
        return address;
}

static const char *by_address(const struct allow *allow, const char *text, uint16_t port)
{
        struct address address = address_of(text);

        return allow_address(allow, &address, TRANSPORT_TCP, port);
}

static const char *by_name(const struct allow *allow, const char *name, uint16_t port)
{
        return allow_name_port(allow, name, TRANSPORT_TCP, port);
}

static void assert_text(const char *found, const char *wanted)
{
        if (!found || !wanted) {
                if (found != wanted)
                        fail_msg("'%s' instead of '%s'", found ? found : "(nothing)",
                                 wanted ? wanted : "(nothing)");
                return;
        }
        assert_string_equal(found, wanted);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

static void a_name_is_allowed_with_its_ports_and_by_its_entry(void **state)
{
        struct allow *allow =
                listed("Example.org:443", "example.org:8000-8099", "b.example:*", "[2001:db8::1]:1");

        (void)state;
        assert_text(by_name(allow, "example.org", 443), "Example.org:443");
        assert_text(by_name(allow, "EXAMPLE.ORG.", 443), "Example.org:443");
        assert_text(by_name(allow, "example.org", 8050), "example.org:8000-8099");
        assert_text(by_name(allow, "example.org", 80), NULL);
        assert_text(by_name(allow, "b.example", 1), "b.example:*");
        assert_text(by_name(allow, "b.example", 65535), "b.example:*");
        assert_text(allow_name(allow, "example.org"), "Example.org:443");
        assert_text(allow_name(allow, "www.example.org"), NULL);
        assert_text(allow_name(allow, "org"), NULL);
        assert_text(allow_name(allow, "notexample.org"), NULL);
        assert_text(allow_name(allow, "example.org.evil.example"), NULL);
        assert_text(allow_name(allow, ""), NULL);
        assert_text(allow_name(allow, "."), NULL);
        assert_text(allow_name(allow, "example.org.."), NULL);
        assert_text(allow_name(allow, "example.org\n"), NULL);
        allow_free(allow);
}

static void a_wildcard_is_below_never_the_name_itself(void **state)
{
        struct allow *allow = listed("*.example.org:443", "*.deep.example.org:80", "www.example.org:8080");

        (void)state;
        assert_text(by_name(allow, "a.example.org", 443), "*.example.org:443");
        assert_text(by_name(allow, "a.b.c.example.org", 443), "*.example.org:443");
        assert_text(by_name(allow, "example.org", 443), NULL);
        assert_text(by_name(allow, "aexample.org", 443), NULL);
        assert_text(allow_name(allow, "example.org"), NULL);
        /* Whichever entry has the port. */
        assert_text(by_name(allow, "www.example.org", 443), "*.example.org:443");
        assert_text(by_name(allow, "www.example.org", 8080), "www.example.org:8080");
        assert_text(by_name(allow, "x.deep.example.org", 80), "*.deep.example.org:80");
        assert_text(by_name(allow, "x.deep.example.org", 443), "*.example.org:443");
        assert_text(by_name(allow, "deep.example.org", 80), NULL);
        /* The nearest one is named. */
        assert_text(allow_name(allow, "x.deep.example.org"), "*.deep.example.org:80");
        allow_free(allow);
}

static void every_name_is_no_address_and_not_the_host(void **state)
{
        struct allow *allow = listed("*:443"), *with_host = listed("*:443", "host.abatis:5432");

        (void)state;
        assert_text(by_name(allow, "anything.example", 443), "*:443");
        assert_text(by_name(allow, "single", 443), "*:443");
        assert_text(by_name(allow, "anything.example", 80), NULL);
        assert_text(by_name(allow, "host.abatis", 443), NULL);
        assert_text(by_name(allow, "localhost", 443), NULL);
        assert_text(by_name(allow, "a.localhost", 443), NULL);
        assert_text(by_name(allow, "127.0.0.1", 443), NULL);
        assert_text(by_name(allow, "127.1", 443), NULL);
        assert_text(by_address(allow, "93.184.216.34", 443), NULL);
        assert_text(by_name(with_host, "host.abatis", 5432), "host.abatis:5432");
        assert_text(by_name(with_host, "host.abatis", 443), NULL);
        allow_free(allow);
        allow_free(with_host);
}

static void udp_and_tcp_are_apart(void **state)
{
        struct allow *allow = listed("a.example:443", "b.example:443/udp", "192.0.2.0/24:53/udp");
        struct address address = address_of("192.0.2.7");

        (void)state;
        assert_text(allow_name_port(allow, "a.example", TRANSPORT_UDP, 443), NULL);
        assert_text(allow_name_port(allow, "b.example", TRANSPORT_UDP, 443), "b.example:443/udp");
        assert_text(allow_name_port(allow, "b.example", TRANSPORT_TCP, 443), NULL);
        assert_text(allow_name(allow, "b.example"), "b.example:443/udp");
        assert_text(allow_address(allow, &address, TRANSPORT_UDP, 53), "192.0.2.0/24:53/udp");
        assert_text(allow_address(allow, &address, TRANSPORT_TCP, 53), NULL);
        allow_free(allow);
}

static void the_ports_of_a_name_are_those_of_all_its_entries(void **state)
{
        struct allow *allow = listed("a.example:8000-8010", "*.example:8011,443", "*:80",
                                     "a.example:8005-8020,65535", "a.example:1/udp", "b.example:*");
        struct port_range ports[8];

        (void)state;
        assert_int_equal(allow_ports(allow, "a.example", TRANSPORT_TCP, ports, 8), 4);
        assert_true(ports[0].low == 80 && ports[0].high == 80);
        assert_true(ports[1].low == 443 && ports[1].high == 443);
        assert_true(ports[2].low == 8000 && ports[2].high == 8020);
        assert_true(ports[3].low == 65535 && ports[3].high == 65535);
        assert_int_equal(allow_ports(allow, "a.example", TRANSPORT_UDP, ports, 8), 1);
        assert_true(ports[0].low == 1 && ports[0].high == 1);
        assert_int_equal(allow_ports(allow, "b.example", TRANSPORT_TCP, ports, 1), 1);
        assert_true(ports[0].low == 1 && ports[0].high == 65535);
        assert_int_equal(allow_ports(allow, "a.example", TRANSPORT_TCP, NULL, 0), 4);
        assert_int_equal(allow_ports(allow, "host.abatis", TRANSPORT_TCP, ports, 8), 0);
        allow_free(allow);
}

static void an_empty_list_allows_nothing(void **state)
{
        struct strings none = { 0 };
        struct allow *allow = NULL;

        (void)state;
        assert_int_equal(allow_new(&none, &allow, NULL), 0);
        assert_text(allow_name(allow, "example.org"), NULL);
        assert_text(by_address(allow, "192.0.2.1", 1), NULL);
        assert_int_equal(allow_ports(allow, "example.org", TRANSPORT_TCP, NULL, 0), 0);
        allow_free(allow);
}

static void a_wrong_entry_is_refused_and_leaves_nothing(void **state)
{
        struct strings entries = { 0 };
        struct allow *allow = NULL;
        abatis_error err;

        (void)state;
        strings_add(&entries, "a:1", NULL);
        strings_add(&entries, "a", NULL);
        assert_int_equal(allow_new(&entries, &allow, &err), ABATIS_E_INVALID);
        assert_null(allow);
        strings_done(&entries);
}

static void a_list_is_whole_or_memory_is_short(void **state)
{
        struct strings entries = { 0 };
        long failures = 0;

        (void)state;
        assert_int_equal(strings_add(&entries, "*.example.org:443", NULL), 0);
        assert_int_equal(strings_add(&entries, "10.0.0.0/8:*", NULL), 0);
        for (long at = 1;; at++) {
                struct allow *allow = NULL;
                int r;

                countdown = at;
                has_failed = false;
                r = allow_new(&entries, &allow, NULL);
                countdown = 0;
                if (!has_failed) {
                        assert_int_equal(r, 0);
                        allow_free(allow);
                        break;
                }
                failures++;
                assert_int_equal(r, ABATIS_E_MEMORY);
                assert_null(allow);
        }
        assert_int_equal(failures, 2 + 2 * 3);
        strings_done(&entries);
}

static void many_entries_are_found_quickly(void **state)
{
        enum { COUNT = 20000 };
        struct strings entries = { 0 };
        struct allow *allow = NULL;
        char name[64];

        (void)state;
        for (unsigned i = 0; i < COUNT; i++) {
                snprintf(name, sizeof(name), "%sn%u.example.org:%u", i % 2 ? "*." : "", i * 7919 % COUNT,
                         i % 5 + 1);
                assert_int_equal(strings_add(&entries, name, NULL), 0);
        }
        assert_int_equal(allow_new(&entries, &allow, NULL), 0);
        for (unsigned i = 0; i < COUNT; i++) {
                snprintf(name, sizeof(name), "%sn%u.example.org", i % 2 ? "x.y." : "", i * 7919 % COUNT);
                assert_text(by_name(allow, name, (uint16_t)(i % 5 + 1)), entries.items[i]);
        }
        allow_free(allow);
        strings_done(&entries);
}

/* ---- addresses ------------------------------------------------------------------------------------------ */

static void an_address_is_allowed_by_itself_or_its_range(void **state)
{
        struct allow *allow = listed("93.184.216.34:443", "8.8.0.0/16:53", "[2606:2800::/32]:*",
                                     "10.0.0.0/8:5432", "127.0.0.1:8080");

        (void)state;
        assert_text(by_address(allow, "93.184.216.34", 443), "93.184.216.34:443");
        assert_text(by_address(allow, "93.184.216.34", 80), NULL);
        assert_text(by_address(allow, "93.184.216.35", 443), NULL);
        assert_text(by_address(allow, "::ffff:93.184.216.34", 443), "93.184.216.34:443");
        assert_text(by_address(allow, "8.8.255.255", 53), "8.8.0.0/16:53");
        assert_text(by_address(allow, "8.9.0.0", 53), NULL);
        assert_text(by_address(allow, "2606:2800:220:1:248:1893:25c8:1946", 9), "[2606:2800::/32]:*");
        assert_text(by_address(allow, "2606:2801::", 9), NULL);
        assert_text(by_address(allow, "10.255.1.2", 5432), "10.0.0.0/8:5432");
        assert_text(by_address(allow, "127.0.0.1", 8080), "127.0.0.1:8080");
        assert_text(by_address(allow, "127.0.0.2", 8080), NULL);
        assert_text(by_address(allow, "::1", 8080), NULL);
        allow_free(allow);
}

static void a_wide_range_gives_public_addresses_only(void **state)
{
        static const char *const others[] = { "127.0.0.1",
                                              "10.1.1.1",
                                              "192.168.0.1",
                                              "169.254.1.1",
                                              "0.0.0.0",
                                              "224.0.0.1",
                                              "255.255.255.255",
                                              "169.254.169.254",
                                              "168.63.129.16",
                                              "100.64.0.1",
                                              "198.18.0.1",
                                              "::1",
                                              "::",
                                              "fe80::1",
                                              "fc00::1",
                                              "fd00:ec2::254",
                                              "ff02::1",
                                              "2001:db8::1",
                                              "64:ff9b::7f00:1",
                                              "2002:7f00:1::",
                                              "::127.0.0.1",
                                              "::ffff:127.1.2.3" };
        struct allow *allow = listed("0.0.0.0/0:*", "[::/0]:*");

        (void)state;
        assert_text(by_address(allow, "8.8.8.8", 53), "0.0.0.0/0:*");
        assert_text(by_address(allow, "2606:2800::1", 53), "[::/0]:*");
        assert_text(by_address(allow, "64:ff9b::808:808", 53), "[::/0]:*");
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                if (by_address(allow, others[i], 80))
                        fail_msg("%s is allowed", others[i]);
        allow_free(allow);
}

static void metadata_has_to_be_named_itself(void **state)
{
        struct allow *allow = listed("169.254.0.0/16:80", "[fd00::/8]:80", "168.0.0.0/8:80");
        struct allow *named = listed("169.254.169.254:80", "[fd00:ec2::254]:80");

        (void)state;
        assert_text(by_address(allow, "169.254.1.1", 80), "169.254.0.0/16:80");
        assert_text(by_address(allow, "169.254.169.254", 80), NULL);
        assert_text(by_address(allow, "fd00::1", 80), "[fd00::/8]:80");
        assert_text(by_address(allow, "fd00:ec2::254", 80), NULL);
        assert_text(by_address(allow, "168.63.129.16", 80), NULL);
        assert_text(by_address(named, "169.254.169.254", 80), "169.254.169.254:80");
        assert_text(by_address(named, "::ffff:169.254.169.254", 80), "169.254.169.254:80");
        assert_text(by_address(named, "fd00:ec2::254", 80), "[fd00:ec2::254]:80");
        allow_free(allow);
        allow_free(named);
}

static bool answers(const struct allow *allow, const char *text, uint16_t port)
{
        struct address address = address_of(text);

        return allow_answer(allow, &address, TRANSPORT_TCP, port);
}

static void a_name_leads_to_public_addresses_and_to_named_ones(void **state)
{
        struct allow *allow = listed("*:*", "10.1.0.0/16:5432");

        (void)state;
        assert_true(answers(allow, "8.8.8.8", 443));
        assert_true(answers(allow, "2606:2800::1", 443));
        assert_true(answers(allow, "10.1.2.3", 5432));
        assert_true(answers(allow, "::ffff:10.1.2.3", 5432));
        assert_false(answers(allow, "10.1.2.3", 443));
        assert_false(answers(allow, "10.2.2.3", 5432));
        assert_false(answers(allow, "127.0.0.1", 5432));
        assert_false(answers(allow, "::ffff:127.0.0.1", 5432));
        assert_false(answers(allow, "64:ff9b::10.1.2.3", 5432));
        assert_false(answers(allow, "169.254.169.254", 80));
        allow_free(allow);
}

static const char *as_own(const struct allow *allow, const char *text, uint16_t port)
{
        struct address address = address_of(text);

        return allow_own_address(allow, &address, TRANSPORT_TCP, port);
}

static void the_hosts_own_address_is_not_in_everything(void **state)
{
        struct allow *wide = listed("0.0.0.0/0:443", "[::/0]:443"),
                     *named = listed("8.8.0.0/16:443", "[2606:2800::1]:443");

        (void)state;
        assert_text(by_address(wide, "8.8.8.8", 443), "0.0.0.0/0:443");
        assert_text(as_own(wide, "8.8.8.8", 443), NULL);
        assert_text(as_own(wide, "2606:2800::1", 443), NULL);
        assert_text(as_own(named, "8.8.8.8", 443), "8.8.0.0/16:443");
        assert_text(as_own(named, "::ffff:8.8.8.8", 443), "8.8.0.0/16:443");
        assert_text(as_own(named, "8.8.8.8", 80), NULL);
        assert_text(as_own(named, "2606:2800::1", 443), "[2606:2800::1]:443");
        allow_free(wide);
        allow_free(named);
}

static void every_address_has_its_range(void **state)
{
        static const struct {
                const char *text;
                enum range range;
        } cases[] = {
                { "8.8.8.8", RANGE_PUBLIC },
                { "1.0.0.0", RANGE_PUBLIC },
                { "172.15.255.255", RANGE_PUBLIC },
                { "172.16.0.0", RANGE_PRIVATE },
                { "172.31.255.255", RANGE_PRIVATE },
                { "172.32.0.0", RANGE_PUBLIC },
                { "10.0.0.0", RANGE_PRIVATE },
                { "11.0.0.0", RANGE_PUBLIC },
                { "192.168.255.255", RANGE_PRIVATE },
                { "192.169.0.0", RANGE_PUBLIC },
                { "100.63.255.255", RANGE_PUBLIC },
                { "100.64.0.0", RANGE_PRIVATE },
                { "100.127.255.255", RANGE_PRIVATE },
                { "100.128.0.0", RANGE_PUBLIC },
                { "100.100.100.200", RANGE_METADATA },
                { "127.255.255.255", RANGE_LOOPBACK },
                { "0.0.0.0", RANGE_UNSPECIFIED },
                { "0.1.2.3", RANGE_UNSPECIFIED },
                { "169.254.0.1", RANGE_LINK_LOCAL },
                { "169.254.169.253", RANGE_LINK_LOCAL },
                { "169.254.169.254", RANGE_METADATA },
                { "169.254.170.2", RANGE_METADATA },
                { "192.0.0.1", RANGE_RESERVED },
                { "192.0.0.192", RANGE_METADATA },
                { "192.0.2.1", RANGE_RESERVED },
                { "198.17.255.255", RANGE_PUBLIC },
                { "198.19.255.255", RANGE_RESERVED },
                { "198.51.100.1", RANGE_RESERVED },
                { "203.0.113.1", RANGE_RESERVED },
                { "223.255.255.255", RANGE_PUBLIC },
                { "224.0.0.1", RANGE_MULTICAST },
                { "239.255.255.255", RANGE_MULTICAST },
                { "240.0.0.1", RANGE_RESERVED },
                { "255.255.255.254", RANGE_RESERVED },
                { "255.255.255.255", RANGE_BROADCAST },
                { "::", RANGE_UNSPECIFIED },
                { "::1", RANGE_LOOPBACK },
                { "::2", RANGE_UNSPECIFIED }, /* 0.0.0.2 */
                { "::8.8.8.8", RANGE_PUBLIC },
                { "::10.0.0.1", RANGE_PRIVATE },
                { "::ffff:8.8.8.8", RANGE_PUBLIC },
                { "::ffff:127.0.0.1", RANGE_LOOPBACK },
                { "::ffff:169.254.169.254", RANGE_METADATA },
                { "::ffff:0:127.0.0.1", RANGE_LOOPBACK },
                { "64:ff9b::8.8.8.8", RANGE_PUBLIC },
                { "64:ff9b::192.168.0.1", RANGE_PRIVATE },
                { "64:ff9b:0:1::8.8.8.8", RANGE_RESERVED },
                { "64:ff9b:1::8.8.8.8", RANGE_PRIVATE },
                { "64:ff9b:1::127.0.0.1", RANGE_LOOPBACK },
                { "64:ff9b:1:a9fe:a9:fe00::", RANGE_METADATA },
                { "64:ff9b:1::7f:0:100:0", RANGE_LOOPBACK },
                { "2002:808:808::1", RANGE_PUBLIC },
                { "2002:7f00:1::1", RANGE_LOOPBACK },
                { "2002:a9fe:a9fe::", RANGE_METADATA },
                { "2001:0:808:808:0:0:f7f7:f7f7", RANGE_PUBLIC },
                { "2001:0:808:808:0:0:80ff:fffe", RANGE_LOOPBACK },
                { "2001:0:a00:1:0:0:f7f7:f7f7", RANGE_PRIVATE },
                { "2001:2::1", RANGE_RESERVED },
                { "2001:1ff::", RANGE_RESERVED },
                { "2001:200::1", RANGE_PUBLIC },
                { "2001:db8::1", RANGE_RESERVED },
                { "3fff:fff::1", RANGE_RESERVED },
                { "3fff:1000::1", RANGE_PUBLIC },
                { "2a00:1450::1", RANGE_PUBLIC },
                { "fc00::1", RANGE_PRIVATE },
                { "fdff::1", RANGE_PRIVATE },
                { "fd00:ec2::254", RANGE_METADATA },
                { "fd20:ce::254", RANGE_METADATA },
                { "fe80::1", RANGE_LINK_LOCAL },
                { "febf::1", RANGE_LINK_LOCAL },
                { "fec0::1", RANGE_PRIVATE },
                { "ff02::1", RANGE_MULTICAST },
                { "100::1", RANGE_RESERVED },
                { "4000::1", RANGE_RESERVED },
                { "5f00::1", RANGE_RESERVED },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct address address = address_of(cases[i].text);
                enum range range = address_range(&address);

                if (range != cases[i].range)
                        fail_msg("%s is %s, not %s", cases[i].text, range_name(range),
                                 range_name(cases[i].range));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_is_allowed_with_its_ports_and_by_its_entry),
                cmocka_unit_test(a_wildcard_is_below_never_the_name_itself),
                cmocka_unit_test(every_name_is_no_address_and_not_the_host),
                cmocka_unit_test(udp_and_tcp_are_apart),
                cmocka_unit_test(the_ports_of_a_name_are_those_of_all_its_entries),
                cmocka_unit_test(an_empty_list_allows_nothing),
                cmocka_unit_test(a_wrong_entry_is_refused_and_leaves_nothing),
                cmocka_unit_test(a_list_is_whole_or_memory_is_short),
                cmocka_unit_test(many_entries_are_found_quickly),
                cmocka_unit_test(an_address_is_allowed_by_itself_or_its_range),
                cmocka_unit_test(a_wide_range_gives_public_addresses_only),
                cmocka_unit_test(metadata_has_to_be_named_itself),
                cmocka_unit_test(a_name_leads_to_public_addresses_and_to_named_ones),
                cmocka_unit_test(the_hosts_own_address_is_not_in_everything),
                cmocka_unit_test(every_address_has_its_range),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
