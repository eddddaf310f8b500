/* dns_server.c: reads what a client inside asks, and writes the answer. */
#include <string.h>

#include "net/dns.h"
#include "net/dns_wire.h"

enum { OPT_LENGTH = 11, POINTER_TO_QUESTION = 0xc000 | DNS_HEADER_LENGTH };

/* The options of an OPT record say nothing that we would heed, but they must be some. */
static void skip_options(struct dns_reader *reader, uint16_t length)
{
        struct dns_reader options = { reader->bytes, reader->at + length, reader->at, false };

        dns_skip(reader, length);
        while (!reader->has_failed && !options.has_failed && options.at < options.length) {
                dns_skip(&options, 2);
                dns_skip(&options, dns_get16(&options));
        }
        reader->has_failed |= options.has_failed;
}

static void read_opt(struct dns_reader *reader, struct dns_query *out)
{
        uint8_t root = dns_get8(reader), version;
        uint16_t type = dns_get16(reader), payload = dns_get16(reader);

        dns_skip(reader, 1);
        version = dns_get8(reader);
        out->wants_dnssec = dns_get16(reader) & 0x8000;
        skip_options(reader, dns_get16(reader));
        if (root || type != DNS_OPT)
                reader->has_failed = true;
        if (reader->has_failed)
                return;
        out->has_opt = true;
        out->payload = payload < DNS_PAYLOAD_MIN   ? DNS_PAYLOAD_MIN
                       : payload > DNS_PAYLOAD_MAX ? DNS_PAYLOAD_MAX
                                                   : payload;
        if (version)
                out->fault = DNS_BADVERS;
}

static void read_question(struct dns_reader *reader, struct dns_query *out)
{
        size_t start = reader->at;
        struct dns_name name;

        dns_get_name(reader, false, &name);
        out->type = dns_get16(reader);
        out->class = dns_get16(reader);
        if (reader->has_failed)
                return;
        out->question_length = reader->at - start;
        memcpy(out->question, reader->bytes + start, out->question_length);
        dns_name_print(&name, out->name);
}

bool dns_read_query(const uint8_t *bytes, size_t length, struct dns_query *out)
{
        struct dns_reader reader = { bytes, length, 0, false };
        struct dns_query query = { .payload = DNS_PAYLOAD_MIN };
        uint16_t counts[4];

        query.id = dns_get16(&reader);
        query.flags = dns_get16(&reader);
        for (size_t i = 0; i < 4; i++)
                counts[i] = dns_get16(&reader);
        if (reader.has_failed || query.flags & DNS_FLAG_RESPONSE)
                return false;
        if (query.flags & DNS_FLAG_OPCODE) {
                query.fault = DNS_NOTIMP;
                *out = query;
                return true;
        }
        reader.has_failed =
                counts[0] != 1 || counts[1] || counts[2] || counts[3] > 1 || query.flags & DNS_FLAG_TRUNCATED;
        if (!reader.has_failed)
                read_question(&reader, &query);
        if (!reader.has_failed && counts[3])
                read_opt(&reader, &query);
        if (reader.has_failed || reader.at != length)
                query.fault = DNS_FORMERR;
        else if (!query.fault && query.class != DNS_INTERNET)
                query.fault = DNS_REFUSED;
        *out = query;
        return true;
}

/* ---- the answer ----------------------------------------------------------------------------------------- */

static bool is_wanted(const struct dns_query *query, const struct address *address)
{
        return query->class == DNS_INTERNET && query->type == (address->is_v6 ? DNS_AAAA : DNS_A);
}

static uint16_t count_wanted(const struct dns_query *query, const struct dns_reply *reply)
{
        size_t count = 0;

        if (reply->rcode != DNS_NOERROR || !query->question_length)
                return 0;
        for (size_t i = 0; i < reply->count; i++)
                count += is_wanted(query, &reply->addresses[i]);
        /* More would not fit into a message anyway, and must not look like few. */
        return count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
}

static void put_addresses(struct dns_writer *writer, const struct dns_query *query,
                          const struct dns_reply *reply, uint16_t count)
{
        for (size_t i = 0; i < reply->count && count; i++) {
                const struct address *address = &reply->addresses[i];

                if (!is_wanted(query, address))
                        continue;
                dns_put16(writer, POINTER_TO_QUESTION);
                dns_put16(writer, query->type);
                dns_put16(writer, DNS_INTERNET);
                dns_put32(writer, reply->ttl);
                dns_put16(writer, (uint16_t)address_length(address));
                dns_put_bytes(writer, address->bytes, address_length(address));
                count--;
        }
}

size_t dns_write_reply(const struct dns_query *query, const struct dns_reply *reply, uint8_t *out,
                       size_t size)
{
        struct dns_writer writer = { out, size, 0, false };
        uint16_t wanted = count_wanted(query, reply);
        size_t length = 12 + (query->type == DNS_AAAA ? 16u : 4u), room;
        uint16_t flags = (uint16_t)(DNS_FLAG_RESPONSE | DNS_FLAG_RECURSION_AVAILABLE |
                                    (query->flags & (DNS_FLAG_OPCODE | DNS_FLAG_RECURSION_DESIRED |
                                                     DNS_FLAG_CHECKING_DISABLED)) |
                                    (reply->rcode & DNS_FLAG_RCODE));

        room = DNS_HEADER_LENGTH + query->question_length + (query->has_opt ? OPT_LENGTH : 0);
        if (size < room)
                return 0;
        room = (size > DNS_MESSAGE_MAX ? DNS_MESSAGE_MAX : size) - room;
        if (wanted * length > room) {
                flags |= DNS_FLAG_TRUNCATED;
                wanted = 0;
        }
        dns_put16(&writer, query->id);
        dns_put16(&writer, flags);
        dns_put16(&writer, query->question_length ? 1 : 0);
        dns_put16(&writer, wanted);
        dns_put16(&writer, 0);
        dns_put16(&writer, query->has_opt);
        dns_put_bytes(&writer, query->question, query->question_length);
        put_addresses(&writer, query, reply, wanted);
        if (query->has_opt)
                dns_put_opt(&writer, DNS_PAYLOAD_MAX, (uint8_t)(reply->rcode >> 4), query->wants_dnssec);
        return writer.has_failed ? 0 : writer.at;
}
