/* fd.c: see fd.h. */
#define _GNU_SOURCE
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int fd_above_stdio(int fd)
{
        int raised, error;

        if (fd < 0 || fd > 2)
                return fd;
        raised = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        error = errno;
        close(fd);
        errno = error;
        return raised;
}

int fds_above_stdio(int fds[2])
{
        for (int i = 0; i < 2; i++) {
                fds[i] = fd_above_stdio(fds[i]);
                if (fds[i] >= 0)
                        continue;
                close(fds[1 - i]);
                fds[0] = fds[1] = -1;
                return -1;
        }
        return 0;
}
