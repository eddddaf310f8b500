/* child_descent_linux.c: who is of the job, where its processes are among the host's. For the broker; raw system calls.
 *
 * A directory of /proc that is open stays the same process's: of one that is gone nothing can be read any more, whoever has
 * its number now. Init has every orphan of the job for its child, so a process is of the job if its parents lead to init. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        GENERATIONS_MAX = 10000,
        TRIES_MAX = 50, /* whose parent ends meanwhile has another one */
};

long descent_read_text(long directory, const char *path, char *text, size_t size)
{
        long fd = RAW(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC), length;

        if (fd < 0)
                return fd;
        length = RAW(SYS_read, fd, text, size - 1);
        RAW(SYS_close, fd);
        text[length > 0 ? length : 0] = '\0';
        return length;
}

/* Not O_PATH: it is also what a signal can be sent through. */
long descent_open(long process)
{
        char path[PROC_PATH_SIZE];

        caller_proc_path(path, process, "", -1);
        return RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool descent_is_thread(long process, long thread)
{
        char path[PROC_PATH_SIZE];
        long fd;

        caller_proc_path(path, process, "task", thread);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
        if (fd >= 0)
                RAW(SYS_close, fd);
        return fd >= 0;
}

long descent_read(long process, enum descent_word word)
{
        char text[512];
        const char *at = text;
        long length = descent_read_text(process, "stat", text, sizeof(text));
        unsigned long number = 0;

        if (length <= 0)
                return -ESRCH;
        /* The name may be anything. */
        for (at += length; at > text && at[-1] != ')'; at--)
                ;
        for (int i = 0; i <= (int)word; i++) {
                for (; *at == ' '; at++)
                        ;
                for (; i < (int)word && *at && *at != ' '; at++)
                        ;
        }
        return text_read_number(at, &number) ? (long)number : -ESRCH;
}

long descent_open_parent(const struct request *request, long process)
{
        long parent = descent_read(process, DESCENT_PARENT), fd;

        if (parent < 0)
                return parent;
        if (parent == broker_init_number(request))
                return DESCENT_IS_INIT;
        /* Who ends in the middle of the question has none. */
        if (!parent)
                return -ESRCH;
        if (parent == 1)
                return -EPERM;
        fd = descent_open(parent);
        /* It still is: then the number was its own when it was opened. */
        if (fd >= 0 && descent_read(process, DESCENT_PARENT) == parent)
                return fd;
        if (fd >= 0)
                RAW(SYS_close, fd);
        return -EAGAIN;
}

/* One way up. -EAGAIN if somebody on it has ended. */
static long climb(const struct request *request, long process)
{
        long at = process, above = -EPERM;

        for (int i = 0; i < GENERATIONS_MAX; i++) {
                above = descent_open_parent(request, at);
                if (at != process)
                        RAW(SYS_close, at);
                if (above < 0)
                        return above == -ESRCH && at != process ? -EAGAIN : above;
                if (above == DESCENT_IS_INIT)
                        return 0;
                at = above;
        }
        RAW(SYS_close, at);
        return -EPERM;
}

long descent_check(const struct request *request, long process)
{
        long r = -EAGAIN;

        for (int tries = 0; tries < TRIES_MAX && r == -EAGAIN; tries++)
                r = climb(request, process);
        return r == -EAGAIN ? -EPERM : r;
}
