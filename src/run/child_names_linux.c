/* child_names_linux.c: the part of the broker that makes, opens to write, moves and removes files: in a writable tree in
 * which something is protected, Landlock grants no right to write, and everything is asked about. Raw system calls.
 *
 * A name is a directory that is held open, where the kernel says that it lies, and one component in it, which is never
 * followed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        ALL_MODES = 01777, /* without those that act for another user or group */
        WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY),
        NOBODY_ELSE = 077,
        LINKS_MAX = 40,
        TRIES_MAX = 50,
};

struct place {
        long parent; /* a descriptor, -1 when there is none */
        char name[NAME_MAX + 1];
        char *real;     /* of the name, in the request's room */
        bool has_slash; /* behind it: a directory is meant */
};

/* ---- where ---------------------------------------------------------------------------------------------- */

static size_t length_of(const char *text)
{
        size_t length = 0;

        while (text[length])
                length++;
        return length;
}

/* Cuts the last component off a path; what is left leads to its directory. -EBUSY where there is none to cut off. */
static long cut_name(char *path, struct place *place, const char **directory)
{
        size_t end = length_of(path), start;

        if (!end)
                return -ENOENT;
        for (; end && path[end - 1] == '/'; end--)
                place->has_slash = true;
        path[end] = '\0';
        for (start = end; start && path[start - 1] != '/';)
                start--;
        if (end - start > NAME_MAX)
                return -ENAMETOOLONG;
        for (size_t i = 0; i <= end - start; i++)
                place->name[i] = path[start + i];
        if (start == end || text_is_dots(place->name))
                return -EBUSY;
        if (start)
                path[start] = '\0'; /* the slash stays: it may be the root */
        *directory = start ? path : ".";
        return 0;
}

static void add_component(char *to, const char *directory, const char *name)
{
        while (*directory)
                *to++ = *directory++;
        if (to[-1] != '/')
                *to++ = '/';
        while (*name)
                *to++ = *name++;
        *to = '\0';
}

/* Of a path that is in the room. It is counted from what the caller has as `directory`; or, if that is not negative, from
 * our own descriptor `from`. */
static long locate(const struct request *request, long directory, long from, int index, struct place *place)
{
        const char *way = 0, *real;
        long r = cut_name(request->room->path, place, &way);

        if (!r)
                r = from < 0 ? caller_open_at(request, directory, way, O_DIRECTORY)
                             : caller_open_from(request, from, way, O_DIRECTORY);
        if (r < 0)
                return r;
        place->parent = r;
        real = caller_find_place(request, place->parent);
        if (!real || *real != '/')
                return -EACCES;
        place->real = request->room->places[index];
        add_component(place->real, real, place->name);
        return 0;
}

static long find_place(const struct request *request, long directory, uint64_t address, int index,
                       struct place *place)
{
        long r = caller_read_text(request, address, request->room->path, PATH_MAX, -ENAMETOOLONG);

        place->parent = -1;
        place->name[0] = place->name[1] = '\0';
        place->has_slash = false;
        return r < 0 ? r : locate(request, directory, -1, index, place);
}

static void leave(const struct place *place)
{
        if (place->parent >= 0)
                RAW(SYS_close, place->parent);
}

/* Something is there, and it is a directory if a slash says so. */
static long find_entry(const struct place *place)
{
        long fd = RAW(SYS_openat, place->parent, place->name,
                      O_PATH | O_NOFOLLOW | O_CLOEXEC | (place->has_slash ? O_DIRECTORY : 0));

        if (fd < 0)
                return fd;
        RAW(SYS_close, fd);
        return 0;
}

/* A new name: nothing may be there, and it must be the command's to make. On the way to what is protected only a directory
 * may be made. */
static long check_new(const struct request *request, const struct place *place, bool is_directory)
{
        long r = find_entry(place);

        if (!r || r == -ENOTDIR)
                return -EEXIST;
        if (r != -ENOENT)
                return r;
        if (!caller_is_waiting(request))
                return -ESRCH;
        if (!broker_may_write(request, place->real) ||
            (!is_directory && broker_holds_closed(request, place->real)))
                return -EACCES;
        return 0;
}

