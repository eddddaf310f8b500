/* wasi_fd.c: the functions of WASI on open files and directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "skill/native/wasi.h"

static uint32_t outcome(int r)
{
        return r < 0 ? wasi_errno(errno) : WASI_OK;
}

/* ---- reading and writing ---- */

/* The module's list of buffers as the host's. It is copied first: a buffer may lie over the list. */
static uint32_t gather(struct wasi *self, uint32_t at, uint32_t count, struct iovec out[WASI_VECTORS_MAX])
{
        const uint8_t *list = wasi_at(self, at, (uint64_t)count * 8);

        if (!list)
                return WASI_EFAULT;
        if (count > WASI_VECTORS_MAX)
                return WASI_EINVAL;
        for (uint32_t i = 0; i < count; i++) {
                uint32_t place, length;

                memcpy(&place, list + (size_t)i * 8, sizeof place);
                memcpy(&length, list + (size_t)i * 8 + 4, sizeof length);
                out[i].iov_base = wasi_at(self, place, length);
                out[i].iov_len = length;
                if (!out[i].iov_base)
                        return WASI_EFAULT;
        }
        return WASI_OK;
}

enum direction { READ, WRITE };

/* With an offset of -1 where the file is now. */
static uint32_t transfer(struct wasi *self, uint32_t number, enum direction direction, uint32_t vectors,
                         uint32_t count, int64_t offset, uint32_t out)
{
        struct iovec list[WASI_VECTORS_MAX];
        uint64_t rights = direction == READ ? RIGHT_FD_READ : RIGHT_FD_WRITE;
        const struct wasi_fd *fd;
        ssize_t done;
        uint32_t r;

        if (offset >= 0)
                rights |= RIGHT_FD_SEEK;
        fd = wasi_find(self, number, rights, &r);
        if (fd)
                r = gather(self, vectors, count, list);
        /* Before anything is written or taken: nobody could be told. */
        if (!r && !wasi_at(self, out, 4))
                r = WASI_EFAULT;
        if (r)
                return r;
        if (offset >= 0)
                done = direction == READ ? preadv(fd->host, list, (int)count, offset)
                                         : pwritev(fd->host, list, (int)count, offset);
        else
                done = direction == READ ? readv(fd->host, list, (int)count)
                                         : writev(fd->host, list, (int)count);
        return done < 0 ? wasi_errno(errno) : wasi_put_u32(self, out, (uint32_t)done);
}

uint32_t WASI(fd_read)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t out)
{
        return transfer(self, number, READ, vectors, count, -1, out);
}

uint32_t WASI(fd_write)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t out)
{
        return transfer(self, number, WRITE, vectors, count, -1, out);
}

uint32_t WASI(fd_pread)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint64_t offset,
                        uint32_t out)
{
        return offset > INT64_MAX ? WASI_EINVAL
                                  : transfer(self, number, READ, vectors, count, (int64_t)offset, out);
}

uint32_t WASI(fd_pwrite)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count,
                         uint64_t offset, uint32_t out)
{
        return offset > INT64_MAX ? WASI_EINVAL
                                  : transfer(self, number, WRITE, vectors, count, (int64_t)offset, out);
}

/* ---- where it is ---- */

uint32_t WASI(fd_seek)(struct wasi *self, uint32_t number, uint64_t offset, uint32_t whence, uint32_t out)
{
        static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END };
        const bool asks_only = !offset && whence == 1;
        const struct wasi_fd *fd;
        off_t at;
        uint32_t r;

        if (whence > 2)
                return WASI_EINVAL;
        fd = wasi_find(self, number, asks_only ? RIGHT_FD_TELL : RIGHT_FD_SEEK | RIGHT_FD_TELL, &r);
        if (!fd)
                return r;
        if (!wasi_at(self, out, 8))
                return WASI_EFAULT;
        at = lseek(fd->host, (off_t)offset, whences[whence]);
        return at < 0 ? wasi_errno(errno) : wasi_put_u64(self, out, (uint64_t)at);
}

uint32_t WASI(fd_tell)(struct wasi *self, uint32_t number, uint32_t out)
{
        return WASI(fd_seek)(self, number, 0, 1, out);
}

