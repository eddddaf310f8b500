/* published.c: listens on the host's loopback for the ports that the sandbox publishes, and leads who comes there to its own loopback.
 *
 * A port that cannot be had fails the start: nobody should meet somebody else's server there. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/relay.h"

enum { BACKLOG = 512 };

struct published {
        struct watch watch;
        struct relay *relay; /* borrowed */
        uint16_t port;
};

static void accept_stream(struct watch *watch, uint32_t events)
{
        struct published *published = (struct published *)(void *)watch;
        struct peer from;
        int fd = inside_accept(published->relay, watch->fd, &from);

        (void)events;
        if (fd >= 0)
                streams_admit(published->relay, fd, &from, published->port);
}

static int listen_at(uint16_t port, bool is_v6)
{
        const struct sockaddr_in v4 = { .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = { htonl(INADDR_LOOPBACK) } };
        const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                         .sin6_port = htons(port),
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const int yes = 1;
        int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

        if (fd < 0)
                return -errno;
        /* For what is left of a job that has just ended; two who listen still exclude each other. */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        /* Those that are accepted have them, too. */
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        if (is_v6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
        if (bind(fd, is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4,
                 is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
            listen(fd, BACKLOG) < 0)
                r = -errno;
        if (!r)
                return fd;
        close(fd);
        return r;
}

static int publish(struct relay *relay, uint16_t port, bool is_v6)
{
        struct published *published = calloc(1, sizeof(*published));
        int fd = published ? listen_at(port, is_v6) : -ENOMEM;

        /* A machine without IPv6, or without an address of it. */
        if (is_v6 && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)) {
                free(published);
                return 0;
        }
        if (fd < 0) {
                snprintf(relay->problem, sizeof(relay->problem),
                         "network.bind %u: cannot listen on the host's %s: %s", port,
                         is_v6 ? "::1" : "127.0.0.1",
                         fd == -EADDRINUSE ? "somebody else does already" : strerror(-fd));
                free(published);
                return fd;
        }
        *published = (struct published){ .watch = { .fd = fd, .ready = accept_stream },
                                         .relay = relay,
                                         .port = port };
        return loop_watch(&relay->loop, &published->watch, EPOLLIN);
}

int published_start(struct relay *relay)
{
        const struct relay_settings *settings = &relay->settings;
        int r = settings->bind_count > RELAY_BINDS_MAX ? -EINVAL : 0;

        for (uint32_t i = 0; i < settings->bind_count && !r; i++) {
                r = publish(relay, settings->binds[i], false);
                if (!r)
                        r = publish(relay, settings->binds[i], true);
        }
        return r;
}
