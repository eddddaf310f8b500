/* child_pty_linux.c: terminals that the command makes where /dev/pts is the host's. For the broker; raw system calls.
 *
 * Landlock lets /dev/ptmx be opened, but cannot grant one terminal among the host's. So the broker opens a terminal for a
 * caller that has its other end, the master, or whose ancestors in the job have it. Who has the master has all that the
 * terminal could give.
 *
 * A number says little: it is somebody else's as soon as the master is closed. So the terminal is found first (O_PATH, which
 * opens nothing), then a master of its number is looked for, and then the terminal must still have its name, which it loses
 * with its master. So both were there at one time, and no two terminals have the same number then. What is opened is what
 * was found: if the master has gone meanwhile, the kernel says EIO. Docker lets nobody take a descriptor from another
 * process (pidfd_getfd), so the master itself is not at hand; /proc tells its number, and where it was opened. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        TERMINAL_MAJOR = 136,
        ANCESTORS_MAX = 64,
        LOOKS_MAX = 4096, /* at descriptors, for one question */
        FLAGS = O_ACCMODE | O_NONBLOCK | O_CLOEXEC,
};

/* What /proc/PROCESS/fdinfo tells of a descriptor: all of it of the same file. Mount and inode of a master are those of the
 * ptmx that was opened, and another mount may have terminals of its own, with the same numbers. */
struct opened {
        unsigned long mount, inode, number;
};

/* The number in the first line that begins so. */
static bool find_number(const char *text, const char *name, unsigned long *out)
{
        size_t length = 0;

        while (name[length])
                length++;
        while (*text) {
                if (text_begins_with(text, name))
                        return text_read_number(text + length, out);
                while (*text && *text != '\n')
                        text++;
                text += *text == '\n';
        }
        return false;
}

static bool read_opened(long directory, const char *path, bool is_master, struct opened *out)
{
        char text[1024];

        return descent_read_text(directory, path, text, sizeof(text)) > 0 &&
               find_number(text, "mnt_id:\t", &out->mount) && find_number(text, "ino:\t", &out->inode) &&
               (!is_master || find_number(text, "tty-index:\t", &out->number));
}

/* The command opens no other. */
static bool find_ptmx(struct opened *out)
{
        long fd = RAW(SYS_openat, AT_FDCWD, "/dev/ptmx", O_PATH | O_CLOEXEC);
        char path[PROC_PATH_SIZE];
        bool is_found;

        if (fd < 0)
                return false;
        caller_proc_path(path, 0, "fdinfo", fd);
        is_found = read_opened(AT_FDCWD, path, false, out);
        RAW(SYS_close, fd);
        return is_found;
}

/* Whether the process has a master of `ptmx` at this descriptor, and of which number. */
static bool find_master(long process, const char *name, const struct opened *ptmx, unsigned long *number)
{
        char path[PROC_PATH_SIZE];
        struct opened found;
        size_t at = 0;

        for (const char *from = "fdinfo/"; *from; from++)
                path[at++] = *from;
        for (; *name && at < sizeof(path) - 1; at++)
                path[at] = *name++;
        path[at] = '\0';
        if (*name || !read_opened(process, path, true, &found) || found.mount != ptmx->mount ||
            found.inode != ptmx->inode)
                return false;
        *number = found.number;
        return true;
}

static bool has_master(long process, const struct opened *ptmx, unsigned long wanted, int *looks)
{
        long fds = RAW(SYS_openat, process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), length;
        char entries[2048] __attribute__((aligned(8)));
        bool is_found = false;
        unsigned long number;

        if (fds < 0)
                return false;
        while (!is_found && *looks > 0 && (length = RAW(SYS_getdents64, fds, entries, sizeof(entries))) > 0)
                for (long at = 0; at < length && !is_found && *looks > 0; --*looks) {
                        const struct directory_entry *entry = (const void *)(entries + at);

                        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it */
                        at += entry->length;
                        is_found = find_master(process, entry->name, ptmx, &number) && number == wanted;
                }
        RAW(SYS_close, fds);
        return is_found;
}

