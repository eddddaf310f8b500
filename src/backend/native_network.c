/* native_network.c: a network of the sandbox's own: a loopback, or also a relay to what network.connect allows and from what
 * network.bind publishes. */
#include "backend/native.h"

#include <stdlib.h>

#include "plan/relay.h"
#include "policy/place.h"

enum {
        PORTS_MAX =
                64, /* the relay listens on each of them, for every name; with more, where the broker says that somebody comes */
        LOOPBACK_BITS = 8,
        DNS_PORT = 53,
};

#define NO_NETWORK "there is no network of its own here"

/* Of the relay, which is the job's own. */
static const enum limit relay_limits[] = { LIMIT_CONNECTIONS, LIMIT_CONNECTION_RATE, LIMIT_TRAFFIC };

struct ports {
        struct port_range ranges[PORTS_MAX + PLACE_PORTS_MAX];
        size_t count;
};

/* False if there would be too many; then it is as it was. */
static bool add_ports(struct ports *ports, const struct place *place)
{
        struct ports more = *ports;
        size_t all = 0;

        for (size_t i = 0; i < place->port_count; i++)
                more.ranges[more.count++] = place->ports[i];
        more.count = port_ranges_join(more.ranges, more.count);
        for (size_t i = 0; i < more.count; i++)
                all += (size_t)(more.ranges[i].high - more.ranges[i].low) + 1;
        if (all <= PORTS_MAX)
                *ports = more;
        return all <= PORTS_MAX;
}

static bool is_multicast(const struct address *address)
{
        return address->is_v6 ? address->bytes[0] == 0xff : address->bytes[0] >> 4 == 14;
}

/* Why this entry cannot be had, or NULL. `ports` are those of the entries before it: of TCP, of UDP. */
static const char *find_obstacle(const char *entry, struct ports *ports, unsigned *asks)
{
        struct place place;

        if (place_parse(entry, &place, NULL) < 0)
                return "it is no place";
        if (place.is_udp && place_has_port(&place, DNS_PORT))
                return "datagrams to port 53 are answered by the sandbox's own name server, whoever they are for";
        if (place.is_udp && is_multicast(&place.base))
                return "what is sent to many is answered by others than it was sent to";
        if (add_ports(&ports[place.is_udp], &place))
                return NULL;
        if (place.is_udp)
                return "this version relays 64 different ports of UDP at most";
        *asks |= BROKER_DOORS;
        return NULL;
}

static void add_entries(struct native *native, size_t step)
{
        const struct strings *entries = &native->policy->connect;
        struct ports ports[2] = { { .count = 0 } };

        for (size_t i = 0; i < entries->count; i++) {
                unsigned asks = 0;
                const char *obstacle = find_obstacle(entries->items[i], ports, &asks);

                if (asks && !native->host->has_broker) {
                        plan_miss(native->plan, CLAUSE_CONNECT, i,
                                  "more than 64 different ports need a broker, and %s",
                                  native->host->broker_reason);
                        continue;
                }
                native->asks |= asks;

                if (obstacle)
                        plan_miss(native->plan, CLAUSE_CONNECT, i, "%s", obstacle);
                else
                        plan_cover(native->plan, step, CLAUSE_CONNECT, i);
        }
}

/* The sandbox's loopback then has the port already, as what stands for the host's: whoever comes from there would be sent back. */
static bool leads_back(const struct strings *entries, uint16_t port)
{
        static const struct address loopback[] = { { .bytes = { 127, 0, 0, 1 } },
                                                   { .is_v6 = true, .bytes = { [15] = 1 } } };

        for (size_t i = 0; i < entries->count; i++) {
                struct place place;

                if (place_parse(entries->items[i], &place, NULL) < 0 || place.kind != PLACE_ADDRESSES ||
                    place.is_udp || !place_has_port(&place, port))
                        continue;
                /* A wider range gives no loopback. */
                if (place.prefix >= LOOPBACK_BITS &&
                    (address_is_in(&loopback[0], &place.base, place.prefix) ||
                     address_is_in(&loopback[1], &place.base, place.prefix)))
                        return true;
        }
        return false;
}

static void add_binds(struct native *native, size_t step)
{
        const abatis_policy *policy = native->policy;

        for (size_t i = 0; i < policy->bind.count; i++) {
                if (i >= RELAY_BINDS_MAX)
                        plan_miss(native->plan, CLAUSE_BIND, i, "this version publishes 64 ports at most");
                else if (leads_back(&policy->connect, (uint16_t)strtoul(policy->bind.items[i], NULL, 10)))
                        plan_miss(native->plan, CLAUSE_BIND, i,
                                  "network.connect has this port of the loopback, which is the host's then");
                else
                        plan_cover(native->plan, step, CLAUSE_BIND, i);
        }
}

static void miss_all(struct native *native, bool is_list)
{
        const char *reason = is_list ? NO_NETWORK : "it is for network.mode: list";

        for (size_t i = 0; i < native->policy->connect.count; i++)
                plan_miss(native->plan, CLAUSE_CONNECT, i, "%s", reason);
        for (size_t i = 0; i < native->policy->bind.count; i++)
                plan_miss(native->plan, CLAUSE_BIND, i, "%s", reason);
}

