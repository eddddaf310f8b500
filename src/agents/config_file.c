/* config_file.c: somebody's configuration file, read whole, and replaced at once with a copy kept. */
#define _GNU_SOURCE
#include "agents/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "base/system.h"
#include "base/text.h"

#define BACKUP ".abatis-backup"
static int read_whole(int fd, const char *path, struct text *out, abatis_error *err)
{
        char piece[16384];
        ssize_t count;

        text_add(out, "");
        while ((count = read(fd, piece, sizeof(piece))) != 0) {
                if (count < 0 && errno == EINTR)
                        continue;
                if (count < 0)
                        return error_os(err, errno, "cannot read '%s'", path);
                text_add_bytes(out, piece, (size_t)count);
                if (out->length > CONFIG_FILE_MAX)
                        return error_set(err, ABATIS_E_INVALID, "'%s' is larger than %d MiB", path,
                                         CONFIG_FILE_MAX >> 20);
        }
        return out->has_failed ? error_memory(err) : 0;
}

static int check_kind(const struct stat *status, const char *path, abatis_error *err)
{
        if (!S_ISREG(status->st_mode))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a regular file", path);
        /* It would be the same file no longer. */
        if (status->st_nlink > 1)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' has %llu names (hard links), and only one of them would be changed",
                                 path, (unsigned long long)status->st_nlink);
        return 0;
}

int config_file_read(const char *path, struct config_file *out, abatis_error *err)
{
        struct config_file file = { .path = path_real(path) };
        /* It may be a fifo that nobody writes to. */
        OWN_FD int fd = file.path ? open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
        OWN_TEXT struct text text = { 0 };
        struct stat status = { 0 };
        int r;

        if (fd < 0 || fstat(fd, &status) < 0)
                r = error_os(err, errno, "cannot read '%s'", path);
        else
                r = check_kind(&status, path, err);
        if (!r)
                r = read_whole(fd, path, &text, err);
        file.length = text.length;
        if (!r)
                r = text_take(&text, &file.text, err);
        if (r < 0) {
                config_file_done(&file);
                return r;
        }
        file.device = status.st_dev;
        file.inode = status.st_ino;
        file.mode = status.st_mode & 07777;
        file.uid = status.st_uid;
        file.gid = status.st_gid;
        *out = file;
        return 0;
}

void config_file_done(struct config_file *file)
{
        free(file->path);
        free(file->text);
        *file = (struct config_file){ 0 };
}

static int write_whole(int fd, const char *text, size_t length)
{
        while (length) {
                ssize_t count = write(fd, text, length);

                if (count < 0 && errno == EINTR)
                        continue;
                if (count <= 0)
                        return -1;
                text += count;
                length -= (size_t)count;
        }
        return 0;
}

/* The file's own text, owner and mode, for what nobody else could open until then. */
static int fill(int fd, const struct config_file *file, const char *text, size_t length, const char *path,
                abatis_error *err)
{
        struct stat status;

        if (write_whole(fd, text, length) < 0)
                return error_os(err, errno, "cannot write '%s'", path);
        if (fstat(fd, &status) < 0 || ((status.st_uid != file->uid || status.st_gid != file->gid) &&
                                       fchown(fd, file->uid, file->gid) < 0))
                return error_os(err, errno, "cannot give '%s' the owner of '%s'", path, file->path);
        if (fchmod(fd, file->mode) < 0 || system_sync(fd) < 0)
                return error_os(err, errno, "cannot write '%s'", path);
        return 0;
}

static bool holds(const char *path, const char *text, size_t length)
{
        OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        OWN_TEXT struct text found = { 0 };
        struct stat status;

        return fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
               !read_whole(fd, path, &found, NULL) && found.length == length &&
               !memcmp(found.data, text, length);
}

char *config_file_backup(const struct config_file *file, unsigned number)
{
        OWN_TEXT struct text name = { 0 };
        char *path;

        text_addf(&name, number ? "%s" BACKUP ".%u" : "%s" BACKUP, file->path, number);
        return text_take(&name, &path, NULL) < 0 ? NULL : path;
}

bool config_file_has_backup(const struct config_file *file, const char *text, size_t length)
{
        bool is_there = true, is_found = false;

        for (unsigned number = 0; number < CONFIG_FILE_BACKUPS && is_there && !is_found; number++) {
                OWN_FREE char *name = config_file_backup(file, number);

                is_there = name && !access(name, F_OK);
                is_found = is_there && holds(name, text, length);
        }
        return is_found;
}

/* What was copied before is never overwritten: the copy is the first that is the same, or one that is not there yet. */
static int keep_copy(const struct config_file *file, char **out, abatis_error *err)
{
        for (unsigned number = 0; number < CONFIG_FILE_BACKUPS; number++) {
                OWN_FREE char *name = config_file_backup(file, number);
                OWN_FD int fd = -1;
                int r;

                if (!name)
                        return error_memory(err);
                fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (fd < 0 && errno != EEXIST)
                        return error_os(err, errno, "cannot write '%s'", name);
                if (fd < 0 && !holds(name, file->text, file->length))
                        continue;
                r = fd < 0 ? 0 : fill(fd, file, file->text, file->length, name, err);
                if (r < 0)
                        unlink(name);
                if (!r)
                        *out = take_pointer(name);
                return r;
        }
        return error_set(err, ABATIS_E_INVALID, "there are %d copies '%s" BACKUP "*' already: remove some",
                         CONFIG_FILE_BACKUPS, file->path);
}

static bool is_unchanged(const struct config_file *file)
{
        struct stat status;

        return !lstat(file->path, &status) && status.st_dev == file->device && status.st_ino == file->inode &&
               holds(file->path, file->text, file->length);
}

/* The new name outlives a power cut as the new text does. */
static void sync_directory_of(const char *path)
{
        OWN_FREE char *directory = strdup(path);
        OWN_FD int fd = -1;

        if (!directory)
                return;
        strrchr(directory, '/')[1] = '\0';
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                system_sync(fd);
}

static int put_in_place(const struct config_file *file, const char *text, size_t length, abatis_error *err)
{
        OWN_TEXT struct text name = { 0 };
        OWN_FD int fd = -1;
        uint64_t number;
        int r;

        if (system_random(&number, sizeof(number)) < 0)
                return error_os(err, errno, "no random number");
        text_addf(&name, "%s.abatis-%016" PRIx64, file->path, number);
        if (name.has_failed)
                return error_memory(err);
        fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_os(err, errno, "cannot write beside '%s'", file->path);
        r = fill(fd, file, text, length, name.data, err);
        if (!r && !is_unchanged(file))
                r = error_set(err, ABATIS_E_INVALID, "'%s' was changed meanwhile; nothing was written",
                              file->path);
        if (!r && rename(name.data, file->path) < 0)
                r = error_os(err, errno, "cannot replace '%s'", file->path);
        if (r < 0)
                unlink(name.data);
        else
                sync_directory_of(file->path);
        return r;
}

int config_file_replace(const struct config_file *file, const char *text, size_t length, char **backup,
                        abatis_error *err)
{
        OWN_FREE char *copy = NULL;
        int r = backup ? keep_copy(file, &copy, err) : 0;

        if (!r)
                r = put_in_place(file, text, length, err);
        if (!r && backup)
                *backup = take_pointer(copy);
        return r;
}
