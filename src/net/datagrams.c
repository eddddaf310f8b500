/* datagrams.c: what came in at a door of UDP, and what comes back.
 *
 * Whoever sends from one port to one place is a flow, with a socket of its own outside that is connected, so that nobody else can answer.
 * A flow is judged by the address that was sent to and by the address that the name leads to. What it carries is not looked at: the
 * name in QUIC is encrypted with a key that anybody can make, and proves as little as it says. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/endpoint.h"
#include "net/list.h"
#include "net/relay.h"

enum {
        FLOWS_MAX = 1024, /* the one that was used longest ago goes */
        SLOTS = 2048,
        IDLE_MS = 60 * 1000,
        AT_ONCE = 64,
        DATAGRAM_MAX = 65536,            /* there is no longer one */
        KEPT_MAX = 16,                   /* datagrams of a flow, until it is known who takes them */
        KEPT_SIZE_MAX = 4 * 1024 * 1024, /* of all flows together */
        DNS_PORT = 53,
};

struct letter {
        struct letter *next;
        size_t length;
        uint8_t bytes[];
};

/* All that a datagram says of where it belongs. */
struct way {
        struct address client, target;
        uint16_t client_port, port;
};

struct flow {
        struct link link;       /* the first: the one used longest ago */
        struct flow *neighbour; /* in the same slot */
        struct watch server;
        struct relay *relay; /* borrowed, as the name and the rule */
        const struct name *name;
        const char *rule;
        struct who *who; /* owned; or NULL */
        struct way way;
        int door; /* borrowed */
        uint64_t number;
        int64_t used;
        struct lookup *lookup; /* while it is resolved */
        struct address addresses[RESOLVER_ADDRESSES_MAX];
        size_t count, next; /* those from `next` on were not tried yet */
        bool is_open;
        uint64_t sent, received;
        struct letter *kept, **end; /* owned */
        size_t kept_count;
};

struct datagrams {
        struct link used;
        struct flow *slots[SLOTS];
        size_t count, kept_size;
        struct timer sweep;
        struct relay *relay; /* borrowed */
        uint8_t bytes[DATAGRAM_MAX];
};

#define OWNER(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

const char *datagrams_allowed(const struct relay *relay, const struct address *address, uint16_t port)
{
        const struct name *name = names_find(relay->names, address);

        return name ? allow_name_port(relay->allow, name->text, TRANSPORT_UDP, port)
                    : allow_address(relay->allow, address, TRANSPORT_UDP, port);
}

/* ---- which flow ----------------------------------------------------------------------------------------- */

/* Whoever makes many fall together has as many as there may be, and is the slower for it. */
static struct flow **find_slot(struct datagrams *datagrams, const struct way *way)
{
        uint32_t value = 2166136261u;

        for (size_t i = 0; i < 16; i++)
                value = ((value ^ way->client.bytes[i]) * 16777619u ^ way->target.bytes[i]) * 16777619u;
        value = ((value ^ way->client_port) * 16777619u ^ way->port) * 16777619u;
        return &datagrams->slots[(value ^ value >> 16) % SLOTS];
}

static bool is_same(const struct way *first, const struct way *second)
{
        return first->client_port == second->client_port && first->port == second->port &&
               address_equals(&first->client, &second->client) &&
               address_equals(&first->target, &second->target);
}

static struct flow *find_flow(struct datagrams *datagrams, const struct way *way)
{
        struct flow *flow = *find_slot(datagrams, way);

