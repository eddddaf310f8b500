/* store.c: a private place for what engines read. */
#define _GNU_SOURCE
#include "skill/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "base/text.h"
#include "policy/compose.h"

enum { NAME_SIZE_MAX = 64, TREE_DEPTH_MAX = 8, TRIES_MAX = 1000 };

/* ---- directories ---------------------------------------------------------------------------------------- */

/* Not a link, ours, and closed to others: who could change it would have their code run as an engine's. */
static int check_directory(const char *path, abatis_error *err)
{
        struct stat status;

        if (reach_lstat(path, &status) < 0)
                return error_os(err, errno, "cannot examine '%s'", path);
        if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH))
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' must be a directory of yours that nobody else can write; remove it",
                                 path);
        return 0;
}

/* A user without a home, or with one that cannot be written, has one there. */
static int fallback_path(const char *name, char **out, abatis_error *err)
{
        char user[32];

        snprintf(user, sizeof(user), "%u/", geteuid());
        *out = text_join(access("/var/tmp", W_OK) ? "/tmp/abatis-" : "/var/tmp/abatis-", user, name);
        return *out ? 0 : error_memory(err);
}

static int make_checked(char *path, abatis_error *err)
{
        int r = make_directories(path, true, err);

        return r ? r : check_directory(path, err);
}

static int open_directory(const char *name, char **out, abatis_error *err)
{
        OWN_FREE char *path = NULL;
        abatis_error below;
        int r = cache_path(name, &path, err);

        if (r < 0)
                return r;
        r = path ? make_checked(path, &below) : ABATIS_E_SYSTEM;
        if (r == ABATIS_E_INVALID || r == ABATIS_E_MEMORY) {
                if (err)
                        *err = below;
                return r;
        }
        if (r < 0) {
                free(take_pointer(path));
                r = fallback_path(name, &path, err);
                if (!r)
                        r = make_directories(path, true, err);
                /* Its parent stands where everybody may make one. */
                if (!r) {
                        char *slash = strrchr(path, '/');

                        *slash = '\0';
                        r = check_directory(path, err);
                        *slash = '/';
                }
                if (!r)
                        r = check_directory(path, err);
        }
        if (!r)
                *out = take_pointer(path);
        return r;
}

int store_open(char **out, abatis_error *err)
{
        return open_directory("skills", out, err);
}

/* A directory in it, made if need be. */
static int open_part(const char *name, char **out, abatis_error *err)
{
        OWN_FREE char *store = NULL, *path = NULL;
        int r = store_open(&store, err);

        if (r < 0)
                return r;
        path = text_join(store, "/", name);
        if (!path)
                return error_memory(err);
        r = make_checked(path, err);
        if (!r)
                *out = take_pointer(path);
        return r;
}

/* Something new beside the path, which nobody else has: a file, or a directory. *out, owned by the caller, is what it is called. A descriptor of
 * the file, or 0; or -1. */
