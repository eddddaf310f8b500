/* Prints all that a change could show of a tree: names, modes, owners, times, attributes, flags and
 * content. */
#include "outside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
        const unsigned char *byte = bytes;
        for (size_t i = 0; i < length; i++)
                hash = (hash ^ byte[i]) * 0x100000001b3ULL;
        return hash;
}

static uint64_t hash_content(const char *path, mode_t mode)
{
        uint64_t hash = 0xcbf29ce484222325ULL;
        char bytes[65536];
        if (S_ISLNK(mode)) {
                ssize_t length = readlink(path, bytes, sizeof(bytes));
                return hash_bytes(hash, bytes, length > 0 ? (size_t)length : 0);
        }
        if (!S_ISREG(mode))
                return 0;
        int fd = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);
        if (fd < 0)
                return 1;
        for (ssize_t length = read(fd, bytes, sizeof(bytes)); length > 0;
             length = read(fd, bytes, sizeof(bytes)))
                hash = hash_bytes(hash, bytes, (size_t)length);
        close(fd);
        return hash;
}

static uint64_t hash_attributes(const char *path)
{
        uint64_t hash = 0;
        char names[4096], content[4096];
        ssize_t total = llistxattr(path, names, sizeof(names));
        for (ssize_t at = 0; at < total; at += (ssize_t)strlen(names + at) + 1) {
                ssize_t length = lgetxattr(path, names + at, content, sizeof(content));
                hash += hash_bytes(hash_bytes(1, names + at, strlen(names + at)), content,
                                   length > 0 ? (size_t)length : 0);
        }
        return hash;
}

static int inode_flags(const char *path, mode_t mode)
{
        int flags = 0, fd = -1;
        if (!S_ISREG(mode) && !S_ISDIR(mode))
                return 0;
        fd = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);
        if (fd < 0)
                return -1;
        if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
                flags = -1;
        close(fd);
        /* These follow the content by themselves. */
        return flags == -1 ? -1 : flags & ~(FS_EXTENT_FL | FS_INDEX_FL | FS_INLINE_DATA_FL);
}

static void print_one(FILE *to, const char *path, const struct stat *status)
{
        fprintf(to, "%s %o %u:%u links=%lu inode=%lu size=%ld", path, (unsigned int)status->st_mode,
                status->st_uid, status->st_gid, (unsigned long)status->st_nlink,
                (unsigned long)status->st_ino, S_ISDIR(status->st_mode) ? 0L : (long)status->st_size);
        fprintf(to, " modified=%ld.%09ld changed=%ld.%09ld", (long)status->st_mtim.tv_sec,
                status->st_mtim.tv_nsec, (long)status->st_ctim.tv_sec, status->st_ctim.tv_nsec);
        fprintf(to, " flags=%x attributes=%llx content=%llx\n",
                (unsigned int)inode_flags(path, status->st_mode), (unsigned long long)hash_attributes(path),
                (unsigned long long)hash_content(path, status->st_mode));
}

static int compare_names(const void *left, const void *right)
{
        return strcmp(*(char *const *)left, *(char *const *)right);
}

void print_state(FILE *to, const char *path)
{
        struct stat status;
        char *names[1024];
        int count = 0;
        if (lstat(path, &status) != 0) {
                fprintf(to, "%s %s\n", path, strerror(errno));
                return;
        }
        print_one(to, path, &status);
        DIR *directory = S_ISDIR(status.st_mode) ? opendir(path) : NULL;
        for (struct dirent *entry = directory ? readdir(directory) : NULL; entry && count < 1024;
             entry = readdir(directory))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        names[count++] = strdup(entry->d_name);
        if (directory)
                closedir(directory);
        qsort(names, (size_t)count, sizeof(names[0]), compare_names);
        for (int i = 0; i < count; i++) {
                char below[PATH_MAX];
                snprintf(below, sizeof(below), "%s/%s", path, names[i]);
                print_state(to, below);
                free(names[i]);
        }
}

int show_state(char **argument)
{
        for (; *argument; argument++)
                print_state(stdout, *argument);
        return 0;
}
