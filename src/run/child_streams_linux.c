/* child_streams_linux.c: the part of the broker that connects sockets of TCP where the sandbox has no network of its own: each is
 * connected to the relay, which is asked before and told afterwards whose it is. Raw system calls.
 *
 * What was asked for was read once and lies here. Wherever else the caller's memory and numbers lead meanwhile, its socket comes
 * to the relay, and the relay decides by what it was told. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "plan/relay.h"
#include "run/child_broker_linux.h"
#include "run/syscall_linux.h"

enum {
        V6_SIZE_MIN = 24,  /* without a scope: the kernel takes that, too */
        STATUS_SIZE = 512, /* as much of it as there is before and with the number of the process */
};

union any_address {
        uint16_t family;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

static uint16_t swap(uint16_t port)
{
        return (uint16_t)(port << 8 | port >> 8);
}

/* Not calls of memset(), which would be somebody else's. */
static void clear(volatile char *bytes, size_t size)
{
        while (size)
                bytes[--size] = 0;
}

static long get_option(long socket, int level, int option, int *value)
{
        unsigned size = sizeof(*value);

        return RAW(SYS_getsockopt, socket, level, option, value, &size);
}

long stream_check(long socket, int domain)
{
        int type = 0, protocol = 0;
        long r = get_option(socket, SOL_SOCKET, SO_TYPE, &type);

        if (!r)
                r = get_option(socket, SOL_SOCKET, SO_PROTOCOL, &protocol);
        if (r < 0)
                return r;
        return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM && protocol == IPPROTO_TCP
                       ? 0
                       : -EACCES;
}

/* ---- addresses ------------------------------------------------------------------------------------------- */

static void take_bytes(struct address *to, const union any_address *from, int domain)
{
        const uint8_t *bytes = domain == AF_INET6 ? (const uint8_t *)&from->v6.sin6_addr
                                                  : (const uint8_t *)&from->v4.sin_addr;

        clear((volatile char *)to, sizeof(*to));
        to->is_v6 = domain == AF_INET6;
        for (int i = 0; i < (to->is_v6 ? 16 : 4); i++)
                to->bytes[i] = bytes[i];
}

/* ::ffff:1.2.3.4 */
static bool is_mapped(const struct address *address)
{
        for (int i = 0; i < 10; i++)
                if (address->bytes[i])
                        return false;
        return address->is_v6 && address->bytes[10] == 0xff && address->bytes[11] == 0xff;
}

/* What the kernel would say of such an address itself. */
static long read_wanted(const struct connector *connector, struct stream_request *out)
{
        const union any_address *wanted = (const void *)connector->address.bytes;

        if (connector->domain != AF_INET && connector->domain != AF_INET6)
                return -EAFNOSUPPORT;
        if (connector->address.length < (int)sizeof(wanted->family) ||
            (connector->domain == AF_INET6 && connector->address.length < V6_SIZE_MIN &&
             wanted->family != AF_UNSPEC))
                return -EINVAL;
        if (connector->domain == AF_INET && wanted->family != AF_UNSPEC &&
            connector->address.length < (int)sizeof(wanted->v4))
                return -EINVAL;
        if (wanted->family != AF_UNSPEC && wanted->family != connector->domain)
                return -EAFNOSUPPORT;
        clear((volatile char *)out, sizeof(*out));
        out->port = swap(wanted->v4.sin_port); /* at the same place in both */
        take_bytes(&out->address, wanted, connector->domain);
        return 0;
}

/* The relay's, by a family that the socket can do. */
static void aim(struct connector *connector, const struct address *wanted, const uint16_t ports[2])
{
        union any_address *to = (void *)connector->address.bytes;
        uint8_t *bytes =
                connector->domain == AF_INET6 ? (uint8_t *)&to->v6.sin6_addr : (uint8_t *)&to->v4.sin_addr;
        bool is_v6 = connector->domain == AF_INET6 && ports[1] && !is_mapped(wanted);

        clear((volatile char *)to, sizeof(*to));
        to->family = (uint16_t)connector->domain;
        to->v4.sin_port = swap(ports[is_v6]);
        if (is_v6) {
                bytes[15] = 1;
        } else {
                if (connector->domain == AF_INET6) {
                        bytes[10] = bytes[11] = 0xff;
                        bytes += 12;
                }
                bytes[0] = 127;
                bytes[3] = 1;
        }
        connector->address.length = connector->domain == AF_INET6 ? sizeof(to->v6) : sizeof(to->v4);
}

/* ---- the caller ------------------------------------------------------------------------------------------ */

static uint64_t find_process(int thread)
{
        char text[STATUS_SIZE];
        uint64_t process = 0;

        /* Most are the first of their process, and this is the shorter way to know it. */
        if (!RAW(SYS_tgkill, thread, thread, 0))
                return (uint64_t)thread;
        return status_find(text, status_read(thread, text, sizeof(text)), "\nTgid:\t", 10, &process) ? process
                                                                                                     : 0;
}

/* For what is told; nothing is decided by it. */
static void name_caller(const struct connector *connector, struct stream_request *out)
{
        char path[PROC_PATH_SIZE];
        uint64_t process = find_process(connector->thread);
        long length;

        caller_proc_path(path, connector->thread, "exe", -1);
        length = RAW(SYS_readlinkat, AT_FDCWD, path, out->program, sizeof(out->program) - 1);
        out->pid = (uint32_t)process;
        /* It still waits, so the number was its own all the time. */
        if (RAW(SYS_ioctl, connector->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &connector->id)) {
                out->pid = 0;
                length = 0;
        }
        out->program[length < 0 ? 0 : length] = '\0';
}

/* ---- the relay ------------------------------------------------------------------------------------------- */

/* A connection that was begun is not begun again: the kernel has something to say of it, and needs no address for that. */
static bool is_begun(long socket)
{
        struct tcp_info info;
        unsigned size = sizeof(info.tcpi_state);
        long r = RAW(SYS_getsockopt, socket, IPPROTO_TCP, TCP_INFO, &info, &size);

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return !r && info.tcpi_state != TCP_CLOSE;
}

static long ask(struct child_job *job, const struct stream_request *stream, struct stream_verdict *out)
{
        long r;

        broker_take_lock(&job->relay_lock);
        r = RAW(SYS_sendto, job->network, stream, sizeof(*stream), MSG_NOSIGNAL, 0, 0);
        if (r >= 0)
                r = RAW(SYS_recvfrom, job->network, out, sizeof(*out), 0, 0, 0);
        broker_leave_lock(&job->relay_lock);
        if (r != sizeof(*out))
                return -ENETUNREACH; /* the relay is gone */
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return out->error;
}

long stream_ask(struct connector *connector, struct stream_request *stream)
{
        const uint16_t nowhere[2] = { 0, 0 };
        struct stream_verdict verdict;
        long r = read_wanted(connector, stream);

        connector->stream = 0;
        /* No connection is wanted any more. */
        if (r < 0 || ((const union any_address *)(const void *)connector->address.bytes)->family == AF_UNSPEC)
                return r;
        if (is_begun(connector->socket)) {
                aim(connector, &stream->address, nowhere);
                return 0;
        }
        name_caller(connector, stream);
        stream->word = STREAM_WANTED;
        r = ask(connector->job, stream, &verdict);
        if (r < 0)
                return r;
        aim(connector, &stream->address, verdict.ports);
        connector->stream = stream;
        return 0;
}

long stream_tell(struct connector *connector)
{
        struct stream_request *stream = connector->stream;
        union any_address own;
        unsigned size = sizeof(own);
        long r = RAW(SYS_getsockname, connector->socket, &own, &size);

        connector->stream = 0;
        if (r < 0)
                return r;
        stream->word = STREAM_MADE;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        stream->from_port = swap(own.v4.sin_port);
        take_bytes(&stream->from, &own, connector->domain);
        r = RAW(SYS_sendto, connector->job->network, stream, sizeof(*stream), MSG_NOSIGNAL, 0, 0);
        return r < 0 ? r : 0;
}
