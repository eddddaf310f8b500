/* wasi_path.c: the functions of WASI on paths.
 *
 * Each of them asks beneath.h for a directory and a name in it, and does to that name what has to be done without following it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skill/native/beneath.h"
#include "skill/native/wasi.h"

enum { LOOKUP_FOLLOW = 1 };
enum { OPEN_CREATE = 1, OPEN_DIRECTORY = 2, OPEN_EXCLUSIVE = 4, OPEN_TRUNCATE = 8, OPEN_ALL = 15 };

/* A path as a module gives it: from which directory, and how its end is meant. */
struct given {
        uint32_t number, path, length;
        uint64_t rights; /* which the directory must have */
        unsigned how;    /* BENEATH_* */
};

/* The text of one, with an end. */
static uint32_t take_text(struct wasi *self, uint32_t at, uint32_t length, char out[WASI_PATH_MAX])
{
        const char *text = wasi_at(self, at, length);

        if (!text)
                return WASI_EFAULT;
        if (length >= WASI_PATH_MAX)
                return WASI_ENAMETOOLONG;
        if (memchr(text, 0, length))
                return WASI_EINVAL;
        memcpy(out, text, length);
        out[length] = 0;
        return length ? WASI_OK : WASI_ENOENT;
}

static uint32_t find(struct wasi *self, const struct given *given, struct beneath *out)
{
        char path[WASI_PATH_MAX];
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, given->number, given->rights, &r);
        int found;

        if (fd && fd->type != FILETYPE_DIRECTORY)
                r = WASI_ENOTDIR;
        if (!r)
                r = take_text(self, given->path, given->length, path);
        if (r)
                return r;
        found = beneath_find(fd->host, path, given->how, out);
        return found == BENEATH_ESCAPE ? WASI_ENOTCAPABLE : wasi_errno(found);
}

/* What the call gave, after which the place is not needed any more. */
static uint32_t done(struct beneath *place, int r)
{
        const uint32_t number = r < 0 ? wasi_errno(errno) : WASI_OK;

        beneath_done(place);
        return number;
}

static unsigned how_of(uint32_t lookup)
{
        return lookup & LOOKUP_FOLLOW ? BENEATH_FOLLOWS : 0;
}

uint32_t WASI(path_create_directory)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length)
{
        struct beneath place;
        uint32_t r =
                find(self,
                     &(struct given){ number, path, length, RIGHT_PATH_CREATE_DIRECTORY, BENEATH_CREATES },
                     &place);

        return r ? r : done(&place, mkdirat(place.parent, place.name, 0777));
}

uint32_t WASI(path_remove_directory)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length)
{
        struct beneath place;
        uint32_t r =
                find(self,
                     &(struct given){ number, path, length, RIGHT_PATH_REMOVE_DIRECTORY, BENEATH_CREATES },
                     &place);

        return r ? r : done(&place, unlinkat(place.parent, place.name, AT_REMOVEDIR));
}

uint32_t WASI(path_unlink_file)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length)
{
        struct beneath place;
        uint32_t r = find(self, &(struct given){ number, path, length, RIGHT_PATH_UNLINK_FILE, 0 }, &place);

        return r ? r : done(&place, unlinkat(place.parent, place.name, 0));
}

uint32_t WASI(path_filestat_get)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path,
                                 uint32_t length, uint32_t out)
{
        struct beneath place;
        struct stat status;
        uint32_t r =
                find(self, &(struct given){ number, path, length, RIGHT_PATH_FILESTAT_GET, how_of(lookup) },
                     &place);

        if (!r)
                r = done(&place, fstatat(place.parent, place.name, &status, AT_SYMLINK_NOFOLLOW));
        return r ? r : wasi_put_filestat(self, out, &status);
}

uint32_t WASI(path_filestat_set_times)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path,
                                       uint32_t length, uint64_t accessed, uint64_t modified, uint32_t flags)
{
        struct beneath place;
        struct timespec times[2];
        uint32_t r = wasi_times(accessed, modified, flags, times);

        if (!r)
                r = find(self,
                         &(struct given){ number, path, length, RIGHT_PATH_FILESTAT_SET_TIMES,
                                          how_of(lookup) },
                         &place);
        return r ? r : done(&place, utimensat(place.parent, place.name, times, AT_SYMLINK_NOFOLLOW));
}

/* ---- two paths ---- */

typedef int two_places(const struct beneath *from, const struct beneath *to);

static int link_one(const struct beneath *from, const struct beneath *to)
{
        return linkat(from->parent, from->name, to->parent, to->name, 0);
}

static int rename_one(const struct beneath *from, const struct beneath *to)
{
        return renameat(from->parent, from->name, to->parent, to->name);
}

static uint32_t with_two(struct wasi *self, const struct given *from, const struct given *to, two_places *act)
{
        struct beneath source, target;
        uint32_t r = find(self, from, &source);

        if (r)
                return r;
        r = find(self, to, &target);
        if (!r)
                r = done(&target, act(&source, &target));
        beneath_done(&source);
        return r;
}

uint32_t WASI(path_link)(struct wasi *self, uint32_t old_number, uint32_t lookup, uint32_t old_path,
                         uint32_t old_length, uint32_t new_number, uint32_t new_path, uint32_t new_length)
{
        return with_two(self,
                        &(struct given){ old_number, old_path, old_length, RIGHT_PATH_LINK_SOURCE,
                                         how_of(lookup) },
                        &(struct given){ new_number, new_path, new_length, RIGHT_PATH_LINK_TARGET, 0 },
                        link_one);
}

