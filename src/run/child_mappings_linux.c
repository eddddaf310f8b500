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

long broker_map(const struct request *request, bool *goes_on)
{
        bool is_alone = caller_count_threads(request) == 1;
        long r = judge(request);

        /* Whoever has other threads is judged once more when these are still. */
        if (!r && !is_alone)
                return broker_hold_others(request, judge);
        *goes_on = !r && caller_is_waiting(request);
        return r;
}

/* Not one in which whatever is mapped to be read is code. All bits together only ask. */
long broker_change_personality(const struct request *request, bool *goes_on)
{
        uint32_t personality = (uint32_t)request->args[0];

        *goes_on = !(personality & READ_IMPLIES_EXEC) || personality == UINT32_MAX;
        return *goes_on ? 0 : -EPERM;
}
