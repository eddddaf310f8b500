/* child_messages_linux.c: descriptors that come through a socket. Raw system calls over prepared data. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>

#include "run/child_linux.h"
#include "run/syscall_linux.h"

enum { MOST_DESCRIPTORS = 5 };

union control {
        struct cmsghdr header;
        char room[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
};

long child_send(long socket, const void *bytes, size_t size, const int *fds, size_t count)
{
        union control control;
        struct iovec part = { (void *)bytes, size };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        for (size_t i = 0; i < count; i++)
                ((int *)(void *)CMSG_DATA(&control.header))[i] = fds[i];
        return RAW(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

long child_send_descriptor(long socket, long fd)
{
        const char byte = 0;
        const int number = (int)fd;

        return child_send(socket, &byte, 1, &number, 1);
}

long child_receive(long socket, void *bytes, size_t size, int *fds, size_t count, int flags)
{
        union control control;
        struct iovec part = { bytes, size };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
        long r;

        control.header.cmsg_len = 0;
        control.header.cmsg_type = 0;
        do
                r = RAW(SYS_recvmsg, socket, &message, flags);
        while (r == -EINTR);
        if (r < 0)
                return r;
        if ((size_t)r != size || message.msg_controllen < CMSG_LEN(count * sizeof(int)) ||
            control.header.cmsg_type != SCM_RIGHTS ||
            control.header.cmsg_len != CMSG_LEN(count * sizeof(int)))
                return -EPIPE; /* whoever had it is gone */
        for (size_t i = 0; i < count; i++)
                /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                fds[i] = ((const int *)(const void *)CMSG_DATA(&control.header))[i];
        return 0;
}

long child_receive_descriptor(long socket)
{
        char byte = 0;
        int fd = -1;
        long r = child_receive(socket, &byte, 1, &fd, 1, MSG_CMSG_CLOEXEC);

        return r < 0 ? r : fd;
}
