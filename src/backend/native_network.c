/* native_network.c: a network of the sandbox's own, with a relay to what network.connect allows. */
#include "backend/native.h"

#include "policy/place.h"

/* The relay listens on each of them, for every name. */
enum { PORTS_MAX = 64 };

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

/* Why this entry cannot be had, or NULL. `ports` are those of the entries before it. */
static const char *find_obstacle(const char *entry, struct ports *ports)
{
        struct place place;

        if (place_parse(entry, &place, NULL) < 0)
                return "it is no place";
        if (place.is_udp)
                return "this version relays TCP only";
        return add_ports(ports, &place) ? NULL : "this version relays 64 different ports at most";
}

static void add_entries(struct native *native, size_t step)
{
        const struct strings *entries = &native->policy->connect;
        struct ports ports = { .count = 0 };

        for (size_t i = 0; i < entries->count; i++) {
                const char *obstacle = find_obstacle(entries->items[i], &ports);

                if (obstacle)
                        plan_miss(native->plan, CLAUSE_CONNECT, i, "%s", obstacle);
                else
                        plan_cover(native->plan, step, CLAUSE_CONNECT, i);
        }
}

void native_add_network(struct native *native)
{
        const abatis_policy *policy = native->policy;
        struct plan *plan = native->plan;
        bool is_list = policy->network == NETWORK_LIST;
        size_t step;

        for (size_t i = 0; i < policy->bind.count; i++)
                plan_miss(plan, CLAUSE_BIND, i, "this version publishes no ports");
        for (size_t i = 0; i < policy->unix_sockets.count; i++)
                plan_miss(plan, CLAUSE_UNIX, i, "this version lets no single socket through");
        if (is_list && native->has_mounts) {
                step = plan_step(plan, PLAN_NETWORK, NULL, 0);
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
                add_entries(native, step);
                return;
        }
        if (is_list)
                plan_miss(plan, CLAUSE_NETWORK, PLAN_NO_INDEX,
                          "a list needs a network namespace, and there are no user namespaces here");
        for (size_t i = 0; i < policy->connect.count; i++)
                plan_miss(plan, CLAUSE_CONNECT, i,
                          is_list ? "there is no network of its own here" : "it is for network.mode: list");
}