static bool is_of_terminal(const struct stat *status)
{
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return S_ISCHR(status->st_mode) && major(status->st_rdev) == TERMINAL_MAJOR && status->st_nlink;
}

bool pty_is_own(const struct request *request, long object)
{
        struct opened ptmx;
        struct stat status;
        long process, above;
        int looks = LOOKS_MAX;
        bool is_found = false;

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (RAW(SYS_fstat, object, &status) || !is_of_terminal(&status) || !find_ptmx(&ptmx))
                return false;
        process = descent_open(request->thread);
        if (!caller_is_waiting(request) && process >= 0) {
                RAW(SYS_close, process);
                return false;
        }
        for (int i = 0; i < ANCESTORS_MAX && process >= 0 && !is_found; i++) {
                is_found = has_master(process, &ptmx, minor(status.st_rdev), &looks);
                above = is_found ? -ESRCH : descent_open_parent(request, process);
                RAW(SYS_close, process);
                process = above == DESCENT_IS_INIT ? -ESRCH : above;
        }
        return is_found && !RAW(SYS_fstat, object, &status) && is_of_terminal(&status);
}

static long find_terminal(unsigned long number)
{
        char path[PROC_PATH_SIZE];

        child_terminal_path(path, (unsigned)number);
        return RAW(SYS_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Never as a terminal that controls whoever opens it: that would be init. */
static long open_found(struct request *request, long object, uint64_t flags)
{
        const char *real = caller_find_place(request, object);

        request->has_own_pty = true;
        if (!real || !broker_may_open_to_write(request, real) || broker_is_denied(request, real))
                return -EACCES;
        return broker_give(request, broker_reopen(request, object, (flags & FLAGS) | O_NOCTTY, 0), flags);
}

/* Of any other descriptor the kernel says what there is to say, and Landlock refuses. Nothing but numbers decides. */
long pty_serve_peer(struct request *request, bool *goes_on)
{
        unsigned long number = 0, still = 0;
        char name[PROC_PATH_SIZE];
        struct opened ptmx;
        struct stat status;
        long process, object = -ENOTTY, r = 0;

        *goes_on = true;
        if ((int)request->args[0] < 0 || !find_ptmx(&ptmx))
                return 0;
        broker_descriptor_name(name, (int)request->args[0]);
        process = descent_open(request->thread);
        if (process < 0)
                return 0;
        if (find_master(process, name, &ptmx, &number))
                object = find_terminal(number);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (object >= 0 && find_master(process, name, &ptmx, &still) && still == number &&
            /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
            !RAW(SYS_fstat, object, &status) && is_of_terminal(&status) && minor(status.st_rdev) == number &&
            caller_is_waiting(request)) {
                *goes_on = false;
                r = open_found(request, object, request->args[2]);
        }
        if (object >= 0)
                RAW(SYS_close, object);
        RAW(SYS_close, process);
        return r;
}

long pty_open_controlling(const struct request *request, uint64_t flags)
{
        long process = descent_open(request->thread), object, fd = -ENXIO;
        long controlling = process < 0 ? process : descent_read(process, DESCENT_TERMINAL);
        unsigned long device = controlling < 0 ? 0 : (unsigned long)controlling;
        unsigned long number = (device & 0xff) | (device >> 12 & 0xfff00);
        bool is_jobs = request->job->has_terminal && number == (unsigned)request->job->terminal;

        if (process >= 0)
                RAW(SYS_close, process);
        if ((device >> 8 & 0xfff) != TERMINAL_MAJOR || !caller_is_waiting(request))
                return -ENXIO;
        object = find_terminal(number);
        if (object < 0)
                return -ENXIO;
        /* With namespaces there are none but the sandbox's. */
        if (is_jobs || !request->job->plan->broker->is_among_others || pty_is_own(request, object))
                fd = broker_reopen(request, object, flags | O_NOCTTY, 0);
        RAW(SYS_close, object);
        return fd;
}
