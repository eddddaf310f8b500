/* allow.c: compiles the entries of network.connect, and finds the one that allows a place.
 *
 * Names lie sorted, so that a question costs a search for each label of the name, whatever the length of the list. */
#define _GNU_SOURCE
#include "net/allow.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "net/ranges.h"

struct rule {
        char *text; /* owned: as it was written */
        char *name; /* owned: of the kinds that have one; "" of the others */
        enum place_kind kind;
        enum transport transport;
        struct address base;
        unsigned prefix;
        enum range range;         /* of the whole range; RANGE_PUBLIC if it is of several */
        struct port_range *ports; /* owned */
        size_t port_count;
        size_t order; /* in the list */
};

/* Sorted by kind, name and order. */
struct allow {
        struct rule *rules; /* owned */
        size_t count;
};

static int compare_keys(enum place_kind kind, const char *name, const struct rule *rule)
{
        return kind == rule->kind ? strcmp(name, rule->name) : (int)kind - (int)rule->kind;
}

static int compare_rules(const void *first, const void *second)
{
        const struct rule *a = first, *b = second;
        int order = compare_keys(a->kind, a->name, b);

        return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int rule_init(struct rule *rule, const char *text, size_t order, abatis_error *err)
{
        struct address last;
        struct place place;
        int r = place_parse(text, &place, err);

        if (r < 0)
                return r;
        last = address_last(&place.base, place.prefix);
        *rule = (struct rule){
                .text = strdup(text),
                .name = strdup(place.name),
                .kind = place.kind,
                .transport = place.is_udp ? TRANSPORT_UDP : TRANSPORT_TCP,
                .base = place.base,
                .prefix = place.prefix,
                .range = address_range(&place.base),
                .ports = calloc(place.port_count, sizeof(*rule->ports)),
                .port_count = place.port_count,
                .order = order,
        };
        if (rule->range != address_range(&last))
                rule->range = RANGE_PUBLIC;
        if (!rule->text || !rule->name || !rule->ports)
                return error_memory(err);
        memcpy(rule->ports, place.ports, place.port_count * sizeof(*rule->ports));
        return 0;
}

int allow_new(const struct strings *entries, struct allow **out, abatis_error *err)
{
        OWN_ALLOW struct allow *allow = calloc(1, sizeof(*allow));

        if (allow)
                allow->rules = calloc(entries->count ? entries->count : 1, sizeof(*allow->rules));
        if (!allow || !allow->rules)
                return error_memory(err);
        for (; allow->count < entries->count; allow->count++) {
                struct rule *rule = &allow->rules[allow->count];
                int r = rule_init(rule, entries->items[allow->count], allow->count, err);

                if (r < 0) {
                        /* What there is of it is freed with the others. */
                        allow->count++;
                        return r;
                }
        }
        qsort(allow->rules, allow->count, sizeof(*allow->rules), compare_rules);
        *out = take_pointer(allow);
        return 0;
}

void allow_free(struct allow *allow)
{
        if (!allow)
                return;
        for (size_t i = 0; allow->rules && i < allow->count; i++) {
                free(allow->rules[i].text);
                free(allow->rules[i].name);
                free(allow->rules[i].ports);
        }
        free(allow->rules);
        free(allow);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

/* What a question looks for. */
struct wanted {
        bool has_port; /* else any port of any transport will do */
        enum transport transport;
        uint16_t port;
};

static bool has_port(const struct rule *rule, const struct wanted *wanted)
{
        if (!wanted->has_port)
                return true;
        for (size_t i = 0; i < rule->port_count && rule->transport == wanted->transport; i++)
                if (wanted->port >= rule->ports[i].low && wanted->port <= rule->ports[i].high)
                        return true;
        return false;
}

/* The first rule of this kind and name; those of the same follow it. */
static size_t find_first(const struct allow *allow, enum place_kind kind, const char *name)
{
        size_t low = 0, high = allow->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare_keys(kind, name, &allow->rules[middle]) > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Calls `visit` for each rule that covers a name, the most exact first, until it returns true. */
static void visit_rules(const struct allow *allow, const char *spelling,
                        bool (*visit)(const struct rule *rule, void *state), void *state)
{
        char name[HOST_NAME_SIZE];
        enum place_kind kind = PLACE_NAME;
        const char *key = name, *last;

        if (!host_name_read(spelling, strlen(spelling), name))
                return;
        last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
        for (;;) {
                for (size_t i = find_first(allow, kind, key);
                     i < allow->count && !compare_keys(kind, key, &allow->rules[i]); i++)
                        if (visit(&allow->rules[i], state))
                                return;
                /* These lead to no name server's host: whoever means them writes them. */
                if (kind == PLACE_ANY_NAME || !strcmp(last, "abatis") || !strcmp(last, "localhost"))
                        return;
                kind = PLACE_BELOW;
                key = strchr(key, '.');
                if (key)
                        key++;
                else {
                        kind = PLACE_ANY_NAME;
                        key = "";
                }
        }
}

struct finding {
        struct wanted wanted;
        const char *text;
};

static bool find_port(const struct rule *rule, void *state)
{
        struct finding *finding = state;

        if (!has_port(rule, &finding->wanted))
                return false;
        finding->text = rule->text;
        return true;
}

const char *allow_name(const struct allow *allow, const char *name)
{
        struct finding finding = { .wanted.has_port = false };

        visit_rules(allow, name, find_port, &finding);
        return finding.text;
}

const char *allow_name_port(const struct allow *allow, const char *name, enum transport transport,
                            uint16_t port)
{
        struct finding finding = { .wanted = { true, transport, port } };

        visit_rules(allow, name, find_port, &finding);
        return finding.text;
}

/* One bit for each port. */
struct gathering {
        enum transport transport;
        uint8_t bits[(UINT16_MAX + 1) / 8];
};

static bool gather(const struct rule *rule, void *state)
{
        struct gathering *gathering = state;

        for (size_t i = 0; i < rule->port_count && rule->transport == gathering->transport; i++)
                for (unsigned port = rule->ports[i].low; port <= rule->ports[i].high; port++)
                        gathering->bits[port / 8] |= (uint8_t)(1 << port % 8);
        return false;
}

static bool is_gathered(const struct gathering *gathering, unsigned port)
{
        return port <= UINT16_MAX && gathering->bits[port / 8] >> port % 8 & 1;
}

size_t allow_ports(const struct allow *allow, const char *name, enum transport transport,
                   struct port_range *out, size_t most)
{
        struct gathering gathering = { .transport = transport };
        size_t count = 0;

        visit_rules(allow, name, gather, &gathering);
        for (unsigned port = 1; port <= UINT16_MAX; port++) {
                unsigned low = port;

                if (!is_gathered(&gathering, port))
                        continue;
                while (is_gathered(&gathering, port + 1))
                        port++;
                if (count < most)
                        out[count] = (struct port_range){ (uint16_t)low, (uint16_t)port };
                count++;
        }
        return count;
}

/* ---- addresses ------------------------------------------------------------------------------------------ */

static const char *find_addresses(const struct allow *allow, const struct address *address,
                                  enum transport transport, uint16_t port, unsigned least_prefix)
{
        const struct wanted wanted = { true, transport, port };
        const struct address inner = address_unmapped(address);
        enum range range = address_range(&inner);

        for (size_t i = find_first(allow, PLACE_ADDRESSES, ""); i < allow->count; i++) {
                const struct rule *rule = &allow->rules[i];

                if (rule->prefix >= least_prefix && has_port(rule, &wanted) &&
                    address_is_in(&inner, &rule->base, rule->prefix) &&
                    (range == RANGE_PUBLIC || range == rule->range))
                        return rule->text;
        }
        return NULL;
}

const char *allow_address(const struct allow *allow, const struct address *address, enum transport transport,
                          uint16_t port)
{
        return find_addresses(allow, address, transport, port, 0);
}

const char *allow_own_address(const struct allow *allow, const struct address *address,
                              enum transport transport, uint16_t port)
{
        return find_addresses(allow, address, transport, port, 1);
}

bool allow_answer(const struct allow *allow, const struct address *address, enum transport transport,
                  uint16_t port)
{
        const struct address inner = address_unmapped(address);

        return address_range(&inner) == RANGE_PUBLIC || allow_address(allow, &inner, transport, port);
}
