/* Copies a tree with its modes, times and attributes to a place that it clears first: one program instead
 * of rm and cp. */
#include "outside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
        (void)status, (void)kind, (void)place;
        return remove(path);
}

/* An attempt may have taken our own rights away from a directory. */
static int open_up(const char *path, const struct stat *status, int kind, struct FTW *place)
{
        (void)kind, (void)place;
        return S_ISDIR(status->st_mode) ? chmod(path, 0700) : 0;
}

static int clear(const char *path)
{
        struct stat status;
        if (lstat(path, &status) != 0)
                return 0;
        nftw(path, open_up, 32, FTW_PHYS);
        return nftw(path, remove_one, 32, FTW_PHYS | FTW_DEPTH);
}

static int copy_attributes(const char *from, const char *to)
{
        char names[1024], content[1024];
        ssize_t total = llistxattr(from, names, sizeof(names));
        for (ssize_t at = 0; at < total; at += (ssize_t)strlen(names + at) + 1) {
                ssize_t length = lgetxattr(from, names + at, content, sizeof(content));
                if (length < 0 || lsetxattr(to, names + at, content, (size_t)length, 0) != 0)
                        return -1;
        }
        return 0;
}

static int copy_file(const char *from, const char *to, const struct stat *status)
{
        int in = open(from, O_RDONLY | O_CLOEXEC),
            out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        int result = in < 0 || out < 0 || sendfile(out, in, NULL, (size_t)status->st_size) != status->st_size
                             ? -1
                             : 0;
        if (result == 0)
                result = fchmod(out, status->st_mode & 07777);
        close(in);
        close(out);
        return result;
}

static int copy_tree(const char *from, const char *to);

static int copy_directory(const char *from, const char *to)
{
        char source[PATH_MAX], target[PATH_MAX];
        int result = mkdir(to, 0755);
        DIR *directory = result == 0 ? opendir(from) : NULL;
        if (!directory)
                return -1;
        for (struct dirent *entry = readdir(directory); entry && result == 0; entry = readdir(directory)) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
                snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
                result = copy_tree(source, target);
        }
        closedir(directory);
        return result;
}

static int copy_tree(const char *from, const char *to)
{
        struct stat status;
        char link[PATH_MAX] = { 0 };
        if (lstat(from, &status) != 0)
                return -1;
        if (S_ISLNK(status.st_mode))
                return readlink(from, link, sizeof(link) - 1) < 0 ? -1 : symlink(link, to);
        if (S_ISDIR(status.st_mode) ? copy_directory(from, to) : copy_file(from, to, &status))
                return -1;
        const struct timespec times[2] = { status.st_atim, status.st_mtim };
        return copy_attributes(from, to) != 0 ? -1 : utimensat(AT_FDCWD, to, times, 0);
}

/* Everything about both trees, in memory that the caller frees. */
static char *describe(const char *template, const char *tree)
{
        char *text = NULL;
        size_t length = 0;
        FILE *to = open_memstream(&text, &length);
        if (!to)
                return NULL;
        print_state(to, template);
        print_state(to, tree);
        fclose(to);
        return text;
}

static int is_written_in(const char *path, const char *text)
{
        char bytes[4096];
        size_t length;
        FILE *from = fopen(path, "re");
        if (!from)
                return 0;
        while ((length = fread(bytes, 1, sizeof(bytes), from)) > 0) {
                if (strncmp(bytes, text, length) != 0)
                        break;
                text += length;
        }
        fclose(from);
        return length == 0 && *text == '\0';
}

/* TEMPLATE TREE NOTE ALSO-REMOVED [WATCHED...]: makes the tree anew, unless it is as it was left the last time; then
 * prints the state of the watched paths. */
int make_fresh(char **argument)
{
        char *now = describe(argument[0], argument[1]);
        if (!now)
                return fail("describe the tree");
        if (clear(argument[3]) != 0)
                return fail(argument[3]);
        if (!is_written_in(argument[2], now)) {
                if (clear(argument[1]) != 0 || copy_tree(argument[0], argument[1]) != 0)
                        return fail(argument[1]);
                free(now);
                now = describe(argument[0], argument[1]);
                if (!now || publish(argument[2], now) != 0)
                        return fail(argument[2]);
        }
        free(now);
        return show_state(argument + 4);
}
