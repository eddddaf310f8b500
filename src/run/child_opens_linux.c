/* child_opens_linux.c: the part of the broker that opens files, and hands the caller what it has opened. Raw system calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY),
        LINKS_MAX = 40,
        TRIES_MAX = 50,
};

/* ---- handing it over ------------------------------------------------------------------------------------ */

/* It is closed here before the caller goes on: what it closes must be closed, for a lock, a pipe's other end, or an exec. */
static long give(long listener, uint64_t id, long fd, uint64_t flags)
{
        struct seccomp_notif_addfd given = { .id = id,
                                             .srcfd = (unsigned)fd,
                                             .newfd_flags = flags & O_CLOEXEC };
        long r;

        if (fd < 0)
                return fd;
        r = RAW(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
        RAW(SYS_close, fd);
        if (r < 0)
                return r;
        broker_send(listener, id, r);
        return BROKER_HAS_ANSWERED;
}

long broker_give(const struct request *request, long fd, uint64_t flags)
{
        return fd == BROKER_WILL_ANSWER ? BROKER_HAS_ANSWERED
                                        : give(request->listener, request->id, fd, flags);
}

/* The caller goes on with it while it is closed here: that takes half as long. For files and directories that are only read
 * it makes a difference only to who locks them, or removes them where that looks who has them open (NFS): these calls come
 * here, too, and wait until it is closed. */
long broker_give_at_once(const struct request *request, long fd, uint64_t flags)
{
        struct seccomp_notif_addfd given = { .id = request->id,
                                             .flags = SECCOMP_ADDFD_FLAG_SEND,
                                             .srcfd = (unsigned)fd,
                                             .newfd_flags = flags & O_CLOEXEC };
        long r;

        if (fd < 0)
                return fd;
        broker_take_lock(&request->room->hold);
        r = RAW(SYS_ioctl, request->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
        if (r != -EINVAL)
                RAW(SYS_close, fd);
        broker_leave_lock(&request->room->hold);
        if (r == -EINVAL) /* before Linux 5.14 */
                return give(request->listener, request->id, fd, flags);
        return r < 0 ? r : BROKER_HAS_ANSWERED;
}

void broker_settle(const struct request *request)
{
        for (int i = 0; i < request->job->broker_count; i++) {
                int *hold = &request->job->broker_rooms[i].hold;

                broker_take_lock(hold);
                broker_leave_lock(hold);
        }
}

/* ---- named pipes ---------------------------------------------------------------------------------------- */

/* Whoever opens one waits until somebody opens its other end. The broker's threads have other questions to answer, so a thread
 * waits in the caller's place; it has copies of all descriptors. A writer looks again and again: as long as it waits, there is
 * nobody to notice. A reader is noticed, and so waits in the kernel. */
static long open_waiting(const struct waiter *waiter)
{
        const struct timespec pause = { 0, 2 * 1000 * 1000 };
        char path[PROC_PATH_SIZE], *end = path;
        long fd;

        for (const char *from = "/proc/thread-self/fd/"; *from; from++)
                *end++ = *from;
        broker_descriptor_name(end, waiter->object);
        if ((waiter->flags & O_ACCMODE) == O_RDONLY)
                return RAW(SYS_openat, AT_FDCWD, path, waiter->flags);
        while ((fd = RAW(SYS_openat, AT_FDCWD, path, waiter->flags | O_NONBLOCK)) == -ENXIO &&
               !RAW(SYS_ioctl, waiter->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &waiter->id))
                RAW(SYS_nanosleep, &pause, 0);
        if (fd >= 0)
                RAW(SYS_fcntl, fd, F_SETFL, waiter->flags);
        return fd;
}

static void run_waiter(void *argument)
{
        struct waiter *waiter = argument;
        long r = give(waiter->listener, waiter->id, open_waiting(waiter), waiter->flags);

        if (r < 0)
                broker_send(waiter->listener, waiter->id, r);
        for (;;)
                RAW(SYS_exit, 0);
}

/* A reader whose caller was killed is let go: somebody opens the other end, for a moment. */
static void release(const struct request *request, struct waiter *waiter)
{
        const struct timespec patience = { 0, 1000 * 1000 };
        char path[PROC_PATH_SIZE];
        int thread = __atomic_load_n(&waiter->thread, __ATOMIC_ACQUIRE);
        long fd;

        if (!thread || !RAW(SYS_ioctl, request->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &waiter->id))
                return;
        caller_proc_path(path, thread, "fd", waiter->object);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
                RAW(SYS_close, fd);
        for (int tries = 0; tries < 5 && __atomic_load_n(&waiter->is_taken, __ATOMIC_ACQUIRE); tries++)
                RAW(SYS_futex, &waiter->is_taken, FUTEX_WAIT, 1, &patience, 0, 0);
}

static void release_the_dead(const struct request *request)
{
        for (int i = 0; i < request->job->broker_count; i++)
                for (size_t j = 0; j < WAITERS; j++) {
                        struct waiter *waiter = &request->job->broker_rooms[i].waiters[j];

                        if (__atomic_load_n(&waiter->is_taken, __ATOMIC_ACQUIRE))
                                release(request, waiter);
                }
}

static long wait_for_other_end(const struct request *request, long object, uint64_t flags)
{
        for (size_t i = 0; i < WAITERS; i++) {
                struct waiter *waiter = &request->room->waiters[i];
                struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD |
                                                               CLONE_CHILD_CLEARTID,
                                                      .child_tid = (uintptr_t)&waiter->is_taken,
                                                      .stack = (uintptr_t)waiter->stack,
                                                      .stack_size = sizeof(waiter->stack) };
                long r;

                if (__atomic_load_n(&waiter->is_taken, __ATOMIC_ACQUIRE))
                        continue;
                waiter->thread = 0;
                waiter->listener = request->listener;
                waiter->object = object;
                waiter->id = request->id;
                waiter->flags = flags;
                __atomic_store_n(&waiter->is_taken, 1, __ATOMIC_RELEASE);
                r = raw_clone(&arguments, run_waiter, waiter);
                if (r < 0)
                        __atomic_store_n(&waiter->is_taken, 0, __ATOMIC_RELEASE);
                else
                        __atomic_store_n(&waiter->thread, (int)r, __ATOMIC_RELEASE);
                return r < 0 ? r : BROKER_WILL_ANSWER;
        }
        return -EAGAIN;
}

static long open_pipe(const struct request *request, long object, uint64_t flags)
{
        long fd;

        release_the_dead(request);
        if (flags & O_NONBLOCK || (flags & O_ACCMODE) == O_RDWR)
                return broker_reopen(request, object, flags, 0);
        if ((flags & O_ACCMODE) == O_RDONLY)
                return wait_for_other_end(request, object, flags);
        /* Mostly there is a reader. */
        fd = broker_reopen(request, object, flags | O_NONBLOCK, 0);
        if (fd == -ENXIO)
                return wait_for_other_end(request, object, flags);
        if (fd >= 0)
                RAW(SYS_fcntl, fd, F_SETFL, flags);
        return fd;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

long broker_reopen(const struct request *request, long object, uint64_t flags, uint64_t mode)
{
        char name[PROC_PATH_SIZE];

        broker_descriptor_name(name, object);
        return RAW(SYS_openat, request->room->descriptors, name, (flags & ~(uint64_t)O_NOFOLLOW) | O_CLOEXEC,
                   mode);
}

/* At another place, or of another namespace: numbers of processes in it say nothing, and init may look into all of them. Only
 * file systems without a device can be one. */
static bool is_other_proc(long object, const char *real, const struct stat *status)
{
        return !major(status->st_dev) && caller_is_in_proc(object) && !text_begins_with(real, "/proc/") &&
               !text_is_same(real, "/proc");
}

/* What the caller has open itself may come from other mounts, where the path that the kernel prints leads to something else. Its
 * own path is what it was found by, so only the words for its descriptors can lead to it. */
static bool is_found_by_its_path(const struct request *request, const char *real, const struct stat *status)
{
        const char *path = request->room->path;
        struct stat found;
        long fd;
        bool is_same;

        if (!text_begins_with(path, "/proc/") && !text_begins_with(path, "/dev/"))
                return true;
        fd = caller_open_from(request, AT_FDCWD, real, O_NOFOLLOW);
        if (fd < 0)
                return false;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        is_same = !RAW(SYS_fstat, fd, &found) && found.st_dev == status->st_dev &&
                  found.st_ino == status->st_ino;
        RAW(SYS_close, fd);
        return is_same;
}

/* Landlock, which the broker is not in, would keep the command from most of what a device can do. */
static bool is_closed_device(const struct request *request, const char *real, const struct stat *status)
{
        return request->job->plan->broker->is_among_others &&
               (S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode)) && !broker_is_own_device(request, real);
}

/* *is_quiet: nobody else notices that it is open. */
static long open_existing(const struct request *request, long object, const char *real, uint64_t flags,
                          uint64_t mode, bool *is_quiet)
{
        const bool only_reads = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC);
        long directory = request->room->descriptors;
        char name[PROC_PATH_SIZE];
        struct stat status;

        if ((flags & O_CREAT) && (flags & O_EXCL))
                return -EEXIST;
        /* Of what is only read it is found out when it is given, and until then nothing has happened. */
        if (!only_reads && !caller_is_waiting(request))
                return -ESRCH;
        if (!real || RAW(SYS_fstat, object, &status))
                return -EACCES;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (S_ISDIR(status.st_mode) && flags & O_CREAT)
                return flags & O_DIRECTORY ? -EINVAL : -EISDIR;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        if (is_other_proc(object, real, &status) || is_closed_device(request, real, &status))
                return -EACCES;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        if (!only_reads && S_ISREG(status.st_mode) && *real == '/' &&
            !is_found_by_its_path(request, real, &status))
                return -EACCES;
        if (!(only_reads ? broker_may_read(request, real) : broker_may_open_to_write(request, real)))
                return -EACCES;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        *is_quiet = only_reads && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
        flags = (flags & ~(uint64_t)(O_CREAT | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY;
        broker_descriptor_name(name, object);
        /* The terminal of whoever opens it: init's is the caller's of abatis, if it has one. */
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(5, 0))
                return pty_open_controlling(request, flags);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (S_ISFIFO(status.st_mode))
                return open_pipe(request, object, flags);
        return RAW(SYS_openat, directory, name, flags,
                   flags & O_TMPFILE & ~O_DIRECTORY ? mode & ALL_MODES & ~caller_umask(request) : 0);
}

/* A link that leads nowhere is followed to where it would: the place becomes that. 1 if it did, 0 if it is no link. */
static long follow(const struct request *request, struct place *place)
{
        bool had_slash = place->has_slash;
        long from = place->parent, length, r;

        length = RAW(SYS_readlinkat, from, place->name, request->room->path, PATH_MAX - 1);
        if (length < 0)
                return length == -EINVAL || length == -ENOENT ? 0 : length;
        request->room->path[length] = '\0';
        place->parent = -1;
        place->has_slash = false;
        r = place_locate(request, AT_FDCWD, from, 0, place);
        place->has_slash |= had_slash;
        RAW(SYS_close, from);
        return r < 0 ? r : 1;
}

static long open_new(const struct request *request, uint64_t flags, uint64_t mode)
{
        struct place place;
        long r = place_find(request, request->directory, request->path, 0, &place);

        if (!r && request->follows) {
                int links = 0;

                do
                        r = follow(request, &place);
                while (r > 0 && ++links < LINKS_MAX);
                r = r > 0 ? -ELOOP : r;
        }
        if (r == -EBUSY || (!r && place.has_slash))
                r = -EISDIR;
        if (!r)
                r = place_check_new(request, &place, KIND_FILE);
        if (!r)
                /* Or somebody's pipe that has come to stand there would be waited for. */
                r = RAW(SYS_openat, place.parent, place.name,
                        flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                        mode & ALL_MODES & ~caller_umask(request));
        place_leave(&place);
        return r;
}

bool broker_is_write(uint64_t flags)
{
        return flags & WRITES;
}

/* What leads to the process that looks led to init: the caller's own of it. But whoever asks for init by its number gets the
 * answer that it is not there. */
static long open_of_caller_instead(const struct request *request, const char *rest, int flags)
{
        struct child_broker_room *room = request->room;
        char own[PROC_PATH_SIZE];
        size_t at = 0, length = 0;

        caller_proc_path(own, broker_init_number(request), "", -1);
        if (text_begins_with(room->path, own))
                return -ENOENT;
        while (rest[length])
                length++;
        caller_proc_path(own, request->thread, "", -1);
        for (; own[at + 1]; at++) /* without the slash at its end: the rest has one */
                room->path[at] = own[at];
        if (at + length >= PATH_MAX)
                return -ENAMETOOLONG;
        for (size_t i = 0; i <= length; i++)
                room->path[at + i] = rest[i];
        return caller_open_from(request, AT_FDCWD, room->path, flags);
}

/* The last component, and its length; slashes behind it do not count. */
static const char *last_name(const char *path, size_t *length)
{
        size_t end = 0, start;

        while (path[end])
                end++;
        while (end && path[end - 1] == '/')
                end--;
        for (start = end; start && path[start - 1] != '/';)
                start--;
        *length = end - start;
        return path + start;
}

/* What the path ends with is not what was found, but leads there. */
static bool ends_with_link(const struct request *request, const char *real)
{
        size_t length, found;
        const char *name = last_name(request->room->path, &length), *last = last_name(real, &found);

        /* Dots are no links. */
        if (!request->follows || !length || (length <= 2 && name[0] == '.' && name[length - 1] == '.'))
                return false;
        for (size_t i = 0; i < length && length == found; i++)
                if (name[i] != last[i])
                        return true;
        return length != found;
}

/* A link of a name that is denied is not followed, whatever it leads to. */
static bool is_denied_link(const struct request *request)
{
        long link = caller_open_at(request, request->directory, request->room->path, O_NOFOLLOW);
        const char *real = link < 0 ? 0 : caller_find_place(request, link);

        if (link >= 0)
                RAW(SYS_close, link);
        return real && *real == '/' && broker_is_denied(request, real);
}

long broker_find(const struct request *request, const char **real)
{
        long object = caller_open_object(request), other;
        const char *rest;

        *real = object < 0 ? 0 : caller_find_place(request, object);
        if (*real && ends_with_link(request, *real)) {
                if (is_denied_link(request)) {
                        RAW(SYS_close, object);
                        return -EACCES;
                }
                *real = caller_find_place(request, object);
        }
        if (!*real || !broker_is_of_init(request, *real, &rest))
                return object;
        other = open_of_caller_instead(request, rest, request->follows ? 0 : O_NOFOLLOW);
        RAW(SYS_close, object);
        *real = other < 0 ? 0 : caller_find_place(request, other);
        return other;
}

long broker_open(struct request *request, long directory, uint64_t path, uint64_t flags, uint64_t mode)
{
        const bool must_be_new = (flags & O_CREAT) && (flags & O_EXCL);
        const char *real;
        long object, fd = -EEXIST;
        bool is_quiet = false;

        request->directory = directory;
        request->path = path;
        request->has_path = true;
        request->follows = !(flags & O_NOFOLLOW) && !must_be_new;
        /* What was not there a moment ago may have been made meanwhile, and then it is opened. */
        for (int tries = 0; tries < TRIES_MAX && fd == -EEXIST; tries++) {
                object = broker_find(request, &real);
                request->has_own_pty = object >= 0 && real && text_begins_with(real, "/dev/pts/") &&
                                       request->job->plan->broker->is_among_others &&
                                       pty_is_own(request, object);
                if (object >= 0) {
                        fd = open_existing(request, object, real, flags, mode, &is_quiet);
                        RAW(SYS_close, object);
                } else {
                        fd = object == -ENOENT && flags & O_CREAT ? open_new(request, flags, mode) : object;
                }
                if (must_be_new)
                        break;
        }
        return fd >= 0 && is_quiet ? broker_give_at_once(request, fd, flags)
                                   : broker_give(request, fd, flags);
}
