/* inside.c: asks the thread that lives in the sandbox's network for a socket there.
 *
 * It is waited for: it does nothing else, and whoever is in the sandbox cannot stop it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/endpoint.h"
#include "net/relay.h"

static int receive(int inside, int *answer)
{
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr header;
        } control;
        struct iovec part = { answer, sizeof(*answer) };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof(control.bytes) };
        struct cmsghdr *header;
        ssize_t got;
        int fd = -1;

        do
                got = recvmsg(inside, &message, MSG_CMSG_CLOEXEC);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return -errno;
        header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
                memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        return got == sizeof(*answer) ? fd : -EPIPE;
}

int inside_accept(struct relay *relay, int listener, struct peer *from)
{
        union endpoint client = { .v6 = { .sin6_family = AF_UNSPEC } };
        socklen_t size = sizeof(client);
        int fd = accept4(listener, &client.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
                endpoint_read(&client, &from->address, &from->port);
                return fd;
        }
        if (errno != EMFILE && errno != ENFILE)
                return -errno;
        close(relay->spare);
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
                close(fd);
        relay->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return -EMFILE;
}

int inside_socket(struct relay *relay, enum socket_purpose purpose, const struct address *address,
                  uint16_t port)
{
        struct socket_request request;
        int answer = -EPIPE, fd;

        /* Its gaps, too, cross to another process. */
        memset(&request, 0, sizeof(request));
        request.purpose = purpose;
        request.port = port;
        request.address = *address;
        if (send(relay->inside, &request, sizeof(request), MSG_NOSIGNAL) < 0)
                return -errno;
        fd = receive(relay->inside, &answer);
        if (fd >= 0)
                return fd;
        return answer < 0 ? answer : fd == -1 ? -EPIPE : fd;
}
