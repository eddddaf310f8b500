/* child_mappings_linux.c: which files are mapped as code, where a list of commands is held without mounts. For the broker. Raw
 * system calls.
 *
 * Landlock judges what is started, not what is mapped: a library, or whatever a loader that is started by hand is told to run.
 * Only numbers decide, so the call itself goes on. Its descriptor must then still be of what was judged: the filter lets no
 * other process have a part in the caller's descriptors, and if it has other threads, these are held still. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

static bool is_at(const struct stat *file, const char *path)
{
        struct stat found;

        return !RAW(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) &&
               /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
               found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

/* By the file, not by its name: Landlock lets it be started by each of its names. */
static bool is_one_of(const struct stat *file, const char *real, const char *const *paths)
{
        /* Mostly its name is enough to find it. */
        for (const char *const *path = paths; *path; path++)
                if (text_is_same(real, *path) && is_at(file, *path))
                        return true;
        for (; *paths; paths++)
                if (is_at(file, *paths))
                        return true;
        return false;
}

/* A loader that runs by itself is about to start a program, listed or not. Whoever runs something that is on the list no more,
 * since somebody outside has put another in its place, maps nothing either: it could be a loader that was replaced. */
static bool runs_what_is_listed(const struct request *request)
{
        const struct child_broker *broker = request->job->plan->broker;
        long program = caller_open_program(request);
        struct stat file;
        const char *real;
        bool is_listed;

        if (program < 0)
                return false;
        real = RAW(SYS_fstat, program, &file) ? 0 : caller_find_place(request, program);
        is_listed =
                real && !is_one_of(&file, real, broker->loaders) && is_one_of(&file, real, broker->programs);
        RAW(SYS_close, program);
        return is_listed;
}

/* Its path must lead to it: it may come from other mounts, or be gone. */
static bool is_code(const struct request *request, long object)
{
        struct stat file;
        const char *real = RAW(SYS_fstat, object, &file) ? 0 : caller_find_place(request, object);

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return real && S_ISREG(file.st_mode) && *real == '/' && is_at(&file, real) &&
               broker_may_map(request, real);
}

/* 0 or a negative errno: the one that a noexec mount has. */
static long judge(const struct request *request)
{
        int number = (int)request->args[4]; /* the kernel looks at no more of it */
        long object = number < 0 ? -EBADF : caller_open_descriptor(request, number), r;

        if (object < 0)
                return object;
        r = is_code(request, object) && runs_what_is_listed(request) ? 0 : -EPERM;
        RAW(SYS_close, object);
        return r;
}

static long map_file(const struct request *request, bool *goes_on)
{
        bool is_alone = caller_count_threads(request) == 1;
        long r = judge(request);

        /* Whoever has other threads is judged once more when these are still. */
        if (!r && !is_alone)
                return broker_hold_others(request, judge);
        *goes_on = !r && caller_is_waiting(request);
        return r;
}

/* ---- what becomes code ---------------------------------------------------------------------------------- */

static const char *read_number(const char *at, unsigned base, uint64_t *out)
{
        for (*out = 0;; at++) {
                unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                                 : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                            : base;

                if (digit >= base)
                        return at;
                *out = *out * base + digit;
        }
}

static const char *skip_word(const char *at)
{
        for (; *at == ' '; at++)
                ;
        for (; *at && *at != ' '; at++)
                ;
        return at;
}

/* "START-END RIGHTS OFFSET DEVICE INODE   PATH", which ends with a NUL. Whether what lies there may be code: memory of its own, or
 * a file that may be mapped so. */
static bool may_become_code(const struct request *request, const char *line)
{
        uint64_t start, end, inode = 0;
        const char *rights;
        struct stat file;

        line = read_number(line, 16, &start);
        line = read_number(*line ? line + 1 : line, 16, &end);
        if (end <= request->args[0] || start >= request->args[0] + request->args[1])
                return true;
        rights = *line ? line + 1 : line;
        line = skip_word(skip_word(skip_word(line)));
        line = read_number(*line ? line + 1 : line, 10, &inode);
        for (; *line == ' '; line++)
                ;
        /* Of no file; or of one that was judged when it was mapped; or memory that is shared. */
        if (!inode || (rights[0] && rights[1] && rights[2] == 'x') ||
            text_is_same(line, "/dev/zero (deleted)"))
                return true;
        return !RAW(SYS_newfstatat, AT_FDCWD, line, &file, AT_SYMLINK_NOFOLLOW) &&
               /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
               file.st_ino == inode && broker_may_map(request, line);
}

/* Line by line; what is left of the last stays in the buffer. */
static bool may_all_become_code(const struct request *request, long maps)
{
        char *text = request->room->value;
        size_t used = 0;
        long length = 0;

        while (used < ATTRIBUTE_SIZE &&
               (length = RAW(SYS_read, maps, text + used, ATTRIBUTE_SIZE - used)) > 0) {
                size_t start = 0, all = used + (size_t)length;

                for (size_t end = used; end < all; end++) {
                        if (text[end] != '\n')
                                continue;
                        text[end] = '\0';
                        if (!may_become_code(request, text + start))
                                return false;
                        start = end + 1;
                }
                used = all - start;
                /* Not a call of memmove(), which would be somebody else's. */
                for (size_t i = 0; i < used; i++)
                        *(volatile char *)&text[i] = text[start + i];
        }
        return !length && !used;
}

/* A loader that is given a library of the right shape makes code of what it has mapped to be read. Other threads are not held:
 * whoever has them change what lies there could make code in his own memory as well, as just-in-time compilers do all the time. */
static long make_code(const struct request *request, bool *goes_on)
{
        char path[PROC_PATH_SIZE];
        long maps;

        /* Bits above an address are taken for tags by some processors: then it would be another. */
        if (request->args[0] >> 56 || request->args[0] + request->args[1] < request->args[0])
                return -ENOMEM;
        caller_proc_path(path, request->thread, "maps", -1);
        maps = RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (maps < 0)
                return -EACCES;
        *goes_on = may_all_become_code(request, maps) && caller_is_waiting(request);
        RAW(SYS_close, maps);
        return *goes_on ? 0 : -EACCES; /* as the kernel says of a noexec mount */
}

/* Not one in which whatever is mapped to be read is code. All bits together only ask. */
static long change_personality(const struct request *request, bool *goes_on)
{
        uint32_t personality = (uint32_t)request->args[0];

        *goes_on = !(personality & READ_IMPLIES_EXEC) || personality == UINT32_MAX;
        return *goes_on ? 0 : -EPERM;
}

bool broker_is_about_code(int call)
{
        return call == SYS_mmap || call == SYS_mprotect || call == SYS_pkey_mprotect ||
               call == SYS_personality;
}

long broker_serve_code(const struct request *request, bool *goes_on)
{
        switch (request->call) {
        case SYS_mmap:
                return map_file(request, goes_on);
        case SYS_personality:
                return change_personality(request, goes_on);
        default:
                return make_code(request, goes_on);
        }
}
