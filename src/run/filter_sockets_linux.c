/* filter_sockets_linux.c: the part of the filter that is about sockets: which are made, and what is done with them. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "run/filter_builder_linux.h"

/* Stream and datagram, over TCP and UDP: no raw, no SCTP, no MPTCP. */
static void emit_internet_socket(struct builder *builder, enum verdict if_fit)
{
        static const unsigned protocols[] = { 0, 6, 17 };
        size_t stream;

        emit_load(builder, 1);
        emit_mask(builder, 0xf);
        stream = emit_test(builder, BPF_JEQ, SOCK_STREAM);
        emit_test_unless(builder, BPF_JEQ, SOCK_DGRAM, REFUSE);
        land(builder, stream);
        emit_load(builder, 2);
        EMIT_LIST(builder, protocols, if_fit, REFUSE);
}

/* A datagram can be aimed at anybody by its address, which lies in memory; what is connected cannot. AF_UNIX takes SOCK_RAW
 * for a datagram. */
static void emit_connected_only(struct builder *builder)
{
        static const unsigned connected[] = { SOCK_STREAM, SOCK_SEQPACKET };

        emit_load(builder, 1);
        emit_mask(builder, 0xf);
        EMIT_LIST(builder, connected, ALLOW, REFUSE);
}

static void emit_unix_only(struct builder *builder, bool is_connected)
{
        emit_load(builder, 0);
        if (!is_connected) {
                emit_test_to(builder, BPF_JEQ, AF_UNIX, ALLOW, REFUSE);
                return;
        }
        emit_test_unless(builder, BPF_JEQ, AF_UNIX, REFUSE);
        emit_connected_only(builder);
}

/* In the host's own network: a stream is connected by the broker, and nothing else leads anywhere by itself. */
static void emit_streams_only(struct builder *builder)
{
        static const unsigned protocols[] = { 0, 6 };
        size_t internet[2];

        emit_load(builder, 0);
        internet[0] = emit_test(builder, BPF_JEQ, AF_INET);
        if (builder->options->asks_connects) {
                internet[1] = emit_test(builder, BPF_JEQ, AF_INET6);
                emit_test_unless(builder, BPF_JEQ, AF_UNIX, REFUSE);
                emit_connected_only(builder);
                land(builder, internet[1]);
        } else {
                emit_test_unless(builder, BPF_JEQ, AF_INET6, REFUSE);
        }
        land(builder, internet[0]);
        emit_load(builder, 1);
        emit_mask(builder, 0xf);
        emit_test_unless(builder, BPF_JEQ, SOCK_STREAM, REFUSE);
        emit_load(builder, 2);
        EMIT_LIST(builder, protocols, ALLOW, REFUSE);
}

/* Where the network is denied and nobody is asked, none is made, see make_ranges(). On a loopback of its own it is another's to make: in
 * that network. */
static void emit_socket(struct builder *builder)
{
        const struct filter_options *options = builder->options;
        const enum verdict if_fit = options->has_loopback ? ASK : ALLOW;
        size_t internet[2], local;

        if (options->network == NETWORK_UNIX_ONLY ||
            (options->network == NETWORK_DENY && !options->has_loopback)) {
                emit_unix_only(builder, options->asks_connects);
                return;
        }
        if (options->asks_streams) {
                emit_streams_only(builder);
                return;
        }
        emit_load(builder, 0);
        local = emit_test(builder, BPF_JEQ, AF_UNIX);
        if (!options->asks_connects)
                jump_to_verdict(builder, local, true,
                                network_has_unix_sockets(options->network) ? ALLOW : REFUSE);
        internet[0] = emit_test(builder, BPF_JEQ, AF_INET);
        internet[1] = emit_test(builder, BPF_JEQ, AF_INET6);
        emit_test_unless(builder, BPF_JEQ, AF_NETLINK, REFUSE);
        emit_load(builder, 2);
        emit_test_to(builder, BPF_JEQ, 0 /* NETLINK_ROUTE */, if_fit, REFUSE);
        if (options->asks_connects) {
                land(builder, local);
                emit_connected_only(builder);
        }
        land(builder, internet[0]);
        land(builder, internet[1]);
        emit_internet_socket(builder, if_fit);
}

/* Unix sockets only. Where sockets are refused, a datagram pair is too. */
static void emit_socketpair(struct builder *builder)
{
        emit_unix_only(builder, !network_has_unix_sockets(builder->options->network) ||
                                        builder->options->asks_connects);
}

static void emit_send(struct builder *builder, unsigned flags_argument)
{
        emit_check_bits(builder, flags_argument, MSG_FASTOPEN, ALLOW);
}

/* Where the broker has connected a socket to the relay, its packets must go there: not by a device, by a route in their heads, or
 * at another time than the broker's. What is not known to be harmless is refused. */
static void emit_option(struct builder *builder)
{
        static const unsigned of_socket[] = { SO_BINDTODEVICE, 62 /* SO_BINDTOIFINDEX */ };
        static const unsigned of_tcp[] = { 30 /* TCP_FASTOPEN_CONNECT */, 31 /* TCP_ULP */ };
        static const unsigned of_v4[] = { IP_TOS, IP_TTL };
        static const unsigned of_v6[] = { IPV6_V6ONLY, IPV6_TCLASS };
        size_t socket, tcp, v4, v6;

        emit_load(builder, 1);
        socket = emit_test(builder, BPF_JEQ, SOL_SOCKET);
        tcp = emit_test(builder, BPF_JEQ, IPPROTO_TCP);
        v4 = emit_test(builder, BPF_JEQ, IPPROTO_IP);
        v6 = emit_test_unless(builder, BPF_JEQ, IPPROTO_IPV6, REFUSE);
        land(builder, v6);
        emit_load(builder, 2);
        EMIT_LIST(builder, of_v6, ALLOW, REFUSE);
        land(builder, socket);
        emit_load(builder, 2);
        EMIT_LIST(builder, of_socket, REFUSE, ALLOW);
        land(builder, tcp);
        emit_load(builder, 2);
        EMIT_LIST(builder, of_tcp, REFUSE, ALLOW);
        land(builder, v4);
        emit_load(builder, 2);
        EMIT_LIST(builder, of_v4, ALLOW, REFUSE);
}

void filter_emit_of_sockets(struct builder *builder, enum verdict verdict)
{
        if (verdict == CHECK_SOCKET)
                emit_socket(builder);
        else if (verdict == CHECK_SOCKETPAIR)
                emit_socketpair(builder);
        else if (verdict == CHECK_OPTION)
                emit_option(builder);
        else
                emit_send(builder, verdict == CHECK_SEND_2 ? 2 : 3);
}
