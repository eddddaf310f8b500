/* child_path_linux.c: paths that the kernel does not take at once, walked name by name. Raw system calls only. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/limits.h>

#include "run/child_linux.h"
#include "run/syscall_linux.h"

static const char *skip_slashes(const char *path)
{
        while (*path == '/')
                path++;
        return path;
}

/* Copies the name that a path begins with; returns what follows it. A name that no file can have becomes "", which is
 * not found either. */
static const char *take_name(const char *path, char name[NAME_MAX + 1])
{
        size_t length = 0;

        while (*path && *path != '/' && length < NAME_MAX)
                name[length++] = *path++;
        name[*path && *path != '/' ? 0 : length] = '\0';
        return skip_slashes(path);
}

static long step_into(long from, const char *name, long at)
{
        long fd = RAW(SYS_openat, at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (at != from)
                RAW(SYS_close, at);
        return fd;
}

long child_walk_to_last(long from, const char *path, const char **last)
{
        char name[NAME_MAX + 1];
        const char *next;
        long at = from;

        for (path = skip_slashes(path); at >= 0 && *(next = take_name(path, name)); path = next)
                at = step_into(from, name, at);
        *last = path;
        return at;
}

long child_walk(const char *path)
{
        long root = RAW(SYS_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC), at;
        char name[NAME_MAX + 1];
        const char *last;

        if (root < 0)
                return root;
        at = child_walk_to_last(root, path, &last);
        if (at >= 0 && *last) {
                take_name(last, name);
                at = step_into(root, name, at);
        }
        if (at != root)
                RAW(SYS_close, root);
        return at;
}
