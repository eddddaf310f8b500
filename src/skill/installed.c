/* installed.c: the user's store of skills: what is put there at once, read as it was, and taken away. */
#define _GNU_SOURCE
#include "skill/installed.h"

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
#include "base/path.h"
#include "base/system.h"
#include "policy/compose.h"
#include "skill/file.h"
#include "skill/record.h"

#define MODULE_NAME "module.wasm"
#define RECORD_NAME "record.json"

/* What is being put together or taken apart has a name that no skill has: it begins with this. */
static const char passing[] = ".passing-";
enum { PASSING_SIZE = sizeof(passing) + 16, PASSING_AGE = 60 * 60 };

static int store_path(char **out, abatis_error *err)
{
        int r = data_path("skills", out, err);

        if (!r && !*out)
                r = error_set(err, ABATIS_E_INVALID, "there is no home directory to keep skills in");
        return r;
}

/* A descriptor; ABATIS_E_NOT_FOUND when there is no store. */
static int open_store(bool is_made, abatis_error *err)
{
        OWN_FREE char *path = NULL;
        int r = store_path(&path, err);

        if (!r && is_made)
                r = make_directories(path, true, err);
        return r ? r : file_open_directory(AT_FDCWD, path, HANDS_OWN, path, err);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

int installed_list(struct strings *out, abatis_error *err)
{
        OWN_FREE char *path = NULL;
        OWN_FD int store = open_store(false, err);
        struct dirent **entries = NULL;
        int count, r = 0;

        if (store < 0)
                return store == ABATIS_E_NOT_FOUND ? 0 : store;
        r = store_path(&path, err);
        if (r < 0)
                return r;
        count = scandir(path, &entries, NULL, alphasort);
        if (count < 0)
                return error_os(err, errno, "'%s'", path);
        for (int i = 0; i < count; i++) {
                if (!r && manifest_is_name(entries[i]->d_name))
                        r = strings_add(out, entries[i]->d_name, err);
                free(entries[i]);
        }
        free(entries);
        return r;
}

static int fail_absent(const char *name, abatis_error *err)
{
        struct strings names = { 0 };
        const char **words = NULL, *nearest = NULL;
        int r;

        if (!installed_list(&names, NULL))
                words = calloc(names.count + 1, sizeof(*words));
        for (size_t i = 0; words && i < names.count; i++)
                words[i] = names.items[i];
        nearest = words ? abatis_suggest(name, words) : NULL;
        r = nearest ? error_set(err, ABATIS_E_NOT_FOUND, "no skill '%s' is installed; did you mean '%s'?",
                                name, nearest)
                    : error_set(err, ABATIS_E_NOT_FOUND, "no skill '%s' is installed", name);
        free(words);
        strings_done(&names);
        return r;
}

/* All from one directory, whichever is there by that name meanwhile. */
static int read_skill(int directory, const char *name, struct package **out, abatis_error *err)
{
        OWN_FREE char *text = NULL, *module = NULL, *record = NULL;
        size_t text_length = 0, module_length = 0, record_length = 0;
        OWN_PACKAGE struct package *package = NULL;
        int r = file_take(directory, RECORD_NAME, HANDS_OWN, RECORD_SIZE_MAX, RECORD_NAME, &record,
                          &record_length, err);

        if (!r)
                r = file_take(directory, PACKAGE_MANIFEST, HANDS_OWN, DOCUMENT_SIZE_MAX, PACKAGE_MANIFEST,
                              &text, &text_length, err);
        if (!r)
                r = file_take(directory, MODULE_NAME, HANDS_OWN, MODULE_SIZE_MAX, MODULE_NAME, &module,
                              &module_length, err);
        if (!r)
                r = package_make(take_pointer(text), text_length, take_pointer(module), module_length,
                                 PACKAGE_MANIFEST, &package, err);
        if (!r)
                r = record_apply(record, record_length, name, package, err);
        if (!r)
                *out = take_pointer(package);
        return r;
}

static int open_in(int store, const char *name, struct package **out, abatis_error *err)
{
        abatis_error below = { 0 };
        int r = ABATIS_E_NOT_FOUND;

        /* Who is replaced while it is read has lost its files: then there is another one. */
        for (int tries = 0; tries < 3 && r == ABATIS_E_NOT_FOUND; tries++) {
                OWN_FD int directory = file_open_directory(store, name, HANDS_OWN, name, &below);

                if (directory == ABATIS_E_NOT_FOUND)
                        return fail_absent(name, err);
                r = directory < 0 ? directory : read_skill(directory, name, out, &below);
        }
        if (!r)
                return 0;
        if (r == ABATIS_E_MEMORY || r == ABATIS_E_SYSTEM)
                return error_within(err, &below, "skill '%s'", name);
        return error_set(err, ABATIS_E_INVALID, "skill '%s': %s; install it again", name, below.message);
}

int installed_open(const char *name, struct package **out, abatis_error *err)
{
        OWN_FD int store = -1;

        if (!manifest_is_name(name))
                return error_set(err, ABATIS_E_INVALID, "'%s' is no name of a skill", name);
        store = open_store(false, err);
        if (store == ABATIS_E_NOT_FOUND)
                return fail_absent(name, err);
        return store < 0 ? store : open_in(store, name, out, err);
}

int installed_find(const char *skill, struct package **out, abatis_error *err)
{
        return manifest_is_name(skill) ? installed_open(skill, out, err) : package_read(skill, out, err);
}

/* ---- taking away ---------------------------------------------------------------------------------------- */

static int make_passing_name(char out[PASSING_SIZE], abatis_error *err)
{
        uint64_t number;

        if (system_random(&number, sizeof(number)) < 0)
                return error_os(err, errno, "cannot make a name");
        snprintf(out, PASSING_SIZE, "%s%016llx", passing, (unsigned long long)number);
        return 0;
}

/* What we put there has one level; what has more is left, under a name that nobody takes for a skill's. 0, or -1 with errno. */
static int remove_entry(int store, const char *name)
{
        int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!directory) {
                own_fd_close(&fd);
                return unlinkat(store, name, 0);
        }
        while ((entry = readdir(directory)))
                if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
                        unlinkat(dirfd(directory), entry->d_name, 0);
        closedir(directory);
        return unlinkat(store, name, AT_REMOVEDIR);
}

