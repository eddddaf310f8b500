/* system_linux.c: see system.h. */
#define _GNU_SOURCE
#include "base/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>

enum { HAS_FSGSBASE = 2 }; /* of AT_HWCAP2, since Linux 5.9 */
#endif

#include "base/own.h"
#include "base/statx_linux.h"

const int system_name_flags = O_PATH, system_unnoted_flags = O_NOATIME;
const bool system_folds_names = false;

void system_read_path(char *path)
{
        (void)path;
}

int system_open_without_links(int directory, const char *path, unsigned flags)
{
        const struct {
                uint64_t flags, mode, resolve;
        } how = { flags | O_CLOEXEC, 0, 4 /* no symbolic links */ };

        return (int)syscall(437 /* openat2 */, directory, path, &how, sizeof(how));
}

char *system_path_of(int fd)
{
        char link[32], path[PATH_MAX];
        ssize_t length;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof(path) - 1);
        if (length < 0)
                return NULL;
        path[length] = '\0';
        if (*path == '/')
                return strdup(path);
        errno = ENOENT;
        return NULL;
}

int system_find_spelling(const char *path, char **out)
{
        (void)path;
        *out = NULL;
        return 0;
}

int system_examine(int at, const char *name, struct system_file *out)
{
        struct statx_facts facts;

        if (statx_examine(at, name, &facts) < 0)
                return -1;
        *out = (struct system_file){ .mode = facts.mode,
                                     .uid = facts.uid,
                                     .links = facts.links,
                                     .inode = facts.inode,
                                     .size = facts.size,
                                     .device = (uint64_t)facts.device[0] << 32 | facts.device[1] };
        return 0;
}

/* A directory that is large takes longer to list than a few names to be asked for. */
bool system_list(int directory, void (*note)(void *user, const char *name, unsigned char type), void *user)
{
        char buffer[2048] __attribute__((aligned(8)));

        for (int reads = 0; reads < 8; reads++) {
                ssize_t length = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));

                if (length <= 0)
                        return !length;
                for (ssize_t at = 0; at < length;) {
                        const struct dirent *entry = (const void *)(buffer + at);

                        note(user, entry->d_name, entry->d_type);
                        at += entry->d_reclen;
                }
        }
        return false;
}

struct system_times system_times_of(const struct stat *status)
{
        const int64_t second = 1000000000;

        return (struct system_times){ status->st_mtim.tv_sec * second + status->st_mtim.tv_nsec,
                                      status->st_ctim.tv_sec * second + status->st_ctim.tv_nsec };
}

int system_exchange(int directory, const char *first, const char *second)
{
        return (int)syscall(SYS_renameat2, directory, first, directory, second, 2 /* exchange */);
}

int system_sync(int fd)
{
        return fdatasync(fd);
}

int system_pipe(int ends[2])
{
        return pipe2(ends, O_CLOEXEC);
}

int system_random(void *out, size_t length)
{
        return getrandom(out, length, 0) == (ssize_t)length ? 0 : -1;
}

int64_t system_now(void)
{
        struct timespec time;

        /* Not by the vDSO: a process that asks once has pages to fault in for it. */
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
        return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

char **system_environment(void)
{
        return environ;
}

/* The home in one line of /etc/passwd ("name:password:uid:gid:comment:home:shell") if it is this user's, or NULL. It
 * points into the line, which is cut behind it. */
static char *home_in_line(char *line, uid_t uid)
{
        char *at = line, *end;

        for (int field = 0; field < 5; field++) {
                at = strchr(at, ':');
                if (!at)
                        return NULL;
                at++;
                if (field == 1 && (strtoul(at, &end, 10) != uid || end == at || *end != ':'))
                        return NULL;
        }
        end = strchr(at, ':');
        if (*at != '/' || !end)
                return NULL;
        *end = '\0';
        return at;
}

/* The file itself: what a C library would load to ask others takes longer than a launch. */
int system_account_home(char **out)
{
        char text[4 * 1024], *home = NULL;
        OWN_FD int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
        uid_t uid = getuid();
        size_t kept = 0;
        ssize_t got;

        while (fd >= 0 && (got = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
                char *line, *at = text, *end;

                text[kept += (size_t)got] = '\0';
                while (!home && (end = strchr(at, '\n'))) {
                        line = at;
                        *end = '\0';
                        at = end + 1;
                        home = home_in_line(line, uid);
                }
                if (home)
                        break; /* it lies in the buffer */
                kept -= (size_t)(at - text);
                /* A line longer than the buffer is nobody's. */
                if (at == text)
                        kept = 0;
                memmove(text, at, kept);
        }
        *out = home ? strdup(home) : NULL;
        return home && !*out ? ENOMEM : 0;
}

int system_read_decimal(const char *digits, double *out)
{
        locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

        if (!plain)
                return -1;
        *out = strtod_l(digits, NULL, plain);
        freelocale(plain);
        return 0;
}

#if defined(__aarch64__)
bool system_has_sha256(void)
{
        return getauxval(AT_HWCAP) & HWCAP_SHA2;
}
#elif defined(__x86_64__)
bool system_has_sha256(void)
{
        unsigned a, b, c, d;

        /* In a virtual machine each question takes microseconds. Who has FSGSBASE, which the kernel tells, has the leaf; and
         * who has these instructions has SSSE3. */
        if (getauxval(AT_HWCAP2) & HAS_FSGSBASE)
                __cpuid_count(7, 0, a, b, c, d);
        else if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
                return false;
        return b & bit_SHA;
}
#endif
