/* child_caller_linux.c: what the broker sees of the process that asks: its memory, its descriptors, what its paths lead to.
 * Raw system calls. Everything is read once and opened once: what the caller changes afterwards changes nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "run/child_broker_linux.h"
#include "run/syscall_linux.h"

enum { PAGE = 4096 };

/* ---- the caller ----------------------------------------------------------------------------------------- */

static char *add_text(char *to, const char *from)
{
        while (*from)
                *to++ = *from++;
        *to = '\0';
        return to;
}

static char *add_number(char *to, unsigned long number)
{
        char digits[24];
        int count = 0;

        do
                digits[count++] = (char)('0' + number % 10);
        while (number /= 10);
        while (count)
                *to++ = digits[--count];
        *to = '\0';
        return to;
}

/* "/proc/THREAD/KIND" or, with a number, "/proc/THREAD/KIND/NUMBER" */
void caller_proc_path(char path[PROC_PATH_SIZE], long thread, const char *kind, long number)
{
        char *at = add_text(path, "/proc/");

        at = thread ? add_number(at, (unsigned long)thread) : add_text(at, "self");
        at = add_text(add_text(at, "/"), kind);
        if (number >= 0)
                add_number(add_text(at, "/"), (unsigned long)number);
}

static long open_of_caller(const struct request *request, const char *kind, long number)
{
        char path[PROC_PATH_SIZE];

        caller_proc_path(path, request->thread, kind, number);
        return RAW(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
}

/* What the caller has at this number; AT_FDCWD is its working directory. */
long caller_open_descriptor(const struct request *request, long number)
{
        if (number == AT_FDCWD)
                return open_of_caller(request, "cwd", -1);
        return number < 0 ? -EBADF : open_of_caller(request, "fd", number);
}

/* As many bytes as there are, up to `size`. No piece crosses the end of a page: the next may not be there. */
static long read_memory(const struct request *request, uint64_t address, char *to, size_t size)
{
        size_t done = 0;

        while (done < size) {
                size_t piece = PAGE - (size_t)((address + done) % PAGE);
                struct iovec mine = { to + done, piece < size - done ? piece : size - done };
                struct iovec theirs = { (void *)(uintptr_t)(address + done), mine.iov_len };
                long r = RAW(SYS_process_vm_readv, request->thread, &mine, 1, &theirs, 1, 0);

                if (r <= 0)
                        return done ? (long)done : r ? r : -EFAULT;
                done += (size_t)r;
                if ((size_t)r < mine.iov_len)
                        break;
        }
        return (long)done;
}

long caller_read(const struct request *request, uint64_t address, void *to, size_t size)
{
        long r = read_memory(request, address, to, size);

        if (r < 0)
                return r;
        return (size_t)r == size ? 0 : -EFAULT;
}

static long find_end(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (!text[i])
                        return (long)i;
        return -1;
}

/* A page at a time: most are short. */
long caller_read_text(const struct request *request, uint64_t address, char *to, size_t size, long too_long)
{
        size_t done = 0;

        while (done < size) {
                size_t piece = PAGE - (size_t)((address + done) % PAGE);
                long r = read_memory(request, address + done, to + done,
                                     piece < size - done ? piece : size - done);

                if (r < 0)
                        return r;
                if (find_end(to + done, (size_t)r) >= 0)
                        return 0;
                done += (size_t)r;
        }
        return too_long;
}

/* It is still waiting, so its number was its own all the time. */
bool caller_is_waiting(const struct request *request)
{
        return !RAW(SYS_ioctl, request->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &request->id);
}

/* ---- what it is about ----------------------------------------------------------------------------------- */

/* The number in "/proc/self/fd/NUMBER", or -1. libc itself makes such paths; followed here, they would lead to init's. */
static long own_descriptor(const char *path)
{
        static const char *const places[] = { "/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/" };

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                const char *at = path, *place = places[i];
                long number = 0;

                while (*place && *at == *place) {
                        at++;
                        place++;
                }
                if (*place || !*at)
                        continue;
                for (; *at >= '0' && *at <= '9' && number < INT_MAX / 10; at++)
                        number = 10 * number + (*at - '0');
                return *at ? -1 : number;
        }
        return -1;
}

static long open_at(const struct request *request, const char *path)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
        long start = *path == '/' ? AT_FDCWD : caller_open_descriptor(request, request->directory), fd;

        if (start < 0 && start != AT_FDCWD)
                return start;
        if (!request->follows)
                how.flags |= O_NOFOLLOW;
        fd = RAW(SYS_openat2, start, path, &how, sizeof(how));
        if (start >= 0)
                RAW(SYS_close, start);
        return fd;
}

/* A descriptor (O_PATH) of what the call is about. */
long caller_open_object(const struct request *request)
{
        char *path = request->room->path;
        long number, r;

        if (!request->has_path)
                return caller_open_descriptor(request, request->directory);
        r = caller_read_text(request, request->path, path, PATH_MAX, -ENAMETOOLONG);
        if (r < 0)
                return r;
        if (!*path)
                return request->takes_empty ? caller_open_descriptor(request, request->directory) : -ENOENT;
        number = own_descriptor(path);
        return number >= 0 && request->follows ? caller_open_descriptor(request, number)
                                               : open_at(request, path);
}

/* Asks the kernel where it lies: that is true of the object, whatever way led to it. */
const char *caller_find_place(const struct request *request, long object)
{
        char path[PROC_PATH_SIZE], *real = request->room->real;
        long length;

        caller_proc_path(path, 0, "fd", object);
        length = RAW(SYS_readlinkat, AT_FDCWD, path, real, PATH_MAX - 1);
        if (length <= 0 || length >= PATH_MAX - 1)
                return 0;
        real[length] = '\0';
        return real;
}
