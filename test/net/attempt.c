/* attempt.c: tries to get past the sandbox in one way.
 *
 *   attempt NAME ARGUMENT...
 *
 * Says nothing, and exits 0 if it believes that it got through; what arrived in the lab decides. attempts.sh has the list. */
#define _GNU_SOURCE
#include "attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

struct sockaddr_in ipv4(const char *address, int port)
{
        struct sockaddr_in out = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

        inet_pton(AF_INET, address, &out.sin_addr);
        return out;
}

int look_up(const char *host, const char *port, int family, int type, struct sockaddr_storage *out,
            socklen_t *length)
{
        struct addrinfo *list, hints = { .ai_family = family, .ai_socktype = type };

        if (getaddrinfo(host, port, &hints, &list))
                return -1;
        memcpy(out, list->ai_addr, list->ai_addrlen);
        *length = list->ai_addrlen;
        freeaddrinfo(list);
        return 0;
}

int connect_soon(int fd, const void *address, socklen_t length)
{
        struct pollfd poll_fd = { fd, POLLOUT, 0 };
        int fault = 0;
        socklen_t size = sizeof(fault);

        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        if (!connect(fd, address, length))
                return 0;
        if (errno != EINPROGRESS || poll(&poll_fd, 1, 2000) != 1)
                return -1;
        return getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) || fault ? -1 : 0;
}

int connect_closed(int fd)
{
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, CLOSED_PORT);

        return connect_soon(fd, &address, sizeof(address));
}

int send_closed(int fd)
{
        struct sockaddr_in address = ipv4(CLOSED_ADDRESS, CLOSED_UDP_PORT);

        return sendto(fd, "secret", 6, 0, (struct sockaddr *)&address, sizeof(address)) == 6 ? 0 : -1;
}

socklen_t unix_address(int is_abstract, const char *suffix, struct sockaddr_storage *out)
{
        struct sockaddr_un *address = (struct sockaddr_un *)out;
        int length;

        memset(out, 0, sizeof(*out));
        address->sun_family = AF_UNIX;
        if (is_abstract)
                length = 1 + snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "abatis-lab%s",
                                      suffix);
        else
                length = 1 + snprintf(address->sun_path, sizeof(address->sun_path), "%s/shared/socket%s",
                                      getenv("LAB"), suffix);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
}

int say(int fd)
{
        return send(fd, "secret", 6, MSG_NOSIGNAL) == 6 ? 0 : -1;
}

/* ---- the plainest ---- */

static int try_connect(char **arguments)
{
        struct sockaddr_storage address;
        socklen_t length;

        if (!arguments[0] || !arguments[1] ||
            look_up(arguments[0], arguments[1], AF_UNSPEC, SOCK_STREAM, &address, &length))
                return -1;
        return connect_soon(socket(address.ss_family, SOCK_STREAM, 0), &address, length);
}

static int try_send(char **arguments)
{
        struct sockaddr_storage address;
        socklen_t length;
        int fd, one = 1;

        if (!arguments[0] || !arguments[1] ||
            look_up(arguments[0], arguments[1], AF_UNSPEC, SOCK_DGRAM, &address, &length))
                return -1;
        fd = socket(address.ss_family, SOCK_DGRAM, 0);
        setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
        return sendto(fd, "secret", 6, 0, (struct sockaddr *)&address, length) == 6 ? 0 : -1;
}

static const struct attempt plain_attempts[] = { { "connect", try_connect }, { "send", try_send }, { 0 } };

int main(int argc, char **argv)
{
        const struct attempt *const all[] = { plain_attempts, packet_attempts, kernel_attempts,
                                              process_attempts };

        for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(*all); i++)
                for (const struct attempt *each = all[i]; each->name; each++)
                        if (!strcmp(each->name, argv[1]))
                                return each->run(argv + 2) ? 1 : 0;
        fprintf(stderr, "attempt: there is no such attempt\n");
        return 2;
}
