/* child_names_linux.c: the part of the broker that makes, moves and removes files: in a writable tree in which something is
 * held by asking, Landlock grants no right to write, and everything is asked about. Raw system calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/syscall_linux.h"

/* ---- making --------------------------------------------------------------------------------------------- */

static long make_directory(const struct request *request, long directory, uint64_t path, uint64_t mode)
{
        struct place place;
        long r = place_find(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r)
                r = place_check_new(request, &place, KIND_DIRECTORY);
        if (!r)
                r = RAW(SYS_mkdirat, place.parent, place.name, mode & ALL_MODES & ~caller_umask(request));
        place_leave(&place);
        return r;
}

static long make_node(const struct request *request, long directory, uint64_t path, uint64_t mode,
                      uint64_t device)
{
        struct place place;
        long r = place_find(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r && place.has_slash)
                r = -ENOENT;
        if (!r)
                r = place_check_new(request, &place, KIND_FILE);
        if (!r)
                r = RAW(SYS_mknodat, place.parent, place.name,
                        (mode & S_IFMT) | (mode & ALL_MODES & ~caller_umask(request)), device);
        place_leave(&place);
        return r;
}

static long make_link(const struct request *request, uint64_t target, long directory, uint64_t path)
{
        struct place place;
        long r = place_find(request, directory, path, 0, &place);

        if (r == -EBUSY)
                r = -EEXIST;
        if (!r && place.has_slash)
                r = -ENOENT;
        if (!r)
                r = caller_read_text(request, target, request->room->value, PATH_MAX, -ENAMETOOLONG);
        if (!r)
                r = place_check_new(request, &place, KIND_LINK);
        if (!r)
                r = RAW(SYS_symlinkat, request->room->value, place.parent, place.name);
        place_leave(&place);
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
                r = place_find(request, directory, path, 0, &place);
        if (r == -EBUSY)
                r = -EEXIST;
        if (!r)
                r = place.has_slash ? -ENOENT : place_check_new(request, &place, place_kind(object));
        caller_proc_path(object_path, 0, "fd", object);
        if (!r)
                r = RAW(SYS_linkat, AT_FDCWD, object_path, place.parent, place.name, AT_SYMLINK_FOLLOW);
        place_leave(&place);
        RAW(SYS_close, object);
        return r;
}

/* ---- moving and removing -------------------------------------------------------------------------------- */

static long remove_name(const struct request *request, long directory, uint64_t path, uint64_t flags)
{
        struct place place;
        enum kind kind;
        long r;

        if (flags & ~(uint64_t)AT_REMOVEDIR)
                return -EINVAL;
        r = place_find(request, directory, path, 0, &place);
        if (r == -EBUSY && *place.name)
                r = flags ? place.name[1] ? -ENOTEMPTY : -EINVAL : -EISDIR; /* dots */
        if (!r)
                r = place_check_old(request, &place, true, &kind);
        if (!r && place.has_slash && !flags)
                r = -EISDIR;
        if (!r)
                r = RAW(SYS_unlinkat, place.parent, place.name, flags);
        place_leave(&place);
        return r;
}

static long move(const struct request *request, long old_directory, uint64_t old, long directory,
                 uint64_t path, uint64_t flags)
{
        enum { RENAME_EXCHANGE = 2 };
        enum kind kinds[2];
        struct place from, to;
        long r = place_find(request, old_directory, old, 0, &from);

        to.parent = -1;
        if (!r)
                r = place_find(request, directory, path, 1, &to);
        if (!r)
                r = place_check_old(request, &from, true, &kinds[0]);
        if (!r)
                r = place_check_old(request, &to, false, &kinds[1]);
        if (!r)
                r = place_check_move(request, &from, &to, kinds[0]);
        if (!r && flags & RENAME_EXCHANGE)
                r = place_check_move(request, &to, &from, kinds[1]);
        /* A slash behind the new name means a directory. */
        if (!r && to.has_slash && kinds[0] != KIND_DIRECTORY)
                r = -ENOTDIR;
        if (!r)
                r = RAW(SYS_renameat2, from.parent, from.name, to.parent, to.name, flags);
        place_leave(&from);
        place_leave(&to);
        return r;
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
                return broker_open(request, AT_FDCWD, args[0], O_CREAT | O_WRONLY | O_TRUNC, args[1]);
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
