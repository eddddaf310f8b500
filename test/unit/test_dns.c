/* test_dns.c: questions and answers of DNS, as real programs send them and as nobody should. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutations.h"
#include "net/dns.h"
#include "scratch.h"

/* What glibc asks with "options edns0". */
static const uint8_t from_glibc[] =
        "\xba\xa1\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x03www\x07"
        "example\x03org\x00\x00\x01\x00\x01\x00\x00\x29\x04\xb0\x00\x00\x00\x00\x00\x00";
/* What c-ares asks, without EDNS, for a text. */
static const uint8_t from_node[] = "\x7c\x78\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01t\x07"
                                   "example\x03org\x00\x00\x10\x00\x01";

/* The literals end in a byte that is not theirs. */
#define LENGTH(literal) (sizeof(literal) - 1)

/* ---- answering ------------------------------------------------------------------------------------------ */

static void real_questions_are_read(void **state)
{
        struct dns_query query;

        (void)state;
        assert_true(dns_read_query(from_glibc, LENGTH(from_glibc), &query));
        assert_int_equal(query.fault, DNS_NOERROR);
        assert_int_equal(query.id, 0xbaa1);
        assert_int_equal(query.flags, 0x0100);
        assert_string_equal(query.name, "www.example.org");
        assert_int_equal(query.type, DNS_A);
        assert_int_equal(query.class, DNS_INTERNET);
        assert_true(query.has_opt);
        assert_int_equal(query.payload, 1200);
        assert_true(dns_read_query(from_node, LENGTH(from_node), &query));
        assert_int_equal(query.fault, DNS_NOERROR);
        assert_string_equal(query.name, "t.example.org");
        assert_int_equal(query.type, DNS_TXT);
        assert_false(query.has_opt);
        assert_int_equal(query.payload, 512);
}

/* A query with these counts, flags and what follows the header. */
static struct dns_query read_made(uint16_t flags, const uint8_t counts[4], const void *rest, size_t length)
{
        uint8_t *bytes = malloc(12 + length);
        struct dns_query query;

        assert_non_null(bytes);
        memset(bytes, 0, 12);
        bytes[2] = (uint8_t)(flags >> 8);
        bytes[3] = (uint8_t)flags;
        for (size_t i = 0; i < 4; i++)
                bytes[5 + 2 * i] = counts[i];
        memcpy(bytes + 12, rest, length);
        assert_true(dns_read_query(bytes, 12 + length, &query));
        free(bytes);
        return query;
}

/* How many records of each section. */
static const uint8_t one[4] = { 1 }, with_opt[4] = { 1, 0, 0, 1 };

#define made(flags, counts, literal) read_made(flags, counts, literal, sizeof(literal) - 1)
#define counted(...) ((const uint8_t[4]){ __VA_ARGS__ })
#define A_IN "\x00\x01\x00\x01"
#define OPT "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"

static void capitals_do_not_matter_but_are_repeated(void **state)
{
        struct dns_query query = made(0x0100, one,
                                      "\x03wWw\x01"
                                      "A\x00" A_IN);
        uint8_t reply[512];

        (void)state;
        assert_string_equal(query.name, "www.a");
        assert_int_equal(dns_write_reply(&query, &(struct dns_reply){ .rcode = DNS_NXDOMAIN }, reply, 512),
                         12 + 7 + 4);
        assert_memory_equal(reply + 12,
                            "\x03wWw\x01"
                            "A",
                            7);
        assert_int_equal(reply[3] & 15, DNS_NXDOMAIN);
        assert_int_equal(reply[2], 0x81);
}

