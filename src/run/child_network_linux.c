/* child_network_linux.c: the sandbox's own network, in which every address is local, and a thread of init that makes sockets in it for
 * the relay outside. Also how the relay is started. Raw system calls over prepared data.
 *
 * Nobody in this network can reach another one: there is no device but its own loopback. What is connected to is the sandbox
 * itself, where the relay listens through the sockets that were made for it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include "plan/relay.h"
#include "run/child_linux.h"
#include "run/syscall_linux.h"

enum {
        BACKLOG = 512,
        SEEN_SIZE = 128,
        SEEN_ROOM = 4 << 20,
        OWN_MARK = 1, /* of datagrams from the relay's own sockets; to set one takes a capability */
        LOOPBACK = 1  /* the number of its device in every new network */
};

/* ---- the network ---------------------------------------------------------------------------------------- */

long child_network_raise(uint64_t pass)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        long fd = RAW_PASSING(pass, SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

        if (fd < 0)
                return fd;
        r = RAW(SYS_ioctl, fd, SIOCSIFFLAGS, &request);
        RAW(SYS_close, fd);
        return r;
}

/* Every address of this family is the sandbox's own. */
static long add_route(long netlink, unsigned char family)
{
        struct {
                struct nlmsghdr header;
                struct rtmsg route;
                struct rtattr attribute;
                uint32_t device;
        } request = { .header = { .nlmsg_len = sizeof(request),
                                  .nlmsg_type = RTM_NEWROUTE,
                                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
                      .route = { .rtm_family = family,
                                 .rtm_table = RT_TABLE_LOCAL,
                                 .rtm_protocol = RTPROT_STATIC,
                                 .rtm_scope = RT_SCOPE_HOST,
                                 .rtm_type = RTN_LOCAL },
                      .attribute = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
                      .device = LOOPBACK };
        struct {
                struct nlmsghdr header;
                struct nlmsgerr error;
                char rest[256];
        } answer;
        long r = RAW(SYS_sendto, netlink, &request, sizeof(request), 0, 0, 0);

        if (r >= 0)
                r = RAW(SYS_recvfrom, netlink, &answer, sizeof(answer), 0, 0, 0);
        if (r < 0)
                return r;
        if ((size_t)r < sizeof(answer.header) + sizeof(answer.error.error))
                return -EPROTO;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (answer.header.nlmsg_type != NLMSG_ERROR)
                return -EPROTO;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        return answer.error.error;
}

static long make_routes(void)
{
        long netlink = RAW(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), r;

        if (netlink < 0)
                return netlink;
        r = add_route(netlink, AF_INET);
        if (!r) {
                r = add_route(netlink, AF_INET6);
                /* A kernel without it. */
                if (r == -EAFNOSUPPORT || r == -EOPNOTSUPP)
                        r = 0;
        }
        RAW(SYS_close, netlink);
        return r;
}

/* ---- sockets for the relay ------------------------------------------------------------------------------ */

union socket_address {
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

static uint16_t swap(uint16_t port)
{
        return (uint16_t)(port << 8 | port >> 8);
}

static long fill_address(const struct socket_request *request, union socket_address *out)
{
        volatile char *bytes = (volatile char *)out;
        const bool is_v6 = request->address.is_v6;
        volatile char *to = is_v6 ? (volatile char *)&out->v6.sin6_addr : (volatile char *)&out->v4.sin_addr;

        for (size_t i = 0; i < sizeof(*out); i++)
                bytes[i] = 0;
        out->v4.sin_family = is_v6 ? AF_INET6 : AF_INET;
        out->v4.sin_port = swap(request->port); /* at the same place in both */
        for (size_t i = 0; i < (is_v6 ? 16 : 4); i++)
                to[i] = (char)request->address.bytes[i];
        return is_v6 ? sizeof(out->v6) : sizeof(out->v4);
}

static long set_option(long fd, int level, int name)
{
        const int yes = 1;

        return RAW(SYS_setsockopt, fd, level, name, &yes, sizeof(yes));
}

/* Doors of the relay's may share a port with one for all addresses; what IPv6 is asked for IPv4 does not answer. */
static long prepare(long fd, const struct socket_request *request)
{
        const bool is_v6 = request->address.is_v6;
        const int mark = OWN_MARK;
        long r = is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) : 0;

        /* An address is local here without belonging to a device. */
        if (r >= 0)
                r = is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_FREEBIND)
                          : set_option(fd, IPPROTO_IP, IP_FREEBIND);
        if (r >= 0 && request->purpose != SOCKET_CONNECTS)
                r = set_option(fd, SOL_SOCKET, SO_REUSEPORT);
        /* Those that are accepted have it, too: an urgent byte must not hide what the relay has to see, and nothing waits for more. */
        if (r >= 0 && request->purpose == SOCKET_LISTENS)
                r = set_option(fd, SOL_SOCKET, SO_OOBINLINE);
        if (r >= 0 && request->purpose == SOCKET_LISTENS)
                r = set_option(fd, IPPROTO_TCP, TCP_NODELAY);
        if (r >= 0 && request->purpose == SOCKET_RECEIVES)
                r = RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
        if (r >= 0 && request->purpose == SOCKET_RECEIVES)
                r = is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO)
                          : set_option(fd, IPPROTO_IP, IP_PKTINFO);
        return r;
}

