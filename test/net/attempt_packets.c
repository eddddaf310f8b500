/* attempt_packets.c: attempts by kinds of sockets and their options: what goes out that is no plain connection. */
#define _GNU_SOURCE
#include "attempt.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OF_SCTP = 132, OF_DCCP = 33, OF_UDPLITE = 136, OF_MPTCP = 262, KIND_DCCP = 6 };

static int try_fastopen(char **arguments)
{
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, CLOSED_PORT);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct iovec part = { "secret", 6 };
        struct mmsghdr message = { .msg_hdr = { .msg_name = &address,
                                                .msg_namelen = sizeof(address),
                                                .msg_iov = &part,
                                                .msg_iovlen = 1 } };
        const char *how = arguments[0] ? arguments[0] : "sendto";

        if (!strcmp(how, "sendmsg"))
                return sendmsg(fd, &message.msg_hdr, MSG_FASTOPEN) == 6 ? 0 : -1;
        if (!strcmp(how, "sendmmsg"))
                return sendmmsg(fd, &message, 1, MSG_FASTOPEN) == 1 ? 0 : -1;
        return sendto(fd, "secret", 6, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof(address)) == 6 ? 0
                                                                                                        : -1;
}

static int try_fastopen_connect(char **arguments)
{
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, CLOSED_PORT);
        int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

        (void)arguments;
        if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one)) ||
            connect(fd, (struct sockaddr *)&address, sizeof(address)))
                return -1;
        return say(fd);
}

static int try_mptcp(char **arguments)
{
        (void)arguments;
        return connect_closed(socket(AF_INET, SOCK_STREAM, OF_MPTCP));
}

static int try_sctp(char **arguments)
{
        int fd = socket(AF_INET, SOCK_STREAM, OF_SCTP);

        (void)arguments;
        return connect_closed(fd >= 0 ? fd : socket(AF_INET, SOCK_SEQPACKET, OF_SCTP));
}

static int try_dccp(char **arguments)
{
        (void)arguments;
        return connect_closed(socket(AF_INET, KIND_DCCP, OF_DCCP));
}

static int try_udplite(char **arguments)
{
        (void)arguments;
        return send_closed(socket(AF_INET, SOCK_DGRAM, OF_UDPLITE));
}

/* A datagram of UDP with its head; how long it is. */
static size_t make_datagram(struct udphdr *out)
{
        out->source = htons(40000);
        out->dest = htons(CLOSED_UDP_PORT);
        out->len = htons(sizeof(*out));
        out->check = 0;
        return sizeof(*out);
}

static int try_raw(char **arguments)
{
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, 0);
        struct udphdr datagram;
        size_t length = make_datagram(&datagram);
        int fd = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);

        (void)arguments;
        return sendto(fd, &datagram, length, 0, (struct sockaddr *)&address, sizeof(address)) > 0 ? 0 : -1;
}

/* As a frame on the device itself, without any route. */
static int try_packet(char **arguments)
{
        struct {
                struct iphdr head;
                struct udphdr body;
        } packet = { .head = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP } };
        struct sockaddr_ll address = { .sll_family = AF_PACKET,
                                       .sll_protocol = htons(ETH_P_IP),
                                       .sll_ifindex = (int)if_nametoindex("lo"),
                                       .sll_halen = 6 };
        int kind = arguments[0] && !strcmp(arguments[0], "raw") ? SOCK_RAW : SOCK_DGRAM;
        int fd = socket(AF_PACKET, kind, htons(ETH_P_IP));
        unsigned char frame[ETH_HLEN + sizeof(packet)] = { [12] = 8 };
        const void *bytes = &packet;
        size_t length = sizeof(packet);

        make_datagram(&packet.body);
        packet.head.tot_len = htons(sizeof(packet));
        packet.head.saddr = packet.head.daddr = ipv4(CLOSED_ADDRESS, 0).sin_addr.s_addr;
        if (kind == SOCK_RAW) {
                memcpy(frame + ETH_HLEN, &packet, sizeof(packet));
                bytes = frame;
                length = sizeof(frame);
        }
        return sendto(fd, bytes, length, 0, (struct sockaddr *)&address, sizeof(address)) > 0 ? 0 : -1;
}

static int try_ping(char **arguments)
{
        const unsigned char echo[8] = { 8 }, echo6[8] = { 128 };
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, 0);
        struct sockaddr_in6 address6 = { .sin6_family = AF_INET6 };

        if (!arguments[0])
                return sendto(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), echo, sizeof(echo), 0,
                              (struct sockaddr *)&address, sizeof(address)) > 0
                               ? 0
                               : -1;
        inet_pton(AF_INET6, arguments[0], &address6.sin6_addr);
        return sendto(socket(AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6), echo6, sizeof(echo6), 0,
                      (struct sockaddr *)&address6, sizeof(address6)) > 0
                       ? 0
                       : -1;
}

