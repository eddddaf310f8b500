/* local.c: knows the host's own addresses by asking the kernel, each time anew: they come and go. */
#define _GNU_SOURCE
#include "net/local.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/endpoint.h"

/* For documents: nobody's. */
static const struct address nobodys[2] = {
        { .bytes = { 192, 0, 2, 1 } },
        { .is_v6 = true, .bytes = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } },
};

static int make_socket(bool is_v6)
{
        int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        return fd < 0 ? -errno : fd;
}

/* 1 if a socket here can have it, 0 if not, or a negative errno. */
static int try_to_have(const struct address *address)
{
        /* Of one relay, which lasts as long as its process. One that could not have an address is as it was. */
        static int kept[2] = { -1, -1 };
        int *fd = &kept[address->is_v6];
        union endpoint endpoint;
        socklen_t size = endpoint_write(address, 0, &endpoint);

        if (*fd < 0)
                *fd = make_socket(address->is_v6);
        if (*fd < 0)
                return *fd;
        if (bind(*fd, &endpoint.any, size) < 0)
                return errno == EADDRNOTAVAIL ? 0 : -errno;
        close(*fd);
        *fd = -1;
        return 1;
}

/* 1 if what is sent there comes from there, 0 if not, or a negative errno. Not so of all: where the host has several addresses of one
 * network, it sends from the first. */
static int try_to_reach(const struct address *address)
{
        OWN_FD int fd = make_socket(address->is_v6);
        union endpoint endpoint;
        socklen_t size = endpoint_write(address, 9, &endpoint);
        struct address from;
        uint16_t port;

        if (fd < 0)
                return fd;
        /* Whoever cannot be reached is not met there; but where there is no port left, or no memory, that is not said. */
        if (connect(fd, &endpoint.any, size) < 0)
                return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? -errno : 0;
        size = sizeof(endpoint);
        if (getsockname(fd, &endpoint.any, &size) < 0)
                return -errno;
        return endpoint_read(&endpoint, &from, &port) && address_equals(&from, address);
}

int local_address(const struct address *address)
{
        const struct address inner = address_unmapped(address), *nobody = &nobodys[inner.is_v6];
        int r = try_to_have(&inner);

        /* Where sockets can have any address (ip_nonlocal_bind), or may not be given one, the first way says nothing. */
        if (r == 0 || (r == 1 && try_to_have(nobody) == 0))
                return r;
        r = try_to_reach(&inner);
        /* Where every address is the host's own, nor does the second, and none is more so than the others. */
        return r == 1 && try_to_reach(nobody) == 1 ? 0 : r;
}
