/* child_tmp_linux.c: the end of a job's own directory in /tmp. Raw system calls; run by init when the job is over, and by
 * the parent in case init did not come to it.
 *
 * What lies in it is the command's work: as deep as it likes, with names of its choice and modes that keep everybody out.
 * So no path is ever put together and nothing is climbed down into: a directory that is not empty is emptied of its files,
 * and those in it are moved up beside it, to have their turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum { BUFFER_SIZE = 4096, NAME_ROOM = 24 };

/* One that is not in use yet: with every try another. */
static void make_name(char name[NAME_ROOM], uint64_t number)
{
        char *at = &name[NAME_ROOM - 1];

        *at = '\0';
        do
                *--at = (char)('0' + number % 10);
        while (number /= 10);
        *--at = '+';
        while (at > name)
                *--at = '+';
}

static bool move_up(long from, const char *name, long top, uint64_t *number)
{
        char free_name[NAME_ROOM];
        long r;

        /* To be moved it must be writable itself. */
        RAW(SYS_fchmodat, from, name, 0700, 0);
        do {
                make_name(free_name, (*number)++);
                r = RAW(SYS_renameat2, from, name, top, free_name, RENAME_NOREPLACE);
        } while (r == -EEXIST);
        return r >= 0;
}

/* Removes or moves up what is in the directory; true when it did anything. What is at the top already stays there. */
static bool empty(long directory, long top, uint64_t *number);

static bool remove_entry(long directory, const char *name, long top, uint64_t *number)
{
        bool is_changed = false;
        long r = RAW(SYS_unlinkat, directory, name, 0), fd;

        if (r == -EISDIR || r == -EPERM)
                r = RAW(SYS_unlinkat, directory, name, AT_REMOVEDIR);
        if (r != -ENOTEMPTY && r != -EEXIST)
                return r >= 0;
        if (directory != top)
                return move_up(directory, name, top, number);
        RAW(SYS_fchmodat, top, name, 0700, 0);
        fd = RAW(SYS_openat, top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return false;
        is_changed = empty(fd, top, number);
        RAW(SYS_close, fd);
        return RAW(SYS_unlinkat, top, name, AT_REMOVEDIR) >= 0 || is_changed;
}

static bool empty(long directory, long top, uint64_t *number)
{
        char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
        bool is_changed = false;
        long got;

        while ((got = RAW(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        if (!text_is_dots(entry->name))
                                is_changed |= remove_entry(directory, entry->name, top, number);
                        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
                        at += entry->length;
                }
        return is_changed;
}

void child_tmp_remove(const struct child_job *job)
{
        uint64_t number = 0;
        bool is_changed = true;

        if (!job->has_own_tmp)
                return;
        /* Something else may stand there by now. */
        RAW(SYS_unlinkat, AT_FDCWD, job->own_tmp, 0);
        while (is_changed && RAW(SYS_unlinkat, AT_FDCWD, job->own_tmp, AT_REMOVEDIR) == -ENOTEMPTY) {
                long top = RAW(SYS_openat, AT_FDCWD, job->own_tmp,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (top == -EACCES && RAW(SYS_fchmodat, AT_FDCWD, job->own_tmp, 0700, 0) >= 0)
                        continue;
                if (top < 0)
                        break;
                RAW(SYS_fchmod, top, 0700);
                is_changed = empty(top, top, &number);
                RAW(SYS_close, top);
        }
}
