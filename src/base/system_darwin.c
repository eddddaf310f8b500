/* system_darwin.c: see system.h. */
#include "base/system.h"

#include <crt_externs.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/attr.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xlocale.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/own.h"

/* With O_DIRECTORY it is O_SEARCH; who does not know it opens for reading. */
const int system_name_flags = O_EXEC, system_unnoted_flags = 0;
/* Most disks take both cases of a letter for the same, and several ways to write what is not ASCII. */
const bool system_folds_names = true;

void system_read_path(char *path)
{
        (void)path;
}

/* The kernel could tell that there is no link (O_NOFOLLOW_ANY), and not that every name is spelled as on the disk. */
int system_open_without_links(int directory, const char *path, unsigned flags)
{
        (void)directory;
        (void)path;
        (void)flags;
        errno = ENOSYS;
        return -1;
}

char *system_path_of(int fd)
{
        char path[PATH_MAX];

        return fcntl(fd, F_GETPATH, path) < 0 ? NULL : strdup(path);
}

/* The name that the disk has for it. Of the root of a disk that is the disk's, and of a file with several names any of them. */
static int ask_for_name(const char *path, char *out, size_t size)
{
        struct attrlist wanted = { .bitmapcount = ATTR_BIT_MAP_COUNT, .commonattr = ATTR_CMN_NAME };
        struct {
                uint32_t length;
                attrreference_t name;
                char bytes[3 * (NAME_MAX + 1)]; /* in UTF-8 */
        } __attribute__((aligned(4), packed)) answer;
        const char *name;

        if (getattrlist(path, &wanted, &answer, sizeof(answer), FSOPT_NOFOLLOW) < 0)
                return -1;
        name = (const char *)&answer.name + answer.name.attr_dataoffset;
        if (answer.length <= sizeof(answer) && name >= answer.bytes &&
            name < answer.bytes + sizeof(answer.bytes) && strlcpy(out, name, size) < size)
                return 0;
        errno = EIO;
        return -1;
}

/* Whether its directory lists the file under this very name; `unknown` when the directory cannot be listed. */
static bool has_entry(const char *path, const char *last, const char *name, bool unknown)
{
        OWN_FREE char *directory = last > path ? strndup(path, (size_t)(last - path)) : strdup(".");
        DIR *list = directory ? opendir(directory) : NULL;
        struct dirent *entry;
        bool is_found = false;

        if (!list)
                return unknown;
        while (!is_found && (entry = readdir(list)))
                is_found = !strcmp(entry->d_name, name);
        closedir(list);
        return is_found;
}

/* Whether the other name, in the same directory, is but another spelling. A file with several names may have both of them: then none is a
 * spelling of the other. */
static bool is_same(const char *path, const char *name, const char *other)
{
        OWN_FREE char *spelled = NULL;
        struct stat first, second;

        if (asprintf(&spelled, "%.*s%s", (int)(name - path), path, other) < 0) {
                spelled = NULL;
                return false;
        }
        return !lstat(path, &first) && !lstat(spelled, &second) && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino &&
               (S_ISDIR(first.st_mode) || first.st_nlink == 1 ||
                (has_entry(path, name, other, false) && !has_entry(path, name, name, true)));
}

int system_find_spelling(const char *path, char **out)
{
        const char *name = strrchr(path, '/') + 1;
        char other[3 * (NAME_MAX + 1)];

        *out = NULL;
        if (ask_for_name(path, other, sizeof(other)) < 0)
                return -1;
        if (!strcmp(name, other) || !*other || strchr(other, '/') || !is_same(path, name, other))
                return 0;
        *out = strdup(other);
        return *out ? 0 : -1;
}

int system_examine(int at, const char *name, struct system_file *out)
{
        struct stat status;

        if (*name ? fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) < 0 : fstat(at, &status) < 0)
                return -1;
        *out = (struct system_file){ .mode = status.st_mode,
                                     .uid = status.st_uid,
                                     .links = status.st_nlink,
                                     .inode = status.st_ino,
                                     .size = (uint64_t)status.st_size,
                                     .device = (uint64_t)status.st_dev };
        return 0;
}

/* A name that the listing has in another spelling would be missed: each has to be asked for. */
bool system_list(int directory, void (*note)(void *user, const char *name, unsigned char type), void *user)
{
        (void)directory;
        (void)note;
        (void)user;
        return false;
}

struct system_times system_times_of(const struct stat *status)
{
        const int64_t second = 1000000000;

        return (struct system_times){ status->st_mtimespec.tv_sec * second + status->st_mtimespec.tv_nsec,
                                      status->st_ctimespec.tv_sec * second + status->st_ctimespec.tv_nsec };
}

int system_exchange(int directory, const char *first, const char *second)
{
        return renameatx_np(directory, first, directory, second, RENAME_SWAP);
}

/* fsync() leaves it to the disk when it writes. */
int system_sync(int fd)
{
        return fcntl(fd, F_FULLFSYNC) < 0 ? fsync(fd) : 0;
}

/* Not in one call; but no child of ours inherits what it was not given, whatever is marked. */
int system_pipe(int ends[2])
{
        if (pipe(ends) < 0)
                return -1;
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        return 0;
}

int system_random(void *out, size_t length)
{
        return getentropy(out, length);
}

int64_t system_now(void)
{
        struct timespec time;

        clock_gettime(CLOCK_REALTIME, &time);
        return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* A shared library sees no `environ`. */
char **system_environment(void)
{
        return *_NSGetEnviron();
}

/* Accounts are in a directory service; /etc/passwd has none of people. */
int system_account_home(char **out)
{
        char buffer[4 * 1024];
        struct passwd entry, *found = NULL;

        if (getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) || !found || *found->pw_dir != '/')
                found = NULL;
        *out = found ? strdup(found->pw_dir) : NULL;
        return found && !*out ? ENOMEM : 0;
}

int system_read_decimal(const char *digits, double *out)
{
        *out = strtod_l(digits, NULL, NULL); /* NULL is the locale of C here */
        return 0;
}

#if defined(__aarch64__)
bool system_has_sha256(void)
{
        return true; /* every Mac with such a processor */
}
#elif defined(__x86_64__)
bool system_has_sha256(void)
{
        unsigned a, b, c, d;

        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}
#endif