static void names_that_no_host_has_are_read_as_none(void **state)
{
        (void)state;
        assert_string_equal(made(0, one, "\x00" A_IN).name, "");
        assert_string_equal(made(0, one,
                                 "\x03"
                                 "a.b\x03org\x00" A_IN)
                                    .name,
                            "");
        assert_string_equal(made(0, one,
                                 "\x03"
                                 "a b\x00" A_IN)
                                    .name,
                            "");
        assert_string_equal(made(0, one,
                                 "\x03"
                                 "a\x00"
                                 "b\x00" A_IN)
                                    .name,
                            "");
        assert_string_equal(made(0, one, "\x02\xc3\xa9\x00" A_IN).name, "");
        assert_string_equal(made(0, one,
                                 "\x03"
                                 "127\x01"
                                 "1\x00" A_IN)
                                    .name,
                            "");
        assert_string_equal(made(0, one, "\x01*\x03org\x00" A_IN).name, "");
        assert_string_equal(made(0, one,
                                 "\x02"
                                 "-a\x00" A_IN)
                                    .name,
                            "");
        assert_int_equal(made(0, one, "\x02\xc3\xa9\x00" A_IN).fault, DNS_NOERROR);
        assert_string_equal(made(0, one, "\x05_dmar\x03org\x00" A_IN).name, "_dmar.org");
}

static void faults_are_told_apart(void **state)
{
        struct dns_query query;

        (void)state;
        assert_int_equal(made(0, one,
                              "\x01"
                              "a\x00" A_IN)
                                 .fault,
                         DNS_NOERROR); /* what the others are but for one thing */
        assert_int_equal(made(0, counted(0),
                              "\x01"
                              "a\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, counted(0), "").fault, DNS_FORMERR);
        assert_int_equal(made(0, counted(2),
                              "\x01"
                              "a\x00" A_IN "\x01"
                              "b\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, one,
                              "\x01"
                              "a\x00" A_IN "x")
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, one,
                              "\x01"
                              "a\x00" A_IN OPT)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, one, "\xc0\x0c" A_IN).fault, DNS_FORMERR);
        assert_int_equal(made(0, one,
                              "\x01"
                              "a\xc0\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, one,
                              "\x40"
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, one,
                              "\x01"
                              "a\x00\x00\x01\x00")
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0x0200, one,
                              "\x01"
                              "a\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0x2800, one,
                              "\x01"
                              "a\x00" A_IN)
                                 .fault,
                         DNS_NOTIMP); /* an update */
        assert_int_equal(made(0, one,
                              "\x07version\x04"
                              "bind\x00\x00\x10\x00\x03")
                                 .fault,
                         DNS_REFUSED);
        query = made(0, counted(1, 1),
                     "\x01"
                     "a\x00" A_IN "\x01"
                     "a\x00" A_IN "\x00\x00\x00\x00\x00\x04\x01\x02\x03\x04");
        assert_int_equal(query.fault, DNS_FORMERR);
        /* Nobody is answered by an answer. */
        assert_false(dns_read_query((const uint8_t *)"\x00\x00\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01"
                                                     "a\x00" A_IN,
                                    19, &query));
        assert_false(
                dns_read_query((const uint8_t *)"\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00", 11, &query));
        assert_false(dns_read_query((const uint8_t *)"", 0, &query));
}

static void of_edns_one_record_is_taken(void **state)
{
        static const uint8_t cookie[] =
                "\x01"
                "a\x00" A_IN "\x00\x00\x29\xff\xff\x00\x00\x80\x00\x00\x0c\x00\x0a\x00\x08"
                "12345678";
        struct dns_query query = read_made(0, with_opt, cookie, LENGTH(cookie));
        uint8_t reply[512];

        (void)state;
        assert_int_equal(query.fault, DNS_NOERROR);
        assert_true(query.has_opt && query.wants_dnssec);
        assert_int_equal(query.payload, 1232);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN OPT)
                                 .payload,
                         1232);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN "\x00\x00\x29\x00\x01\x00\x00\x00\x00\x00\x00")
                                 .payload,
                         512);
        /* Two of them; none where one is counted; another record; a name; options that are none. */
        assert_int_equal(made(0, counted(1, 0, 0, 2),
                              "\x01"
                              "a\x00" A_IN OPT OPT)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN "\x00" A_IN "\x00\x00\x00\x00\x00\x00")
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN "\x01"
                              "a" OPT)
                                 .fault,
                         DNS_FORMERR);
        assert_int_equal(made(0, with_opt,
                              "\x01"
                              "a\x00" A_IN "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x05\x00\x0a\x00\x02"
                              "1")
                                 .fault,
                         DNS_FORMERR);
        query = made(0, with_opt,
                     "\x01"
                     "a\x00" A_IN "\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00");
        assert_int_equal(query.fault, DNS_BADVERS);
        assert_int_equal(dns_write_reply(&query, &(struct dns_reply){ .rcode = query.fault }, reply, 512),
                         30);
        assert_int_equal(reply[3] & 15, 0);
        assert_int_equal(reply[12 + 7 + 5], 1);
}

