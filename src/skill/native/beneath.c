/* beneath.c: paths that stay beneath a directory, by the kernel's rule for it or, where that is missing, name by name. */
#define _GNU_SOURCE
#include "skill/native/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOPS_MAX = 40, DEPTH_MAX = 128, TRIES = 4 };

/* The kernel's, which older headers do not have. */
struct open_how_now {
        uint64_t flags, mode, resolve;
};
enum { RESOLVE_NO_MAGICLINKS_NOW = 0x02, RESOLVE_BENEATH_NOW = 0x08, OPENAT2_NOW = 437 };

/* Tests build it without, to walk where they could ask the kernel. */
#ifndef BENEATH_ASKS_KERNEL
#define BENEATH_ASKS_KERNEL 1
#endif

/* What is left of a walk: at most a path, and a symlink's target in front of it. */
struct walk {
        int stack
                [DEPTH_MAX]; /* owned: the directories that were entered, so that ".." never asks where one is now */
        size_t depth;
        int hops;
        char rest[2 * BENEATH_PATH_MAX];
};

/* Whoever calls has seen that there is room. */
static void copy(char *to, const char *from)
{
        memmove(to, from, strlen(from) + 1);
}

static int put_before(struct walk *walk, const char *target, size_t length)
{
        const size_t rest = strlen(walk->rest);

        if (length + 1 + rest >= sizeof walk->rest)
                return ENAMETOOLONG;
        memmove(walk->rest + length + 1, walk->rest, rest + 1);
        memcpy(walk->rest, target, length);
        walk->rest[length] = '/';
        return 0;
}

/* Takes `fd`, which is what a name of the walk was. */
static int enter(struct walk *walk, int fd)
{
        char target[BENEATH_PATH_MAX];
        struct stat status;
        ssize_t length;
        int r = fstat(fd, &status) < 0 ? errno : 0;

        if (!r && S_ISDIR(status.st_mode)) {
                if (walk->depth < DEPTH_MAX) {
                        walk->stack[walk->depth++] = fd;
                        return 0;
                }
                r = ENAMETOOLONG;
        } else if (!r && S_ISLNK(status.st_mode)) {
                length = readlinkat(fd, "", target, sizeof target);
                if (length < 0)
                        r = errno;
                else if (length == sizeof target)
                        r = ENAMETOOLONG;
                else if (++walk->hops > HOPS_MAX)
                        r = ELOOP;
                else
                        r = *target == '/' ? BENEATH_ESCAPE : put_before(walk, target, (size_t)length);
        } else if (!r)
                r = ENOTDIR;
        close(fd);
        return r;
}

static int step(struct walk *walk, int root)
{
        char name[BENEATH_NAME_MAX];
        const size_t length = strcspn(walk->rest, "/");
        int fd;

        if (length >= sizeof name)
                return ENAMETOOLONG;
        memcpy(name, walk->rest, length);
        name[length] = 0;
        copy(walk->rest, walk->rest + length);
        copy(walk->rest, walk->rest + strspn(walk->rest, "/"));
        if (!*name || !strcmp(name, "."))
                return 0;
        if (!strcmp(name, "..")) {
                if (!walk->depth)
                        return BENEATH_ESCAPE;
                close(walk->stack[--walk->depth]);
                return 0;
        }
        fd = openat(walk->depth ? walk->stack[walk->depth - 1] : root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? errno : enter(walk, fd);
}

static int walk_to(int root, const char *path, int *out)
{
        struct walk walk = { .depth = 0 };
        int r = 0;

        copy(walk.rest, path);
        while (!r && *walk.rest)
                r = step(&walk, root);
        if (!r) {
                *out = walk.depth ? walk.stack[--walk.depth]
                                  : openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (*out < 0)
                        r = errno;
        }
        while (walk.depth)
                close(walk.stack[--walk.depth]);
        return r;
}

/* The path is shorter than BENEATH_PATH_MAX. */
static int open_directory(int root, const char *path, int *out)
{
        const struct open_how_now how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH_NOW | RESOLVE_NO_MAGICLINKS_NOW,
        };

        /* EAGAIN: something on the way was renamed meanwhile, and the kernel cannot say whether that led out. */
        for (int i = 0; BENEATH_ASKS_KERNEL && i < TRIES; i++) {
                const long fd = syscall(OPENAT2_NOW, root, path, &how, sizeof how);

                if (fd >= 0) {
                        *out = (int)fd;
                        return 0;
                }
                if (errno == EXDEV)
                        return BENEATH_ESCAPE;
                if (errno == ENOSYS || errno == EPERM) /* an old kernel, or a filter that does not know it */
                        break;
                if (errno != EAGAIN)
                        return errno;
        }
        return walk_to(root, path, out);
}

/* Cuts the last name off; what is left in `path` leads to the directory that it stands in. */
static int split(char *path, unsigned how, char name[BENEATH_NAME_MAX])
{
        size_t length = strlen(path), begin;

        if (*path == '/')
                return BENEATH_ESCAPE;
        if (how & BENEATH_CREATES)
                while (length && path[length - 1] == '/')
                        path[--length] = 0;
        begin = length;
        while (begin && path[begin - 1] != '/')
                begin--;
        if (begin == length || !strcmp(path + begin, ".") || !strcmp(path + begin, "..")) {
                copy(name, ".");
                return 0;
        }
        if (length - begin >= BENEATH_NAME_MAX)
                return ENAMETOOLONG;
        copy(name, path + begin);
        path[begin] = 0;
        return 0;
}

/* If what was found is a symlink: `path`, the way to its directory, goes on where it leads, and 1 is returned. */
static int follow(const struct beneath *found, char *path)
{
        char target[BENEATH_PATH_MAX];
        const ssize_t length = readlinkat(found->parent, found->name, target, sizeof target - 1);
        const size_t before = strlen(path);

        if (length < 0)
                return 0; /* what else is wrong with it, whoever uses it is told */
        target[length] = 0;
        if (*target == '/')
                return BENEATH_ESCAPE;
        if (before + (size_t)length >= BENEATH_PATH_MAX)
                return ENAMETOOLONG;
        copy(path + before, target);
        return 1;
}

int beneath_find(int root, const char *path, unsigned how, struct beneath *out)
{
        char text[BENEATH_PATH_MAX];

        if (!*path)
                return ENOENT;
        if (strlen(path) >= sizeof text)
                return ENAMETOOLONG;
        copy(text, path);
        for (int hops = 0; hops <= HOPS_MAX; hops++) {
                struct beneath found = { .parent = root };
                int r = split(text, how, found.name);

                if (!r && *text) {
                        r = open_directory(root, text, &found.parent);
                        found.is_owned = !r;
                }
                if (r)
                        return r;
                r = how & BENEATH_FOLLOWS && strcmp(found.name, ".") != 0 ? follow(&found, text) : 0;
                if (!r) {
                        *out = found;
                        return 0;
                }
                beneath_done(&found);
                if (r != 1)
                        return r;
        }
        return ELOOP;
}

void beneath_done(struct beneath *found)
{
        if (found->is_owned)
                close(found->parent);
}
