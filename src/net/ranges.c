/* ranges.c: the special addresses of IPv4 and IPv6, by IANA's registries. */
#include "net/ranges.h"

#include <string.h>

struct special {
        uint8_t bytes[16];
        uint8_t prefix;
        enum range range;
};

/* The first one that matches counts. */
static const struct special specials_v4[] = {
        { { 169, 254, 169, 254 }, 32, RANGE_METADATA }, /* nearly everybody's */
        { { 169, 254, 170, 2 }, 32, RANGE_METADATA },   /* AWS: credentials of containers */
        { { 169, 254, 170, 23 }, 32, RANGE_METADATA },  /* AWS: credentials of pods */
        { { 100, 100, 100, 200 }, 32, RANGE_METADATA }, /* Alibaba */
        { { 192, 0, 0, 192 }, 32, RANGE_METADATA },     /* Oracle */
        { { 168, 63, 129, 16 },
          32,
          RANGE_METADATA }, /* Azure; an address as public as any, but for its own guests */
        { { 0 }, 8, RANGE_UNSPECIFIED },
        { { 10 }, 8, RANGE_PRIVATE },
        { { 100, 64 }, 10, RANGE_PRIVATE },
        { { 127 }, 8, RANGE_LOOPBACK },
        { { 169, 254 }, 16, RANGE_LINK_LOCAL },
        { { 172, 16 }, 12, RANGE_PRIVATE },
        { { 192, 0, 0 }, 24, RANGE_RESERVED },
        { { 192, 0, 2 }, 24, RANGE_RESERVED },
        { { 192, 88, 99 }, 24, RANGE_RESERVED },
        { { 192, 168 }, 16, RANGE_PRIVATE },
        { { 198, 18 }, 15, RANGE_RESERVED },
        { { 198, 51, 100 }, 24, RANGE_RESERVED },
        { { 203, 0, 113 }, 24, RANGE_RESERVED },
        { { 224 }, 4, RANGE_MULTICAST },
        { { 255, 255, 255, 255 }, 32, RANGE_BROADCAST },
        { { 240 }, 4, RANGE_RESERVED },
        { { 0 }, 0, RANGE_PUBLIC },
};

static const struct special specials_v6[] = {
        { { 0 }, 128, RANGE_UNSPECIFIED },
        { { [15] = 1 }, 128, RANGE_LOOPBACK },
        { { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128, RANGE_METADATA }, /* AWS */
        { { 0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23 }, 128, RANGE_METADATA },       /* AWS: credentials of pods */
        { { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128, RANGE_METADATA }, /* Google */
        { { 0xfc }, 7, RANGE_PRIVATE },
        { { 0xfe, 0x80 }, 10, RANGE_LINK_LOCAL },
        { { 0xfe, 0xc0 }, 10, RANGE_PRIVATE },
        { { 0xff }, 8, RANGE_MULTICAST },
        { { 0x20, 0x01 },
          23,
          RANGE_RESERVED }, /* protocols; Teredo, which is in it, was asked about before */
        { { 0x20, 0x01, 0x0d, 0xb8 }, 32, RANGE_RESERVED },
        { { 0x3f, 0xff }, 20, RANGE_RESERVED },
        { { 0x20 }, 3, RANGE_PUBLIC },
        { { 0 }, 0, RANGE_RESERVED }, /* nobody has been given anything else */
};

static enum range look_up(const struct special *special, const struct address *address)
{
        for (;; special++) {
                struct address base = { .is_v6 = address->is_v6 };

                memcpy(base.bytes, special->bytes, sizeof(base.bytes));
                if (address_is_in(address, &base, special->prefix))
                        return special->range;
        }
}

/* Where in an IPv6 address the IPv4 one lies. */
struct carrier {
        uint8_t bytes[16];
        uint8_t prefix;
        uint8_t at[4];
        uint8_t mask;    /* Teredo turns every bit round */
        bool is_private; /* whatever public address it carries */
};

static const struct carrier carriers[] = {
        { { [10] = 0xff, 0xff }, 96, { 12, 13, 14, 15 }, 0, false },      /* mapped */
        { { 0 }, 96, { 12, 13, 14, 15 }, 0, false },                      /* compatible */
        { { [8] = 0xff, 0xff }, 96, { 12, 13, 14, 15 }, 0, false },       /* translated, RFC 2765 */
        { { 0x00, 0x64, 0xff, 0x9b }, 96, { 12, 13, 14, 15 }, 0, false }, /* NAT64 */
        { { 0x20, 0x02 }, 16, { 2, 3, 4, 5 }, 0, false },                 /* 6to4 */
        { { 0x20, 0x01 }, 32, { 12, 13, 14, 15 }, 0xff, false },          /* Teredo: the client, */
        { { 0x20, 0x01 }, 32, { 4, 5, 6, 7 }, 0, false },                 /* and its server */
        /* Of a site's own NAT64 (RFC 8215) only the site knows which of the forms of RFC 6052 it has: any of them may be
         * meant, and it is the site's in any case. */
        { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, { 12, 13, 14, 15 }, 0, true },
        { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, { 9, 10, 11, 12 }, 0, true },
        { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, { 7, 9, 10, 11 }, 0, true },
        { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, { 6, 7, 9, 10 }, 0, true },
};

/* The worst that any carrier says; false, and *out untouched, when there is none. */
static bool judge_carried(const struct address *address, enum range *out)
{
        bool is_carried = false;

        for (size_t i = 0; i < sizeof(carriers) / sizeof(*carriers); i++) {
                const struct carrier *carrier = &carriers[i];
                struct address base = { .is_v6 = true }, inner = { 0 };
                enum range range;

                memcpy(base.bytes, carrier->bytes, sizeof(base.bytes));
                if (!address_is_in(address, &base, carrier->prefix))
                        continue;
                for (size_t j = 0; j < 4; j++)
                        inner.bytes[j] = address->bytes[carrier->at[j]] ^ carrier->mask;
                range = look_up(specials_v4, &inner);
                if (carrier->is_private && (range == RANGE_PUBLIC || range == RANGE_UNSPECIFIED))
                        range = RANGE_PRIVATE;
                /* Where one says public, or only private, the other counts. */
                if (!is_carried || *out == RANGE_PUBLIC || range == RANGE_METADATA ||
                    (carrier->is_private && *out == RANGE_PRIVATE))
                        *out = range;
                is_carried = true;
        }
        return is_carried;
}

enum range address_range(const struct address *address)
{
        static const struct address none = { .is_v6 = true };
        enum range range = RANGE_RESERVED;

        if (!address->is_v6)
                return look_up(specials_v4, address);
        /* :: and ::1 are themselves, although they look like addresses in compatible form. */
        if (address_is_in(address, &none, 127) || !judge_carried(address, &range))
                return look_up(specials_v6, address);
        return range;
}

const char *range_name(enum range range)
{
        switch (range) {
        case RANGE_PUBLIC:
                return "public";
        case RANGE_LOOPBACK:
                return "loopback";
        case RANGE_PRIVATE:
                return "private";
        case RANGE_LINK_LOCAL:
                return "link-local";
        case RANGE_METADATA:
                return "metadata";
        case RANGE_MULTICAST:
                return "multicast";
        case RANGE_UNSPECIFIED:
                return "unspecified";
        case RANGE_BROADCAST:
                return "broadcast";
        case RANGE_RESERVED:
                return "reserved";
        }
        return "reserved";
}