static struct address numbered(bool is_v6, unsigned number)
{
        struct address address = { .is_v6 = is_v6, .bytes = { 198, 18 } };

        address.bytes[is_v6 ? 15 : 3] = (uint8_t)number;
        return address;
}

static void addresses_are_said_to_who_asks_for_their_kind(void **state)
{
        static const uint8_t wanted[] = "\xba\xa1\x81\x80\x00\x01\x00\x02\x00\x00\x00\x01\x03www\x07"
                                        "example\x03org\x00\x00\x01\x00\x01"
                                        "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x01"
                                        "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x02"
                                        "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
        struct address addresses[] = { numbered(false, 1), numbered(true, 9), numbered(false, 2) };
        struct dns_reply reply = { .addresses = addresses, .count = 3, .ttl = 60 };
        struct dns_query query;
        uint8_t bytes[512];

        (void)state;
        assert_true(dns_read_query(from_glibc, LENGTH(from_glibc), &query));
        assert_int_equal(dns_write_reply(&query, &reply, bytes, query.payload < 512 ? query.payload : 512),
                         LENGTH(wanted));
        assert_memory_equal(bytes, wanted, LENGTH(wanted));
        query.type = DNS_AAAA;
        assert_int_equal(dns_write_reply(&query, &reply, bytes, 512), LENGTH(wanted) - 32 + 28);
        assert_int_equal(bytes[7], 1);
        /* Of any other type the name has nothing. */
        query.type = DNS_HTTPS;
        assert_int_equal(dns_write_reply(&query, &reply, bytes, 512), LENGTH(wanted) - 32);
        assert_int_equal(bytes[7], 0);
        assert_int_equal(bytes[3] & 15, DNS_NOERROR);
        /* And nothing with an error. */
        query.type = DNS_A;
        reply.rcode = DNS_SERVFAIL;
        assert_int_equal(dns_write_reply(&query, &reply, bytes, 512), LENGTH(wanted) - 32);
        assert_int_equal(bytes[3] & 15, DNS_SERVFAIL);
}

static void what_does_not_fit_is_marked_as_cut_off(void **state)
{
        struct address addresses[100];
        struct dns_reply reply = { .addresses = addresses, .count = 100, .ttl = 60 };
        struct dns_query query;
        uint8_t bytes[4096];

        (void)state;
        for (unsigned i = 0; i < 100; i++)
                addresses[i] = numbered(false, i);
        assert_true(dns_read_query(from_glibc, LENGTH(from_glibc), &query));
        assert_int_equal(dns_write_reply(&query, &reply, bytes, query.payload), LENGTH(from_glibc));
        assert_true(bytes[2] & 2);
        assert_int_equal(bytes[7], 0);
        assert_int_equal(dns_write_reply(&query, &reply, bytes, sizeof(bytes)), LENGTH(from_glibc) + 1600);
        assert_false(bytes[2] & 2);
        assert_int_equal(bytes[7], 100);
        /* To the byte. */
        assert_int_equal(dns_write_reply(&query, &reply, bytes, LENGTH(from_glibc) + 1600),
                         LENGTH(from_glibc) + 1600);
        assert_int_equal(dns_write_reply(&query, &reply, bytes, LENGTH(from_glibc) + 1599),
                         LENGTH(from_glibc));
        assert_int_equal(dns_write_reply(&query, &reply, bytes, LENGTH(from_glibc) - 1), 0);
}

