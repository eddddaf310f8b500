/* dns_wire.c: reads and writes the numbers and names of DNS messages. */
#include "net/dns_wire.h"

#include <string.h>

#include "net/dns.h"

enum { LABEL_POINTER = 0xc0 };

/* ---- reading -------------------------------------------------------------------------------------------- */

/* Whether so many bytes are left; else the reader has failed. */
static bool has_left(struct dns_reader *reader, size_t length)
{
        reader->has_failed |= reader->length - reader->at < length;
        return !reader->has_failed;
}

uint8_t dns_get8(struct dns_reader *reader)
{
        return has_left(reader, 1) ? reader->bytes[reader->at++] : 0;
}

uint16_t dns_get16(struct dns_reader *reader)
{
        uint16_t high = dns_get8(reader);

        return (uint16_t)(high << 8 | dns_get8(reader));
}

uint32_t dns_get32(struct dns_reader *reader)
{
        uint32_t high = dns_get16(reader);

        return high << 16 | dns_get16(reader);
}

void dns_skip(struct dns_reader *reader, size_t length)
{
        if (has_left(reader, length))
                reader->at += length;
}

static uint8_t lower(uint8_t byte)
{
        return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

static bool add_label(struct dns_reader *from, uint8_t length, struct dns_name *out)
{
        if (length > HOST_LABEL_MAX_LENGTH || out->length + 1 + length > DNS_NAME_MAX)
                return false;
        out->bytes[out->length++] = length;
        for (; length; length--)
                out->bytes[out->length++] = lower(dns_get8(from));
        return !from->has_failed;
}

/* Every pointer must lead before the place that the last one led to: a circle is impossible, and so is a long way. */
void dns_get_name(struct dns_reader *reader, bool may_point, struct dns_name *out)
{
        struct dns_reader from = *reader;
        size_t limit = reader->at, end = 0;

        out->length = 0;
        while (!from.has_failed) {
                uint8_t length = dns_get8(&from);

                if ((length & LABEL_POINTER) == LABEL_POINTER && may_point) {
                        size_t target = (size_t)(length & ~LABEL_POINTER) << 8 | dns_get8(&from);

                        end = end ? end : from.at;
                        from.has_failed |= target >= limit;
                        from.at = limit = target;
                } else if (from.has_failed || !add_label(&from, length, out))
                        from.has_failed = true;
                else if (!length)
                        break;
        }
        if (from.has_failed) {
                out->length = 0;
                reader->has_failed = true;
        } else
                reader->at = end ? end : from.at;
}

/* ---- names ---------------------------------------------------------------------------------------------- */

bool dns_name_equals(const struct dns_name *first, const struct dns_name *second)
{
        return first->length == second->length && !memcmp(first->bytes, second->bytes, first->length);
}

bool dns_name_print(const struct dns_name *name, char out[HOST_NAME_SIZE])
{
        char text[DNS_NAME_MAX];
        size_t length = 0;

        *out = '\0';
        for (size_t at = 0; at < name->length && name->bytes[at]; at += 1u + name->bytes[at]) {
                /* A dot within a label would be one between labels here. */
                if (memchr(name->bytes + at + 1, '.', name->bytes[at]))
                        return false;
                if (length)
                        text[length++] = '.';
                memcpy(text + length, name->bytes + at + 1, name->bytes[at]);
                length += name->bytes[at];
        }
        return host_name_read(text, length, out);
}

void dns_name_make(const char *name, struct dns_name *out)
{
        out->length = 0;
        while (*name) {
                size_t length = strcspn(name, ".");

                out->bytes[out->length++] = (uint8_t)length;
                memcpy(out->bytes + out->length, name, length);
                out->length += length;
                name += length + (name[length] == '.');
        }
        out->bytes[out->length++] = 0;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

void dns_put_bytes(struct dns_writer *writer, const void *bytes, size_t length)
{
        writer->has_failed |= writer->size - writer->at < length;
        if (writer->has_failed || !length)
                return;
        memcpy(writer->bytes + writer->at, bytes, length);
        writer->at += length;
}

void dns_put8(struct dns_writer *writer, uint8_t value)
{
        dns_put_bytes(writer, &value, 1);
}

void dns_put16(struct dns_writer *writer, uint16_t value)
{
        const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

        dns_put_bytes(writer, bytes, sizeof(bytes));
}

void dns_put32(struct dns_writer *writer, uint32_t value)
{
        dns_put16(writer, (uint16_t)(value >> 16));
        dns_put16(writer, (uint16_t)value);
}

void dns_put_opt(struct dns_writer *writer, uint16_t payload, uint8_t high_rcode, bool wants_dnssec)
{
        dns_put8(writer, 0); /* the root */
        dns_put16(writer, DNS_OPT);
        dns_put16(writer, payload);
        dns_put8(writer, high_rcode);
        dns_put8(writer, 0); /* the version */
        dns_put16(writer, wants_dnssec ? 0x8000 : 0);
        dns_put16(writer, 0);
}
