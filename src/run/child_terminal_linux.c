/* child_terminal_linux.c: a terminal of the command's own: init makes it, the command takes it. Raw system calls over
 * prepared data. It is one of the sandbox's own /dev/pts, so its name leads to it inside, and nowhere else. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/child_linux.h"
#include "run/syscall_linux.h"

union control {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
};

long child_send_descriptor(long socket, long fd)
{
        union control control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
                                              .cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS } };
        char byte = 0;
        struct iovec part = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };

        *(int *)(void *)CMSG_DATA(&control.header) = (int)fd;
        return RAW(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}

long child_receive_descriptor(long socket)
{
        union control control;
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        long r;

        do
                r = RAW(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
        while (r == -EINTR);
        if (r < 0)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!r || message.msg_controllen < sizeof(control.header) || control.header.cmsg_type != SCM_RIGHTS)
                return -EPIPE; /* whoever had it is gone */
        return *(const int *)(const void *)CMSG_DATA(&control.header);
}

long child_terminal_make(struct child_job *job)
{
        const int unlocked = 0;
        long master = RAW(SYS_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), r;

        if (master < 0)
                return master;
        r = RAW(SYS_ioctl, master, TIOCSPTLCK, &unlocked);
        if (!r)
                r = RAW(SYS_ioctl, master, TIOCGPTN, &job->terminal);
        if (!r)
                r = RAW(SYS_ioctl, master, TIOCSWINSZ, job->terminal_size);
        if (!r)
                r = child_send_descriptor(job->terminal_socket, master);
        RAW(SYS_close, master);
        return r < 0 ? r : 0;
}

void child_terminal_path(char *path, unsigned number)
{
        static const char directory[] = "/dev/pts/";
        char digits[12];
        int count = 0;

        for (const char *from = directory; *from; from++)
                *path++ = *from;
        do
                digits[count++] = (char)('0' + number % 10);
        while (number /= 10);
        while (count)
                *path++ = digits[--count];
        *path = '\0';
}

long child_terminal_take(const struct child_job *job)
{
        char path[32];
        long fd, r = 0;

        child_terminal_path(path, (unsigned)job->terminal);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return fd;
        r = RAW(SYS_ioctl, fd, TIOCSCTTY, 0);
        for (int i = 0; i < 3 && r >= 0; i++)
                r = RAW(SYS_dup3, fd, i, 0);
        RAW(SYS_close, fd);
        return r < 0 ? r : 0;
}
