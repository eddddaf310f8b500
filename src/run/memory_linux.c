/* memory_linux.c: files without a name, for what is handed to other programs, and for these programs. */
#define _GNU_SOURCE
#include "run/memory_linux.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"

/* Flags of memfd_create, from Linux 6.3 on. */
enum { NOEXEC_SEAL = 0x8, EXEC = 0x10 };

int memory_write(int fd, const void *bytes, size_t size)
{
        for (size_t done = 0; done < size;) {
                ssize_t written = write(fd, (const char *)bytes + done, size - done);

                if (written < 0 && errno != EINTR)
                        return -1;
                done += written > 0 ? (size_t)written : 0;
        }
        return 0;
}

/* Kernels that know the flags have a sysctl for files without them, and those that do not know them refuse them. */
static int make(const char *name, unsigned flags)
{
        int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | flags);

        if (fd < 0 && errno == EINVAL)
                fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
        return fd_above_stdio(fd);
}

int memory_file(enum memory_kind kind, const char *name, const void *bytes, size_t size, const char *what,
                abatis_error *err)
{
        OWN_FD int fd = make(name, kind == MEMORY_PROGRAM ? EXEC : NOEXEC_SEAL);

        if (fd < 0 && errno == EACCES && kind == MEMORY_PROGRAM)
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "%s needs a program in memory, which the sysctl vm.memfd_noexec forbids",
                                 what);
        if (fd < 0 || memory_write(fd, bytes, size) < 0)
                return error_os(err, errno, "cannot keep '%s' in memory", name);
        return take_fd(&fd);
}