static void a_query_that_could_not_be_read_is_answered_by_a_header(void **state)
{
        struct dns_query query = made(0x0100, one, "\xc0\x0c" A_IN);
        uint8_t reply[12];

        (void)state;
        assert_int_equal(dns_write_reply(&query, &(struct dns_reply){ .rcode = query.fault }, reply, 12), 12);
        assert_memory_equal(reply, "\x00\x00\x81\x81\x00\x00\x00\x00\x00\x00\x00\x00", 12);
}

/* ---- asking --------------------------------------------------------------------------------------------- */

static void a_question_can_be_read_by_a_server(void **state)
{
        struct dns_asked asked = { 0x1234, "Example.ORG.", DNS_AAAA };
        uint8_t bytes[DNS_QUERY_MAX];
        struct dns_query query;
        size_t length = dns_write_query(&asked, bytes, sizeof(bytes));
        char longest[HOST_NAME_SIZE];

        (void)state;
        assert_true(dns_read_query(bytes, length, &query));
        assert_int_equal(query.fault, DNS_NOERROR);
        assert_int_equal(query.id, 0x1234);
        assert_string_equal(query.name, "example.org");
        assert_int_equal(query.type, DNS_AAAA);
        assert_int_equal(query.payload, 1232);
        memset(longest, 'a', 253);
        longest[63] = longest[127] = longest[191] = '.';
        longest[253] = '\0';
        asked.name = longest;
        assert_int_equal(dns_write_query(&asked, bytes, sizeof(bytes)), DNS_QUERY_MAX);
        assert_true(dns_read_query(bytes, DNS_QUERY_MAX, &query));
        assert_string_equal(query.name, longest);
        asked.name = "127.1";
        assert_int_equal(dns_write_query(&asked, bytes, sizeof(bytes)), 0);
        asked.name = "";
        assert_int_equal(dns_write_query(&asked, bytes, sizeof(bytes)), 0);
}

static const struct dns_asked www = { 0x0102, "www.example.org", DNS_A };

#define HEADER(flags, answers) "\x01\x02" flags "\x00\x01" answers "\x00\x00\x00\x00"
#define QUESTION      \
        "\x03www\x07" \
        "example\x03org\x00" A_IN
/* At 33: www is an alias of "edge" in a zone whose name lies in the question, at 16. */
#define ALIAS                                                  \
        "\xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x07\x04" \
        "edge\xc0\x10"
/* "edge" lies at 45. */
#define EDGE(ttl, address) "\xc0\x2d\x00\x01\x00\x01\x00\x00" ttl "\x00\x04" address

static const uint8_t with_alias[] = HEADER("\x81\x80", "\x00\x03")
        QUESTION ALIAS EDGE("\x00\x3c", "\x01\x02\x03\x04") EDGE("\x00\x50", "\x05\x06\x07\x08");

#define response(literal, answer) \
        dns_read_response((const uint8_t *)(literal), sizeof(literal) - 1, &www, answer)

static void aliases_lead_to_the_addresses(void **state)
{
        struct dns_answer answer;

        (void)state;
        assert_int_equal(dns_read_response(with_alias, LENGTH(with_alias), &www, &answer), DNS_RESPONSE);
        assert_int_equal(answer.rcode, DNS_NOERROR);
        assert_false(answer.is_truncated);
        assert_int_equal(answer.count, 2);
        assert_memory_equal(answer.addresses[0].bytes, "\x01\x02\x03\x04", 4);
        assert_memory_equal(answer.addresses[1].bytes, "\x05\x06\x07\x08", 4);
        assert_int_equal(answer.ttl, 60);
}

