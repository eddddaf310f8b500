/* attempt_kernel.c: attempts by ways into the kernel: io_uring, the 32-bit calls, races, netlink, unix sockets. */
#define _GNU_SOURCE
#include "attempt.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/inet_diag.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- io_uring ---- */

struct ring {
        int fd;
        unsigned *tail, *mask, *slots, *done_head;
        struct io_uring_sqe *entries;
        struct io_uring_cqe *results;
        unsigned *done_mask;
};

static int ring_open(struct ring *ring)
{
        struct io_uring_params params = { 0 };
        char *area;

        ring->fd = (int)syscall(SYS_io_uring_setup, 4, &params);
        if (ring->fd < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
                return -1;
        area = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
                    PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
        ring->entries = mmap(NULL, 4 * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
                             ring->fd, (off_t)IORING_OFF_SQES);
        if (area == MAP_FAILED || ring->entries == MAP_FAILED)
                return -1;
        ring->tail = (unsigned *)(void *)(area + params.sq_off.tail);
        ring->mask = (unsigned *)(void *)(area + params.sq_off.ring_mask);
        ring->slots = (unsigned *)(void *)(area + params.sq_off.array);
        ring->done_head = (unsigned *)(void *)(area + params.cq_off.head);
        ring->done_mask = (unsigned *)(void *)(area + params.cq_off.ring_mask);
        ring->results = (struct io_uring_cqe *)(void *)(area + params.cq_off.cqes);
        return 0;
}

static int ring_do(struct ring *ring, const struct io_uring_sqe *entry)
{
        unsigned tail = *ring->tail, at = tail & *ring->mask, head = *ring->done_head;
        int result;

        ring->entries[at] = *entry;
        ring->slots[at] = at;
        atomic_thread_fence(memory_order_release);
        *ring->tail = tail + 1;
        if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 1)
                return -1;
        atomic_thread_fence(memory_order_acquire);
        result = ring->results[head & *ring->done_mask].res;
        *ring->done_head = head + 1;
        return result;
}

static int try_io_uring(char **arguments)
{
        struct ring ring;
        struct sockaddr_storage address;
        struct sockaddr_in closed = ipv4(CLOSED_ADDRESS, CLOSED_PORT);
        socklen_t length = sizeof(closed);
        struct io_uring_sqe make = { .opcode = IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM };
        struct io_uring_sqe go = { .opcode = IORING_OP_CONNECT, .addr = (uintptr_t)&address };
        struct io_uring_sqe tell = { .opcode = IORING_OP_SEND, .addr = (uintptr_t) "secret", .len = 6 };

        memcpy(&address, &closed, sizeof(closed));
        if (arguments[0] && !strcmp(arguments[0], "unix")) {
                length = unix_address(0, "", &address);
                make.fd = AF_UNIX;
        }
        if (ring_open(&ring))
                return -1;
        go.off = length;
        go.fd = tell.fd = ring_do(&ring, &make);
        if (go.fd < 0)
                return -1;
        return ring_do(&ring, &go) || ring_do(&ring, &tell) != 6 ? -1 : 0;
}

/* ---- 32-bit calls, whose arguments a filter cannot see ---- */

static int try_compat(char **arguments)
{
        (void)arguments;
#ifdef __x86_64__
        enum { SOCKETCALL = 102, OF_SOCKET = 1, OF_CONNECT = 3, OF_SEND = 9 };
        struct {
                unsigned words[4];
                char text[8];
                struct sockaddr_storage address;
        } *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        unsigned length, fd;
        int result;

        if (low == MAP_FAILED)
                return -1;
#define SOCKETCALL_OF(which)                                            \
        __asm__ volatile("int $0x80"                                    \
                         : "=a"(result)                                 \
                         : "a"(SOCKETCALL), "b"(which), "c"(low->words) \
                         : "memory", "r8", "r9", "r10", "r11")
        length = unix_address(0, "", &low->address);
        memcpy(low->text, "secret", 7);
        memcpy(low->words, (unsigned[4]){ AF_UNIX, SOCK_STREAM, 0 }, 16);
        SOCKETCALL_OF(OF_SOCKET);
        if (result < 0)
                return -1;
        fd = (unsigned)result;
        memcpy(low->words, (unsigned[4]){ fd, (unsigned)(uintptr_t)&low->address, length }, 16);
        SOCKETCALL_OF(OF_CONNECT);
        if (result < 0)
                return -1;
        memcpy(low->words, (unsigned[4]){ fd, (unsigned)(uintptr_t)low->text, 6, 0 }, 16);
        SOCKETCALL_OF(OF_SEND);
#undef SOCKETCALL_OF
        return result == 6 ? 0 : -1;
#else
        return -1;
#endif
}

/* ---- races: another thread changes the address while the kernel, or who stands before it, reads it ---- */

static struct sockaddr_storage raced, faces[2];
static atomic_bool is_over;
static atomic_uint flips;

static void *flip(void *unused)
{
        (void)unused;
        for (; !is_over; flips++)
                memcpy(&raced, &faces[flips & 1], sizeof(raced));
        return NULL;
}

