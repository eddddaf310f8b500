/* wasi_table.c: the descriptors of a module, their rights, and the host's errors and times as the standard has them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "skill/native/wasi.h"

static const struct {
        int host;
        enum wasi_errno number;
} errors[] = {
        { E2BIG, WASI_E2BIG },
        { EACCES, WASI_EACCES },
        { EAGAIN, WASI_EAGAIN },
        { EBADF, WASI_EBADF },
        { EBUSY, WASI_EBUSY },
        { ECONNREFUSED, WASI_ECONNREFUSED },
        { EDQUOT, WASI_EDQUOT },
        { EEXIST, WASI_EEXIST },
        { EFAULT, WASI_EFAULT },
        { EFBIG, WASI_EFBIG },
        { EILSEQ, WASI_EILSEQ },
        { EINTR, WASI_EINTR },
        { EINVAL, WASI_EINVAL },
        { EIO, WASI_EIO },
        { EISDIR, WASI_EISDIR },
        { ELOOP, WASI_ELOOP },
        { EMFILE, WASI_EMFILE },
        { EMLINK, WASI_EMLINK },
        { ENAMETOOLONG, WASI_ENAMETOOLONG },
        { ENFILE, WASI_ENFILE },
        { ENODEV, WASI_ENODEV },
        { ENOENT, WASI_ENOENT },
        { ENOMEM, WASI_ENOMEM },
        { ENOSPC, WASI_ENOSPC },
        { ENOSYS, WASI_ENOSYS },
        { ENOTDIR, WASI_ENOTDIR },
        { ENOTEMPTY, WASI_ENOTEMPTY },
        { ENOTSOCK, WASI_ENOTSOCK },
        { ENOTTY, WASI_ENOTTY },
        { ENXIO, WASI_ENXIO },
        { EOPNOTSUPP, WASI_ENOTSUP },
        { EOVERFLOW, WASI_EOVERFLOW },
        { EPERM, WASI_EPERM },
        { EPIPE, WASI_EPIPE },
        { ERANGE, WASI_ERANGE },
        { EROFS, WASI_EROFS },
        { ESPIPE, WASI_ESPIPE },
        { ETXTBSY, WASI_ETXTBSY },
        { EXDEV, WASI_EXDEV },
};

uint32_t wasi_errno(int number)
{
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
                if (errors[i].host == number)
                        return errors[i].number;
        return number ? WASI_EIO : WASI_OK;
}

enum wasi_filetype wasi_filetype(mode_t mode)
{
        switch (mode & S_IFMT) {
        case S_IFBLK:
                return FILETYPE_BLOCK_DEVICE;
        case S_IFCHR:
                return FILETYPE_CHARACTER_DEVICE;
        case S_IFDIR:
                return FILETYPE_DIRECTORY;
        case S_IFREG:
                return FILETYPE_REGULAR_FILE;
        case S_IFSOCK:
                return FILETYPE_SOCKET_STREAM;
        case S_IFLNK:
                return FILETYPE_SYMBOLIC_LINK;
        default:
                return FILETYPE_UNKNOWN;
        }
}

/* ---- descriptors ---- */

enum { FIRST_FREE = 3 }; /* a directory that was given is looked for from there on */

static uint32_t missing(const struct wasi_fd *fd, uint64_t rights)
{
        const uint64_t of_directories = RIGHTS_DIRECTORY & ~RIGHTS_FILE;

        if (fd->type != FILETYPE_DIRECTORY && rights & of_directories)
                return WASI_ENOTDIR;
        if (fd->type == FILETYPE_DIRECTORY && rights & (RIGHT_FD_READ | RIGHT_FD_WRITE))
                return WASI_EISDIR;
        return WASI_ENOTCAPABLE;
}

struct wasi_fd *wasi_find(struct wasi *self, uint32_t number, uint64_t rights, uint32_t *why)
{
        struct wasi_fd *fd = number < WASI_FDS_MAX ? &self->fds[number] : NULL;

        if (!fd || !fd->is_open) {
                *why = WASI_EBADF;
                return NULL;
        }
        if ((fd->base & rights) != rights) {
                *why = missing(fd, rights);
                return NULL;
        }
        *why = WASI_OK;
        return fd;
}

static void fill(struct wasi_fd *fd, int host, mode_t mode, uint64_t base, uint64_t inheriting)
{
        const enum wasi_filetype type = wasi_filetype(mode);
        uint64_t possible = type == FILETYPE_DIRECTORY ? RIGHTS_DIRECTORY : RIGHTS_FILE;

        /* Without them a C library takes a character device for a terminal, whose lines it writes one by one. */
        if (type != FILETYPE_DIRECTORY && type != FILETYPE_REGULAR_FILE && type != FILETYPE_BLOCK_DEVICE)
                possible &= ~(uint64_t)RIGHTS_SEEK;
        *fd = (struct wasi_fd){
                .is_open = true,
                .host = host,
                .type = type,
                .base = base & possible,
                .inheriting = type == FILETYPE_DIRECTORY ? inheriting & (RIGHTS_DIRECTORY | RIGHTS_FILE) : 0,
        };
}