/* What somebody has left who was killed. One that is younger may still be at work. */
static void remove_left(int store)
{
        int fd = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        int64_t now = system_now() / 1000000;
        struct dirent *entry;
        struct stat status;

        if (!directory) {
                own_fd_close(&fd);
                return;
        }
        while ((entry = readdir(directory)))
                if (!strncmp(entry->d_name, passing, sizeof(passing) - 1) &&
                    !fstatat(store, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
                    status.st_mtime + PASSING_AGE < now)
                        remove_entry(store, entry->d_name);
        closedir(directory);
}

int installed_remove(const char *name, abatis_error *err)
{
        char away[PASSING_SIZE];
        OWN_FD int store = -1;
        int r;

        if (!manifest_is_name(name))
                return error_set(err, ABATIS_E_INVALID, "'%s' is no name of a skill", name);
        store = open_store(false, err);
        if (store == ABATIS_E_NOT_FOUND)
                return fail_absent(name, err);
        r = store < 0 ? store : make_passing_name(away, err);
        if (r < 0)
                return r;
        if (renameat(store, name, store, away) < 0)
                return errno == ENOENT ? fail_absent(name, err)
                                       : error_os(err, errno, "cannot remove skill '%s'", name);
        if (remove_entry(store, away) < 0)
                return error_os(err, errno,
                                "skill '%s' is no longer installed, and its directory '%s' is left", name,
                                away);
        return 0;
}

/* ---- putting there -------------------------------------------------------------------------------------- */

static int write_file(int directory, const char *name, const void *bytes, size_t length, abatis_error *err)
{
        OWN_FD int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
        const char *at = bytes;

        while (fd >= 0 && length) {
                ssize_t written = write(fd, at, length);

                if (written < 0 && errno != EINTR)
                        return error_os(err, errno, "cannot write '%s'", name);
                at += written < 0 ? 0 : written;
                length -= written < 0 ? 0 : (size_t)written;
        }
        /* Whatever the umask is. */
        if (fd < 0 || fchmod(fd, 0400) < 0 || system_sync(fd) < 0)
                return error_os(err, errno, "cannot write '%s'", name);
        return 0;
}

static int fill(int store, const char *name, const struct package *package, abatis_error *err)
{
        OWN_FREE char *record = NULL;
        OWN_FD int directory = -1;
        int r = record_print(package, &record, err);

        if (r < 0)
                return r;
        if (mkdirat(store, name, 0700) < 0)
                return error_os(err, errno, "cannot make a directory in the store");
        directory = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory < 0 || fchmod(directory, 0700) < 0)
                return error_os(err, errno, "cannot open a directory in the store");
        r = write_file(directory, PACKAGE_MANIFEST, package->text, package->text_length, err);
        if (!r)
                r = write_file(directory, MODULE_NAME, package->module, package->module_length, err);
        if (!r)
                r = write_file(directory, RECORD_NAME, record, strlen(record), err);
        return r;
}