/* In any order; what belongs to others is left alone. */
static void addresses_of_other_names_do_not_count(void **state)
{
        struct dns_answer answer;

        (void)state;
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x03") QUESTION
                                  "\x04"
                                  "edge\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x09\x00\x04\x01\x02\x03\x04"
                                  "\x04"
                                  "evil\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04\x7f\x00\x00\x01"
                                  "\xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x02\xc0\x21",
                                  &answer),
                         DNS_RESPONSE);
        assert_int_equal(answer.count, 1);
        assert_int_equal(answer.addresses[0].bytes[0], 1);
        assert_int_equal(answer.ttl, 9);
        /* The alias has an address of its own beside it: the end of the chain counts. */
        assert_int_equal(
                response(
                        HEADER("\x81\x80", "\x00\x03") QUESTION ALIAS EDGE(
                                "\x00\x3c",
                                "\x01\x02\x03\x04") "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04\x7f\x00\x00\x01",
                        &answer),
                DNS_RESPONSE);
        assert_int_equal(answer.count, 1);
        assert_int_equal(answer.addresses[0].bytes[0], 1);
}

static void answers_to_others_are_not_ours(void **state)
{
        struct dns_answer answer = { .count = 4711 };

        (void)state;
        assert_int_equal(response("\x01\x03\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION, &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response("\x01\x02\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION, &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response("\x01\x02\xa8\x80\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION, &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x00") "\x03wwx\x07"
                                                                 "example\x03org\x00" A_IN,
                                  &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x00") "\x03www\x07"
                                                                 "example\x03org\x00\x00\x1c\x00\x01",
                                  &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x00") "\x03www\x07"
                                                                 "example\x03org\x00\x00\x01\x00\x03",
                                  &answer),
                         DNS_NOT_OURS);
        assert_int_equal(response("\x01\x02\x81\x80\x00\x00\x00\x00\x00\x00\x00\x00", &answer), DNS_NOT_OURS);
        assert_int_equal(response("\x01\x02\x81", &answer), DNS_NOT_OURS);
        assert_int_equal(answer.count, 4711);
        /* A refusal without the question is one. */
        assert_int_equal(response("\x01\x02\x81\x85\x00\x00\x00\x00\x00\x00\x00\x00", &answer), DNS_RESPONSE);
        assert_int_equal(answer.rcode, DNS_REFUSED);
        /* Capitals come back as somebody liked them. */
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x00") "\x03wWW\x07"
                                                                 "eXAMPLE\x03oRg\x00" A_IN,
                                  &answer),
                         DNS_RESPONSE);
        assert_int_equal(answer.count, 0);
        assert_int_equal(answer.ttl, 0);
}

static void errors_and_truncation_are_told(void **state)
{
        struct dns_answer answer;

        (void)state;
        assert_int_equal(response(HEADER("\x81\x83", "\x00\x01") QUESTION ALIAS, &answer), DNS_RESPONSE);
        assert_int_equal(answer.rcode, DNS_NXDOMAIN);
        assert_int_equal(answer.count, 0);
        /* Cut off in the middle of a record. */
        assert_int_equal(response(HEADER("\x83\x80", "\x00\x02") QUESTION ALIAS "\xc0", &answer),
                         DNS_RESPONSE);
        assert_true(answer.is_truncated);
        assert_int_equal(answer.count, 0);
}

static void nonsense_is_malformed(void **state)
{
        struct dns_answer answer = { .count = 4711 };

        (void)state;
        /* Fewer records than counted, a short address, two aliases, one with a tail. */
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x02") QUESTION ALIAS, &answer), DNS_MALFORMED);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x03\x7f\x00\x00",
                                  &answer),
                         DNS_MALFORMED);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x02") QUESTION ALIAS ALIAS, &answer),
                         DNS_MALFORMED);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x08\x04"
                                  "edge\xc0\x10x",
                                  &answer),
                         DNS_MALFORMED);
        /* A name that points to itself, forwards, and two that point to each other. */
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\xc0\x21\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00",
                                  &answer),
                         DNS_MALFORMED);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\xc0\x23\xc0\x21\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00",
                                  &answer),
                         DNS_MALFORMED);
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\x01"
                                  "a\xc0\x21\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00",
                                  &answer),
                         DNS_MALFORMED);
        /* An alias of itself. */
        assert_int_equal(response(HEADER("\x81\x80", "\x00\x01") QUESTION
                                  "\xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x02\xc0\x0c",
                                  &answer),
                         DNS_MALFORMED);
        /* More records than anybody needs. */
        assert_int_equal(response(HEADER("\x81\x80", "\x02\x01") QUESTION, &answer), DNS_MALFORMED);
        assert_int_equal(answer.count, 4711);
}

