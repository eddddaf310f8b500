/* reach.c: takes paths to the kernel in pieces that are short enough for it. */
#define _GNU_SOURCE
#include "base/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/system.h"
#include "base/text.h"

/* A path as one system call takes it. */
struct place {
        int directory; /* owned if it is a descriptor; or AT_FDCWD */
        const char *name;
};

static void place_done(struct place *place)
{
        int error = errno;

        if (place->directory >= 0)
                close(place->directory);
        errno = error;
}

#define OWN_PLACE __attribute__((cleanup(place_done)))

/* How many bytes of a long path are taken at once: up to a slash, 0 when there is a name that no file has. */
static size_t piece_length(const char *path)
{
        size_t length = PATH_MAX - 1;

        while (length && path[length] != '/')
                length--;
        return length;
}

/* Apart, so that its buffer is not part of every other frame. */
static __attribute__((noinline)) int open_piece(int directory, const char *path, size_t length,
                                                bool follows_links)
{
        const int flags = system_name_flags | O_DIRECTORY;
        char piece[PATH_MAX];

        memcpy(piece, path, length);
        piece[length] = '\0';
        return follows_links ? openat(directory, piece, flags | O_CLOEXEC)
                             : system_open_without_links(directory, piece, (unsigned)flags);
}

static int reach(const char *path, bool follows_links, struct place *out)
{
        OWN_PLACE struct place place = { AT_FDCWD, path };

        while (strlen(place.name) >= PATH_MAX) {
                size_t length = piece_length(place.name);
                int next;

                if (!length) {
                        errno = ENAMETOOLONG;
                        return -1;
                }
                next = open_piece(place.directory, place.name, length, follows_links);
                if (next < 0)
                        return -1;
                place_done(&place);
                place.directory = next;
                place.name += length;
                place.name += strspn(place.name, "/");
                if (!*place.name)
                        place.name = ".";
        }
        *out = place;
        place.directory = AT_FDCWD; /* handed over */
        return 0;
}

int reach_open(const char *path, int flags)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, true, &place) < 0 ? -1 : openat(place.directory, place.name, flags | O_CLOEXEC);
}

static int examine(const char *path, int flags, struct stat *out)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, true, &place) < 0 ? -1 : fstatat(place.directory, place.name, out, flags);
}

int reach_lstat(const char *path, struct stat *out)
{
        return examine(path, AT_SYMLINK_NOFOLLOW, out);
}

int reach_stat(const char *path, struct stat *out)
{
        return examine(path, 0, out);
}

static int ask_for_access(const char *path, int mode, int flags)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, true, &place) < 0 ? -1 : faccessat(place.directory, place.name, mode, flags);
}

int reach_access(const char *path, int mode)
{
        return ask_for_access(path, mode, 0);
}

int reach_effective_access(const char *path, int mode)
{
        return ask_for_access(path, mode, AT_EACCESS);
}

int reach_make_directory(const char *path, mode_t mode)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, true, &place) < 0 ? -1 : mkdirat(place.directory, place.name, mode);
}

long reach_read_link(const char *path, char *out, size_t size)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, true, &place) < 0 ? -1 : readlinkat(place.directory, place.name, out, size);
}

int reach_open_without_links(const char *path, unsigned flags)
{
        OWN_PLACE struct place place = { AT_FDCWD, NULL };

        return reach(path, false, &place) < 0 ? -1
                                              : system_open_without_links(place.directory, place.name, flags);
}

/* ---- the working directory ------------------------------------------------------------------------------ */

static bool is_same(const struct stat *left, const struct stat *right)
{
        return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/* "/name/below", owned by the caller: `below` with the name that `child` has in `parent`. */
static char *put_name_before(int parent, int child, const char *below)
{
        OWN_FD int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *listing = fd < 0 ? NULL : fdopendir(fd);
        struct stat wanted, found;
        struct dirent *entry;
        char *result = NULL;

        if (!listing)
                return NULL;
        take_fd(&fd); /* the listing's now */
        errno = ENOENT;
        while (!fstat(child, &wanted) && (entry = readdir(listing)))
                if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
                    !fstatat(parent, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) &&
                    is_same(&wanted, &found)) {
                        result = text_join("/", entry->d_name, below);
                        break;
                }
        closedir(listing);
        return result;
}

/* The kernel tells no path of PATH_MAX bytes, so that the last names are found by climbing. */
static char *climb(void)
{
        OWN_FD int at = open(".", system_name_flags | O_DIRECTORY | O_CLOEXEC);
        OWN_FREE char *below = strdup("");

        while (at >= 0 && below) {
                OWN_FREE char *above = system_path_of(at);
                OWN_FD int parent = -1;
                char *longer;

                if (above)
                        return text_join(above, below, "");
                if (errno != ENAMETOOLONG)
                        return NULL;
                parent = openat(at, "..", system_name_flags | O_DIRECTORY | O_CLOEXEC);
                longer = parent < 0 ? NULL : put_name_before(parent, at, below);
                free(below);
                below = longer;
                close(at);
                at = take_fd(&parent);
        }
        return NULL;
}

char *reach_working_directory(void)
{
        char *path = getcwd(NULL, 0);

        return path || errno != ENAMETOOLONG ? path : climb();
}
