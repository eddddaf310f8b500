/* Attempts to talk to somebody outside through a socket of any family. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const char message[] = "escaped";

/* FAMILY TYPE PROTOCOL: having the socket is the success; the runner knows which families are harmless to
 * open. */
static int socket_open(char **argument)
{
        return outcome_of(socket(number_of(argument[0]), number_of(argument[1]), number_of(argument[2])),
                          "socket");
}

/* The kernel takes 32 bits of each argument. */
static int socket_open_high_bits(char **argument)
{
        long family = number_of(argument[0]) | 0x100000000L;
        return outcome_of(syscall(SYS_socket, family, number_of(argument[1]), number_of(argument[2])),
                          "socket");
}

static int send_message(int fd, const struct sockaddr *address, socklen_t length)
{
        if (fd < 0)
                return refused("socket");
        if (connect(fd, address, length) != 0)
                return refused("connect");
        /* The listener logs a connection and closes it, so a stream may be gone by now. */
        long sent = send(fd, message, sizeof(message), MSG_NOSIGNAL);
        int error = 0;
        socklen_t size = sizeof(error);
        /* On a loopback of its own nobody is there to take a datagram. */
        if (sent >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == ECONNREFUSED) {
                errno = error;
                return refused("send");
        }
        return sent < 0 && errno == EPIPE ? SUCCEEDED : outcome_of(sent, "send");
}

/* TYPE PORT */
static int socket_inet(char **argument)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)number_of(argument[1])) };
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return send_message(socket(AF_INET, number_of(argument[0]), 0), (struct sockaddr *)&address,
                            sizeof(address));
}

static int socket_inet6(char **argument)
{
        struct sockaddr_in6 address = { .sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)number_of(argument[1])) };
        address.sin6_addr = in6addr_loopback;
        return send_message(socket(AF_INET6, number_of(argument[0]), 0), (struct sockaddr *)&address,
                            sizeof(address));
}

/* A name that starts with '@' is abstract. */
static socklen_t unix_address(struct sockaddr_un *address, const char *name)
{
        memset(address, 0, sizeof(*address));
        address->sun_family = AF_UNIX;
        snprintf(address->sun_path, sizeof(address->sun_path), "%s", name);
        if (name[0] == '@')
                address->sun_path[0] = '\0';
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] == '@' ? 0 : 1));
}

/* TYPE NAME */
static int socket_unix(char **argument)
{
        struct sockaddr_un address;
        socklen_t length = unix_address(&address, argument[1]);
        return send_message(socket(AF_UNIX, number_of(argument[0]), 0), (struct sockaddr *)&address, length);
}

/* TYPE NAME: a pair needs no socket() call, and a datagram may carry another address. */
static int socket_pair_sendto(char **argument)
{
        struct sockaddr_un address;
        socklen_t length = unix_address(&address, argument[1]);
        int pair[2];
        if (socketpair(AF_UNIX, number_of(argument[0]), 0, pair) != 0)
                return refused("socketpair");
        long sent =
                sendto(pair[0], message, sizeof(message), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
        return undecided(sent, "sendto"); /* a pair may have kept it to itself */
}

static int socket_pair_sendmsg(char **argument)
{
        struct sockaddr_un address;
        char copy[sizeof(message)];
        struct iovec part = { copy, sizeof(copy) };
        struct msghdr header = { .msg_name = &address, .msg_iov = &part, .msg_iovlen = 1 };
        int pair[2];
        memcpy(copy, message, sizeof(copy));
        header.msg_namelen = unix_address(&address, argument[1]);
        if (socketpair(AF_UNIX, number_of(argument[0]), 0, pair) != 0)
                return refused("socketpair");
        return undecided(sendmsg(pair[0], &header, MSG_NOSIGNAL), "sendmsg");
}

static int socket_pair_connect(char **argument)
{
        struct sockaddr_un address;
        socklen_t length = unix_address(&address, argument[1]);
        int pair[2];
        if (socketpair(AF_UNIX, number_of(argument[0]), 0, pair) != 0)
                return refused("socketpair");
        /* The other end first: a pair whose peer is gone may be connected anew. */
        close(pair[1]);
        return send_message(pair[0], (struct sockaddr *)&address, length);
}

/* TYPE PORT: the launcher's standard input is a socket; it is taken off its peer and aimed at somebody
 * else. */
static int socket_reaim(char **argument)
{
        const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)number_of(argument[1])) };
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connect(0, &nowhere, sizeof(nowhere));
        return send_message(0, (struct sockaddr *)&address, sizeof(address));
}

const struct attempt socket_attempts[] = {
        { "socket_open", 3, socket_open },
        { "socket_open_high_bits", 3, socket_open_high_bits },
        { "socket_inet", 2, socket_inet },
        { "socket_inet6", 2, socket_inet6 },
        { "socket_unix", 2, socket_unix },
        { "socket_reaim", 2, socket_reaim },
        { "socket_pair_sendto", 2, socket_pair_sendto },
        { "socket_pair_sendmsg", 2, socket_pair_sendmsg },
        { "socket_pair_connect", 2, socket_pair_connect },
        { NULL, 0, NULL },
};
