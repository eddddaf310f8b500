/* place.c: reads an entry of network.connect, and refuses what could be read in two ways. */
#define _GNU_SOURCE
#include "policy/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int refuse(const char *text, abatis_error *err, const char *why)
{
        return error_set(err, ABATIS_E_INVALID, "'%s' %s", text, why);
}

/* ---- ports ---------------------------------------------------------------------------------------------- */

/* Digits without a zero in front; moves on to what follows them. */
static bool read_port(const char **at, const char *end, uint16_t *out)
{
        unsigned value = 0;
        const char *start = *at;

        for (; *at < end && **at >= '0' && **at <= '9' && value <= UINT16_MAX; (*at)++)
                value = 10 * value + (unsigned)(**at - '0');
        if (*at == start || *start == '0' || value > UINT16_MAX)
                return false;
        *out = (uint16_t)value;
        return true;
}

static int compare_ranges(const void *first, const void *second)
{
        return (int)((const struct port_range *)first)->low - (int)((const struct port_range *)second)->low;
}

size_t port_ranges_join(struct port_range *ranges, size_t count)
{
        size_t kept = 0;

        if (!count)
                return 0;
        qsort(ranges, count, sizeof(*ranges), compare_ranges);
        for (size_t i = 1; i < count; i++) {
                if (ranges[i].low > (unsigned)ranges[kept].high + 1)
                        ranges[++kept] = ranges[i];
                else if (ranges[i].high > ranges[kept].high)
                        ranges[kept].high = ranges[i].high;
        }
        return kept + 1;
}

static int read_ports(const char *text, const char *at, const char *end, struct place *out, abatis_error *err)
{
        if (end - at == 1 && *at == '*') {
                out->ports[0] = (struct port_range){ 1, UINT16_MAX };
                out->port_count = 1;
                return 0;
        }
        for (;; at++) {
                struct port_range range;

                if (!read_port(&at, end, &range.low))
                        return refuse(text, err, "is not of the form HOST:PORT");
                range.high = range.low;
                if (at < end && *at == '-') {
                        at++;
                        if (!read_port(&at, end, &range.high))
                                return refuse(text, err, "is not of the form HOST:PORT");
                        if (range.high <= range.low)
                                return refuse(text, err, "has a range of ports that does not ascend");
                }
                if (out->port_count == PLACE_PORTS_MAX)
                        return refuse(text, err, "has more than 16 ports; write several entries");
                out->ports[out->port_count++] = range;
                if (at == end)
                        break;
                if (*at != ',')
                        return refuse(text, err, "is not of the form HOST:PORT");
        }
        out->port_count = port_ranges_join(out->ports, out->port_count);
        return 0;
}

bool place_has_port(const struct place *place, uint16_t port)
{
        for (size_t i = 0; i < place->port_count; i++)
                if (port >= place->ports[i].low && port <= place->ports[i].high)
                        return true;
        return false;
}

/* ---- hosts ---------------------------------------------------------------------------------------------- */

static bool read_prefix(const char *text, size_t length, unsigned most, unsigned *out)
{
        unsigned value = 0;

        if (!length || length > 3 || (*text == '0' && length > 1))
                return false;
        for (size_t i = 0; i < length; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = 10 * value + (unsigned)(text[i] - '0');
        }
        *out = value;
        return value <= most;
}

/* An address, or a range of them; `host` is without brackets. */
static int read_addresses(const char *text, const char *host, size_t length, struct place *out,
                          abatis_error *err)
{
        const char *slash = memchr(host, '/', length);
        size_t width = slash ? (size_t)(slash - host) : length;
        struct address inner;
        unsigned most;

        if (!address_parse(host, width, &out->base))
                return refuse(text, err, "has no address that could be understood");
        most = 8 * (unsigned)address_length(&out->base);
        out->kind = PLACE_ADDRESSES;
        out->prefix = most;
        if (slash && !read_prefix(slash + 1, length - width - 1, most, &out->prefix))
                return refuse(text, err, "has a range that is none; write 10.0.0.0/8 or [2001:db8::/32]");
        /* "10.1.2.3/8" may mean the one address or all of 10. */
        for (unsigned bit = out->prefix; bit < most; bit++)
                if (out->base.bytes[bit / 8] & (0x80 >> bit % 8))
                        return refuse(text, err,
                                      "has bits behind its range; write the range's first address");
        /* To connect to it means the loopback, to listen on it every address. */
        if (out->prefix == most && address_equals(&out->base, &(struct address){ .is_v6 = out->base.is_v6 }))
                return refuse(text, err,
                              "is every address or the loopback; write 0.0.0.0/0, [::/0] or 127.0.0.1");
        inner = address_unmapped(&out->base);
        if (inner.is_v6 != out->base.is_v6)
                return refuse(text, err, "is an IPv4 address in the clothes of IPv6; write the IPv4 address");
        return 0;
}

