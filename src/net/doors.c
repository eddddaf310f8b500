/* doors.c: listens in the sandbox's network wherever something allowed may be connected to.
 *
 * What has no door the kernel refuses by itself. A name gets its doors with the first answer about it, an address from the start; a
 * range of addresses has one door for all, since each address of the world is local there. Where there are too many ports for that, a door
 * is opened for who is about to come. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/endpoint.h"
#include "net/relay.h"

enum {
        RANGES_MAX = 64,
        PORTS_MAX = 64, /* of one name or entry: each takes a descriptor for each family */
        DOORS_MAX = 16384,
        KNOCKED_MAX = 1024, /* the one that was asked for longest ago goes */
};

struct door {
        struct watch watch;
        struct relay *relay; /* borrowed */
        struct door *next;
        struct address address;
        uint16_t port;
};

/* Of one relay, which lasts as long as its process. */
static size_t door_count;

/* Where it came in: at a door for all addresses the socket knows which. */
static int find_place(const struct door *door, int fd, struct peer *out)
{
        const struct address any = { .is_v6 = door->address.is_v6 };
        union endpoint own = { .v6 = { .sin6_family = AF_UNSPEC } };
        socklen_t size = sizeof(own);

        if (!address_equals(&door->address, &any)) {
                *out = (struct peer){ address_unmapped(&door->address), door->port };
                return 0;
        }
        if (getsockname(fd, &own.any, &size) < 0)
                return -errno;
        return endpoint_read(&own, &out->address, &out->port) ? 0 : -EAFNOSUPPORT;
}

/* One at once: if there are more the loop says so again, and to ask in vain costs the kernel a socket. */
static void accept_stream(struct watch *watch, uint32_t events)
{
        struct door *door = (struct door *)(void *)watch;
        struct peer from, to;
        int fd = inside_accept(door->relay, watch->fd, &from);

        (void)events;
        if (fd < 0)
                return;
        if (find_place(door, fd, &to) < 0)
                close(fd);
        else
                streams_begin(door->relay, fd, &from, &to, NULL);
}

static void take_datagrams(struct watch *watch, uint32_t events)
{
        struct door *door = (struct door *)(void *)watch;

        (void)events;
        datagrams_receive(door->relay, watch->fd, door->port);
}

/* Adds it to those. */
static int open_door(struct relay *relay, const struct address *address, enum transport transport,
                     uint16_t port, struct door **doors)
{
        struct door *door = door_count < DOORS_MAX ? calloc(1, sizeof(*door)) : NULL;
        int r;

        if (!door)
                return -ENOMEM;
        door->relay = relay;
        door->address = *address;
        door->port = port;
        door->watch.ready = transport == TRANSPORT_TCP ? accept_stream : take_datagrams;
        door->watch.fd = r =
                inside_socket(relay, transport == TRANSPORT_TCP ? SOCKET_LISTENS : SOCKET_RECEIVES, address,
                              port);
        if (r >= 0)
                r = loop_watch(&relay->loop, &door->watch, EPOLLIN);
        /* A server inside has it already. Then that is whom one meets there. */
        if (r == -EADDRINUSE) {
                free(door);
                return 0;
        }
        if (r < 0) {
                loop_close(&relay->loop, &door->watch);
                free(door);
                return r;
        }
        door->next = *doors;
        *doors = door;
        door_count++;
        return 0;
}

static void close_doors(struct door *doors)
{
        while (doors) {
                struct door *door = doors;

                doors = door->next;
                door_count--;
                loop_close(&door->relay->loop, &door->watch);
                free(door);
        }
}

static int open_ports(struct relay *relay, const struct address *address, enum transport transport,
                      const struct port_range *ranges, size_t count, struct door **doors)
{
        unsigned ports = 0;
        int r = 0;

        for (size_t i = 0; i < count && !r; i++)
                for (uint32_t port = ranges[i].low; port <= ranges[i].high && !r; port++)
                        r = ++ports > PORTS_MAX ? -E2BIG
                                                : open_door(relay, address, transport, (uint16_t)port, doors);
        return r;
}

