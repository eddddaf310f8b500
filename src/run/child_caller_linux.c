/* child_caller_linux.c: what the broker sees of the process that asks: its memory, its descriptors, what its paths lead to.
 * Raw system calls. Everything is read once and opened once: what the caller changes afterwards changes nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum { PAGE = 4096, LINKS_MAX = 40, PROC_SUPER_MAGIC = 0x9fa0, STATUS_SIZE = 512 };

/* ---- the caller ----------------------------------------------------------------------------------------- */

/* "/proc/THREAD/KIND" or, with a number, "/proc/THREAD/KIND/NUMBER" */
void caller_proc_path(char path[PROC_PATH_SIZE], long thread, const char *kind, long number)
{
        char *at = text_write(path, "/proc/");

        at = thread ? text_write_number(at, (unsigned long)thread) : text_write(at, "thread-self");
        at = text_write(text_write(at, "/"), kind);
        if (number >= 0)
                text_write_number(text_write(at, "/"), (unsigned long)number);
}

void broker_descriptor_name(char name[PROC_PATH_SIZE], long fd)
{
        text_write_number(name, (unsigned long)fd);
}

/* The caller's directory in /proc. It is kept for its next question: of a process that is gone nothing can be opened any more,
 * whoever has its number now. */
static long find_directory(const struct request *request, bool is_new)
{
        struct child_broker_room *room = request->room;
        char path[PROC_PATH_SIZE];

        if (!is_new && room->caller == request->thread)
                return room->caller_directory;
        if (room->caller)
                RAW(SYS_close, room->caller_directory);
        caller_proc_path(path, request->thread, "", -1);
        room->caller_directory = (int)RAW(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        room->caller = room->caller_directory < 0 ? 0 : request->thread;
        return room->caller_directory;
}

static long open_of_caller(const struct request *request, const char *kind, long number)
{
        char path[PROC_PATH_SIZE], *at = text_write(path, kind);
        long r = -ESRCH;

        if (number >= 0)
                text_write_number(text_write(at, "/"), (unsigned long)number);
        for (int tries = 0; tries < 2 && (r == -ESRCH || r == -ENOENT); tries++) {
                long directory = find_directory(request, tries);

                r = directory < 0 ? directory : RAW(SYS_openat, directory, path, O_PATH | O_CLOEXEC);
        }
        return r == -ENOENT && number >= 0 ? -EBADF : r;
}

/* What the caller has at this number; AT_FDCWD is its working directory. */
long caller_open_descriptor(const struct request *request, long number)
{
        if (number == AT_FDCWD)
                return open_of_caller(request, "cwd", -1);
        return number < 0 ? -EBADF : open_of_caller(request, "fd", number);
}

long caller_open_program(const struct request *request)
{
        return open_of_caller(request, "exe", -1);
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

long status_read(int thread, char *text, size_t size)
{
        char path[PROC_PATH_SIZE];
        long fd, length;

        caller_proc_path(path, thread, "status", -1);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        length = fd < 0 ? fd : RAW(SYS_read, fd, text, size);
        if (fd >= 0)
                RAW(SYS_close, fd);
        return length;
}

static unsigned digit_of(char digit)
{
        return digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
               : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                              : UINT_MAX;
}

bool status_find(const char *text, long length, const char *key, unsigned base, uint64_t *out)
{
        for (long at = 0; at < length; at++) {
                long end = at;

                /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                while (end < length && text[end] == key[end - at] && key[end - at])
                        end++;
                if (key[end - at])
                        continue;
                for (*out = 0; end < length && digit_of(text[end]) < base; end++)
                        *out = base * *out + digit_of(text[end]);
                return true;
        }
        return false;
}

/* ---- what it is about ----------------------------------------------------------------------------------- */

static const char *skip(const char *text, const char *start)
{
        while (*start && *text == *start) {
                text++;
                start++;
        }
        return *start ? 0 : text;
}

static const char *skip_number(const char *text, long *number)
{
        const char *at = text;

        for (*number = 0; *at >= '0' && *at <= '9' && *number < INT_MAX / 10; at++)
                *number = 10 * *number + (*at - '0');
        return at == text ? 0 : at;
}

bool caller_is_process(const struct request *request, long process)
{
        return descent_is_thread(request->thread, process);
}

/* Of another thread it may be somebody else's a moment later. */
bool caller_keeps_number(const struct request *request, long number)
{
        return number > 0 && (number == request->thread || number == caller_find_process(request)) &&
               caller_is_waiting(request);
}

long caller_find_process(const struct request *request)
{
        char text[STATUS_SIZE];
        uint64_t leader = 0;

        return status_find(text, status_read(request->thread, text, sizeof(text)), "\nTgid:\t", 10, &leader)
                       ? (long)leader
                       : -ESRCH;
}

int caller_count_threads(const struct request *request)
{
        char *text = request->room->value;
        uint64_t count = 0;
        long length = status_read(request->thread, text, ATTRIBUTE_SIZE);

        return status_find(text, length, "\nThreads:\t", 10, &count) && count < INT_MAX ? (int)count : 0;
}

bool caller_is_init(long process)
{
        return descent_is_thread(RAW(SYS_getpid), process);
}

/* What follows "/proc/self/", or the caller's number in its place; or NULL. */
static const char *skip_own_directory(const struct request *request, const char *path)
{
        const char *rest = skip(path, "/proc/self/"), *end;
        long number;

        if (!rest)
                rest = skip(path, "/proc/thread-self/");
        if (rest || !(rest = skip(path, "/proc/")))
                return rest;
        end = skip_number(rest, &number);
        return end && *end == '/' && caller_is_process(request, number) ? end + 1 : 0;
}

/* Magic links to what the caller has. libc itself makes such paths; followed here, they would lead to init's. -ENOSYS if the
 * path is none. */
static long open_own(const struct request *request, const char *path)
{
        static const char *const standard[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
        static const char *const others[] = { "exe", "cwd", "root" };
        const char *rest, *end;
        long number;

        if (*path != '/' || (path[1] != 'd' && path[1] != 'p'))
                return -ENOSYS;
        for (long i = 0; i < 3; i++)
                if (text_is_same(path, standard[i]))
                        return caller_open_descriptor(request, i);
        rest = skip(path, "/dev/fd/");
        if (!rest) {
                path = skip_own_directory(request, path);
                if (!path)
                        return -ENOSYS;
                rest = skip(path, "fd/");
        }
        end = rest ? skip_number(rest, &number) : 0;
        if (end && !*end)
                return caller_open_descriptor(request, number);
        for (size_t i = 0; !rest && i < sizeof(others) / sizeof(*others); i++)
                if (text_is_same(path, others[i]))
                        return open_of_caller(request, others[i], -1);
        return -ENOSYS;
}

/* A link in /proc is taken for a magic one: this process's own are not the caller's either. */
bool caller_is_in_proc(long fd)
{
        struct statfs status;

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return RAW(SYS_fstatfs, fd, &status) < 0 || status.f_type == PROC_SUPER_MAGIC;
}

/* Puts the link's target before the rest of the way. */
static long follow_link(struct child_broker_room *room, long link, long length, const char *rest)
{
        size_t at = (size_t)length;

        if (caller_is_in_proc(link))
                return -ELOOP;
        room->target[at++] = '/';
        while (*rest && at < PATH_MAX - 1)
                room->target[at++] = *rest++;
        if (*rest)
                return -ENAMETOOLONG;
        room->target[at] = '\0';
        for (size_t i = 0; i <= at; i++)
                room->rest[i] = room->target[i];
        return 0;
}

/* One component of what is left of the way. Returns what it leads to; *is_link when the way now goes on elsewhere. */
static long step(struct child_broker_room *room, long at, char **rest, int flags, bool *is_link)
{
        char *name = *rest, *end = name, end_was;
        long next, length, r;
        bool is_last;

        while (*end && *end != '/')
                end++;
        end_was = *end;
        *end = '\0';
        next = RAW(SYS_openat, at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        *end = end_was;
        is_last = !end_was; /* a slash behind it means what a link leads to */
        while (*end == '/')
                end++;
        *rest = end;
        if (next < 0)
                return next;
        length = RAW(SYS_readlinkat, next, "", room->target, PATH_MAX - 2); /* a slash follows, and the end */
        *is_link = length >= 0 && !(is_last && flags & O_NOFOLLOW);
        if (!*is_link)
                return next;
        r = follow_link(room, next, length, end);
        *rest = room->rest;
        RAW(SYS_close, next);
        return r;
}

/* Where there is no openat2: a sandbox around this one hides it. */
static long walk(struct child_broker_room *room, long from, const char *path, int flags)
{
        long at = RAW(SYS_openat, from, *path == '/' ? "/" : ".", O_PATH | O_CLOEXEC), next;
        char *rest = room->rest;
        int links = 0;

        for (size_t i = 0; !i || path[i - 1]; i++)
                rest[i] = path[i];
        while (at >= 0 && *rest) {
                bool is_link = false;

                if (*rest == '/') {
                        for (; *rest == '/'; rest++)
                                ;
                        continue;
                }
                next = step(room, at, &rest, flags, &is_link);
                if (is_link && !next && ++links > LINKS_MAX)
                        next = -ELOOP;
                if (is_link && !next && *rest != '/')
                        continue;
                if (is_link && !next)
                        next = RAW(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
                RAW(SYS_close, at);
                at = next;
        }
        if (at < 0 || !(flags & O_DIRECTORY))
                return at;
        next = RAW(SYS_openat, at, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        RAW(SYS_close, at);
        return next;
}

long caller_open_from(const struct request *request, long directory, const char *path, int flags)
{
        const struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
                                      .resolve = RESOLVE_NO_MAGICLINKS };
        long fd = RAW(SYS_openat2, directory, path, &how, sizeof(how));

        return fd == -ENOSYS ? walk(request->room, directory, path, flags) : fd;
}

long caller_open_at(const struct request *request, long directory, const char *path, int flags)
{
        long start = *path == '/' ? AT_FDCWD : caller_open_descriptor(request, directory), fd;

        if (start < 0 && start != AT_FDCWD)
                return start;
        fd = caller_open_from(request, start, path, flags);
        if (start >= 0)
                RAW(SYS_close, start);
        return fd;
}

/* The path in the room, if it begins with a word for the process that looks: that is the caller, not init. */
void caller_redirect(const struct request *request)
{
        static const char *const words[] = { "/proc/self", "/proc/thread-self", "/dev/fd" };
        char *path = request->room->path, start[PROC_PATH_SIZE];

        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
                const char *word = words[i], *rest = path;
                size_t length = 0, at = 0;

                while (*word && *rest == *word) {
                        rest++;
                        word++;
                }
                if (*word || (*rest && *rest != '/'))
                        continue;
                caller_proc_path(start, request->thread, i == 2 ? "fd" : "", -1);
                for (; rest[length]; length++)
                        ;
                for (; start[at]; at++)
                        ;
                if (at + length >= PATH_MAX)
                        return; /* then it leads to init's, of which nothing is open */
                for (size_t j = 0; j <= length; j++)
                        request->room->target[j] = rest[j];
                for (size_t j = 0; j < at; j++)
                        path[j] = start[j];
                for (size_t j = 0; j <= length; j++)
                        path[at + j] = request->room->target[j];
                return;
        }
}

bool file_look_at(long directory, const char *path, int flags, struct file_number *out)
{
        struct statx status;

        if (RAW(SYS_statx, directory, path, flags, STATX_INO, &status) < 0)
                return false;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        *out = (struct file_number){ status.stx_dev_major, status.stx_dev_minor, status.stx_ino };
        return true;
}

bool caller_look_at(const struct request *request, bool follows, struct file_number *out)
{
        const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (follows ? 0 : AT_SYMLINK_NOFOLLOW);
        char *path = request->room->path, *from_proc = request->room->target;
        long directory = AT_FDCWD;
        size_t length = 0;

        if (*path == '/')
                return file_look_at(AT_FDCWD, path, flags, out);
        while (path[length])
                length++;
        directory = find_directory(request, false);
        if (directory < 0 || length + sizeof("cwd/") > PATH_MAX)
                return false;
        text_write(text_write(from_proc, "cwd/"), path);
        return file_look_at(directory, from_proc, flags, out);
}

/* A descriptor (O_PATH) of what the call is about. */
long caller_open_object(const struct request *request)
{
        char *path = request->room->path;
        long r;

        if (!request->has_path)
                return caller_open_descriptor(request, request->directory);
        r = request->is_read ? 0 : caller_read_text(request, request->path, path, PATH_MAX, -ENAMETOOLONG);
        if (r < 0)
                return r;
        if (!*path)
                return request->takes_empty ? caller_open_descriptor(request, request->directory) : -ENOENT;
        r = request->follows ? open_own(request, path) : -ENOSYS;
        if (r != -ENOSYS)
                return r;
        caller_redirect(request);
        return caller_open_at(request, request->directory, path, request->follows ? 0 : O_NOFOLLOW);
}

/* Asks the kernel where it lies: that is true of the object, whatever way led to it. */
const char *caller_find_place(const struct request *request, long object)
{
        char name[PROC_PATH_SIZE], *real = request->room->real;
        long length;

        broker_descriptor_name(name, object);
        length = RAW(SYS_readlinkat, request->room->descriptors, name, real, PATH_MAX - 1);
        if (length <= 0 || length >= PATH_MAX - 1)
                return 0;
        real[length] = '\0';
        return real;
}