/* Where the file system cannot exchange two names, there is no skill for a moment. */
static int exchange(int store, const char *made, const char *name)
{
        char away[PASSING_SIZE];

        if (!system_exchange(store, made, name))
                return 0;
        if ((errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) || make_passing_name(away, NULL) < 0 ||
            renameat(store, name, store, away) < 0)
                return -1;
        if (renameat(store, made, store, name) < 0) {
                int failed = errno;

                renameat(store, away, store, name);
                errno = failed;
                return -1;
        }
        return renameat(store, away, store, made);
}

static int publish(int store, const struct package *package, bool is_there, abatis_error *err)
{
        const char *name = package->manifest->name;
        char made[PASSING_SIZE];
        int r = make_passing_name(made, err);

        if (r < 0)
                return r;
        r = fill(store, made, package, err);
        if (!r && (is_there ? exchange(store, made, name) : renameat(store, made, store, name)) < 0)
                r = error_os(err, errno, "cannot install skill '%s'", name);
        if (!r && system_sync(store) < 0)
                r = error_os(err, errno, "cannot install skill '%s'", name);
        if (r < 0 || is_there)
                remove_entry(store, made);
        return r;
}

static bool is_same(const struct package *left, const struct package *right)
{
        return !strcmp(left->text_sha256, right->text_sha256) &&
               !strcmp(left->module_sha256, right->module_sha256) && left->tier == right->tier &&
               !left->signer == !right->signer && (!left->signer || !strcmp(left->signer, right->signer));
}

int installed_add(const struct package *package, bool is_forced, enum installed_how *how, abatis_error *err)
{
        const char *name = package->manifest->name;
        OWN_PACKAGE struct package *there = NULL;
        OWN_FD int store = open_store(true, err);
        struct stat status;
        bool is_there;
        int r;

        if (store < 0)
                return store;
        remove_left(store);
        is_there = !fstatat(store, name, &status, AT_SYMLINK_NOFOLLOW);
        r = is_there ? open_in(store, name, &there, err) : 0;
        /* One that was changed is replaced by whatever the user installs. */
        if (r < 0 && r != ABATIS_E_INVALID)
                return r;
        if (there && is_same(there, package)) {
                *how = INSTALLED_ALREADY;
                return 0;
        }
        if (there && !is_forced)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "skill '%s' is installed already, as version %s of tier %s; --force replaces it",
                        name, there->manifest->version, there->tier->name);
        r = publish(store, package, is_there, err);
        if (!r)
                *how = is_there ? INSTALLED_REPLACED : INSTALLED_NEW;
        return r;
}