static int open_for_name(struct relay *relay, const struct name *name, enum transport transport,
                         struct door **doors)
{
        struct port_range ranges[RANGES_MAX];
        size_t count = allow_ports(relay->allow, name->text, transport, ranges, RANGES_MAX);
        int r = count > RANGES_MAX ? -E2BIG : 0;

        if (!r)
                r = open_ports(relay, &name->addresses[0], transport, ranges, count, doors);
        if (!r)
                r = open_ports(relay, &name->addresses[1], transport, ranges, count, doors);
        return r == -EAFNOSUPPORT ? 0 : r;
}

int doors_open_for_name(struct relay *relay, struct name *name)
{
        struct door *doors = NULL;
        int r;

        if (name->has_doors)
                return 0;
        r = relay->settings.has_knocks ? 0 : open_for_name(relay, name, TRANSPORT_TCP, &doors);
        if (!r)
                r = open_for_name(relay, name, TRANSPORT_UDP, &doors);
        /* All or none: the next question about it tries again. Else they stay, and end with the relay. */
        if (r < 0)
                close_doors(doors);
        name->has_doors = !r;
        return r;
}

static bool is_single(const struct place *place)
{
        return place->prefix == 8 * address_length(&place->base);
}

int doors_open_for_addresses(struct relay *relay, const struct strings *entries)
{
        struct door *doors = NULL;
        int r = 0;

        for (size_t i = 0; i < entries->count && !r; i++) {
                struct place place;
                abatis_error err;

                if (place_parse(entries->items[i], &place, &err) < 0)
                        return -EINVAL;
                if (place.kind == PLACE_ADDRESSES && (place.is_udp || !relay->settings.has_knocks)) {
                        const struct address any = { .is_v6 = place.base.is_v6 };

                        r = open_ports(relay, is_single(&place) ? &place.base : &any,
                                       place.is_udp ? TRANSPORT_UDP : TRANSPORT_TCP, place.ports,
                                       place.port_count, &doors);
                }
                if (r == -EAFNOSUPPORT)
                        r = 0;
        }
        return r;
}

/* ---- for who is about to come --------------------------------------------------------------------------- */

/* Likewise of one relay. The one that was asked for last is the first. */
static struct door *knocked;
static size_t knocked_count;
static struct watch knocks = { .fd = -1 };
static struct relay *knocks_relay;

static bool may_be_reached(const struct relay *relay, const struct address *address, uint16_t port)
{
        const struct name *name = names_find(relay->names, address);

        return name ? allow_name_port(relay->allow, name->text, TRANSPORT_TCP, port)
                    : allow_address(relay->allow, address, TRANSPORT_TCP, port);
}

static void close_last(void)
{
        struct door **last = &knocked, *door;

        if (!knocked)
                return;
        while ((*last)->next)
                last = &(*last)->next;
        door = *last;
        *last = NULL;
        close_doors(door);
        knocked_count--;
}

static void open_knocked(struct relay *relay, const struct knock *knock)
{
        const struct address address = address_unmapped(&knock->address);
        struct door **at = &knocked, *door;

        if (!knock->port || !may_be_reached(relay, &address, knock->port))
                return;
        while (*at && ((*at)->port != knock->port || !address_equals(&(*at)->address, &address)))
                at = &(*at)->next;
        door = *at;
        if (door) {
                *at = door->next;
                door->next = knocked;
                knocked = door;
                return;
        }
        if (knocked_count == KNOCKED_MAX)
                close_last();
        /* If it cannot be had, whoever knocks finds nobody. */
        door = knocked;
        open_door(relay, &address, TRANSPORT_TCP, knock->port, &knocked);
        knocked_count += knocked != door;
}

static void hear_knock(struct watch *watch, uint32_t events)
{
        struct knock knock;
        ssize_t got = recv(watch->fd, &knock, sizeof(knock), MSG_DONTWAIT);

        (void)events;
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got != sizeof(knock)) {
                loop_close(&knocks_relay->loop, watch);
                return;
        }
        open_knocked(knocks_relay, &knock);
        send(watch->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int doors_await_knocks(struct relay *relay)
{
        if (!relay->settings.has_knocks)
                return 0;
        knocks_relay = relay;
        knocks.fd = RELAY_KNOCKS;
        knocks.ready = hear_knock;
        return loop_watch(&relay->loop, &knocks, EPOLLIN);
}