static int make_beside(const char *path, bool is_directory, char **out)
{
        char end[32];

        for (int i = 0; i < TRIES_MAX; i++) {
                OWN_FREE char *name = NULL;
                int made;

                snprintf(end, sizeof(end), "%d-%d", (int)getpid(), i);
                name = text_join(path, ".", end);
                if (!name) {
                        errno = ENOMEM;
                        return -1;
                }
                made = is_directory ? mkdir(name, 0700)
                                    : open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
                if (made >= 0) {
                        *out = take_pointer(name);
                        return made;
                }
                if (errno != EEXIST)
                        return -1;
        }
        return -1;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static bool is_private_file(int fd, size_t length)
{
        struct stat status;

        return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
               !(status.st_mode & (S_IWGRP | S_IWOTH)) && status.st_nlink == 1 &&
               (uint64_t)status.st_size == length;
}

/* Whether the file has just these bytes: they are compared, so nobody has to be believed. */
static bool holds(const char *path, const char *bytes, size_t length)
{
        OWN_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char block[64 * 1024];
        size_t have = 0;
        ssize_t got = 0;

        if (fd < 0 || !is_private_file(fd, length))
                return false;
        while (have < length && (got = read(fd, block, sizeof(block))) > 0) {
                if ((size_t)got > length - have || memcmp(block, bytes + have, (size_t)got) != 0)
                        return false;
                have += (size_t)got;
        }
        return have == length;
}

/* All of it or nothing. */
static int write_file(const char *path, const char *bytes, size_t length, abatis_error *err)
{
        OWN_FREE char *temporary = NULL;
        OWN_FD int fd = make_beside(path, false, &temporary);
        size_t done = 0;
        int r = 0;

        if (fd < 0)
                return error_os(err, errno, "cannot write '%s'", path);
        while (done < length && !r) {
                ssize_t written = write(fd, bytes + done, length - done);

                if (written < 0 && errno != EINTR)
                        r = error_os(err, errno, "cannot write '%s'", path);
                done += written > 0 ? (size_t)written : 0;
        }
        if (!r && (fchmod(fd, 0400) < 0 || rename(temporary, path) < 0))
                r = error_os(err, errno, "cannot write '%s'", path);
        if (r < 0)
                unlink(temporary);
        return r;
}

/* What an engine shows to the module as its name, and people see in a list of processes. */
static bool is_simple(const char *name)
{
        size_t length = strlen(name);

        return length && length <= NAME_SIZE_MAX && *name != '.' && *name != '-' &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

int store_put(const char *name, const void *bytes, size_t length, const char *hash, char **directory,
              char **file, abatis_error *err)
{
        OWN_FREE char *part = text_join("modules/", hash, ""), *place = NULL, *path = NULL;
        int r;

        if (!part)
                return error_memory(err);
        r = open_part(part, &place, err);
        if (r < 0)
                return r;
        path = text_join(place, "/", is_simple(name) ? name : "module.wasm");
        if (!path)
                return error_memory(err);
        if (!holds(path, bytes, length))
                r = write_file(path, bytes, length, err);
        if (r < 0)
                return r;
        *directory = take_pointer(place);
        *file = take_pointer(path);
        return 0;
}

/* ---- programs ------------------------------------------------------------------------------------------- */

static int hash_file(int fd, const char *path, char out[SHA256_TEXT_SIZE], abatis_error *err)
{
        char block[64 * 1024];
        struct sha256 hash;
        ssize_t got;

        sha256_init(&hash);
        while ((got = read(fd, block, sizeof(block))) > 0)
                sha256_add(&hash, block, (size_t)got);
        if (got < 0)
                return error_os(err, errno, "cannot read '%s'", path);
        sha256_finish(&hash, out);
        return 0;
}

/* A file that was changed has another time of change, which nobody can set; the clock's tick is finer than a build. */
static void identify(const char *path, const struct stat *status, char out[SHA256_TEXT_SIZE])
{
        char text[256];
        struct sha256 hash;
        int length = snprintf(text, sizeof(text), "%llu %llu %lld %lld", (unsigned long long)status->st_dev,
                              (unsigned long long)status->st_ino, (long long)status->st_size,
                              (long long)system_times_of(status).changed_ns);

        sha256_init(&hash);
        sha256_add(&hash, path, strlen(path) + 1);
        sha256_add(&hash, text, (size_t)length);
        sha256_finish(&hash, out);
}

static bool read_hash(const char *path, char out[SHA256_TEXT_SIZE])
{
        OWN_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0 || !is_private_file(fd, SHA256_TEXT_SIZE - 1) ||
            read(fd, out, SHA256_TEXT_SIZE - 1) != SHA256_TEXT_SIZE - 1)
                return false;
        out[SHA256_TEXT_SIZE - 1] = '\0';
        return sha256_is_text(out);
}

int store_hash_program(const char *program, char out[SHA256_TEXT_SIZE], abatis_error *err)
{
        OWN_FD int fd = reach_open(program, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        OWN_FREE char *directory = NULL, *path = NULL;
        char identity[SHA256_TEXT_SIZE];
        struct stat status;
        int r;

        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "cannot read '%s'", program);
        identify(program, &status, identity);
        r = open_part("engines", &directory, err);
        if (r < 0)
                return r;
        path = text_join(directory, "/", identity);
        if (!path)
                return error_memory(err);
        if (read_hash(path, out))
                return 0;
        r = hash_file(fd, program, out, err);
        return r ? r : write_file(path, out, SHA256_TEXT_SIZE - 1, err);
}

/* ---- what was compiled ---------------------------------------------------------------------------------- */

int store_find_compiled(const char *program_hash, const char *module_hash, char **out, bool *is_there,
                        abatis_error *err)
{
        OWN_FREE char *directory = NULL, *place = NULL, *path = NULL;
        int r = open_part("compiled", &directory, err);

        if (r < 0)
                return r;
        place = text_join(directory, "/", program_hash);
        path = place ? text_join(place, "-", module_hash) : NULL;
        if (!path)
                return error_memory(err);
        *is_there = !check_directory(path, NULL);
        *out = take_pointer(path);
        return 0;
}

int store_stage(char **out, abatis_error *err)
{
        OWN_FREE char *directory = NULL, *path = NULL;
        int r = open_directory("skills-staged", &directory, err);

        if (r < 0)
                return r;
        path = text_join(directory, "/", "stage");
        if (!path)
                return error_memory(err);
        if (make_beside(path, true, out) < 0)
                return error_os(err, errno, "cannot make a directory in '%s'", directory);
        return 0;
}

/* Calls for what is in a directory, which was opened, the function; and goes into directories first. */
static int walk(int fd, int depth, int (*visit)(int directory, const char *name, const struct stat *status))
{
        DIR *entries = fdopendir(fd);
        const struct dirent *entry;
        int r = 0;

        if (!entries) {
                close(fd);
                return -1;
        }
        while (!r && (entry = readdir(entries))) {
                struct stat status;
                int below;

                if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                        continue;
                r = fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
                if (!r && S_ISDIR(status.st_mode)) {
                        below = depth ? openat(dirfd(entries), entry->d_name,
                                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                      : -1;
                        r = below < 0 ? -1 : walk(below, depth - 1, visit);
                }
                if (!r)
                        r = visit(dirfd(entries), entry->d_name, &status);
        }
        closedir(entries);
        return r;
}

static int visit_tree(const char *path,
                      int (*visit)(int directory, const char *name, const struct stat *status))
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -1 : walk(fd, TREE_DEPTH_MAX, visit);
}

/* What a compiler has left must be plain: a link would be followed by the engine, and what has another name be changed by it. */
static int make_read_only(int directory, const char *name, const struct stat *status)
{
        if (!S_ISDIR(status->st_mode) && (!S_ISREG(status->st_mode) || status->st_nlink != 1)) {
                errno = EINVAL;
                return -1;
        }
        if (S_ISDIR(status->st_mode))
                return fchmodat(directory, name, 0700, 0);
        return fchmodat(directory, name, status->st_mode & S_IXUSR ? 0500 : 0400, 0);
}

static int remove_one(int directory, const char *name, const struct stat *status)
{
        return unlinkat(directory, name, S_ISDIR(status->st_mode) ? AT_REMOVEDIR : 0);
}

void store_drop(const char *stage)
{
        visit_tree(stage, remove_one);
        rmdir(stage);
}

int store_keep(const char *stage, const char *place, abatis_error *err)
{
        if (visit_tree(stage, make_read_only) < 0)
                return error_os(err, errno, "cannot keep what was compiled in '%s'", stage);
        if (!rename(stage, place))
                return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
                return error_os(err, errno, "cannot make '%s'", place);
        store_drop(stage);
        return 0;
}