/* ---- what is refused ------------------------------------------------------------------------------------- */

enum { DNS_PORT = 53, LOOPBACK_NET = 127, FLAGS = 0x16, REFUSES = 0x14 /* RST and ACK, without SYN */ };

/* Places in the filter, which goes forward only. */
enum {
        V4_DATAGRAM = 18,
        V4_ADDRESS = 21,
        V6 = 23,
        V6_DATAGRAM = 34,
        V6_ADDRESS = 37,
        V6_OTHER = 45,
        PASS = 49,
        DROP = 50
};

#define LOAD(at, size, how, from) [at] = BPF_STMT(BPF_LD | (size) | (how), from)
#define IF(at, how, value, yes, no) \
        [at] = BPF_JUMP(BPF_JMP | (how) | BPF_K, value, (yes) - (at)-1, (no) - (at)-1)
#define MASK(at, bits) [at] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define BASE(at, offset) [at] = BPF_STMT(BPF_LDX | BPF_IMM, offset)
#define GO(at, to) [at] = BPF_STMT(BPF_JMP | BPF_JA, (to) - (at)-1)
#define END(at, size) [at] = BPF_STMT(BPF_RET | BPF_K, size)

/* The kernel's own answer to what begins a stream where nobody listens (RST and ACK with the number 0, which a stream that has begun
 * has one of in four billion times), and datagrams; neither questions for names, nor the relay's answers, nor what the sandbox has with
 * itself. What finds somebody wakes nobody here, and what is lost for want of room was refused. Counted from the head of IP. */