static void so_many_addresses_are_taken_and_no_more(void **state)
{
        static const uint8_t record[] = "\xc0\x0c\x00\x01\x00\x01\x80\x00\x00\x00\x00\x04\x01\x02\x03";
        uint8_t bytes[12 + 21 + 40 * 16] = HEADER("\x81\x80", "\x00\x28") QUESTION;
        struct dns_answer answer;

        (void)state;
        for (size_t i = 0; i < 40; i++) {
                memcpy(bytes + 33 + 16 * i, record, 15);
                bytes[33 + 16 * i + 15] = (uint8_t)i;
        }
        assert_int_equal(dns_read_response(bytes, sizeof(bytes), &www, &answer), DNS_RESPONSE);
        assert_int_equal(answer.count, DNS_ADDRESSES_MAX);
        assert_int_equal(answer.addresses[15].bytes[3], 15);
        assert_int_equal(answer.ttl, 0); /* a sign bit */
}

/* ---- damaged -------------------------------------------------------------------------------------------- */

static void read_as_query(const uint8_t *bytes, size_t length, void *state)
{
        struct dns_query query = { 0 };
        uint8_t reply[DNS_PAYLOAD_MAX];
        struct address address = numbered(false, 1);
        struct dns_reply said = { .addresses = &address, .count = 1 };
        size_t *faults = state;

        if (!dns_read_query(bytes, length, &query))
                return;
        said.rcode = query.fault;
        *faults += query.fault != DNS_NOERROR;
        assert_true(dns_write_reply(&query, &said, reply, query.payload) >= 12);
}

static void damaged_questions_do_no_harm(void **state)
{
        size_t faults = 0;

        (void)state;
        read_every_prefix(from_glibc, LENGTH(from_glibc), read_as_query, &faults);
        /* Every beginning that has a header is one. */
        assert_int_equal(faults, LENGTH(from_glibc) - 12);
        read_every_mutation(from_glibc, LENGTH(from_glibc), read_as_query, &faults);
        read_every_mutation(from_node, LENGTH(from_node), read_as_query, &faults);
}

static void read_as_response(const uint8_t *bytes, size_t length, void *state)
{
        struct dns_answer answer;
        size_t *taken = state;

        if (dns_read_response(bytes, length, &www, &answer) == DNS_RESPONSE) {
                assert_true(answer.count <= DNS_ADDRESSES_MAX);
                ++*taken;
        }
}

static void damaged_answers_do_no_harm(void **state)
{
        size_t taken = 0;

        (void)state;
        read_every_prefix(with_alias, LENGTH(with_alias), read_as_response, &taken);
        assert_int_equal(taken, 0);
        read_every_mutation(with_alias, LENGTH(with_alias), read_as_response, &taken);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(real_questions_are_read),
                cmocka_unit_test(capitals_do_not_matter_but_are_repeated),
                cmocka_unit_test(names_that_no_host_has_are_read_as_none),
                cmocka_unit_test(faults_are_told_apart),
                cmocka_unit_test(of_edns_one_record_is_taken),
                cmocka_unit_test(addresses_are_said_to_who_asks_for_their_kind),
                cmocka_unit_test(what_does_not_fit_is_marked_as_cut_off),
                cmocka_unit_test(a_query_that_could_not_be_read_is_answered_by_a_header),
                cmocka_unit_test(a_question_can_be_read_by_a_server),
                cmocka_unit_test(aliases_lead_to_the_addresses),
                cmocka_unit_test(addresses_of_other_names_do_not_count),
                cmocka_unit_test(answers_to_others_are_not_ours),
                cmocka_unit_test(errors_and_truncation_are_told),
                cmocka_unit_test(nonsense_is_malformed),
                cmocka_unit_test(so_many_addresses_are_taken_and_no_more),
                cmocka_unit_test(damaged_questions_do_no_harm),
                cmocka_unit_test(damaged_answers_do_no_harm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
