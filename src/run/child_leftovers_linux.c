/* child_leftovers_linux.c: moves aside what must not be there after a command. Raw system calls; done by init when the tree is
 * dead, and by the parent in case init did not come to it.
 *
 * What is there may be of any kind, in a directory that has any mode by now. It is not opened, and no link is followed, also
 * on the way to it. It gets another name and is not removed: that is one call for a file and for a whole tree, and it may be
 * that not the command but somebody outside has made it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

void child_leftover_name(const char *name, uint64_t number, char out[CHILD_ASIDE_SIZE])
{
        char *at = text_write(text_write(out, name), ".abatis-");

        for (int shift = 60; shift >= 0; shift -= 4)
                *at++ = "0123456789abcdef"[number >> shift & 15];
        *at = '\0';
}

static long open_directory(const char *path)
{
        const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                      .resolve = RESOLVE_NO_SYMLINKS };
        long fd = RAW(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

        /* A longer one than the kernel takes, or an older kernel, or a filter around us. */
        return fd == -ENAMETOOLONG || fd == -ENOSYS || fd == -EPERM ? child_walk(path) : fd;
}

static void change_mode(long directory, unsigned mode)
{
        char path[32];

        if (RAW(SYS_fchmodat2, directory, "", mode, AT_EMPTY_PATH) >= 0)
                return;
        /* Older kernels have no other way to a directory that must not be entered. */
        text_write_number(text_write(path, "/proc/self/fd/"), (unsigned long)directory);
        RAW(SYS_fchmodat, AT_FDCWD, path, mode, 0);
}

static long move_aside(long directory, const char *name, struct child_finding *finding)
{
        char aside[CHILD_ASIDE_SIZE];
        uint64_t number = 0;
        long r = RAW(SYS_getrandom, &number, sizeof(number), 0);

        if (r != sizeof(number))
                return r < 0 ? r : -EIO;
        child_leftover_name(name, number, aside);
        /* Nobody has guessed the name, so it is not taken. */
        r = RAW(SYS_renameat2, directory, name, directory, aside, 0);
        if (r >= 0) {
                finding->is_moved = true;
                finding->number = number;
        } else if (r == -ENOSPC || r == -EDQUOT) {
                r = RAW(SYS_unlinkat, directory, name, 0);
                finding->is_removed |= r >= 0;
        }
        return r;
}

static long clear_one(long directory, const struct child_leftover *leftover, struct child_finding *finding)
{
        struct stat status;
        long r = RAW(SYS_newfstatat, directory, leftover->name, &status, AT_SYMLINK_NOFOLLOW);

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (r < 0 || (leftover->known && status.st_ino == leftover->known))
                return r;
        return move_aside(directory, leftover->name, finding);
}

/* The command may have given the directory a mode that keeps its owner out. */
static long clear_whatever_mode(long directory, const struct child_leftover *leftover,
                                struct child_finding *finding)
{
        struct stat status;
        long r = clear_one(directory, leftover, finding);

        if (r != -EACCES || RAW(SYS_fstat, directory, &status) < 0)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        change_mode(directory, (status.st_mode & 07777) | 0700);
        r = clear_one(directory, leftover, finding);
        change_mode(directory, status.st_mode & 07777);
        return r;
}

void child_leftovers_clear(struct child_job *job)
{
        const char *opened = 0;
        long directory = -ENOENT;

        for (size_t i = 0; i < job->leftover_count; i++) {
                const struct child_leftover *leftover = &job->leftovers[i];
                long r;

                if (leftover->directory != opened) {
                        if (directory >= 0)
                                RAW(SYS_close, directory);
                        opened = leftover->directory;
                        directory = open_directory(opened);
                }
                r = directory < 0 ? directory : clear_whatever_mode(directory, leftover, &job->findings[i]);
                job->findings[i].error = r < 0 && r != -ENOENT && r != -ENOTDIR ? (int)-r : 0;
        }
        if (directory >= 0)
                RAW(SYS_close, directory);
}
