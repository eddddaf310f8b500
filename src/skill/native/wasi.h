/* wasi.h: WASI preview 1 for a module that has become a program: the functions that it calls, and what they share.
 *
 * What a module gives is numbers. One that is meant as an address is taken only together with a length, and only as long as both lie in its
 * memory. Files are reached through descriptors of its own numbering and the rights that these have; see beneath.h for paths. The operating
 * system's sandbox round the program is the wall; this is the fence in front of it. */
#ifndef SKILL_NATIVE_WASI_H
#define SKILL_NATIVE_WASI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skill/native/rt.h"

/* As wasm2c calls them. */
#define wasi Z_wasi_snapshot_preview1_instance_t
#define WASI(name) Z_wasi_snapshot_preview1Z_##name

enum { WASI_FDS_MAX = 1024, WASI_PATH_MAX = 4096, WASI_VECTORS_MAX = 1024 };

/* The numbers of the standard. */
enum wasi_errno {
        WASI_OK = 0,
        WASI_E2BIG = 1,
        WASI_EACCES = 2,
        WASI_EAGAIN = 6,
        WASI_EBADF = 8,
        WASI_EBUSY = 10,
        WASI_ECONNREFUSED = 14,
        WASI_EDQUOT = 19,
        WASI_EEXIST = 20,
        WASI_EFAULT = 21,
        WASI_EFBIG = 22,
        WASI_EILSEQ = 25,
        WASI_EINTR = 27,
        WASI_EINVAL = 28,
        WASI_EIO = 29,
        WASI_EISDIR = 31,
        WASI_ELOOP = 32,
        WASI_EMFILE = 33,
        WASI_EMLINK = 34,
        WASI_ENAMETOOLONG = 37,
        WASI_ENFILE = 41,
        WASI_ENODEV = 43,
        WASI_ENOENT = 44,
        WASI_ENOMEM = 48,
        WASI_ENOSPC = 51,
        WASI_ENOSYS = 52,
        WASI_ENOTDIR = 54,
        WASI_ENOTEMPTY = 55,
        WASI_ENOTSOCK = 57,
        WASI_ENOTSUP = 58,
        WASI_ENOTTY = 59,
        WASI_ENXIO = 60,
        WASI_EOVERFLOW = 61,
        WASI_EPERM = 63,
        WASI_EPIPE = 64,
        WASI_ERANGE = 68,
        WASI_EROFS = 69,
        WASI_ESPIPE = 70,
        WASI_ETXTBSY = 74,
        WASI_EXDEV = 75,
        WASI_ENOTCAPABLE = 76,
};

enum {
        RIGHT_FD_DATASYNC = 1 << 0,
        RIGHT_FD_READ = 1 << 1,
        RIGHT_FD_SEEK = 1 << 2,
        RIGHT_FD_FDSTAT_SET_FLAGS = 1 << 3,
        RIGHT_FD_SYNC = 1 << 4,
        RIGHT_FD_TELL = 1 << 5,
        RIGHT_FD_WRITE = 1 << 6,
        RIGHT_FD_ADVISE = 1 << 7,
        RIGHT_FD_ALLOCATE = 1 << 8,
        RIGHT_PATH_CREATE_DIRECTORY = 1 << 9,
        RIGHT_PATH_CREATE_FILE = 1 << 10,
        RIGHT_PATH_LINK_SOURCE = 1 << 11,
        RIGHT_PATH_LINK_TARGET = 1 << 12,
        RIGHT_PATH_OPEN = 1 << 13,
        RIGHT_FD_READDIR = 1 << 14,
        RIGHT_PATH_READLINK = 1 << 15,
        RIGHT_PATH_RENAME_SOURCE = 1 << 16,
        RIGHT_PATH_RENAME_TARGET = 1 << 17,
        RIGHT_PATH_FILESTAT_GET = 1 << 18,
        RIGHT_PATH_FILESTAT_SET_SIZE = 1 << 19,
        RIGHT_PATH_FILESTAT_SET_TIMES = 1 << 20,
        RIGHT_FD_FILESTAT_GET = 1 << 21,
        RIGHT_FD_FILESTAT_SET_SIZE = 1 << 22,
        RIGHT_FD_FILESTAT_SET_TIMES = 1 << 23,
        RIGHT_PATH_SYMLINK = 1 << 24,
        RIGHT_PATH_REMOVE_DIRECTORY = 1 << 25,
        RIGHT_PATH_UNLINK_FILE = 1 << 26,
        RIGHT_POLL_FD_READWRITE = 1 << 27,
        RIGHT_SOCK_SHUTDOWN = 1 << 28,
        RIGHT_SOCK_ACCEPT = 1 << 29,
};