static const struct sock_filter seen_code[] = {
        LOAD(0, BPF_W, BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_MARK)),
        IF(1, BPF_JEQ, OWN_MARK, DROP, 2),
        LOAD(2, BPF_B, BPF_ABS, 0),
        [3] = BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
        IF(4, BPF_JEQ, 6, V6, 5),
        /* IPv4: no later part of a packet */
        LOAD(5, BPF_H, BPF_ABS, 6),
        IF(6, BPF_JSET, 0x1fff, DROP, 7),
        [7] = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        LOAD(8, BPF_B, BPF_ABS, 9),
        IF(9, BPF_JEQ, IPPROTO_UDP, V4_DATAGRAM, 10),
        IF(10, BPF_JEQ, IPPROTO_TCP, 11, DROP),
        LOAD(11, BPF_B, BPF_IND, 13),
        MASK(12, FLAGS),
        IF(13, BPF_JEQ, REFUSES, 14, DROP),
        LOAD(14, BPF_W, BPF_IND, 4),
        IF(15, BPF_JEQ, 0, 16, DROP),
        BASE(16, 12), /* whose answer it is */
        GO(17, V4_ADDRESS),
        LOAD(V4_DATAGRAM, BPF_H, BPF_IND, 2),
        IF(19, BPF_JEQ, DNS_PORT, DROP, 20),
        BASE(20, 16), /* where it goes */
        LOAD(V4_ADDRESS, BPF_B, BPF_IND, 0),
        IF(22, BPF_JEQ, LOOPBACK_NET, DROP, PASS),
        /* IPv6 */
        LOAD(V6, BPF_B, BPF_ABS, 6),
        IF(24, BPF_JEQ, IPPROTO_UDP, V6_DATAGRAM, 25),
        IF(25, BPF_JEQ, IPPROTO_TCP, 27, 26),
        GO(26, V6_OTHER),
        LOAD(27, BPF_B, BPF_ABS, 53),
        MASK(28, FLAGS),
        IF(29, BPF_JEQ, REFUSES, 30, DROP),
        LOAD(30, BPF_W, BPF_ABS, 44),
        IF(31, BPF_JEQ, 0, 32, DROP),
        BASE(32, 8),
        GO(33, V6_ADDRESS),
        LOAD(V6_DATAGRAM, BPF_H, BPF_ABS, 42),
        IF(35, BPF_JEQ, DNS_PORT, DROP, 36),
        BASE(36, 24),
        LOAD(V6_ADDRESS, BPF_W, BPF_IND, 0),
        IF(38, BPF_JEQ, 0, 39, PASS),
        LOAD(39, BPF_W, BPF_IND, 4),
        IF(40, BPF_JEQ, 0, 41, PASS),
        LOAD(41, BPF_W, BPF_IND, 8),
        IF(42, BPF_JEQ, 0, 43, PASS),
        LOAD(43, BPF_W, BPF_IND, 12),
        IF(44, BPF_JEQ, 1, DROP, PASS),
        /* Extensions, which programs may ask for: options, ways and parts of packets. What they are before is not looked for. */
        IF(V6_OTHER, BPF_JEQ, IPPROTO_HOPOPTS, PASS, 46),
        IF(46, BPF_JEQ, IPPROTO_ROUTING, PASS, 47),
        IF(47, BPF_JEQ, IPPROTO_FRAGMENT, PASS, 48),
        IF(48, BPF_JEQ, IPPROTO_DSTOPTS, PASS, DROP),
        END(PASS, SEEN_SIZE),
        END(DROP, 0),
};

#undef LOAD
#undef IF
#undef MASK
#undef BASE
#undef GO
#undef END