/* A name that goes: nothing that is protected may go with it, or come to be where it is. */
static long check_old(const struct request *request, const struct place *place, bool must_exist)
{
        long r = find_entry(place);

        if (r < 0 && (must_exist || r != -ENOENT))
                return r;
        if (!caller_is_waiting(request))
                return -ESRCH;
        if (!broker_may_write(request, place->real))
                return -EACCES;
        return broker_holds_closed(request, place->real) ? -EBUSY : 0;
}

/* As long as nobody in the job has changed his, everybody has the one that the command was started with. */
static unsigned umask_of(const struct request *request)
{
        static const char key[] = "\nUmask:\t";
        char path[PROC_PATH_SIZE], *text = request->room->value;
        long fd, length;
        unsigned mask = 0;

        if (!request->job->has_umasks)
                return (unsigned)request->job->umask;
        caller_proc_path(path, request->thread, "status", -1);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        length = fd < 0 ? fd : RAW(SYS_read, fd, text, 512);
        if (fd >= 0)
                RAW(SYS_close, fd);
        for (long at = 0; at + 12 < length; at++) {
                size_t same = 0;

                while (key[same] && text[at + (long)same] == key[same])
                        same++;
                if (key[same])
                        continue;
                for (at += (long)same; at < length && text[at] >= '0' && text[at] <= '7'; at++)
                        mask = 8 * mask + (unsigned)(text[at] - '0');
                return mask;
        }
        return NOBODY_ELSE;
}

/* ---- making --------------------------------------------------------------------------------------------- */

static long make_directory(const struct request *request, long directory, uint64_t path, uint64_t mode)
{
        struct place place;
        long r = find_place(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r)
                r = check_new(request, &place, true);
        if (!r)
                r = RAW(SYS_mkdirat, place.parent, place.name, mode & ALL_MODES & ~umask_of(request));
        leave(&place);
        return r;
}

static long make_node(const struct request *request, long directory, uint64_t path, uint64_t mode,
                      uint64_t device)
{
        struct place place;
        long r = find_place(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r && place.has_slash)
                r = -ENOENT;
        if (!r)
                r = check_new(request, &place, false);
        if (!r)
                r = RAW(SYS_mknodat, place.parent, place.name,
                        (mode & S_IFMT) | (mode & ALL_MODES & ~umask_of(request)), device);
        leave(&place);
        return r;
}

static long make_link(const struct request *request, uint64_t target, long directory, uint64_t path)
{
        struct place place;
        long r = find_place(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r && place.has_slash)
                r = -ENOENT;
        if (!r)
                r = caller_read_text(request, target, request->room->value, PATH_MAX, -ENAMETOOLONG);
        if (!r)
                r = check_new(request, &place, false);
        if (!r)
                r = RAW(SYS_symlinkat, request->room->value, place.parent, place.name);
        leave(&place);
        return r;
}

