/* ranges.h: to whom an address leads: to the internet, to this machine, to the network round it, or to nobody. */
#ifndef NET_RANGES_H
#define NET_RANGES_H

#include "base/address.h"

enum range {
        RANGE_PUBLIC,
        RANGE_LOOPBACK,
        RANGE_PRIVATE, /* also what providers share among customers, and what once was site-local */
        RANGE_LINK_LOCAL,
        RANGE_METADATA, /* where clouds hand out credentials to whoever asks, wherever that lies */
        RANGE_MULTICAST,
        RANGE_UNSPECIFIED, /* Linux connects 0.0.0.0 and :: to the loopback */
        RANGE_BROADCAST,
        RANGE_RESERVED, /* for documents, benchmarks, protocols, or nobody yet */
};

/* An IPv6 address that carries one of IPv4 leads where that leads, so it is judged by it: mapped, compatible, translated
 * (NAT64), 6to4, Teredo. */
enum range address_range(const struct address *address);
/* In one word: "private". */
const char *range_name(enum range range);

#endif