/* A slash behind the name of a file is a mistake, and behind that of a directory none. */
static uint32_t check_slash(struct wasi *self, const struct given *given)
{
        const char *text = wasi_at(self, given->path, given->length);
        struct beneath place;
        struct stat status;
        uint32_t r;

        if (!text || !given->length || text[given->length - 1] != '/')
                return WASI_OK;
        r = find(self, given, &place);
        if (!r)
                r = done(&place, fstatat(place.parent, place.name, &status, AT_SYMLINK_NOFOLLOW));
        return r ? r : S_ISDIR(status.st_mode) ? WASI_OK : WASI_ENOTDIR;
}

uint32_t WASI(path_rename)(struct wasi *self, uint32_t old_number, uint32_t old_path, uint32_t old_length,
                           uint32_t new_number, uint32_t new_path, uint32_t new_length)
{
        const struct given from = { old_number, old_path, old_length, RIGHT_PATH_RENAME_SOURCE,
                                    BENEATH_CREATES };
        const struct given to = { new_number, new_path, new_length, RIGHT_PATH_RENAME_TARGET,
                                  BENEATH_CREATES };
        const uint32_t r = check_slash(self, &from);

        return r ? r : with_two(self, &from, &to, rename_one);
}

/* ---- symlinks ---- */

/* One that leads away at once is not made: nobody here could follow it, and somebody outside might. */
uint32_t WASI(path_symlink)(struct wasi *self, uint32_t target, uint32_t target_length, uint32_t number,
                            uint32_t path, uint32_t length)
{
        char text[WASI_PATH_MAX];
        struct beneath place;
        uint32_t r = take_text(self, target, target_length, text);

        if (!r && *text == '/')
                r = WASI_ENOTCAPABLE;
        if (!r)
                r = find(self, &(struct given){ number, path, length, RIGHT_PATH_SYMLINK, 0 }, &place);
        return r ? r : done(&place, symlinkat(text, place.parent, place.name));
}

uint32_t WASI(path_readlink)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length, uint32_t out,
                             uint32_t out_length, uint32_t used)
{
        struct beneath place;
        char text[WASI_PATH_MAX];
        ssize_t size = 0;
        uint32_t r = find(self, &(struct given){ number, path, length, RIGHT_PATH_READLINK, 0 }, &place);

        if (!r) {
                size = readlinkat(place.parent, place.name, text, sizeof text);
                r = done(&place, (int)size);
        }
        if (r)
                return r;
        if ((uint64_t)size > out_length)
                size = out_length;
        return wasi_put(self, out, text, (size_t)size) ? wasi_put_u32(self, used, (uint32_t)size)
                                                       : WASI_EFAULT;
}

/* ---- opening ---- */

/* How the host's open() says what the module wants; rights are what it would have of the directory's. */
static uint32_t open_mode(uint32_t oflags, uint64_t wanted, uint64_t rights, int *out)
{
        const uint64_t writing =
                RIGHT_FD_DATASYNC | RIGHT_FD_WRITE | RIGHT_FD_ALLOCATE | RIGHT_FD_FILESTAT_SET_SIZE;
        const bool writes = rights & writing, reads = rights & (RIGHT_FD_READ | RIGHT_FD_READDIR);

        if (oflags & ~(uint32_t)OPEN_ALL ||
            (oflags & OPEN_DIRECTORY && oflags & (OPEN_CREATE | OPEN_TRUNCATE)))
                return WASI_EINVAL;
        *out = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
        if (oflags & OPEN_DIRECTORY) {
                *out |= O_DIRECTORY;
                return WASI_OK;
        }
        if (wanted & RIGHT_FD_WRITE && !(rights & RIGHT_FD_WRITE))
                return WASI_ENOTCAPABLE;
        *out |= (oflags & OPEN_CREATE ? O_CREAT : 0) | (oflags & OPEN_EXCLUSIVE ? O_EXCL : 0) |
                (oflags & OPEN_TRUNCATE ? O_TRUNC : 0) |
                (writes && reads ? O_RDWR
                 : writes        ? O_WRONLY
                                 : O_RDONLY);
        return WASI_OK;
}

uint32_t WASI(path_open)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path, uint32_t length,
                         uint32_t oflags, uint64_t base, uint64_t inheriting, uint32_t fdflags, uint32_t out)
{
        uint64_t needed = RIGHT_PATH_OPEN;
        struct beneath place;
        int flags, more, host;
        uint32_t r, opened;
        const struct wasi_fd *fd = wasi_find(self, number, 0, &r);

        if (!r)
                r = open_mode(oflags, base, base & fd->inheriting, &flags);
        if (!r)
                r = wasi_open_flags(fdflags, &more);
        if (!r && !wasi_at(self, out, 4))
                r = WASI_EFAULT;
        if (r)
                return r;
        if (oflags & OPEN_CREATE)
                needed |= RIGHT_PATH_CREATE_FILE;
        if (oflags & OPEN_TRUNCATE)
                needed |= RIGHT_PATH_FILESTAT_SET_SIZE;
        /* What must be new is no symlink that is there. */
        if (oflags & OPEN_CREATE && oflags & OPEN_EXCLUSIVE)
                lookup &= ~(uint32_t)LOOKUP_FOLLOW;
        r = find(self, &(struct given){ number, path, length, needed, how_of(lookup) }, &place);
        if (r)
                return r;
        host = openat(place.parent, place.name, flags | more, 0666);
        r = done(&place, host);
        if (!r)
                r = wasi_add(self, host, base & fd->inheriting, inheriting & fd->inheriting, &opened);
        return r ? r : wasi_put_u32(self, out, opened);
}
