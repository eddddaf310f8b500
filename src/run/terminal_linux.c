/* terminal_linux.c: the near end of a command's terminal, and what is typed into it. */
#define _GNU_SOURCE
#include "run/terminal_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

enum { CHUNK = 4096, END_OF_FILE = 4 /* Ctrl-D */ };

static void close_one(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* At the end of what is typed the command finds the end of its input. A line that is not finished takes two. */
static void end_input(struct terminal *terminal)
{
        terminal->input = -1;
        terminal->done = 0;
        terminal->length = terminal->last == '\n' ? 1 : 2;
        memset(terminal->typed, END_OF_FILE, terminal->length);
        terminal->has_ended = true;
}

int terminal_open(struct terminal *terminal, int input, const void *bytes, size_t length, abatis_error *err)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, terminal->sockets) < 0 ||
            fds_above_stdio(terminal->sockets) < 0) {
                terminal->sockets[0] = terminal->sockets[1] = -1;
                return error_os(err, errno, "cannot make a socket");
        }
        terminal->typed = malloc(length > CHUNK ? length + 2 : CHUNK + 2);
        if (!terminal->typed)
                return error_memory(err);
        if (bytes)
                memcpy(terminal->typed, bytes, length);
        terminal->length = bytes ? length : 0;
        terminal->last = terminal->length ? terminal->typed[length - 1] : '\n';
        terminal->input = bytes ? -1 : input;
        if (!terminal->length && terminal->input < 0)
                end_input(terminal);
        return 0;
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
        close_one(&terminal->sockets[0]);
        terminal->master = fd_above_stdio(terminal->master);
        return terminal->master >= 0 && fcntl(terminal->master, F_SETFL, O_NONBLOCK) >= 0;
}

static void read_input(struct terminal *terminal)
{
        ssize_t got = read(terminal->input, terminal->typed, CHUNK);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) {
                end_input(terminal);
                return;
        }
        terminal->done = 0;
        terminal->length = (size_t)got;
        terminal->last = terminal->typed[got - 1];
}

bool terminal_type(struct terminal *terminal, bool is_readable)
{
        if (terminal->master < 0)
                return false;
        if (terminal->done == terminal->length && terminal->input >= 0 && is_readable)
                read_input(terminal);
        while (terminal->done < terminal->length) {
                ssize_t written = write(terminal->master, terminal->typed + terminal->done,
                                        terminal->length - terminal->done);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        return true;
                if (written < 0) {
                        terminal->input = -1;
                        terminal->done = terminal->length;
                        return false;
                }
                terminal->done += (size_t)written;
                if (terminal->done == terminal->length && terminal->input < 0 && !terminal->has_ended)
                        end_input(terminal);
        }
        return false;
}

void terminal_resize(const struct terminal *terminal, unsigned rows, unsigned columns)
{
        struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };

        if (terminal->master >= 0)
                ioctl(terminal->master, TIOCSWINSZ, &size);
}

void terminal_done(struct terminal *terminal)
{
        close_one(&terminal->sockets[0]);
        close_one(&terminal->sockets[1]);
        close_one(&terminal->master);
        free(terminal->typed);
}