uint32_t WASI(fd_advise)(struct wasi *self, uint32_t number, uint64_t offset, uint64_t length,
                         uint32_t advice)
{
        static const int advices[] = { POSIX_FADV_NORMAL,   POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                                       POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED,   POSIX_FADV_NOREUSE };
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_ADVISE, &r);

        if (fd && (advice >= sizeof advices / sizeof *advices || offset > INT64_MAX || length > INT64_MAX))
                r = WASI_EINVAL;
        return r ? r : wasi_errno(posix_fadvise(fd->host, (off_t)offset, (off_t)length, advices[advice]));
}

uint32_t WASI(fd_allocate)(struct wasi *self, uint32_t number, uint64_t offset, uint64_t length)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_ALLOCATE, &r);

        if (fd && (offset > INT64_MAX || length > INT64_MAX))
                r = WASI_EINVAL;
        return r ? r : outcome(fallocate(fd->host, 0, (off_t)offset, (off_t)length));
}

uint32_t WASI(fd_datasync)(struct wasi *self, uint32_t number)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_DATASYNC, &r);

        return r ? r : outcome(fdatasync(fd->host));
}

uint32_t WASI(fd_sync)(struct wasi *self, uint32_t number)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_SYNC, &r);

        return r ? r : outcome(fsync(fd->host));
}

/* ---- what it is ---- */

uint32_t WASI(fd_fdstat_get)(struct wasi *self, uint32_t number, uint32_t out)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, 0, &r);
        const int flags = fd ? fcntl(fd->host, F_GETFL) : 0;
        struct {
                uint8_t type, padding;
                uint16_t flags;
                uint32_t more_padding;
                uint64_t base, inheriting;
        } fdstat = { .type = 0 };

        _Static_assert(sizeof fdstat == 24, "as the standard lays it out");
        if (r)
                return r;
        if (flags < 0)
                return wasi_errno(errno);
        fdstat.type = (uint8_t)fd->type;
        fdstat.base = fd->base;
        fdstat.inheriting = fd->inheriting;
        fdstat.flags = (uint16_t)((flags & O_APPEND ? FDFLAG_APPEND : 0) |
                                  (flags & O_NONBLOCK ? FDFLAG_NONBLOCK : 0) |
                                  ((flags & O_SYNC) == O_SYNC ? FDFLAG_SYNC : 0) |
                                  ((flags & O_SYNC) == O_DSYNC ? FDFLAG_DSYNC : 0));
        return wasi_put(self, out, &fdstat, sizeof fdstat) ? WASI_OK : WASI_EFAULT;
}

uint32_t WASI(fd_fdstat_set_flags)(struct wasi *self, uint32_t number, uint32_t flags)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_FDSTAT_SET_FLAGS, &r);
        int host_flags, now;

        if (!r)
                r = wasi_open_flags(flags, &host_flags);
        if (r)
                return r;
        if (host_flags & O_SYNC)
                return WASI_ENOTSUP;
        now = fcntl(fd->host, F_GETFL);
        return now < 0 ? wasi_errno(errno)
                       : outcome(fcntl(fd->host, F_SETFL, (now & ~(O_APPEND | O_NONBLOCK)) | host_flags));
}

uint32_t WASI(fd_fdstat_set_rights)(struct wasi *self, uint32_t number, uint64_t base, uint64_t inheriting)
{
        uint32_t r;
        struct wasi_fd *fd = wasi_find(self, number, 0, &r);

        if (!fd)
                return r;
        if (base & ~fd->base || inheriting & ~fd->inheriting)
                return WASI_ENOTCAPABLE;
        fd->base = base;
        fd->inheriting = inheriting;
        return WASI_OK;
}

uint32_t WASI(fd_filestat_get)(struct wasi *self, uint32_t number, uint32_t out)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_FILESTAT_GET, &r);
        struct stat status;

        if (r)
                return r;
        return fstat(fd->host, &status) < 0 ? wasi_errno(errno) : wasi_put_filestat(self, out, &status);
}

uint32_t WASI(fd_filestat_set_size)(struct wasi *self, uint32_t number, uint64_t size)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_FILESTAT_SET_SIZE, &r);

        if (fd && size > INT64_MAX)
                r = WASI_EINVAL;
        return r ? r : outcome(ftruncate(fd->host, (off_t)size));
}

uint32_t WASI(fd_filestat_set_times)(struct wasi *self, uint32_t number, uint64_t accessed, uint64_t modified,
                                     uint32_t flags)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_FILESTAT_SET_TIMES, &r);
        struct timespec times[2];

        if (!r)
                r = wasi_times(accessed, modified, flags, times);
        return r ? r : outcome(futimens(fd->host, times));
}

