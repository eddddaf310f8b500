/* posix_windows.h: what the common files use of POSIX, on Windows. Every one of them is compiled with it (-include), so that none has to know.
 *
 * Paths are translated by wide_windows.h. A descriptor is one of the C library's. Modes are made up, but for what they say of links, owners, and
 * of everybody. What a common file never asks for on Windows is not there. */
#ifndef BASE_POSIX_WINDOWS_H
#define BASE_POSIX_WINDOWS_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <process.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <wchar.h>

/* wide_windows.h has more of these. */
char *wide_path_name(const wchar_t *path);
void wide_path_read(char *text);
/* errno for what Windows says; -1. */
int posix_fail(unsigned long code);
/* Of an open file (a HANDLE); owned by the caller, or NULL with errno. */
char *posix_path_of(void *handle);
/* Whether this SID is the user's. */
bool posix_is_user(void *sid);

#undef PATH_MAX
#undef NAME_MAX
#define PATH_MAX 32768
#define NAME_MAX 765 /* 255 characters of UTF-16 in UTF-8 */

/* ---- files ---------------------------------------------------------------------------------------------- */

typedef int sigset_t; /* for declarations: there are no signals */
typedef unsigned uid_t;
typedef unsigned gid_t;

struct posix_stat {
        uint64_t st_dev, st_ino, st_nlink;
        unsigned st_mode;
        uid_t st_uid; /* 0 is the system's or its administrators', 1000 this user's, 1001 anybody else's */
        long long st_size;
        int64_t written_ns, changed_ns; /* since 1970 */
};

#undef S_IWOTH
#define S_IFLNK 0120000
#define S_ISLNK(mode) (((mode)&0170000) == S_IFLNK)
#define S_IWOTH 0002
#define S_ISVTX 01000

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 1
#define AT_EACCESS 2
#undef O_DIRECTORY
#undef O_NOFOLLOW
#undef O_CLOEXEC
#define O_DIRECTORY 0x1000000
#define O_NOFOLLOW 0x2000000
#define O_CLOEXEC _O_NOINHERIT
#define O_NOCTTY 0
#define O_NONBLOCK 0

int posix_open(const char *path, int flags, ...);
int posix_openat(int directory, const char *path, int flags, ...);
int posix_stat(const char *path, struct posix_stat *out);
int posix_lstat(const char *path, struct posix_stat *out);
int posix_fstat(int fd, struct posix_stat *out);
int posix_fstatat(int directory, const char *path, struct posix_stat *out, int flags);
long posix_readlinkat(int directory, const char *path, char *out, size_t size);
int posix_access(const char *path, int mode);
int posix_faccessat(int directory, const char *path, int mode, int flags);
int posix_mkdirat(int directory, const char *path, unsigned mode);
int posix_unlink(const char *path);
int posix_rename(const char *from, const char *to);
char *posix_getcwd(char *buffer, size_t size);
char *posix_realpath(const char *path, char *buffer);
char *posix_getenv(const char *name);
unsigned posix_geteuid(void);

#define stat posix_stat /* the structure, too */
#define lstat posix_lstat
#define fstat posix_fstat
#define fstatat posix_fstatat
#define open posix_open
#define openat posix_openat
#define readlinkat posix_readlinkat
#define access posix_access
#define faccessat posix_faccessat
#define mkdirat posix_mkdirat
#define unlink posix_unlink
#define rename posix_rename
#define getcwd posix_getcwd
#define realpath posix_realpath
#define getenv posix_getenv
#define geteuid posix_geteuid
#define getuid posix_geteuid
#define fsync _commit

/* ---- directories ---------------------------------------------------------------------------------------- */

enum { DT_UNKNOWN = 0, DT_DIR = 4, DT_REG = 8, DT_LNK = 10 };

struct dirent {
        unsigned char d_type;
        char d_name[NAME_MAX + 1];
};

typedef struct posix_directory DIR;

DIR *posix_opendir(const char *path);
DIR *posix_fdopendir(int fd);
struct dirent *posix_readdir(DIR *directory);
int posix_closedir(DIR *directory);

int posix_scandir(const char *path, struct dirent ***out, int (*filter)(const struct dirent *),
                  int (*compare)(const struct dirent **, const struct dirent **));
int posix_alphasort(const struct dirent **left, const struct dirent **right);

#define scandir posix_scandir
#define alphasort posix_alphasort
#define opendir posix_opendir
#define fdopendir posix_fdopendir
#define readdir posix_readdir
#define closedir posix_closedir
#define DTTOIF(type) ((type) == DT_DIR ? S_IFDIR : (type) == DT_LNK ? S_IFLNK : S_IFREG)

/* ---- descriptors ---------------------------------------------------------------------------------------- */

enum { F_GETFD, F_DUPFD_CLOEXEC };
enum { POLLIN = 1, POLLOUT = 4 };
struct posix_pollfd {
        int fd;
        short events, revents;
};

int posix_fcntl(int fd, int what, ...);
int posix_poll(struct posix_pollfd *waits, unsigned long count, int timeout);
long posix_pread(int fd, void *out, size_t length, long long offset);

#define fcntl posix_fcntl
#define poll posix_poll
#define pollfd posix_pollfd
#define pread posix_pread

/* posix_process_windows.c has the one that Windows calls. */
int posix_main(int argc, char **argv);
#define main posix_main

/* ---- strings -------------------------------------------------------------------------------------------- */

char *posix_strndup(const char *text, size_t most);
char *posix_strsep(char **rest, const char *separators);
void *posix_memrchr(const void *bytes, int byte, size_t length);
void *posix_memmem(const void *bytes, size_t length, const void *wanted, size_t size);
int posix_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int posix_vasprintf(char **out, const char *format, va_list arguments);

#define strndup posix_strndup
#define strsep posix_strsep
#define memrchr posix_memrchr
#define memmem posix_memmem
#define asprintf posix_asprintf
#define vasprintf posix_vasprintf

#endif