/* Another name for a file that the command may write: by it, it may write it too. */
static long make_name(struct request *request, long old_directory, uint64_t old, long directory,
                      uint64_t path, uint64_t flags)
{
        char object_path[PROC_PATH_SIZE];
        struct place place;
        const char *real;
        long object, r;

        if (flags & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        request->directory = old_directory;
        request->path = old;
        request->has_path = true;
        request->follows = flags & AT_SYMLINK_FOLLOW;
        request->takes_empty = flags & AT_EMPTY_PATH;
        object = caller_open_object(request);
        if (object < 0)
                return object;
        place.parent = -1;
        real = caller_find_place(request, object);
        /* What a file of another tree gets, too: programs then copy it. */
        r = real && *real == '/' && broker_may_write(request, real) ? 0 : -EXDEV;
        if (!r)
                r = find_place(request, directory, path, 0, &place);
        if (r == -EBUSY)
                r = -EEXIST;
        if (!r)
                r = place.has_slash ? -ENOENT : check_new(request, &place, false);
        caller_proc_path(object_path, 0, "fd", object);
        if (!r)
                r = RAW(SYS_linkat, AT_FDCWD, object_path, place.parent, place.name, AT_SYMLINK_FOLLOW);
        leave(&place);
        RAW(SYS_close, object);
        return r;
}

/* ---- moving and removing -------------------------------------------------------------------------------- */

static long remove_name(const struct request *request, long directory, uint64_t path, uint64_t flags)
{
        struct place place;
        long r;

        if (flags & ~(uint64_t)AT_REMOVEDIR)
                return -EINVAL;
        r = find_place(request, directory, path, 0, &place);
        if (r == -EBUSY && *place.name)
                r = flags ? place.name[1] ? -ENOTEMPTY : -EINVAL : -EISDIR; /* dots */
        if (!r)
                r = check_old(request, &place, true);
        if (!r && place.has_slash && !flags)
                r = -EISDIR;
        if (!r)
                r = RAW(SYS_unlinkat, place.parent, place.name, flags);
        leave(&place);
        return r;
}

static long move(const struct request *request, long old_directory, uint64_t old, long directory,
                 uint64_t path, uint64_t flags)
{
        struct place from, to;
        long r = find_place(request, old_directory, old, 0, &from);

        to.parent = -1;
        if (!r)
                r = find_place(request, directory, path, 1, &to);
        if (!r)
                r = check_old(request, &from, true);
        if (!r)
                r = check_old(request, &to, false);
        if (!r)
                r = RAW(SYS_renameat2, from.parent, from.name, to.parent, to.name, flags);
        leave(&from);
        leave(&to);
        return r;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

long broker_give(const struct request *request, long fd, uint64_t flags)
{
        struct seccomp_notif_addfd given = { .id = request->id,
                                             .flags = SECCOMP_ADDFD_FLAG_SEND,
                                             .srcfd = (unsigned)fd,
                                             .newfd_flags = flags & O_CLOEXEC };
        long r;

        if (fd < 0)
                return fd;
        r = RAW(SYS_ioctl, request->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
        RAW(SYS_close, fd);
        return r < 0 ? r : BROKER_HAS_ANSWERED;
}

/* Whoever opens a pipe with a name waits for the other end. Init must not: without a reader the caller gets ENXIO. */
static long open_pipe(const char *path, uint64_t flags)
{
        long fd = RAW(SYS_openat, AT_FDCWD, path, flags | O_NONBLOCK), r;

        if (fd < 0 || flags & O_NONBLOCK)
                return fd;
        r = RAW(SYS_fcntl, fd, F_GETFL);
        if (r >= 0)
                RAW(SYS_fcntl, fd, F_SETFL, r & ~O_NONBLOCK);
        return fd;
}

static long open_existing(const struct request *request, long object, uint64_t flags, uint64_t mode)
{
        const bool only_reads = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC);
        const char *real = caller_find_place(request, object);
        char path[PROC_PATH_SIZE];
        struct stat status;

        if ((flags & O_CREAT) && (flags & O_EXCL))
                return -EEXIST;
        if (!caller_is_waiting(request))
                return -ESRCH;
        if (!real || RAW(SYS_fstat, object, &status))
                return -EACCES;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (S_ISDIR(status.st_mode) && flags & O_CREAT)
                return flags & O_DIRECTORY ? -EINVAL : -EISDIR;
        if (!(only_reads ? broker_may_read(request, real) : broker_may_open_to_write(request, real)))
                return -EACCES;
        flags = (flags & ~(uint64_t)(O_CREAT | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY;
        caller_proc_path(path, 0, "fd", object);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (S_ISFIFO(status.st_mode))
                return open_pipe(path, flags);
        return RAW(SYS_openat, AT_FDCWD, path, flags, mode & ALL_MODES & ~umask_of(request));
}

/* A link that leads nowhere is followed to where it would: the place becomes that. 1 if it did, 0 if it is no link. */
static long follow(const struct request *request, struct place *place)
{
        long from = place->parent, length, r;

        length = RAW(SYS_readlinkat, from, place->name, request->room->path, PATH_MAX - 1);
        if (length < 0)
                return length == -EINVAL || length == -ENOENT ? 0 : length;
        request->room->path[length] = '\0';
        place->parent = -1;
        place->has_slash = false;
        r = locate(request, AT_FDCWD, from, 0, place);
        RAW(SYS_close, from);
        return r < 0 ? r : 1;
}

static long open_new(const struct request *request, uint64_t flags, uint64_t mode)
{
        struct place place;
        long r = find_place(request, request->directory, request->path, 0, &place);

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
                r = check_new(request, &place, false);
        if (!r)
                /* Or somebody's pipe that has come to stand there would be waited for. */
                r = RAW(SYS_openat, place.parent, place.name,
                        flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                        mode & ALL_MODES & ~umask_of(request));
        leave(&place);
        return r;
}

bool broker_is_write(uint64_t flags)
{
        return flags & WRITES;
}

long broker_open_to_write(struct request *request, long directory, uint64_t path, uint64_t flags,
                          uint64_t mode)
{
        const bool must_be_new = (flags & O_CREAT) && (flags & O_EXCL);
        long object, fd = -EEXIST;

        request->directory = directory;
        request->path = path;
        request->has_path = true;
        request->follows = !(flags & O_NOFOLLOW) && !must_be_new;
        /* What was not there a moment ago may have been made meanwhile, and then it is opened. */
        for (int tries = 0; tries < TRIES_MAX && fd == -EEXIST; tries++) {
                object = caller_open_object(request);
                if (object >= 0) {
                        fd = open_existing(request, object, flags, mode);
                        RAW(SYS_close, object);
                } else {
                        fd = object == -ENOENT && flags & O_CREAT ? open_new(request, flags, mode) : object;
                }
                if (must_be_new)
                        break;
        }
        return broker_give(request, fd, flags);
}

/* Of the size of a file: the caller's, where ours would count. */
static bool exceeds_limit(const struct request *request, uint64_t size)
{
        struct {
                uint64_t soft, hard;
        } limit = { 0, 0 };

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return RAW(SYS_prlimit64, request->thread, 1 /* RLIMIT_FSIZE */, 0, &limit) < 0 || size > limit.soft;
}

static long cut(struct request *request)
{
        const char *real;
        char path[PROC_PATH_SIZE];
        long object, r;

        request->directory = AT_FDCWD;
        request->path = request->args[0];
        request->has_path = request->follows = true;
        object = caller_open_object(request);
        if (object < 0)
                return object;
        real = caller_find_place(request, object);
        caller_proc_path(path, 0, "fd", object);
        if (exceeds_limit(request, request->args[1])) {
                RAW(SYS_close, object);
                return -EFBIG;
        }
        r = !caller_is_waiting(request) ? -ESRCH
            : real && *real == '/' && broker_may_write(request, real)
                    ? RAW(SYS_truncate, path, request->args[1])
                    : -EACCES;
        RAW(SYS_close, object);
        return r;
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

#ifdef SYS_mkdir
static long serve_old_name(struct request *request)
{
        const uint64_t *args = request->args;

        switch (request->call) {
        case SYS_mkdir:
                return make_directory(request, AT_FDCWD, args[0], args[1]);
        case SYS_mknod:
                return make_node(request, AT_FDCWD, args[0], args[1], args[2]);
        case SYS_symlink:
                return make_link(request, args[0], AT_FDCWD, args[1]);
        case SYS_link:
                return make_name(request, AT_FDCWD, args[0], AT_FDCWD, args[1], 0);
        case SYS_unlink:
                return remove_name(request, AT_FDCWD, args[0], 0);
        case SYS_rmdir:
                return remove_name(request, AT_FDCWD, args[0], AT_REMOVEDIR);
        case SYS_rename:
                return move(request, AT_FDCWD, args[0], AT_FDCWD, args[1], 0);
        case SYS_creat:
                return broker_open_to_write(request, AT_FDCWD, args[0], O_CREAT | O_WRONLY | O_TRUNC,
                                            args[1]);
        default:
                return -ENOSYS;
        }
}
#else
static long serve_old_name(struct request *request)
{
        (void)request;
        return -ENOSYS;
}
#endif

long broker_serve_name(struct request *request)
{
        const uint64_t *args = request->args;

        switch (request->call) {
        case SYS_mkdirat:
                return make_directory(request, (int)args[0], args[1], args[2]);
        case SYS_mknodat:
                return make_node(request, (int)args[0], args[1], args[2], args[3]);
        case SYS_symlinkat:
                return make_link(request, args[0], (int)args[1], args[2]);
        case SYS_linkat:
                return make_name(request, (int)args[0], args[1], (int)args[2], args[3], (unsigned)args[4]);
        case SYS_unlinkat:
                return remove_name(request, (int)args[0], args[1], (unsigned)args[2]);
        case SYS_renameat:
                return move(request, (int)args[0], args[1], (int)args[2], args[3], 0);
        case SYS_renameat2:
                return move(request, (int)args[0], args[1], (int)args[2], args[3], (unsigned)args[4]);
        case SYS_truncate:
                return cut(request);
        default:
                return serve_old_name(request);
        }
}