static void add_limits(struct native *native, size_t step)
{
        for (size_t i = 0; i < sizeof(relay_limits) / sizeof(*relay_limits); i++) {
                enum limit limit = relay_limits[i];

                if (native->policy->shares_session)
                        plan_miss(
                                native->plan, CLAUSE_LIMIT, limit,
                                "the commands of a shared session have one network; fix: session: private, or "
                                "no such limit");
                else
                        plan_cover(native->plan, step, CLAUSE_LIMIT, limit);
        }
}

/* Where there is no connection, there is none too many: the filter sees to that. */
static void miss_limits(struct native *native)
{
        enum network_mode mode = native->policy->network;

        for (size_t i = 0; i < sizeof(relay_limits) / sizeof(*relay_limits) && mode != NETWORK_DENY; i++)
                plan_miss(native->plan, CLAUSE_LIMIT, relay_limits[i],
                          mode == NETWORK_LIST ? NO_NETWORK
                                               : "connections are counted in network.mode: list");
}

/* Without a network of its own there are no doors, and as many ports as anybody wants. */
static void add_streams(struct native *native, size_t step)
{
        const struct strings *entries = &native->policy->connect;

        for (size_t i = 0; i < entries->count; i++) {
                struct place place;

                if (place_parse(entries->items[i], &place, NULL) < 0)
                        plan_miss(native->plan, CLAUSE_CONNECT, i, "it is no place");
                else if (place.is_udp)
                        plan_miss(native->plan, CLAUSE_CONNECT, i,
                                  "UDP needs a network namespace, and there are no user namespaces here: %s",
                                  native->host->namespaces_reason);
                else
                        plan_cover(native->plan, step, CLAUSE_CONNECT, i);
        }
        for (size_t i = 0; i < native->policy->bind.count; i++)
                plan_miss(native->plan, CLAUSE_BIND, i, "there is no network of its own here: %s",
                          native->host->namespaces_reason);
}

static void miss_list(struct native *native)
{
        const abatis_host *host = native->host;

        if (!host_is_bare(host))
                native_miss_mounts(native, CLAUSE_NETWORK, PLAN_NO_INDEX);
        else
                plan_miss(
                        native->plan, CLAUSE_NETWORK, PLAN_NO_INDEX,
                        "a list needs a network namespace, and there are no user namespaces here; without them a "
                        "broker makes the connections, but pidfd_getfd is refused (or older than Linux 5.6)");
}

static bool has_udp(const abatis_policy *policy)
{
        struct place place;

        for (size_t i = 0; i < policy->connect.count; i++)
                if (!place_parse(policy->connect.items[i], &place, NULL) && place.is_udp)
                        return true;
        return false;
}

/* Without it sockets are refused, which denies no less. What a socket holds is counted in the cgroup of who made it. */
static void add_loopback(struct native *native)
{
        const enum plan_op op =
                native_groups_memory(native) || native->is_wrapped ? PLAN_LOOPBACK_AT_ONCE : PLAN_LOOPBACK;

        /* Sockets are none of the few calls. */
        if (native->policy->network == NETWORK_DENY && !native->policy->has_no_loopback &&
            !native->policy->has_few_calls && native->has_mounts &&
            (op == PLAN_LOOPBACK_AT_ONCE || native->host->has_descriptors))
                plan_cover(native->plan, plan_step(native->plan, op, NULL, 0), CLAUSE_NETWORK, PLAN_NO_INDEX);
}

void native_add_network(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        bool is_list = policy->network == NETWORK_LIST;
        size_t step;

        add_loopback(native);
        if (is_list && native->has_mounts) {
                step = plan_step(plan, PLAN_NETWORK, NULL,
                                 (policy->passes_any_name ? 0 : PLAN_CHECKS_NAMES) |
                                         (has_udp(policy) ? PLAN_HAS_DATAGRAMS : 0));
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                plan_cover(plan, step, CLAUSE_NAMES, PLAN_NO_INDEX);
                plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX); /* such a name is of one network */
                add_entries(native, step);
                add_binds(native, step);
                add_limits(native, step);
                return;
        }
        if (is_list && host_is_bare(native->host) && native->host->has_descriptors) {
                native->asks |= BROKER_STREAMS;
                step = plan_step(plan, PLAN_STREAMS, NULL, policy->passes_any_name ? 0 : PLAN_CHECKS_NAMES);
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                plan_cover(plan, step, CLAUSE_NAMES, PLAN_NO_INDEX);
                plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX); /* none is connected to */
                add_streams(native, step);
                add_limits(native, step);
                return;
        }
        miss_limits(native);
        if (is_list) {
                miss_list(native);
                plan_miss(plan, CLAUSE_NAMES, PLAN_NO_INDEX, NO_NETWORK);
        }
        miss_all(native, is_list);
}
