/* pipe_darwin.c: writing to a reader that may be gone. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "run/pipe.h"

/* The signal would go to the whole process, so no mask of ours keeps it away; but a file can be told that none is wanted. Others may
 * have the same file, and want it. */
ssize_t pipe_write(int fd, const void *bytes, size_t length)
{
        int before = fcntl(fd, F_GETNOSIGPIPE), kept_errno;
        ssize_t written;

        fcntl(fd, F_SETNOSIGPIPE, 1);
        written = write(fd, bytes, length);
        kept_errno = errno;
        if (!before)
                fcntl(fd, F_SETNOSIGPIPE, 0);
        errno = kept_errno;
        return written;
}