/* A socket of another family leads to what no network namespace holds: the hypervisor, a bus, the kernel's own services. */
static int try_family(char **arguments)
{
        if (!arguments[0] || !arguments[1] || !arguments[2])
                return -1;
        return socket(atoi(arguments[0]), atoi(arguments[1]), atoi(arguments[2])) >= 0 ? 0 : -1;
}

static int try_device(char **arguments)
{
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        (void)arguments;
        return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) ? -1 : connect_closed(fd);
}

/* From an address that is not ours: freebind takes no privilege, transparent does. */
static int try_foreign_source(char **arguments)
{
        struct sockaddr_in source = ipv4("93.184.216.10", 0);
        int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        int option = arguments[0] && !strcmp(arguments[0], "transparent") ? IP_TRANSPARENT : IP_FREEBIND;

        if (setsockopt(fd, IPPROTO_IP, option, &one, sizeof(one)) ||
            bind(fd, (struct sockaddr *)&source, sizeof(source)))
                return -1;
        return connect_closed(fd);
}

/* By way of an allowed host: its address is the packet's destination, the closed one is the end of the route. */
static int try_source_route(char **arguments)
{
        unsigned char route[8] = { IPOPT_LSRR, 7, 4 };
        in_addr_t hop = ipv4("93.184.216.10", 0).sin_addr.s_addr;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        (void)arguments;
        memcpy(route + 3, &hop, sizeof(hop));
        return setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route)) ? -1 : connect_closed(fd);
}

/* The same of IPv6, by segments: what the socket is connected to is the end of the route, and the closed one comes first. */
static int try_segments(char **arguments)
{
        struct {
                uint8_t next, length, type, left, last, flags;
                uint16_t tag;
                struct in6_addr segments[2]; /* from the end */
        } route = { .length = 4, .type = 4, .left = 1, .last = 1 };
        struct sockaddr_storage address;
        socklen_t length;
        int fd;

        (void)arguments;
        if (look_up(OPEN_NAME, "7", AF_INET6, SOCK_STREAM, &address, &length))
                return -1;
        inet_pton(AF_INET6, "2606:2800:21f:cb07::99", &route.segments[1]);
        fd = socket(AF_INET6, SOCK_STREAM, 0);
        return setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &route, sizeof(route))
                       ? -1
                       : connect_soon(fd, &address, length);
}

/* A connection that is allowed, given up, and another one by the same socket. */
static int try_again(char **arguments)
{
        const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
        struct sockaddr_storage address;
        socklen_t length;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        (void)arguments;
        if (look_up(OPEN_NAME, "7", AF_INET, SOCK_STREAM, &address, &length) ||
            connect_soon(fd, &address, length) || connect(fd, &nobody, sizeof(nobody)))
                return -1;
        return connect_closed(fd);
}

/* One call, 64 destinations. */
static int try_sendmmsg(char **arguments)
{
        struct sockaddr_in address[64];
        struct mmsghdr message[64] = { 0 };
        struct iovec part = { "secret", 6 };

        (void)arguments;
        for (int i = 0; i < 64; i++) {
                address[i] = ipv4("93.184.216.100", CLOSED_UDP_PORT);
                address[i].sin_addr.s_addr = htonl(ntohl(address[i].sin_addr.s_addr) + (unsigned)i);
                message[i].msg_hdr = (struct msghdr){ .msg_name = &address[i],
                                                      .msg_namelen = sizeof(*address),
                                                      .msg_iov = &part,
                                                      .msg_iovlen = 1 };
        }
        return sendmmsg(socket(AF_INET, SOCK_DGRAM, 0), message, 64, 0) > 0 ? 0 : -1;
}

const struct attempt packet_attempts[] = {
        { "fastopen", try_fastopen },
        { "fastopen-connect", try_fastopen_connect },
        { "mptcp", try_mptcp },
        { "sctp", try_sctp },
        { "dccp", try_dccp },
        { "udplite", try_udplite },
        { "raw", try_raw },
        { "packet", try_packet },
        { "ping", try_ping },
        { "family", try_family },
        { "device", try_device },
        { "foreign-source", try_foreign_source },
        { "source-route", try_source_route },
        { "segments", try_segments },
        { "again", try_again },
        { "sendmmsg", try_sendmmsg },
        { 0 },
};