/* What changes a file or a directory: none of it is in the rights of what may only be read. */
enum {
        RIGHTS_CHANGE = RIGHT_FD_DATASYNC | RIGHT_FD_WRITE | RIGHT_FD_ALLOCATE | RIGHT_PATH_CREATE_DIRECTORY |
                        RIGHT_PATH_CREATE_FILE | RIGHT_PATH_LINK_SOURCE | RIGHT_PATH_LINK_TARGET |
                        RIGHT_PATH_RENAME_SOURCE | RIGHT_PATH_RENAME_TARGET | RIGHT_PATH_FILESTAT_SET_SIZE |
                        RIGHT_PATH_FILESTAT_SET_TIMES | RIGHT_FD_FILESTAT_SET_SIZE |
                        RIGHT_FD_FILESTAT_SET_TIMES | RIGHT_PATH_SYMLINK | RIGHT_PATH_REMOVE_DIRECTORY |
                        RIGHT_PATH_UNLINK_FILE,
        /* Others have these too: a module cannot change their flags, times or sizes, nor what is in a file already that output goes to. */
        RIGHTS_OUTPUT = RIGHT_FD_WRITE | RIGHT_FD_SYNC | RIGHT_FD_DATASYNC | RIGHT_FD_FILESTAT_GET |
                        RIGHT_POLL_FD_READWRITE,
        RIGHTS_INPUT = RIGHT_FD_READ | RIGHT_FD_SEEK | RIGHT_FD_TELL | RIGHT_FD_FILESTAT_GET |
                       RIGHT_POLL_FD_READWRITE,
        RIGHTS_SEEK = RIGHT_FD_SEEK | RIGHT_FD_TELL | RIGHT_FD_ADVISE | RIGHT_FD_ALLOCATE,
        RIGHTS_FILE = RIGHT_FD_DATASYNC | RIGHT_FD_READ | RIGHT_FD_SEEK | RIGHT_FD_FDSTAT_SET_FLAGS |
                      RIGHT_FD_SYNC | RIGHT_FD_TELL | RIGHT_FD_WRITE | RIGHT_FD_ADVISE | RIGHT_FD_ALLOCATE |
                      RIGHT_FD_FILESTAT_GET | RIGHT_FD_FILESTAT_SET_SIZE | RIGHT_FD_FILESTAT_SET_TIMES |
                      RIGHT_POLL_FD_READWRITE,
        RIGHTS_DIRECTORY = RIGHT_FD_FDSTAT_SET_FLAGS | RIGHT_FD_SYNC | RIGHT_PATH_CREATE_DIRECTORY |
                           RIGHT_PATH_CREATE_FILE | RIGHT_PATH_LINK_SOURCE | RIGHT_PATH_LINK_TARGET |
                           RIGHT_PATH_OPEN | RIGHT_FD_READDIR | RIGHT_PATH_READLINK |
                           RIGHT_PATH_RENAME_SOURCE | RIGHT_PATH_RENAME_TARGET | RIGHT_PATH_FILESTAT_GET |
                           RIGHT_PATH_FILESTAT_SET_SIZE | RIGHT_PATH_FILESTAT_SET_TIMES |
                           RIGHT_FD_FILESTAT_GET | RIGHT_FD_FILESTAT_SET_TIMES | RIGHT_PATH_SYMLINK |
                           RIGHT_PATH_REMOVE_DIRECTORY | RIGHT_PATH_UNLINK_FILE | RIGHT_POLL_FD_READWRITE,
};

enum wasi_filetype {
        FILETYPE_UNKNOWN = 0,
        FILETYPE_BLOCK_DEVICE = 1,
        FILETYPE_CHARACTER_DEVICE = 2,
        FILETYPE_DIRECTORY = 3,
        FILETYPE_REGULAR_FILE = 4,
        FILETYPE_SOCKET_DGRAM = 5,
        FILETYPE_SOCKET_STREAM = 6,
        FILETYPE_SYMBOLIC_LINK = 7,
};

