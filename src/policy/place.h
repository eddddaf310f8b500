/* place.h: one entry of network.connect: which hosts, and which of their ports. */
#ifndef POLICY_PLACE_H
#define POLICY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/address.h"
#include "base/host_name.h"
#include "base/text.h"

enum place_kind {
        PLACE_NAME,      /* "example.org" */
        PLACE_BELOW,     /* "*.example.org": one label more or several, never example.org itself */
        PLACE_ANY_NAME,  /* "*" */
        PLACE_ADDRESSES, /* "192.0.2.1", "10.0.0.0/8", "[2001:db8::1]", "[2001:db8::/32]" */
};

struct port_range {
        uint16_t low, high; /* both are in it */
};

enum { PLACE_PORTS_MAX = 16 };

/* The name by which the host's own loopback is reached; nothing but this very name means it. */
#define PLACE_HOST "host.abatis"

struct place {
        enum place_kind kind;
        bool is_udp;               /* "example.org:443/udp"; without it TCP, and TCP alone */
        char name[HOST_NAME_SIZE]; /* of PLACE_NAME, and what follows "*." of PLACE_BELOW */
        struct address base;       /* of PLACE_ADDRESSES, and how many of its bits count */
        unsigned prefix;
        struct port_range ports[PLACE_PORTS_MAX]; /* ascending, with a gap between any two */
        size_t port_count;
};

/* HOST:PORTS, where PORTS is "443", "80,443", "8000-8099" or "*". What could be read in two ways is refused. */
int place_parse(const char *text, struct place *out, abatis_error *err);
/* Whether whatever the narrow place allows is allowed by the wide one, as far as one entry tells about another. Of ranges
 * only the same one does: a smaller one within may give addresses that the large one does not, since those that are not
 * public have to be named. */
bool place_covers(const struct place *wide, const struct place *narrow);
/* The same, of any in a list of entries as they are written. */
bool places_cover(const struct strings *list, const char *text);
bool place_has_port(const struct place *place, uint16_t port);
/* Sorts, joins what touches or overlaps, and returns how many are left. */
size_t port_ranges_join(struct port_range *ranges, size_t count);

#endif