/* On the loopback every packet comes by twice: once is enough. */
static long make_seeing_socket(void)
{
        const struct sock_fprog program = { sizeof(seen_code) / sizeof(*seen_code),
                                            (struct sock_filter *)seen_code };
        const int room = SEEN_ROOM;
        const struct sockaddr_ll place = { .sll_family = AF_PACKET,
                                           .sll_protocol = swap(ETH_P_ALL),
                                           .sll_ifindex = LOOPBACK };
        long fd = RAW(SYS_socket, AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

        if (fd < 0)
                return fd;
        /* Nothing comes before it is bound. */
        r = RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
        if (r >= 0)
                r = set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING);
        /* As much as there may be: what finds no room is counted. */
        if (r >= 0 && RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
                r = RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
        if (r >= 0)
                r = RAW(SYS_bind, fd, &place, sizeof(place));
        if (r >= 0)
                return fd;
        RAW(SYS_close, fd);
        return r;
}

static long make_socket(const struct socket_request *request)
{
        const int type = request->purpose == SOCKET_RECEIVES ? SOCK_DGRAM : SOCK_STREAM;
        union socket_address address;
        long size = fill_address(request, &address),
             fd = RAW(SYS_socket, request->address.is_v6 ? AF_INET6 : AF_INET,
                      type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
             r;

        if (fd < 0)
                return fd;
        r = prepare(fd, request);
        if (r >= 0 && request->purpose == SOCKET_CONNECTS) {
                r = RAW(SYS_connect, fd, &address, size);
                r = r == -EINPROGRESS ? 0 : r;
        } else if (r >= 0) {
                r = RAW(SYS_bind, fd, &address, size);
        }
        if (r >= 0 && request->purpose == SOCKET_LISTENS)
                r = RAW(SYS_listen, fd, BACKLOG);
        if (r >= 0)
                return fd;
        RAW(SYS_close, fd);
        return r;
}

static void serve(void *argument)
{
        struct child_job *job = argument;
        const long relay = job->network;
        struct socket_request request;
        long kept[1] = { relay };

        child_close_others(kept, 1, 0);
        while (RAW(SYS_recvfrom, relay, &request, sizeof(request), 0, 0, 0) == sizeof(request)) {
                /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                long made = request.purpose == SOCKET_SEES   ? make_seeing_socket()
                            : request.purpose == SOCKET_ASKS ? child_who_start(job)
                                                             : make_socket(&request);
                const int fd = (int)made;
                int answer = 0;
                /* A user can have so many descriptors on their way that the kernel takes no more. The relay waits for an answer. */
                long sent = made < 0 ? made : child_send(relay, &answer, sizeof(answer), &fd, 1);

                if (sent < 0) {
                        answer = (int)sent;
                        RAW(SYS_sendto, relay, &answer, sizeof(answer), MSG_NOSIGNAL, 0, 0);
                }
                if (made >= 0)
                        RAW(SYS_close, made);
        }
        for (;;)
                RAW(SYS_exit, 0);
}

long child_network_open(struct child_job *job)
{
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
                                              .stack = (uintptr_t)job->network_stack,
                                              .stack_size = CHILD_NETWORK_STACK_SIZE };
        long r = RAW(SYS_unshare, CLONE_NEWNET);

        if (r >= 0)
                r = child_network_raise(job->pass);
        if (r >= 0)
                r = make_routes();
        if (r >= 0)
                r = raw_clone(&arguments, serve, job);
        return r < 0 ? r : 0;
}

void child_network_knock(const struct child_job *job, const void *bytes, long size)
{
        const union socket_address *wanted = bytes;
        const bool is_v6 = size >= (long)offsetof(struct sockaddr_in6, sin6_scope_id) &&
                           wanted->v6.sin6_family == AF_INET6;
        const char *from = is_v6 ? (const char *)&wanted->v6.sin6_addr : (const char *)&wanted->v4.sin_addr;
        struct knock knock;
        volatile char *all = (volatile char *)&knock;
        char answer;

        if (!is_v6 && (size < (long)sizeof(wanted->v4) || wanted->v4.sin_family != AF_INET))
                return;
        for (size_t i = 0; i < sizeof(knock); i++)
                all[i] = 0;
        knock.address.is_v6 = is_v6;
        for (size_t i = 0; i < (is_v6 ? 16 : 4); i++)
                ((volatile uint8_t *)knock.address.bytes)[i] = (uint8_t)from[i];
        knock.port = swap(wanted->v4.sin_port);
        if (RAW(SYS_sendto, job->knocks, &knock, sizeof(knock), MSG_NOSIGNAL, 0, 0) == sizeof(knock))
                RAW(SYS_recvfrom, job->knocks, &answer, 1, 0, 0, 0);
}

/* ---- the relay ------------------------------------------------------------------------------------------ */

void child_network_run_relay(void *argument)
{
        const struct child_relay *start = argument;
        static const char *const no_environment[] = { 0 };
        const char *const words[] = { "abatis-relay", 0 };
        /* What was closed by its other end is found out by the call. */
        const struct {
                uint64_t handler, flags, restorer, mask;
        } ignored = { 1 /* SIG_IGN */, 0, 0, 0 };
        uint64_t none = 0;
        long r = RAW(SYS_setsid);

        child_reset_signals();
        RAW(SYS_rt_sigaction, SIGPIPE, &ignored, 0, sizeof(uint64_t));
        for (int i = 0; i < 3 && r >= 0; i++)
                r = RAW(SYS_dup3, start->null, i, 0);
        if (r >= 0)
                r = RAW(SYS_dup3, start->host, RELAY_HOST, 0);
        if (r >= 0)
                r = RAW(SYS_dup3, start->inside, RELAY_INSIDE, 0);
        if (r >= 0)
                r = RAW(SYS_dup3, start->settings, RELAY_SETTINGS, 0);
        if (r >= 0 && start->rules >= 0)
                r = RAW(SYS_dup3, start->rules, RELAY_RULES, 0);
        else if (r >= 0)
                RAW(SYS_close, RELAY_RULES);
        if (r >= 0)
                r = RAW(SYS_dup3, start->knocks, RELAY_KNOCKS, 0);
        if (r >= 0)
                r = RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
        if (r >= 0)
                RAW(SYS_execveat, start->image, "", words, no_environment, AT_EMPTY_PATH);
        for (;;)
                RAW(SYS_exit_group, 125);
}
