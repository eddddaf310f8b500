/* address.h: one IPv4 or IPv6 address, as bytes and as text. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESS_TEXT_SIZE = 46 };

struct address {
        bool is_v6;
        uint8_t bytes[16]; /* of IPv4 the first four, and zeros */
};

/* Dotted decimal without zeros in front, or IPv6 without brackets or zone; nothing that only inet_aton() reads, such as
 * "127.1" or "0x7f000001". False leaves *out untouched. */
bool address_parse(const char *text, size_t length, struct address *out);
void address_print(const struct address *address, char out[ADDRESS_TEXT_SIZE]);

/* How many bytes the address has. */
static inline size_t address_length(const struct address *address)
{
        return address->is_v6 ? 16 : 4;
}

bool address_equals(const struct address *first, const struct address *second);
/* Whether the first so many bits are those of the base; an address of the other family is in no range. */
bool address_is_in(const struct address *address, const struct address *base, unsigned prefix);
/* The last address of the range. */
struct address address_last(const struct address *base, unsigned prefix);
/* The kernel connects a socket of IPv6 to IPv4 by ::ffff:1.2.3.4, so that is judged as what it is. */
struct address address_unmapped(const struct address *address);

#endif