        while (flow && !is_same(&flow->way, way))
                flow = flow->neighbour;
        return flow;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void tell(const struct flow *flow, enum relay_event_kind kind, const char *problem)
{
        struct relay_event event = { .kind = kind,
                                     .object = RELAY_DATAGRAM,
                                     .stream = flow->number,
                                     .client_port = flow->way.client_port,
                                     .port = flow->way.port,
                                     .has_address = !flow->name || flow->next,
                                     .address =
                                             flow->next ? flow->addresses[flow->next - 1] : flow->way.target,
                                     .sent = flow->sent,
                                     .received = flow->received };

        if (flow->name)
                snprintf(event.name, sizeof(event.name), "%s", flow->name->text);
        snprintf(event.rule, sizeof(event.rule), "%s", flow->rule);
        snprintf(event.problem, sizeof(event.problem), "%s", problem);
        relay_tell_of(flow->relay, &event, flow->who);
}

static void forget_kept(struct flow *flow)
{
        while (flow->kept) {
                struct letter *letter = flow->kept;

                flow->kept = letter->next;
                flow->relay->datagrams->kept_size -= letter->length;
                free(letter);
        }
        flow->end = &flow->kept;
        flow->kept_count = 0;
}

static void end(struct flow *flow, enum relay_event_kind kind, const char *problem)
{
        struct datagrams *datagrams = flow->relay->datagrams;
        struct flow **at = find_slot(datagrams, &flow->way);

        tell(flow, kind, problem);
        while (*at != flow)
                at = &(*at)->neighbour;
        *at = flow->neighbour;
        list_remove(&flow->link);
        datagrams->count--;
        flow->relay->limits.count--;
        if (flow->lookup)
                resolver_cancel(flow->lookup);
        loop_close(&flow->relay->loop, &flow->server);
        forget_kept(flow);
        who_drop(flow->who);
        free(flow);
}

static void close_flow(struct flow *flow)
{
        end(flow, flow->is_open ? RELAY_CLOSED : RELAY_BROKEN, flow->is_open ? "" : "it was given up");
}

void datagrams_end(struct relay *relay)
{
        while (!list_is_empty(&relay->datagrams->used))
                close_flow((struct flow *)(void *)relay->datagrams->used.next);
}

void datagrams_tell(const struct relay *relay)
{
        for (const struct link *link = relay->datagrams->used.next; link != &relay->datagrams->used;
             link = link->next) {
                const struct flow *flow = (const void *)link;

                if (flow->is_open)
                        tell(flow, RELAY_PASSING, "");
        }
}

/* False if there is no other. */
static bool close_oldest(struct datagrams *datagrams, const struct flow *but)
{
        struct link *oldest = datagrams->used.next;

        if (oldest == &but->link)
                oldest = oldest->next;
        if (oldest == &datagrams->used)
                return false;
        close_flow((struct flow *)(void *)oldest);
        return true;
}

/* ---- the time ------------------------------------------------------------------------------------------- */

static void sweep(struct timer *timer)
{
        struct datagrams *datagrams = OWNER(struct datagrams, sweep, timer);
        struct loop *loop = &datagrams->relay->loop;

        while (!list_is_empty(&datagrams->used)) {
                struct flow *flow = (struct flow *)(void *)datagrams->used.next;
                int64_t left = flow->used + IDLE_MS - loop_now(loop);

                if (left > 0) {
                        loop_set_timer(loop, timer, left);
                        return;
                }
                close_flow(flow);
        }
}

static void use(struct flow *flow)
{
        struct datagrams *datagrams = flow->relay->datagrams;

        flow->used = loop_now(&flow->relay->loop);
        list_remove(&flow->link);
        list_append(&datagrams->used, &flow->link);
        if (!datagrams->sweep.due)
                loop_set_timer(&flow->relay->loop, &datagrams->sweep, IDLE_MS);
}

/* ---- in ------------------------------------------------------------------------------------------------- */

/* From the address that was sent to, wherever the door is. */
static void answer(const struct flow *flow, void *bytes, size_t length)
{
        union {
                char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
                struct cmsghdr header;
        } control = { .bytes = { 0 } };
        const struct way *way = &flow->way;
        const bool is_v6 = way->target.is_v6;
        const size_t size = is_v6 ? sizeof(struct in6_pktinfo) : sizeof(struct in_pktinfo);
        union endpoint client;
        struct iovec part = { bytes, length };
        struct msghdr message = { .msg_name = &client,
                                  .msg_namelen = endpoint_write(&way->client, way->client_port, &client),
                                  .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = CMSG_SPACE(size) };
        char *data = (char *)CMSG_DATA(&control.header);

        control.header.cmsg_level = is_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
        control.header.cmsg_type = is_v6 ? IPV6_PKTINFO : IP_PKTINFO;
        control.header.cmsg_len = CMSG_LEN(size);
        memcpy(data + (is_v6 ? offsetof(struct in6_pktinfo, ipi6_addr)
                             : offsetof(struct in_pktinfo, ipi_spec_dst)),
               way->target.bytes, is_v6 ? 16 : 4);
        /* What there is no room for is lost, as it is on any way. */
        sendmsg(flow->door, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void try_next(struct flow *flow, int problem);

/* Off what all may pass together: whole, or false. */
static bool take(struct flow *flow, size_t length)
{
        struct allowance *allowance = &flow->relay->limits.allowance;

        if (allowance_of(allowance, length) < length)
                return false;
        allowance->passed += length;
        return true;
}

static void server_ready(struct watch *watch, uint32_t events)
{
        struct flow *flow = OWNER(struct flow, server, watch);
        struct datagrams *datagrams = flow->relay->datagrams;

        (void)events;
        for (int i = 0; i < AT_ONCE; i++) {
                ssize_t got = recv(watch->fd, datagrams->bytes, sizeof(datagrams->bytes), MSG_DONTWAIT);

                if (got < 0) {
                        if (errno != EAGAIN && errno != EINTR)
                                try_next(flow, errno);
                        return;
                }
                if (!take(flow, (size_t)got)) {
                        try_next(flow, EDQUOT);
                        return;
                }
                flow->received += (uint64_t)got;
                forget_kept(flow);
                flow->count = flow->next; /* it is this one and no other */
                use(flow);
                answer(flow, datagrams->bytes, (size_t)got);
        }
}

/* ---- out ------------------------------------------------------------------------------------------------ */

/* 0, or the errno with which nobody is there; EDQUOT if no more may pass. */
static int transmit(struct flow *flow, const void *bytes, size_t length)
{
        if (!take(flow, length))
                return EDQUOT;
        if (send(flow->server.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
                flow->sent += length;
                return 0;
        }
        flow->relay->limits.allowance.passed -= length;
        /* Too long for the way, or no room: lost. */
        return errno == EMSGSIZE || errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? 0 : errno;
}

static int transmit_kept(struct flow *flow)
{
        int problem = 0;

        for (const struct letter *letter = flow->kept; letter && !problem; letter = letter->next)
                problem = transmit(flow, letter->bytes, letter->length);
        return problem;
}

static int open_server(struct flow *flow, const struct address *address)
{
        union endpoint endpoint;
        socklen_t size = endpoint_write(address, flow->way.port, &endpoint);
        const int family = address->is_v6 ? AF_INET6 : AF_INET,
                  type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
        int fd = socket(family, type, 0);

        if (fd < 0 && errno == EMFILE && close_oldest(flow->relay->datagrams, flow))
                fd = socket(family, type, 0);
        if (fd < 0)
                return errno;
        loop_close(&flow->relay->loop, &flow->server);
        flow->server = (struct watch){ .fd = fd, .ready = server_ready };
        if (connect(fd, &endpoint.any, size) < 0)
                return errno;
        return -loop_watch(&flow->relay->loop, &flow->server, EPOLLIN);
}

/* The next address, since of the one before it was said that nobody is there; it gets all that nobody has answered. */
static void try_next(struct flow *flow, int problem)
{
        char text[RELAY_TEXT_SIZE];

        while (problem != EDQUOT && flow->next < flow->count) {
                problem = open_server(flow, &flow->addresses[flow->next++]);
                if (problem)
                        continue;
                if (!flow->is_open)
                        tell(flow, RELAY_OPENED, "");
                flow->is_open = true;
                problem = transmit_kept(flow);
                if (problem)
                        continue;
                if (flow->next == flow->count)
                        forget_kept(flow);
                return;
        }
        if (problem == EDQUOT) {
                limits_tell_traffic(flow->relay, text);
                end(flow, RELAY_REFUSED, text);
                return;
        }
        end(flow, flow->received ? RELAY_CLOSED : RELAY_BROKEN, strerror(problem));
}

static void keep(struct flow *flow, const void *bytes, size_t length)
{
        struct datagrams *datagrams = flow->relay->datagrams;
        struct letter *letter;

        if (flow->kept_count == KEPT_MAX || datagrams->kept_size + length > KEPT_SIZE_MAX)
                return;
        letter = malloc(sizeof(*letter) + length);
        if (!letter)
                return;
        letter->next = NULL;
        letter->length = length;
        memcpy(letter->bytes, bytes, length);
        *flow->end = letter;
        flow->end = &letter->next;
        flow->kept_count++;
        datagrams->kept_size += length;
}

static void pass(struct flow *flow, const void *bytes, size_t length)
{
        int problem;

        use(flow);
        if (!flow->is_open || flow->next < flow->count)
                keep(flow, bytes, length);
        problem = flow->is_open ? transmit(flow, bytes, length) : 0;
        if (problem)
                try_next(flow, problem);
}

/* ---- the beginning -------------------------------------------------------------------------------------- */

static void take_addresses(void *user, enum resolver_result result, const struct address *addresses,
                           size_t count)
{
        struct flow *flow = user;
        char problem[RELAY_TEXT_SIZE];

        flow->lookup = NULL;
        for (size_t i = 0; i < count && result == RESOLVER_FOUND; i++)
                if (targets_allow(flow->relay, true, &addresses[i], TRANSPORT_UDP, flow->way.port, problem))
                        flow->addresses[flow->count++] = addresses[i];
        if (flow->count) {
                try_next(flow, 0);
        } else if (result == RESOLVER_FOUND && count) {
                flow->addresses[0] = addresses[count - 1];
                flow->next = 1;
                end(flow, RELAY_REFUSED, problem);
        } else {
                end(flow, RELAY_BROKEN,
                    result == RESOLVER_NO_NAME ? "there is no such name outside"
                                               : "the host's name servers do not answer");
        }
}

static void find_addresses(struct flow *flow)
{
        char problem[RELAY_TEXT_SIZE];

        if (flow->name && strcmp(flow->name->text, PLACE_HOST) != 0) {
                flow->lookup = resolver_ask(flow->relay->resolver, flow->name->text, take_addresses, flow);
                if (!flow->lookup)
                        end(flow, RELAY_BROKEN, strerror(ENOMEM));
                return;
        }
        if (!flow->name &&
            !targets_allow(flow->relay, false, &flow->way.target, TRANSPORT_UDP, flow->way.port, problem)) {
                end(flow, RELAY_REFUSED, problem);
                return;
        }
        flow->addresses[flow->count++] =
                flow->name ? (struct address){ .bytes = { 127, 0, 0, 1 } } : flow->way.target;
        if (flow->name)
                flow->addresses[flow->count++] = (struct address){ .is_v6 = true, .bytes = { [15] = 1 } };
        try_next(flow, 0);
}

static struct flow *add(struct relay *relay, int door, const struct way *way, const char *rule)
{
        struct datagrams *datagrams = relay->datagrams;
        struct flow **slot = find_slot(datagrams, way), *flow = calloc(1, sizeof(*flow));
        const struct who_question question = { .is_udp = true,
                                               .client = way->client,
                                               .client_port = way->client_port,
                                               .address = way->target,
                                               .port = way->port };

        if (!flow)
                return NULL;
        *flow = (struct flow){ .relay = relay,
                               .door = door,
                               .way = *way,
                               .name = names_find(relay->names, &way->target),
                               .rule = rule,
                               .who = who_ask(relay, &question),
                               .server = { .fd = -1 },
                               .number = ++relay->limits.last_number,
                               .neighbour = *slot,
                               .end = &flow->kept };
        list_append(&datagrams->used, &flow->link);
        *slot = flow;
        datagrams->count++;
        relay->limits.count++;
        use(flow);
        return flow;
}

/* What nobody allows is dropped; passers.c tells of it. So is what pretends to come from where the relay itself sends from: an answer to it
 * would come in at a door again, and two servers outside would talk to each other for ever. */
static void begin(struct relay *relay, int door, const struct way *way, size_t length)
{
        struct datagrams *datagrams = relay->datagrams;
        const char *rule = datagrams_allowed(relay, &way->target, way->port);
        char problem[RELAY_TEXT_SIZE];
        struct flow *flow;

        if (!rule || way->client_port == DNS_PORT || datagrams_allowed(relay, &way->client, way->client_port))
                return;
        flow = add(relay, door, way, rule);
        if (!flow)
                return;
        if (!limits_begin(relay, problem)) {
                end(flow, RELAY_REFUSED, problem);
                return;
        }
        if (datagrams->count > FLOWS_MAX)
                close_oldest(datagrams, flow);
        keep(flow, datagrams->bytes, length);
        find_addresses(flow);
}

/* Where its sender wanted it to go, which is where it came in; false if that is not known. */
static bool find_target(struct msghdr *message, struct address *out)
{
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
                const char *data = (const char *)CMSG_DATA(header);

                if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
                        *out = (struct address){ .is_v6 = false };
                        memcpy(out->bytes, data + offsetof(struct in_pktinfo, ipi_addr), 4);
                        return true;
                }
                if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
                        *out = (struct address){ .is_v6 = true };
                        memcpy(out->bytes, data + offsetof(struct in6_pktinfo, ipi6_addr), 16);
                        return true;
                }
        }
        return false;
}

void datagrams_receive(struct relay *relay, int door, uint16_t port)
{
        struct datagrams *datagrams = relay->datagrams;

        for (int i = 0; i < AT_ONCE; i++) {
                union {
                        char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
                        struct cmsghdr header;
                } control;
                union endpoint from;
                struct iovec part = { datagrams->bytes, sizeof(datagrams->bytes) };
                struct msghdr message = { .msg_name = &from,
                                          .msg_namelen = sizeof(from),
                                          .msg_iov = &part,
                                          .msg_iovlen = 1,
                                          .msg_control = control.bytes,
                                          .msg_controllen = sizeof(control.bytes) };
                struct way way = { .port = port };
                ssize_t got = recvmsg(door, &message, MSG_DONTWAIT);
                struct flow *flow;

                if (got < 0)
                        return;
                if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !find_target(&message, &way.target) ||
                    !endpoint_read(&from, &way.client, &way.client_port))
                        continue;
                flow = find_flow(datagrams, &way);
                if (flow)
                        pass(flow, datagrams->bytes, (size_t)got);
                else
                        begin(relay, door, &way, (size_t)got);
        }
}

int datagrams_new(struct relay *relay, struct datagrams **out)
{
        struct datagrams *datagrams = calloc(1, sizeof(*datagrams));

        if (!datagrams)
                return -ENOMEM;
        list_init(&datagrams->used);
        datagrams->relay = relay;
        datagrams->sweep.fire = sweep;
        *out = datagrams;
        return 0;
}
