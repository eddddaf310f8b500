/* passers.c: sees what in the sandbox is sent where there is no door, and tells of it.
 *
 * The kernel refuses that by itself, in silence. Of a stream its refusal is seen, so that those which find their door cost nothing here.
 * Nothing is refused by what is seen here: of whoever floods it, what finds no room is only counted. */
#define _GNU_SOURCE
#include <errno.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/ranges.h"
#include "net/relay.h"

enum { PACKETS_AT_ONCE = 64, HEAD_SIZE = 128, V4_MIN = 20, V6_SIZE = 40, TCP = 6, UDP = 17, DNS_PORT = 53 };

/* Of one relay, which lasts as long as its process. */
static struct watch watch = { .fd = -1 };
static struct relay *relay;
static uint64_t come, taken; /* packets: that were counted, and that were read */

struct passer {
        struct address address, client;
        uint16_t port, client_port;
        enum transport transport;
};

static uint16_t read16(const uint8_t *bytes)
{
        return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* False if there are extensions before what it is: nobody needs them, and the kernel refuses what they lead to like all. */
static bool read_packet(const uint8_t *bytes, size_t length, struct passer *out)
{
        const bool is_v6 = length > 0 && bytes[0] >> 4 == 6;
        size_t head = is_v6 ? V6_SIZE : length > 0 ? (size_t)(bytes[0] & 15) * 4 : 0;
        uint8_t protocol;
        struct address *sender, *receiver;
        bool is_refusal;

        if (length < V4_MIN || length < head + 4)
                return false;
        protocol = is_v6 ? bytes[6] : bytes[9];
        /* It goes back to who wanted to come. */
        is_refusal = protocol == TCP;
        *out = (struct passer){ .address = { .is_v6 = is_v6 },
                                .client = { .is_v6 = is_v6 },
                                .transport = is_refusal ? TRANSPORT_TCP : TRANSPORT_UDP,
                                .client_port = read16(bytes + head + (is_refusal ? 2 : 0)),
                                .port = read16(bytes + head + (is_refusal ? 0 : 2)) };
        sender = is_refusal ? &out->address : &out->client;
        receiver = is_refusal ? &out->client : &out->address;
        memcpy(sender->bytes, bytes + (is_v6 ? 8 : 12), is_v6 ? 16 : 4);
        memcpy(receiver->bytes, bytes + (is_v6 ? 24 : 16), is_v6 ? 16 : 4);
        return protocol == TCP || protocol == UDP;
}

static bool has_door(const struct passer *passer, const struct name *name)
{
        if (passer->transport == TRANSPORT_UDP)
                return passer->port == DNS_PORT || datagrams_allowed(relay, &passer->address, passer->port);
        return name ? allow_name_port(relay->allow, name->text, TRANSPORT_TCP, passer->port)
                    : allow_address(relay->allow, &passer->address, TRANSPORT_TCP, passer->port);
}

static void tell(const struct passer *passer, const struct name *name)
{
        struct relay_event event = { .kind = RELAY_REFUSED,
                                     .object = passer->transport == TRANSPORT_TCP ? RELAY_STREAM
                                                                                  : RELAY_DATAGRAM,
                                     .port = passer->port,
                                     .client_port = passer->client_port,
                                     .has_address = !name,
                                     .address = passer->address };
        const struct who_question question = { .is_udp = true,
                                               .client = passer->client,
                                               .client_port = passer->client_port,
                                               .address = passer->address,
                                               .port = passer->port };

        if (name)
                snprintf(event.name, sizeof(event.name), "%s", name->text);
        snprintf(event.problem, sizeof(event.problem), "no entry of network.connect allows %s",
                 passer->transport == TRANSPORT_TCP ? "this port" : "UDP to there");
        /* By the time that we see it, what began a stream has its refusal, and with it no address any more to be found by. */
        if (!repeats_count(relay, &event))
                repeats_tell(relay, &event,
                             passer->transport == TRANSPORT_UDP ? who_ask(relay, &question) : NULL);
}

/* As many as have come, and no more than `most`. */
static void take(uint64_t most)
{
        for (uint64_t i = 0; i < most; i++) {
                uint8_t bytes[HEAD_SIZE];
                ssize_t got = recv(watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
                struct passer passer;
                const struct name *name;

                if (got < 0)
                        return;
                taken++;
                if (!read_packet(bytes, (size_t)got, &passer)) {
                        relay->unheard++;
                        continue;
                }
                name = names_find(relay->names, &passer.address);
                /* What is sent to the sandbox's own loopback stays there. */
                if (!name && address_range(&passer.address) == RANGE_LOOPBACK)
                        continue;
                if (!has_door(&passer, name))
                        tell(&passer, name);
        }
}

static void see(struct watch *unused, uint32_t events)
{
        (void)unused;
        (void)events;
        take(PACKETS_AT_ONCE);
}

void passers_catch_up(void)
{
        struct {
                unsigned int count, lost; /* as the kernel has it: struct tpacket_stats */
        } packets = { 0 };
        socklen_t size = sizeof(packets);

        if (watch.fd < 0)
                return;
        /* Since they were asked for last. What comes while we take these is another time's. */
        if (getsockopt(watch.fd, SOL_PACKET, PACKET_STATISTICS, &packets, &size) < 0)
                return;
        relay->unheard += packets.lost;
        come += packets.count - packets.lost;
        take(come > taken ? come - taken : 0);
}

int passers_start(struct relay *of)
{
        const struct address any = { .is_v6 = false };

        relay = of;
        watch.ready = see;
        watch.fd = inside_socket(relay, SOCKET_SEES, &any, 0);
        /* A kernel without such sockets: then nobody is told. */
        if (watch.fd < 0)
                return 0;
        return loop_watch(&relay->loop, &watch, EPOLLIN);
}
