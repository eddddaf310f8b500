/* scratch.c: a directory tree of its own for each test, removed with the test. */
#define _GNU_SOURCE
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *root;   /* owned */
static char **names; /* owned: what at() gave out */
static size_t name_count;

int scratch_setup(void **state)
{
        char template[] = "/var/tmp/abatis-unit.XXXXXX";

        (void)state;
        if (!mkdtemp(template))
                return -1;
        root = realpath(template, NULL);
        return root ? 0 : -1;
}

/* By descriptors, since a tree may be deeper than any path that the kernel takes. A test may also have taken its own right
 * to list a directory. */
static void remove_tree(int directory, const char *name)
{
        int fd = -1;

        if (!fchmodat(directory, name, 0700, AT_SYMLINK_NOFOLLOW) || errno == EOPNOTSUPP || errno == ENOTSUP)
                fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && !fchmodat(directory, name, 0700, 0))
                fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
                DIR *listing = fdopendir(fd);
                struct dirent *entry;

                while (listing && (entry = readdir(listing)))
                        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
                                remove_tree(fd, entry->d_name);
                closedir(listing);
        }
        unlinkat(directory, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

int scratch_teardown(void **state)
{
        struct stat status;
        int r;

        (void)state;
        remove_tree(AT_FDCWD, root);
        r = lstat(root, &status) ? 0 : -1;
        free(root);
        root = NULL;
        while (name_count)
                free(names[--name_count]);
        free(names);
        names = NULL;
        return r;
}

const char *at(const char *format, ...)
{
        char *relative = NULL;
        va_list arguments;

        names = realloc(names, (name_count + 1) * sizeof(*names));
        assert_non_null(names);
        va_start(arguments, format);
        assert_true(vasprintf(&relative, format, arguments) >= 0);
        va_end(arguments);
        assert_true(asprintf(&names[name_count], "%s%s%s", root, *relative ? "/" : "", relative) >= 0);
        free(relative);
        return names[name_count++];
}

static void make_parents(const char *path)
{
        char *copy = strdup(path);

        assert_non_null(copy);
        for (char *slash = strchr(copy + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(copy, 0755);
                *slash = '/';
        }
        free(copy);
}

const char *make_dir(const char *relative)
{
        const char *path = at("%s", relative);
        struct stat status;

        make_parents(path);
        if (mkdir(path, 0755) < 0)
                assert_true(!stat(path, &status) && S_ISDIR(status.st_mode));
        return path;
}

const char *make_deep(const char *relative, size_t length)
{
        char name[201], *path = strdup(make_dir(relative)), *longer;
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), next;

        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        while (strlen(path) < length) {
                assert_int_equal(mkdirat(fd, name, 0755), 0);
                next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                close(fd);
                fd = next;
                assert_true(asprintf(&longer, "%s/%s", path, name) >= 0);
                free(path);
                path = longer;
        }
        for (int i = 0; i < 2; i++) {
                next = openat(fd, i ? "two" : "one", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                assert_true(next >= 0);
                close(next);
        }
        assert_int_equal(symlinkat("one", fd, "link"), 0);
        close(fd);
        names = realloc(names, (name_count + 1) * sizeof(*names));
        assert_non_null(names);
        names[name_count] = path;
        return names[name_count++];
}

const char *make_file(const char *relative, const char *contents)
{
        const char *path = at("%s", relative);
        int fd;

        make_parents(path);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, contents, strlen(contents)), (ssize_t)strlen(contents));
        close(fd);
        return path;
}

const char *make_link(const char *relative, const char *target)
{
        const char *path = at("%s", relative);

        make_parents(path);
        assert_int_equal(symlink(target, path), 0);
        return path;
}