enum { FDFLAG_APPEND = 1, FDFLAG_DSYNC = 2, FDFLAG_NONBLOCK = 4, FDFLAG_RSYNC = 8, FDFLAG_SYNC = 16 };

/* What the module knows by a number. */
struct wasi_fd {
        bool is_open;
        int host;            /* owned */
        const char *preopen; /* borrowed: what the module calls this directory, or NULL */
        enum wasi_filetype type;
        uint64_t base, inheriting;
};

struct wasi {
        wasm_rt_memory_t *memory;                          /* borrowed */
        const char *const *arguments, *const *environment; /* borrowed, ended by NULL */
        struct wasi_fd fds[WASI_FDS_MAX];
};

/* ---- the module's memory: NULL, or false, when it does not lie in there as a whole ---- */

static inline void *wasi_at(struct wasi *self, uint32_t at, uint64_t length)
{
        const uint64_t size = self->memory->size;

        return length <= size && at <= size - length ? self->memory->data + at : NULL;
}

static inline bool wasi_put(struct wasi *self, uint32_t at, const void *from, size_t length)
{
        void *place = wasi_at(self, at, length);

        if (place)
                memcpy(place, from, length);
        return place;
}

static inline uint32_t wasi_put_u32(struct wasi *self, uint32_t at, uint32_t value)
{
        return wasi_put(self, at, &value, sizeof value) ? WASI_OK : WASI_EFAULT;
}

static inline uint32_t wasi_put_u64(struct wasi *self, uint32_t at, uint64_t value)
{
        return wasi_put(self, at, &value, sizeof value) ? WASI_OK : WASI_EFAULT;
}

/* ---- descriptors (wasi_table.c) ---- */

/* The host's error as the standard numbers it. */
uint32_t wasi_errno(int number);
/* The one of this number, if it is open and has all these rights; or NULL and why not. */
struct wasi_fd *wasi_find(struct wasi *self, uint32_t number, uint64_t rights, uint32_t *why);
/* The lowest free number from 3 on; takes `host`, also when there is none: then it is closed. Rights are cut to what its type has. */
uint32_t wasi_add(struct wasi *self, int host, uint64_t base, uint64_t inheriting, uint32_t *number);
uint32_t wasi_drop(struct wasi_fd *fd);
/* A directory that is there from the beginning; `name` is borrowed. */
uint32_t wasi_preopen(struct wasi *self, const char *host_path, const char *name, bool is_read_only);
void wasi_init(struct wasi *self, wasm_rt_memory_t *memory, const char *const *arguments,
               const char *const *environment);

/* Of a file's mode. */
enum wasi_filetype wasi_filetype(mode_t mode);
struct stat;
/* The 64 bytes of a filestat. */
uint32_t wasi_put_filestat(struct wasi *self, uint32_t at, const struct stat *status);
struct timespec;
/* The two times of utimensat(), of flags that the standard has for them. */
uint32_t wasi_times(uint64_t accessed, uint64_t modified, uint32_t flags, struct timespec times[2]);
/* How the host's open() says these; ENOTSUP for what it does not know. */
uint32_t wasi_open_flags(uint32_t fdflags, int *out);

/* ---- the functions ---- */

uint32_t WASI(args_get)(struct wasi *self, uint32_t pointers, uint32_t texts);
uint32_t WASI(args_sizes_get)(struct wasi *self, uint32_t count, uint32_t size);
uint32_t WASI(environ_get)(struct wasi *self, uint32_t pointers, uint32_t texts);
uint32_t WASI(environ_sizes_get)(struct wasi *self, uint32_t count, uint32_t size);
uint32_t WASI(clock_res_get)(struct wasi *self, uint32_t clock, uint32_t out);
uint32_t WASI(clock_time_get)(struct wasi *self, uint32_t clock, uint64_t precision, uint32_t out);
uint32_t WASI(fd_advise)(struct wasi *self, uint32_t number, uint64_t offset, uint64_t length,
                         uint32_t advice);
