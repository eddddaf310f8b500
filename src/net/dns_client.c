/* dns_client.c: asks a real resolver for the addresses of a name, and reads what it says. */
#include <string.h>

#include "net/dns.h"
#include "net/dns_wire.h"

static bool make_name(const char *spelling, struct dns_name *out)
{
        char name[HOST_NAME_SIZE];

        if (!host_name_read(spelling, strlen(spelling), name))
                return false;
        dns_name_make(name, out);
        return true;
}

size_t dns_write_query(const struct dns_asked *asked, uint8_t *out, size_t size)
{
        struct dns_writer writer = { out, size, 0, false };
        struct dns_name name;

        if (size < DNS_QUERY_MAX || !make_name(asked->name, &name))
                return 0;
        dns_put16(&writer, asked->id);
        dns_put16(&writer, DNS_FLAG_RECURSION_DESIRED);
        dns_put16(&writer, 1);
        dns_put16(&writer, 0);
        dns_put16(&writer, 0);
        dns_put16(&writer, 1);
        dns_put_bytes(&writer, name.bytes, name.length);
        dns_put16(&writer, (uint16_t)asked->type);
        dns_put16(&writer, DNS_INTERNET);
        dns_put_opt(&writer, DNS_PAYLOAD_MAX, 0, false);
        return writer.has_failed ? 0 : writer.at;
}

/* ---- the response --------------------------------------------------------------------------------------- */

struct record {
        struct dns_name owner;
        uint16_t type, class;
        uint32_t ttl;
        struct dns_reader
                data; /* of the whole message, which its names may point into, up to the record's end */
};

static bool read_record(struct dns_reader *reader, struct record *out)
{
        uint16_t length;

        dns_get_name(reader, true, &out->owner);
        out->type = dns_get16(reader);
        out->class = dns_get16(reader);
        out->ttl = dns_get32(reader);
        length = dns_get16(reader);
        out->data = (struct dns_reader){ reader->bytes, reader->at + length, reader->at, false };
        dns_skip(reader, length);
        /* A sign bit is a mistake, to be read as zero (RFC 2181). */
        if (out->ttl > INT32_MAX)
                out->ttl = 0;
        return !reader->has_failed;
}

/* The answer section, and how far it has been followed. */
struct following {
        struct dns_reader records; /* at the first of them */
        uint16_t count;
        struct dns_name name;
        uint32_t ttl;
};

/* One step along the aliases: 1 if there was one, 0 if there is none, -1 for nonsense. */
static int follow_alias(struct following *following)
{
        struct dns_reader reader = following->records;
        struct dns_name target = { .length = 0 };

        for (uint16_t i = 0; i < following->count; i++) {
                struct record record;

                if (!read_record(&reader, &record))
                        return -1;
                if (record.type != DNS_CNAME || record.class != DNS_INTERNET ||
                    !dns_name_equals(&record.owner, &following->name))
                        continue;
                /* Two aliases for one name: who is meant? */
                if (target.length)
                        return -1;
                dns_get_name(&record.data, true, &target);
                if (record.data.has_failed || record.data.at != record.data.length)
                        return -1;
                following->ttl = record.ttl < following->ttl ? record.ttl : following->ttl;
        }
        if (!target.length)
                return 0;
        following->name = target;
        return 1;
}

static bool take_addresses(struct following *following, enum dns_type type, struct dns_answer *out)
{
        struct dns_reader reader = following->records;
        struct address address = { .is_v6 = type == DNS_AAAA };

        for (uint16_t i = 0; i < following->count; i++) {
                struct record record;

                if (!read_record(&reader, &record))
                        return false;
                if (record.type != type || record.class != DNS_INTERNET ||
                    !dns_name_equals(&record.owner, &following->name))
                        continue;
                if (record.data.length - record.data.at != address_length(&address))
                        return false;
                if (out->count == DNS_ADDRESSES_MAX)
                        continue;
                memcpy(address.bytes, record.data.bytes + record.data.at, address_length(&address));
                out->addresses[out->count++] = address;
                following->ttl = record.ttl < following->ttl ? record.ttl : following->ttl;
        }
        return true;
}

static bool read_answers(const struct dns_reader *reader, uint16_t count, const struct dns_name *name,
                         enum dns_type type, struct dns_answer *out)
{
        struct following following = { *reader, count, *name, UINT32_MAX };
        int aliases = 0, step;

        if (count > DNS_RECORDS_MAX)
                return false;
        while ((step = follow_alias(&following)) > 0)
                if (++aliases > DNS_ALIASES_MAX)
                        return false;
        if (step < 0 || !take_addresses(&following, type, out))
                return false;
        out->ttl = out->count ? following.ttl : 0;
        return true;
}

/* Whether the question is repeated, which tells an answer to us from one to somebody else. Some servers leave it out
 * when they refuse. */
static bool is_our_question(struct dns_reader *reader, uint16_t count, const struct dns_name *name,
                            enum dns_type type, bool is_refusal)
{
        struct dns_name echoed;

        if (!count)
                return is_refusal;
        dns_get_name(reader, true, &echoed);
        return count == 1 && dns_get16(reader) == type && dns_get16(reader) == DNS_INTERNET &&
               !reader->has_failed && dns_name_equals(&echoed, name);
}

enum dns_response dns_read_response(const uint8_t *bytes, size_t length, const struct dns_asked *asked,
                                    struct dns_answer *out)
{
        struct dns_reader reader = { bytes, length, 0, false };
        uint16_t id = dns_get16(&reader), flags = dns_get16(&reader);
        uint16_t questions = dns_get16(&reader), answers = dns_get16(&reader);
        struct dns_answer answer = { .rcode = (enum dns_rcode)(flags & DNS_FLAG_RCODE) };
        struct dns_name name;

        dns_skip(&reader, 4);
        if (reader.has_failed || !make_name(asked->name, &name) || id != asked->id ||
            !(flags & DNS_FLAG_RESPONSE) || flags & DNS_FLAG_OPCODE ||
            !is_our_question(&reader, questions, &name, asked->type, answer.rcode && !answers))
                return DNS_NOT_OURS;
        answer.is_truncated = flags & DNS_FLAG_TRUNCATED;
        if (!answer.is_truncated && !answer.rcode &&
            !read_answers(&reader, answers, &name, asked->type, &answer))
                return DNS_MALFORMED;
        *out = answer;
        return DNS_RESPONSE;
}
