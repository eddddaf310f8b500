/* trial_sockets.c: a server that answers everybody by one byte, and who asks it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/trial_sockets.h"

enum {
        PATIENCE_MS = 2000,
        BACKLOG = 64,
        CALLER = 7,          /* which of the sockets it is */
        LOWEST_FREE = 20000, /* where the kernel takes none for those who connect */
        FREE_PORTS = 10000,
        MOST_STREAMS = 64,
};

static struct sockaddr_in loopback_at(unsigned port)
{
        return (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_port = htons((in_port_t)port),
                                     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* A path, or a name that begins with "@" for an abstract one. Returns the length, or 0 when it does not fit. */
static socklen_t unix_at(const char *name, struct sockaddr_un *out)
{
        size_t length = strlen(name);

        *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (length >= sizeof(out->sun_path))
                return 0;
        memcpy(out->sun_path, name, length);
        if (*name == '@')
                out->sun_path[0] = '\0';
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*name != '@'));
}

/* ---- asking ------------------------------------------------------------------------------------------- */

static int hear(int fd)
{
        struct pollfd polled = { fd, POLLIN, 0 };
        char byte;
        int r = poll(&polled, 1, PATIENCE_MS);
        ssize_t got;

        if (r <= 0) {
                errno = r ? errno : ETIMEDOUT;
                return -1;
        }
        got = recv(fd, &byte, 1, 0);
        if (!got)
                errno = ECONNRESET;
        return got == 1 ? 0 : -1;
}

static int ask(int kind, const void *address, socklen_t length)
{
        int fd = socket(((const struct sockaddr *)address)->sa_family, kind | SOCK_CLOEXEC, 0);
        int r = fd < 0 ? -1 : connect(fd, address, length);
        int error;

        if (!r && kind == SOCK_DGRAM)
                r = send(fd, "x", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
        if (!r)
                r = hear(fd);
        error = errno;
        if (fd >= 0)
                close(fd);
        errno = error;
        return r;
}

/* ---- the server ----------------------------------------------------------------------------------------- */

static int listen_at(const void *address, socklen_t length)
{
        int family = ((const struct sockaddr *)address)->sa_family;
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd >= 0 && (bind(fd, address, length) < 0 || listen(fd, BACKLOG) < 0)) {
                close(fd);
                return -1;
        }
        return fd;
}

/* Nobody listens there now. The kernel gives such numbers to nobody by itself. */
static unsigned find_free_port(unsigned first)
{
        for (unsigned i = 0; i < FREE_PORTS; i++) {
                const unsigned port = LOWEST_FREE + (first + i) % FREE_PORTS;
                struct sockaddr_in address = loopback_at(port);
                int fd = listen_at(&address, sizeof(address));

                if (fd < 0)
                        continue;
                close(fd);
                return port;
        }
        return 0;
}

static int listen_at_name(const char *name)
{
        struct sockaddr_un address;
        socklen_t length = unix_at(name, &address);

        return length ? listen_at(&address, length) : -1;
}

/* A port that is free for both. */
static bool take_port(int sockets[2], unsigned *port)
{
        struct sockaddr_in address = loopback_at(0);
        socklen_t length = sizeof(address);

        for (int i = 0; i < 20; i++) {
                address = loopback_at(0);
                sockets[0] = listen_at(&address, sizeof(address));
                if (sockets[0] < 0 || getsockname(sockets[0], (struct sockaddr *)&address, &length) < 0)
                        return false;
                sockets[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                *port = ntohs(address.sin_port);
                if (sockets[1] >= 0 && !bind(sockets[1], (struct sockaddr *)&address, sizeof(address)))
                        return true;
                close(sockets[0]);
                close(sockets[1]);
        }
        return false;
}

int sockets_open(struct trial_world *world, int sockets[SERVER_SOCKETS])
{
        struct sockaddr_in address = loopback_at(0);
        socklen_t length = sizeof(address);
        char path[TRIAL_PATH];

        for (int i = 0; i < SERVER_SOCKETS; i++)
                sockets[i] = -1;
        if (!take_port(&sockets[0], &world->port) || !take_port(&sockets[2], &world->other_port))
                return -1;
        snprintf(world->name, sizeof(world->name), "@abatis-doctor-%u-%u", (unsigned)getpid(), world->port);
        sockets[4] = listen_at_name(world->name);
        snprintf(path, sizeof(path), "%s/outside/listed", world->root);
        sockets[5] = listen_at_name(path);
        snprintf(path, sizeof(path), "%s/outside/other", world->root);
        sockets[6] = listen_at_name(path);
        sockets[CALLER] = listen_at(&address, sizeof(address));
        if (sockets[CALLER] < 0 || getsockname(sockets[CALLER], (struct sockaddr *)&address, &length) < 0)
                return -1;
        world->caller = ntohs(address.sin_port);
        world->free_port = find_free_port((unsigned)getpid() * 2);
        world->other_free_port = find_free_port(world->free_port - LOWEST_FREE + 1);
        return sockets[4] < 0 || sockets[5] < 0 || sockets[6] < 0 ? -1 : 0;
}

static void answer(int fd)
{
        struct sockaddr_storage from;
        socklen_t length = sizeof(from);
        char byte;
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

        if (peer >= 0) {
                send(peer, "x", 1, MSG_NOSIGNAL);
                close(peer);
        } else if (recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &length) == 1) {
                sendto(fd, &byte, 1, MSG_NOSIGNAL, (struct sockaddr *)&from, length);
        }
}

