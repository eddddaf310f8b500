/* fuzz_dns.c: whatever comes as a question of DNS is answered within bounds, and whatever comes as an answer is read within them.
 *
 * links: src/net/dns*.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

/* What is answered is an answer to that question, with those addresses. */
static void check_answer(const struct dns_query *query, const struct dns_reply *said, const uint8_t *reply,
                         size_t length)
{
        struct dns_asked asked = { query->id, query->name, (enum dns_type)query->type };
        struct dns_answer answer;

        check(dns_read_response(reply, length, &asked, &answer) == DNS_RESPONSE);
        check(answer.rcode == said->rcode);
        check(answer.is_truncated ? !answer.count : answer.count == 1 && answer.ttl == said->ttl);
        if (answer.count)
                check(address_equals(&answer.addresses[0], &said->addresses[query->type == DNS_AAAA]));
}

static void answer_it(const uint8_t *data, size_t size)
{
        static const struct address addresses[] = { { .bytes = { 198, 18, 0, 1 } },
                                                    { .is_v6 = true, .bytes = { 0xfd } } };
        struct dns_reply said = { .addresses = addresses, .count = 2, .ttl = 60 };
        uint8_t reply[DNS_PAYLOAD_MAX];
        struct dns_query query;
        char again[HOST_NAME_SIZE];
        size_t length;

        if (!dns_read_query(data, size, &query))
                return;
        check(query.payload >= DNS_PAYLOAD_MIN && query.payload <= DNS_PAYLOAD_MAX);
        if (*query.name)
                check(host_name_read(query.name, strlen(query.name), again) && !strcmp(again, query.name));
        said.rcode = query.fault;
        length = dns_write_reply(&query, &said, reply, query.payload);
        check(length >= 12 && length <= query.payload);
        /* Nobody answers an answer. */
        check(!dns_read_query(reply, length, &query));
        if (!query.fault && *query.name && (query.type == DNS_A || query.type == DNS_AAAA))
                check_answer(&query, &said, reply, length);
        for (size_t room = 0; room < length; room++) {
                size_t less = dns_write_reply(&query, &said, reply, room);

                check(less <= room && (!less || less >= 12));
        }
}

static void read_it(const uint8_t *data, size_t size, enum dns_type type)
{
        struct dns_asked asked = { size < 2 ? 0 : (uint16_t)(data[0] << 8 | data[1]), "www.example.org",
                                   type };
        struct dns_answer answer;

        if (dns_read_response(data, size, &asked, &answer) != DNS_RESPONSE)
                return;
        check(answer.count <= DNS_ADDRESSES_MAX && answer.ttl <= INT32_MAX);
        check(!answer.count || (!answer.rcode && !answer.is_truncated));
        for (size_t i = 0; i < answer.count; i++)
                check(answer.addresses[i].is_v6 == (type == DNS_AAAA));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        answer_it(data, size);
        read_it(data, size, DNS_A);
        read_it(data, size, DNS_AAAA);
        return 0;
}
