/* file.c: a file read once into memory, by no link, so that what was checked is what is used. */
#define _GNU_SOURCE
#include "skill/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"

static int check_hands(const struct stat *status, enum file_hands hands, const char *shown, abatis_error *err)
{
        bool is_directory = S_ISDIR(status->st_mode);

        if (hands == HANDS_ANY)
                return 0;
        if (status->st_uid != geteuid() && (hands == HANDS_OWN || status->st_uid))
                return error_set(err, ABATIS_E_INVALID, "'%s' belongs to another user", shown);
        if (hands == HANDS_TRUSTED && status->st_mode & (S_IWGRP | S_IWOTH))
                return error_set(err, ABATIS_E_INVALID, "'%s' can be written by others; run chmod go-w",
                                 shown);
        /* Not the bit that a directory takes over from the one it was made in. */
        if (hands == HANDS_OWN && is_directory && (status->st_mode & 0777) != 0700)
                return error_set(err, ABATIS_E_INVALID, "'%s' has mode %03o, not 700", shown,
                                 status->st_mode & 0777);
        if (hands == HANDS_OWN && !is_directory && (status->st_mode & 07777) != 0400)
                return error_set(err, ABATIS_E_INVALID, "'%s' has mode %03o, not 400", shown,
                                 status->st_mode & 07777);
        if (hands == HANDS_OWN && !is_directory && status->st_nlink != 1)
                return error_set(err, ABATIS_E_INVALID, "'%s' has another name, too", shown);
        return 0;
}

static int open_as(int directory, const char *name, bool wants_directory, enum file_hands hands,
                   const char *shown, abatis_error *err)
{
        /* Non-blocking: a pipe must not hold us up before it is seen to be one. */
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
        OWN_FD int fd = fd_above_stdio(openat(directory, name, flags | (wants_directory ? O_DIRECTORY : 0)));
        struct stat status;
        int r;

        if (fd < 0 && errno == ENOENT)
                return error_set(err, ABATIS_E_NOT_FOUND, "'%s' does not exist", shown);
        /* What is neither a link nor a directory gives ENOTDIR, a link to a directory either. */
        if (fd < 0 && (errno == ELOOP || (errno == ENOTDIR && wants_directory)))
                return error_set(err, ABATIS_E_INVALID, "'%s' is %s", shown,
                                 wants_directory ? "not a directory, or a symbolic link" : "a symbolic link");
        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "'%s'", shown);
        if (!wants_directory && !S_ISREG(status.st_mode))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a regular file", shown);
        r = check_hands(&status, hands, shown, err);
        return r ? r : take_fd(&fd);
}

int file_open(int directory, const char *name, enum file_hands hands, const char *shown, abatis_error *err)
{
        return open_as(directory, name, false, hands, shown, err);
}

int file_open_directory(int directory, const char *name, enum file_hands hands, const char *shown,
                        abatis_error *err)
{
        return open_as(directory, name, true, hands, shown, err);
}

int file_take_open(int fd, size_t most, const char *shown, char **out, size_t *length, abatis_error *err)
{
        OWN_FREE char *bytes = NULL;
        struct stat status;
        size_t size, have = 0;
        ssize_t got = 0;

        if (fstat(fd, &status) < 0)
                return error_os(err, errno, "'%s'", shown);
        if ((uint64_t)status.st_size > most)
                return error_set(err, ABATIS_E_INVALID, "'%s' has more than %zu bytes", shown, most);
        size = (size_t)status.st_size;
        bytes = malloc(size + 1);
        if (!bytes)
                return error_memory(err);
        /* One more than there should be, so that a file that grows is seen. */
        while (have <= size && (got = read(fd, bytes + have, size + 1 - have)) > 0)
                have += (size_t)got;
        if (got < 0)
                return error_os(err, errno, "'%s'", shown);
        if (have != size)
                return error_set(err, ABATIS_E_INVALID, "'%s' was changed while it was read", shown);
        bytes[size] = '\0';
        *out = take_pointer(bytes);
        *length = size;
        return 0;
}

int file_take(int directory, const char *name, enum file_hands hands, size_t most, const char *shown,
              char **out, size_t *length, abatis_error *err)
{
        OWN_FD int fd = file_open(directory, name, hands, shown, err);

        return fd < 0 ? fd : file_take_open(fd, most, shown, out, length, err);
}