/* Who asks is told only if somebody has answered there. */
static void call_back(int fd)
{
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        struct pollfd polled = { peer, POLLIN, 0 };
        struct sockaddr_in address;
        uint16_t port;

        if (peer < 0)
                return;
        if (poll(&polled, 1, PATIENCE_MS) == 1 &&
            recv(peer, &port, sizeof(port), MSG_WAITALL) == (ssize_t)sizeof(port)) {
                address = loopback_at(port);
                if (!ask(SOCK_STREAM, &address, sizeof(address)))
                        send(peer, "x", 1, MSG_NOSIGNAL);
        }
        close(peer);
}

void sockets_serve(const int sockets[SERVER_SOCKETS], int leash)
{
        struct pollfd polled[SERVER_SOCKETS + 1];

        for (int i = 0; i < SERVER_SOCKETS; i++)
                polled[i] = (struct pollfd){ sockets[i], POLLIN, 0 };
        polled[SERVER_SOCKETS] = (struct pollfd){ leash, POLLIN, 0 };
        for (;;) {
                if (poll(polled, SERVER_SOCKETS + 1, -1) < 0)
                        continue;
                if (polled[SERVER_SOCKETS].revents)
                        _exit(0);
                for (int i = 0; i < SERVER_SOCKETS; i++)
                        if (polled[i].revents && i == CALLER)
                                call_back(sockets[i]);
                        else if (polled[i].revents)
                                answer(sockets[i]);
        }
}

/* ---- who asks it ---------------------------------------------------------------------------------------- */

int socket_stream(const char *port)
{
        struct sockaddr_in address = loopback_at((unsigned)strtoul(port, NULL, 10));

        return ask(SOCK_STREAM, &address, sizeof(address));
}

int socket_datagram(const char *port)
{
        struct sockaddr_in address = loopback_at((unsigned)strtoul(port, NULL, 10));

        return ask(SOCK_DGRAM, &address, sizeof(address));
}

int socket_path(const char *path)
{
        struct sockaddr_un address;
        socklen_t length = unix_at(path, &address);

        errno = ENAMETOOLONG;
        return length ? ask(SOCK_STREAM, &address, length) : -1;
}

int socket_abstract(const char *name)
{
        return socket_path(name);
}

int socket_loopback(const char *unused)
{
        struct sockaddr_in address = loopback_at(0);
        socklen_t length = sizeof(address);
        int server = listen_at(&address, sizeof(address)), client, peer, r;

        (void)unused;
        if (server < 0 || getsockname(server, (struct sockaddr *)&address, &length) < 0)
                return -1;
        client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (client < 0 || connect(client, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -1;
        peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
        r = peer >= 0 && send(peer, "x", 1, MSG_NOSIGNAL) == 1 ? hear(client) : -1;
        close(server);
        close(client);
        return r;
}

/* The second of two numbers. */
static unsigned second(const char *what)
{
        const char *space = strchr(what, ' ');

        return space ? (unsigned)strtoul(space, NULL, 10) : 0;
}

int socket_streams(const char *what)
{
        struct sockaddr_in address = loopback_at((unsigned)strtoul(what, NULL, 10));
        const unsigned count = second(what);
        int fds[MOST_STREAMS], r = 0, error;
        unsigned opened = 0;

        while (!r && opened < count && opened < MOST_STREAMS) {
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

                fds[opened++] = fd;
                r = fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : hear(fd);
        }
        error = errno;
        while (opened)
                close(fds[--opened]);
        errno = error;
        return r;
}

/* What it is asked for has come: answers it. */
static int serve_one(int server)
{
        struct pollfd polled = { server, POLLIN, 0 };
        int peer = poll(&polled, 1, PATIENCE_MS) == 1 ? accept4(server, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (peer < 0)
                return -1;
        send(peer, "x", 1, MSG_NOSIGNAL);
        close(peer);
        return 0;
}

int socket_published(const char *what)
{
        struct sockaddr_in address = loopback_at(second(what)),
                           caller = loopback_at((unsigned)strtoul(what, NULL, 10));
        const uint16_t port = (uint16_t)second(what);
        struct pollfd polled[2];
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, r, error;
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        r = server < 0 || bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 ||
                            listen(server, BACKLOG) < 0 || fd < 0 ||
                            connect(fd, (struct sockaddr *)&caller, sizeof(caller)) < 0 ||
                            send(fd, &port, sizeof(port), MSG_NOSIGNAL) != (ssize_t)sizeof(port)
                    ? -1
                    : 0;
        polled[0] = (struct pollfd){ server, POLLIN, 0 };
        polled[1] = (struct pollfd){ fd, POLLIN, 0 };
        /* Who is not reached hears from the caller at once. */
        if (!r && poll(polled, 2, PATIENCE_MS) > 0 && polled[0].revents)
                r = serve_one(server);
        if (!r)
                r = hear(fd);
        error = errno;
        close(server);
        close(fd);
        errno = error;
        return r;
}