uint32_t WASI(fd_allocate)(struct wasi *self, uint32_t number, uint64_t offset, uint64_t length);
uint32_t WASI(fd_close)(struct wasi *self, uint32_t number);
uint32_t WASI(fd_datasync)(struct wasi *self, uint32_t number);
uint32_t WASI(fd_fdstat_get)(struct wasi *self, uint32_t number, uint32_t out);
uint32_t WASI(fd_fdstat_set_flags)(struct wasi *self, uint32_t number, uint32_t flags);
uint32_t WASI(fd_fdstat_set_rights)(struct wasi *self, uint32_t number, uint64_t base, uint64_t inheriting);
uint32_t WASI(fd_filestat_get)(struct wasi *self, uint32_t number, uint32_t out);
uint32_t WASI(fd_filestat_set_size)(struct wasi *self, uint32_t number, uint64_t size);
uint32_t WASI(fd_filestat_set_times)(struct wasi *self, uint32_t number, uint64_t accessed, uint64_t modified,
                                     uint32_t flags);
uint32_t WASI(fd_pread)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint64_t offset,
                        uint32_t out);
uint32_t WASI(fd_prestat_get)(struct wasi *self, uint32_t number, uint32_t out);
uint32_t WASI(fd_prestat_dir_name)(struct wasi *self, uint32_t number, uint32_t out, uint32_t length);
uint32_t WASI(fd_pwrite)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count,
                         uint64_t offset, uint32_t out);
uint32_t WASI(fd_read)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t out);
uint32_t WASI(fd_readdir)(struct wasi *self, uint32_t number, uint32_t out, uint32_t length, uint64_t cookie,
                          uint32_t used);
uint32_t WASI(fd_renumber)(struct wasi *self, uint32_t from, uint32_t to);
uint32_t WASI(fd_seek)(struct wasi *self, uint32_t number, uint64_t offset, uint32_t whence, uint32_t out);
uint32_t WASI(fd_sync)(struct wasi *self, uint32_t number);
uint32_t WASI(fd_tell)(struct wasi *self, uint32_t number, uint32_t out);
uint32_t WASI(fd_write)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t out);
uint32_t WASI(path_create_directory)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length);
uint32_t WASI(path_filestat_get)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path,
                                 uint32_t length, uint32_t out);
uint32_t WASI(path_filestat_set_times)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path,
                                       uint32_t length, uint64_t accessed, uint64_t modified, uint32_t flags);
uint32_t WASI(path_link)(struct wasi *self, uint32_t old_number, uint32_t lookup, uint32_t old_path,
                         uint32_t old_length, uint32_t new_number, uint32_t new_path, uint32_t new_length);
uint32_t WASI(path_open)(struct wasi *self, uint32_t number, uint32_t lookup, uint32_t path, uint32_t length,
                         uint32_t oflags, uint64_t base, uint64_t inheriting, uint32_t fdflags, uint32_t out);
uint32_t WASI(path_readlink)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length, uint32_t out,
                             uint32_t out_length, uint32_t used);
uint32_t WASI(path_remove_directory)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length);
uint32_t WASI(path_rename)(struct wasi *self, uint32_t old_number, uint32_t old_path, uint32_t old_length,
                           uint32_t new_number, uint32_t new_path, uint32_t new_length);
uint32_t WASI(path_symlink)(struct wasi *self, uint32_t target, uint32_t target_length, uint32_t number,
                            uint32_t path, uint32_t length);
uint32_t WASI(path_unlink_file)(struct wasi *self, uint32_t number, uint32_t path, uint32_t length);
uint32_t WASI(poll_oneoff)(struct wasi *self, uint32_t subscriptions, uint32_t events, uint32_t count,
                           uint32_t out);
void WASI(proc_exit)(struct wasi *self, uint32_t status) __attribute__((noreturn));
uint32_t WASI(proc_raise)(struct wasi *self, uint32_t signal);
uint32_t WASI(random_get)(struct wasi *self, uint32_t out, uint32_t length);
uint32_t WASI(sched_yield)(struct wasi *self);
uint32_t WASI(sock_accept)(struct wasi *self, uint32_t number, uint32_t flags, uint32_t out);
uint32_t WASI(sock_recv)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t flags,
                         uint32_t out, uint32_t out_flags);
uint32_t WASI(sock_send)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t flags,
                         uint32_t out);
uint32_t WASI(sock_shutdown)(struct wasi *self, uint32_t number, uint32_t how);

#endif
