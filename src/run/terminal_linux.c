/* terminal_linux.c: how the near end of a terminal that init has made comes to us. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "run/terminal.h"

int terminal_open(struct terminal *terminal, int input, const void *bytes, size_t length, abatis_error *err)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, terminal->sockets) < 0 ||
            fds_above_stdio(terminal->sockets) < 0) {
                terminal->sockets[0] = terminal->sockets[1] = -1;
                return error_os(err, errno, "cannot make a socket");
        }
        return terminal_fill(terminal, input, bytes, length, err);
}

bool terminal_receive(struct terminal *terminal)
{
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(int))];
        } control;
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        ssize_t got = recvmsg(terminal->sockets[0], &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (got > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)))
                memcpy(&terminal->master, CMSG_DATA(&control.header), sizeof(int));
        close(terminal->sockets[0]);
        terminal->sockets[0] = -1;
        terminal->master = fd_above_stdio(terminal->master);
        return terminal->master >= 0 && fcntl(terminal->master, F_SETFL, O_NONBLOCK) >= 0;
}