uint32_t wasi_add(struct wasi *self, int host, uint64_t base, uint64_t inheriting, uint32_t *number)
{
        struct stat status;
        uint32_t r = WASI_EMFILE;

        if (fstat(host, &status) < 0)
                r = wasi_errno(errno);
        else
                for (uint32_t i = FIRST_FREE; i < WASI_FDS_MAX; i++)
                        if (!self->fds[i].is_open) {
                                fill(&self->fds[i], host, status.st_mode, base, inheriting);
                                *number = i;
                                return WASI_OK;
                        }
        close(host);
        return r;
}

uint32_t wasi_drop(struct wasi_fd *fd)
{
        const int host = fd->host;

        *fd = (struct wasi_fd){ .is_open = false };
        return close(host) < 0 ? wasi_errno(errno) : WASI_OK;
}

uint32_t wasi_preopen(struct wasi *self, const char *host_path, const char *name, bool is_read_only)
{
        const uint64_t denied = is_read_only ? RIGHTS_CHANGE : 0;
        const int host = open(host_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint32_t number, r;

        if (host < 0)
                return wasi_errno(errno);
        r = wasi_add(self, host, RIGHTS_DIRECTORY & ~denied, (RIGHTS_DIRECTORY | RIGHTS_FILE) & ~denied,
                     &number);
        if (!r)
                self->fds[number].preopen = name;
        return r;
}

void wasi_init(struct wasi *self, wasm_rt_memory_t *memory, const char *const *arguments,
               const char *const *environment)
{
        self->memory = memory;
        self->arguments = arguments;
        self->environment = environment;
        for (int i = 0; i < FIRST_FREE; i++) {
                struct stat status;

                if (!fstat(i, &status))
                        fill(&self->fds[i], i, status.st_mode, i ? RIGHTS_OUTPUT : RIGHTS_INPUT, 0);
        }
}

/* ---- what both descriptors and paths have ---- */

uint32_t wasi_open_flags(uint32_t fdflags, int *out)
{
        if (fdflags &
            ~(uint32_t)(FDFLAG_APPEND | FDFLAG_DSYNC | FDFLAG_NONBLOCK | FDFLAG_RSYNC | FDFLAG_SYNC))
                return WASI_EINVAL;
        *out = (fdflags & FDFLAG_APPEND ? O_APPEND : 0) | (fdflags & FDFLAG_DSYNC ? O_DSYNC : 0) |
               (fdflags & FDFLAG_NONBLOCK ? O_NONBLOCK : 0) |
               (fdflags & (FDFLAG_RSYNC | FDFLAG_SYNC) ? O_SYNC : 0);
        return WASI_OK;
}

static uint64_t nanoseconds(struct timespec time)
{
        /* Before 1970 there is none. */
        return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint32_t wasi_put_filestat(struct wasi *self, uint32_t at, const struct stat *status)
{
        const struct {
                uint64_t device, inode;
                uint8_t type, padding[7];
                uint64_t links, size, accessed, modified, changed;
        } filestat = {
                .device = status->st_dev,
                .inode = status->st_ino,
                .type = (uint8_t)wasi_filetype(status->st_mode),
                .links = status->st_nlink,
                .size = (uint64_t)status->st_size,
                .accessed = nanoseconds(status->st_atim),
                .modified = nanoseconds(status->st_mtim),
                .changed = nanoseconds(status->st_ctim),
        };

        _Static_assert(sizeof filestat == 64, "as the standard lays it out");
        return wasi_put(self, at, &filestat, sizeof filestat) ? WASI_OK : WASI_EFAULT;
}

static struct timespec time_of(uint64_t given, bool is_set, bool is_now)
{
        return (struct timespec){
                .tv_sec = (time_t)(given / 1000000000u),
                .tv_nsec = is_now   ? UTIME_NOW
                           : is_set ? (long)(given % 1000000000u)
                                    : UTIME_OMIT,
        };
}

uint32_t wasi_times(uint64_t accessed, uint64_t modified, uint32_t flags, struct timespec times[2])
{
        enum { ACCESSED = 1, ACCESSED_NOW = 2, MODIFIED = 4, MODIFIED_NOW = 8 };

        if (flags > 15 || (flags & 3) == 3 || (flags & 12) == 12)
                return WASI_EINVAL;
        times[0] = time_of(accessed, flags & ACCESSED, flags & ACCESSED_NOW);
        times[1] = time_of(modified, flags & MODIFIED, flags & MODIFIED_NOW);
        return WASI_OK;
}
