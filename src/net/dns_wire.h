/* dns_wire.h: the parts of a DNS message: numbers and names, read and written within bounds.
 *
 * Reader and writer are sticky: after the first failure they do nothing and give zeros; ask once at the end. */
#ifndef NET_DNS_WIRE_H
#define NET_DNS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_name.h"

enum { DNS_HEADER_LENGTH = 12, DNS_NAME_MAX = 255 };

/* Bits of the second word of a header. */
enum {
        DNS_FLAG_RESPONSE = 0x8000,
        DNS_FLAG_OPCODE = 0x7800,
        DNS_FLAG_TRUNCATED = 0x0200,
        DNS_FLAG_RECURSION_DESIRED = 0x0100,
        DNS_FLAG_RECURSION_AVAILABLE = 0x0080,
        DNS_FLAG_CHECKING_DISABLED = 0x0010,
        DNS_FLAG_RCODE = 0x000f,
};

struct dns_reader {
        const uint8_t *bytes; /* borrowed: the whole message, since names point back into it */
        size_t length, at;
        bool has_failed;
};

uint8_t dns_get8(struct dns_reader *reader);
uint16_t dns_get16(struct dns_reader *reader);
uint32_t dns_get32(struct dns_reader *reader);
void dns_skip(struct dns_reader *reader, size_t length);

/* Labels with their lengths, in lower case, with the root's zero at the end: two names are the same if these bytes are. */
struct dns_name {
        uint8_t bytes[DNS_NAME_MAX];
        size_t length;
};

/* Pointers lead backwards only, so that none leads in a circle. */
void dns_get_name(struct dns_reader *reader, bool may_point, struct dns_name *out);
bool dns_name_equals(const struct dns_name *first, const struct dns_name *second);
/* False, and "", for what no host can be called. */
bool dns_name_print(const struct dns_name *name, char out[HOST_NAME_SIZE]);
/* From what host_name_read() gives. */
void dns_name_make(const char *name, struct dns_name *out);

struct dns_writer {
        uint8_t *bytes; /* borrowed */
        size_t size, at;
        bool has_failed;
};

void dns_put8(struct dns_writer *writer, uint8_t value);
void dns_put16(struct dns_writer *writer, uint16_t value);
void dns_put32(struct dns_writer *writer, uint32_t value);
void dns_put_bytes(struct dns_writer *writer, const void *bytes, size_t length);
/* Of EDNS. */
void dns_put_opt(struct dns_writer *writer, uint16_t payload, uint8_t high_rcode, bool wants_dnssec);

#endif
