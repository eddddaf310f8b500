/* child_terminal_linux.c: a terminal of the command's own: init makes it, the command takes it. Raw system calls over
 * prepared data. It is one of the sandbox's own /dev/pts, so its name leads to it inside, and nowhere else. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

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
        text_write_number(text_write(path, "/dev/pts/"), number);
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