/* ---- the numbers ---- */

uint32_t WASI(fd_close)(struct wasi *self, uint32_t number)
{
        uint32_t r;
        struct wasi_fd *fd = wasi_find(self, number, 0, &r);

        return fd ? wasi_drop(fd) : r;
}

/* A directory that was given keeps its number: what the module was told of it would not be true any more. */
uint32_t WASI(fd_renumber)(struct wasi *self, uint32_t from, uint32_t to)
{
        uint32_t r;
        struct wasi_fd *source = wasi_find(self, from, 0, &r);
        struct wasi_fd *target = source ? wasi_find(self, to, 0, &r) : NULL;

        if (!target)
                return r;
        if (source->preopen || target->preopen)
                return WASI_ENOTSUP;
        if (source == target)
                return WASI_OK;
        close(target->host);
        *target = *source;
        *source = (struct wasi_fd){ .is_open = false };
        return WASI_OK;
}

uint32_t WASI(fd_prestat_get)(struct wasi *self, uint32_t number, uint32_t out)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, 0, &r);
        uint32_t prestat[2] = { 0 }; /* 0: a directory */

        if (!fd || !fd->preopen)
                return WASI_EBADF;
        prestat[1] = (uint32_t)strlen(fd->preopen);
        return wasi_put(self, out, prestat, sizeof prestat) ? WASI_OK : WASI_EFAULT;
}

uint32_t WASI(fd_prestat_dir_name)(struct wasi *self, uint32_t number, uint32_t out, uint32_t length)
{
        uint32_t r;
        const struct wasi_fd *fd = wasi_find(self, number, 0, &r);

        if (!fd || !fd->preopen)
                return WASI_EBADF;
        if (length < strlen(fd->preopen))
                return WASI_ENAMETOOLONG;
        return wasi_put(self, out, fd->preopen, strlen(fd->preopen)) ? WASI_OK : WASI_EFAULT;
}

/* ---- directories ---- */

/* The kernel's, of which the C library shows another. */
struct entry {
        uint64_t inode;
        int64_t next;
        uint16_t length;
        uint8_t type;
        char name[];
};

static enum wasi_filetype type_of(uint8_t type)
{
        return wasi_filetype((mode_t)DTTOIF(type));
}

/* As much of it as there is room for: the last one may be cut. */
static size_t put_entry(uint8_t *out, size_t room, const struct entry *entry)
{
        const bool is_above = !strcmp(entry->name, "..");
        const struct {
                uint64_t next, inode;
                uint32_t length;
                uint8_t type, padding[3];
        } dirent = {
                .next = (uint64_t)entry->next,
                .inode =
                        is_above ? 0 : entry->inode, /* it may be a directory that the module was not given */
                .length = (uint32_t)strlen(entry->name),
                .type = (uint8_t)type_of(entry->type),
        };
        const size_t head = room < sizeof dirent ? room : sizeof dirent;
        const size_t rest = room - head, name = dirent.length < rest ? dirent.length : rest;

        _Static_assert(sizeof dirent == 24, "as the standard lays it out");
        memcpy(out, &dirent, head);
        memcpy(out + head, entry->name, name);
        return head + name;
}

/* Where to go on is what the kernel said of the entry before, so nothing is kept between two calls. */
uint32_t WASI(fd_readdir)(struct wasi *self, uint32_t number, uint32_t out, uint32_t length, uint64_t cookie,
                          uint32_t used)
{
        char entries[4096] __attribute__((aligned(8)));
        uint32_t r, done = 0;
        const struct wasi_fd *fd = wasi_find(self, number, RIGHT_FD_READDIR, &r);
        uint8_t *place = wasi_at(self, out, length);

        if (r)
                return r;
        if (!place || !wasi_at(self, used, 4))
                return WASI_EFAULT;
        if (cookie > INT64_MAX || lseek(fd->host, (off_t)cookie, SEEK_SET) < 0)
                return WASI_EINVAL;
        while (done < length) {
                const long size = syscall(SYS_getdents64, fd->host, entries, sizeof entries);

                if (size < 0)
                        return wasi_errno(errno);
                if (!size)
                        break;
                for (long i = 0; i < size && done < length;) {
                        const struct entry *entry = (const void *)(entries + i);

                        done += (uint32_t)put_entry(place + done, length - done, entry);
                        i += entry->length;
                }
        }
        return wasi_put_u32(self, used, done);
}