/* Not what a resolver answers: loopback is a matter of the host's files, and ".abatis" is ours. */
static int check_special(const char *text, const struct place *place, abatis_error *err)
{
        const char *dot = strrchr(place->name, '.'), *last = dot ? dot + 1 : place->name;

        if (!strcmp(last, "localhost"))
                return refuse(
                        text, err,
                        "is the loopback of the sandbox itself, always there; the host's is 127.0.0.1 or " PLACE_HOST);
        if (!strcmp(last, "abatis") && (place->kind != PLACE_NAME || strcmp(place->name, PLACE_HOST) != 0))
                return refuse(text, err, "is no host; below abatis there is only " PLACE_HOST);
        return 0;
}

static int read_name(const char *text, const char *host, size_t length, struct place *out, abatis_error *err)
{
        bool is_below = length > 2 && host[0] == '*' && host[1] == '.';
        size_t skipped = is_below ? 2 : 0;
        const char *star = memchr(host + skipped, '*', length - skipped);
        struct address address;

        out->kind = is_below ? PLACE_BELOW : PLACE_NAME;
        if (length == 1 && *host == '*') {
                out->kind = PLACE_ANY_NAME;
                return 0;
        }
        if (address_parse(host, length, &address) || memchr(host, '/', length))
                return read_addresses(text, host, length, out, err);
        if (star)
                return refuse(text, err, "has a * that is not the first label; write *.example.org");
        for (size_t i = 0; i < length; i++)
                if ((unsigned char)host[i] >= 0x80)
                        return refuse(text, err, "is not ASCII; write international names as xn--...");
        if (!host_name_read(host + skipped, length - skipped, out->name))
                return refuse(text, err, "has no name of a host and no address in four decimal parts");
        return check_special(text, out, err);
}

/* ---- both ----------------------------------------------------------------------------------------------- */

/* Of a host with colons in it nobody could tell where the port begins: it has brackets. */
static bool find_colon(const char *text, const char **out)
{
        const char *bracket = *text == '[' ? strchr(text, ']') : NULL;
        const char *colon = bracket ? bracket + 1 : strchr(text, ':');

        if (!colon || *colon != ':' || colon == text || strpbrk(text, " \t\r\n") ||
            strpbrk(colon + 1, ":[]") || (!bracket && strcspn(text, "[]") < (size_t)(colon - text)))
                return false;
        *out = colon;
        return true;
}

int place_parse(const char *text, struct place *out, abatis_error *err)
{
        struct place read = { 0 };
        const char *colon = NULL, *end = text + strlen(text), *slash;
        int r;

        if (strstr(text, "://"))
                return refuse(text, err, "is a URL; write its host and port, as in example.org:443");
        if (!find_colon(text, &colon))
                return refuse(text, err, "is not of the form HOST:PORT");
        slash = strchr(colon, '/');
        if (slash && strcmp(slash, "/udp") != 0)
                return refuse(text, err, "is not of the form HOST:PORT or HOST:PORT/udp");
        read.is_udp = slash;
        if (*text == '[' && !memchr(text, ':', (size_t)(colon - text)))
                return refuse(text, err, "has brackets round what is no IPv6 address");
        if (*text == '[')
                r = read_addresses(text, text + 1, (size_t)(colon - text) - 2, &read, err);
        else
                r = read_name(text, text, (size_t)(colon - text), &read, err);
        if (!r)
                r = read_ports(text, colon + 1, slash ? slash : end, &read, err);
        if (!r)
                *out = read;
        return r;
}

/* ---- compared ------------------------------------------------------------------------------------------- */

static bool covers_host(const struct place *wide, const struct place *narrow)
{
        bool has_same_name = !strcmp(wide->name, narrow->name);

        switch (wide->kind) {
        case PLACE_NAME:
                return narrow->kind == PLACE_NAME && has_same_name;
        case PLACE_BELOW:
                return (narrow->kind == PLACE_BELOW && has_same_name) ||
                       ((narrow->kind == PLACE_NAME || narrow->kind == PLACE_BELOW) &&
                        host_name_is_below(narrow->name, wide->name));
        case PLACE_ANY_NAME:
                return narrow->kind != PLACE_ADDRESSES && strcmp(narrow->name, PLACE_HOST) != 0;
        case PLACE_ADDRESSES:
                return narrow->kind == PLACE_ADDRESSES && wide->prefix == narrow->prefix &&
                       address_equals(&wide->base, &narrow->base);
        }
        return false;
}

bool place_covers(const struct place *wide, const struct place *narrow)
{
        if (wide->is_udp != narrow->is_udp || !covers_host(wide, narrow))
                return false;
        /* Ranges have gaps between them, so each must lie in one. */
        for (size_t i = 0; i < narrow->port_count; i++) {
                bool is_covered = false;

                for (size_t j = 0; j < wide->port_count && !is_covered; j++)
                        is_covered = narrow->ports[i].low >= wide->ports[j].low &&
                                     narrow->ports[i].high <= wide->ports[j].high;
                if (!is_covered)
                        return false;
        }
        return true;
}

bool places_cover(const struct strings *list, const char *text)
{
        struct place narrow = { 0 }, wide = { 0 };

        if (strings_has(list, text))
                return true;
        if (place_parse(text, &narrow, NULL) < 0)
                return false;
        for (size_t i = 0; i < list->count; i++)
                if (!place_parse(list->items[i], &wide, NULL) && place_covers(&wide, &narrow))
                        return true;
        return false;
}
