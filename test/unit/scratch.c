/* scratch.c: a directory tree of its own for each test, removed with the test. */
#define _GNU_SOURCE
#include "scratch.h"

#include <fcntl.h>
#include <ftw.h>
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

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)type;
        (void)walk;
        return remove(path);
}

/* A test may have taken its own right to list a directory. */
static int open_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)walk;
        return type == FTW_DNR || type == FTW_D ? chmod(path, 0700) : 0;
}

int scratch_teardown(void **state)
{
        int r;

        (void)state;
        nftw(root, open_one, 16, FTW_PHYS);
        r = nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
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
