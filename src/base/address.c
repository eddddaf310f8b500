/* address.c: reads, prints and compares addresses of IPv4 and IPv6. */
#include "base/address.h"

#include <arpa/inet.h>
#include <string.h>

bool address_parse(const char *text, size_t length, struct address *out)
{
        struct address read = { 0 };
        char copy[ADDRESS_TEXT_SIZE];

        if (length >= sizeof(copy) || memchr(text, '\0', length))
                return false;
        memcpy(copy, text, length);
        copy[length] = '\0';
        read.is_v6 = strchr(copy, ':');
        if (copy[strspn(copy, read.is_v6 ? "0123456789abcdefABCDEF:." : "0123456789.")] ||
            inet_pton(read.is_v6 ? AF_INET6 : AF_INET, copy, read.bytes) != 1)
                return false;
        *out = read;
        return true;
}

void address_print(const struct address *address, char out[ADDRESS_TEXT_SIZE])
{
        /* It cannot fail: the family is known and the text has room. */
        if (!inet_ntop(address->is_v6 ? AF_INET6 : AF_INET, address->bytes, out, ADDRESS_TEXT_SIZE))
                *out = '\0';
}

bool address_equals(const struct address *first, const struct address *second)
{
        return address_is_in(first, second, 8 * (unsigned)address_length(second));
}

bool address_is_in(const struct address *address, const struct address *base, unsigned prefix)
{
        size_t whole = prefix / 8;
        unsigned rest = prefix % 8;

        if (address->is_v6 != base->is_v6 || memcmp(address->bytes, base->bytes, whole) != 0)
                return false;
        return !rest || (address->bytes[whole] ^ base->bytes[whole]) >> (8 - rest) == 0;
}

struct address address_last(const struct address *base, unsigned prefix)
{
        struct address last = *base;

        for (size_t i = 0; i < address_length(base); i++) {
                unsigned fixed = prefix > 8 * i ? prefix - 8 * (unsigned)i : 0;

                if (fixed < 8)
                        last.bytes[i] |= (uint8_t)(0xff >> fixed);
        }
        return last;
}

struct address address_unmapped(const struct address *address)
{
        static const struct address mapped = { .is_v6 = true, .bytes = { [10] = 0xff, [11] = 0xff } };
        struct address inner = { 0 };

        if (!address_is_in(address, &mapped, 96))
                return *address;
        memcpy(inner.bytes, address->bytes + 12, 4);
        return inner;
}