static int try_race(char **arguments)
{
        int is_unix = arguments[0] && !strcmp(arguments[0], "unix"), won = -1;
        const int least = arguments[0] && !is_unix ? atoi(arguments[0]) : 600;
        struct sockaddr_in closed = ipv4(CLOSED_ADDRESS, CLOSED_PORT);
        socklen_t length = sizeof(closed);
        pthread_t thread;

        if (look_up(OPEN_NAME, "7", AF_INET, SOCK_STREAM, &faces[0], &length))
                return -1;
        if (is_unix)
                length = unix_address(0, "", &faces[1]);
        else
                memcpy(&faces[1], &closed, sizeof(closed));
        if (pthread_create(&thread, NULL, flip, NULL))
                return -1;
        /* On a busy machine the other thread gets its turn late: who has not flipped has not raced. */
        for (int round = 0; round < least || (flips < 1000 && round < 100000); round++) {
                int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

                connect(fd, (struct sockaddr *)&raced, length);
                if (is_unix && !say(fd))
                        won = 0;
                close(fd);
                sched_yield();
        }
        is_over = 1;
        pthread_join(thread, NULL);
        return won;
}

/* ---- netlink ---- */

static int ask_netlink(int protocol, void *request, size_t length)
{
        struct {
                struct nlmsghdr head;
                struct nlmsgerr body;
                char rest[4096];
        } answer;
        int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

        if (send(fd, request, length, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
                return -1;
        return answer.head.nlmsg_type == NLMSG_ERROR && answer.body.error ? -1 : 0;
}

/* Adds a route, and takes it away again. */
static int try_route(char **arguments)
{
        struct {
                struct nlmsghdr head;
                struct rtmsg route;
                struct rtattr attribute;
                struct in_addr address;
        } request = {
                .head = { sizeof(request), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 },
                .route = { .rtm_family = AF_INET,
                           .rtm_dst_len = 32,
                           .rtm_table = RT_TABLE_MAIN,
                           .rtm_protocol = RTPROT_STATIC,
                           .rtm_scope = RT_SCOPE_UNIVERSE,
                           .rtm_type = RTN_UNREACHABLE },
                .attribute = { RTA_LENGTH(sizeof(struct in_addr)), RTA_DST },
                .address = ipv4("203.0.113.77", 0).sin_addr,
        };

        (void)arguments;
        if (ask_netlink(NETLINK_ROUTE, &request, sizeof(request)))
                return -1;
        request.head.nlmsg_type = RTM_DELROUTE;
        return ask_netlink(NETLINK_ROUTE, &request, sizeof(request));
}

/* Whether the kernel lists a socket that listens on the lab's port 8123. */
static int try_sock_diag(char **arguments)
{
        struct {
                struct nlmsghdr head;
                struct inet_diag_req_v2 body;
        } request = {
                .head = { sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
                .body = { .sdiag_family = AF_INET,
                          .sdiag_protocol = IPPROTO_TCP,
                          .idiag_states = 1u << TCP_LISTEN },
        };
        static char answer[65536] __attribute__((aligned(8)));
        int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
        ssize_t length;

        (void)arguments;
        if (send(fd, &request, sizeof(request), 0) < 0)
                return -1;
        while ((length = recv(fd, answer, sizeof(answer), 0)) > 0)
                for (struct nlmsghdr *each = (void *)answer; NLMSG_OK(each, (size_t)length);
                     each = NLMSG_NEXT(each, length)) {
                        struct inet_diag_msg *message = NLMSG_DATA(each);

                        if (each->nlmsg_type == NLMSG_DONE || each->nlmsg_type == NLMSG_ERROR)
                                return -1;
                        if (ntohs(message->id.idiag_sport) == 8123)
                                return 0;
                }
        return -1;
}

static int try_tun(char **arguments)
{
        struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };

        (void)arguments;
        snprintf(request.ifr_name, sizeof(request.ifr_name), "attempt%%d");
        return ioctl(open("/dev/net/tun", O_RDWR), TUNSETIFF, &request) ? -1 : 0;
}

/* ---- unix sockets of who is outside ---- */

static int try_unix(char **arguments)
{
        int is_abstract = arguments[0] && !strcmp(arguments[0], "abstract");
        struct sockaddr_storage address;
        socklen_t length = unix_address(is_abstract, "", &address);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        return connect_soon(fd, &address, length) ? -1 : say(fd);
}

/* With a socket, or with one of a pair, which is connected and can be aimed elsewhere all the same. */
static int try_unix_letter(char **arguments)
{
        int is_abstract = arguments[0] && !strcmp(arguments[0], "abstract");
        struct sockaddr_storage address;
        socklen_t length = unix_address(is_abstract, "-letters", &address);
        int pair[2] = { -1, -1 };

        if (arguments[0] && arguments[1] && !strcmp(arguments[1], "pair"))
                (void)!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
        else
                pair[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
        return sendto(pair[0], "secret", 6, 0, (struct sockaddr *)&address, length) == 6 ? 0 : -1;
}

const struct attempt kernel_attempts[] = {
        { "io-uring", try_io_uring }, { "compat", try_compat },           { "race", try_race },
        { "route", try_route },       { "sock-diag", try_sock_diag },     { "tun", try_tun },
        { "unix", try_unix },         { "unix-letter", try_unix_letter }, { 0 },
};
