/* signature.c: asks abatis-verify for each key that the user or the administrator trusts whether it has signed a manifest. */
#define _GNU_SOURCE
#include "skill/signature.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/compose.h"
#include "skill/file.h"

enum { SIGNATURE_SIZE = 64, KEYS_MAX = 64, KEY_FD = 10 };

static const char system_keys[] = "/etc/abatis/keys", verifier_name[] = "abatis-verify";

/* What is asked for every key. */
struct question {
        const char *verifier; /* borrowed, as all here */
        const char *base64;
        int manifest; /* a file that has its bytes */
        int keys;     /* how many were asked for */
};

/* Raw, or as base64 on one line; base64 comes out. */
static int read_signature(const struct package *package, struct text *base64, abatis_error *err)
{
        OWN_TEXT struct text raw = { 0 };
        size_t length = package->signature_length;

        if (!package->signature)
                return error_set(err, ABATIS_E_INVALID,
                                 "it asks for the tier verified, and there is no " PACKAGE_SIGNATURE);
        if (length == SIGNATURE_SIZE)
                text_add_base64(base64, package->signature, length);
        else {
                length -= length && package->signature[length - 1] == '\n';
                if (!text_add_decoded(&raw, package->signature, length) || raw.length != SIGNATURE_SIZE)
                        return error_set(err, ABATIS_E_INVALID,
                                         PACKAGE_SIGNATURE
                                         " is not an Ed25519 signature: 64 bytes, or one line of "
                                         "base64");
                text_add_bytes(base64, package->signature, length);
        }
        return base64->has_failed ? error_memory(err) : 0;
}

/* Never by PATH: who can put a program there would say what is signed. */
static int find_verifier(const char *program, char **out, abatis_error *err)
{
        const char *slash = program ? strrchr(program, '/') : NULL;
        OWN_FREE char *directory = slash ? strndup(program, (size_t)(slash - program) + 1) : NULL,
                      *beside = directory ? text_join(directory, verifier_name, "") : NULL;
        const char *const places[] = { beside, signature_verifier };

        if (slash && !beside)
                return error_memory(err);
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                OWN_FD int fd = -1;

                if (!places[i])
                        continue;
                fd = file_open(AT_FDCWD, places[i], HANDS_TRUSTED, places[i], err);
                if (fd < 0 && fd != ABATIS_E_NOT_FOUND)
                        return fd;
                if (fd < 0)
                        continue;
                *out = strdup(places[i]);
                return *out ? 0 : error_memory(err);
        }
        return error_set(
                err, ABATIS_E_INVALID,
                "signatures are checked by abatis-verify, which is not installed; it is built where OpenSSL's "
                "libcrypto is");
}

/* A file without a name: a pipe would have to be filled while the program may be gone, which is a signal for the host. */
static int keep_bytes(const struct package *package, int *out, abatis_error *err)
{
        FILE *file = tmpfile();
        OWN_FD int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
        bool is_written = fd >= 0 &&
                          fwrite(package->text, 1, package->text_length, file) == package->text_length &&
                          !fflush(file);
        int failed = errno;

        if (file)
                fclose(file);
        if (!is_written)
                return error_os(err, failed, "cannot keep the manifest for abatis-verify");
        *out = take_fd(&fd);
        return 0;
}

/* With an environment of its own, which is empty: OpenSSL would be told by ours what to load. */
static int spawn(const struct question *question, int key, pid_t *out)
{
        char *const argv[] = { (char *)verifier_name, (char *)"/dev/fd/3", (char *)question->base64, NULL };
        char *const envp[] = { NULL };
        posix_spawn_file_actions_t actions;
        int failed = posix_spawn_file_actions_init(&actions);

        if (failed)
                return failed;
        failed = posix_spawn_file_actions_adddup2(&actions, question->manifest, 0);
        for (int fd = 1; fd <= 2 && !failed; fd++)
                failed = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
        if (!failed)
                failed = posix_spawn_file_actions_adddup2(&actions, key, 3);
        if (!failed)
                failed = posix_spawn(out, question->verifier, &actions, NULL, argv, envp);
        posix_spawn_file_actions_destroy(&actions);
        return failed;
}

/* 1: it is this key's; 0: it is not. */
static int ask(const struct question *question, int key, const char *shown, abatis_error *err)
{
        int status = 0, failed;
        pid_t pid = -1;

        if (lseek(question->manifest, 0, SEEK_SET) < 0)
                return error_os(err, errno, "cannot read the manifest again");
        failed = spawn(question, key, &pid);
        if (failed)
                return error_os(err, failed, "cannot start '%s'", question->verifier);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_os(err, errno, "cannot wait for '%s'", question->verifier);
        if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
                return !WEXITSTATUS(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not the PEM file of an Ed25519 public key",
                                 shown);
        return error_set(err, ABATIS_E_INVALID, "'%s' has failed", question->verifier);
}

static bool is_key(const char *name)
{
        size_t length = strlen(name);

        return *name != '.' && length > 4 && !strcmp(name + length - 4, ".pem");
}

static int ask_key(struct question *question, int directory, const char *in, const char *name, char **signer,
                   abatis_error *err)
{
        OWN_FREE char *shown = path_join(in, name);
        OWN_FD int opened = -1, key = -1;
        int r;

        if (!shown)
                return error_memory(err);
        if (!text_is_plain(name, strlen(name)) || question->keys++ == KEYS_MAX)
                return error_set(err, ABATIS_E_INVALID, "'%s': %s", shown,
                                 question->keys > KEYS_MAX ? "there are more than 64 keys"
                                                           : "its name is not UTF-8");
        opened = file_open(directory, name, HANDS_TRUSTED, shown, err);
        if (opened < 0)
                return opened;
        /* Above what the program is given. */
        key = fcntl(opened, F_DUPFD_CLOEXEC, KEY_FD);
        if (key < 0)
                return error_os(err, errno, "'%s'", shown);
        r = ask(question, key, shown, err);
        if (r <= 0)
                return r;
        *signer = strndup(name, strlen(name) - 4);
        return *signer ? 1 : error_memory(err);
}

/* 1 when one of its keys has signed; 0 when none has, or there is no such directory. */
static int ask_directory(struct question *question, const char *path, char **signer, abatis_error *err)
{
        OWN_FD int fd = file_open_directory(AT_FDCWD, path, HANDS_TRUSTED, path, err);
        int listed = fd < 0 ? -1 : dup(fd), r = 0;
        struct dirent *entry;
        DIR *directory;

        if (fd < 0)
                return fd == ABATIS_E_NOT_FOUND ? 0 : fd;
        directory = listed < 0 ? NULL : fdopendir(listed);
        if (!directory) {
                own_fd_close(&listed);
                return error_os(err, errno, "'%s'", path);
        }
        while (!r && (errno = 0, entry = readdir(directory)))
                if (is_key(entry->d_name))
                        r = ask_key(question, fd, path, entry->d_name, signer, err);
        if (!r && errno)
                r = error_os(err, errno, "'%s'", path);
        closedir(directory);
        return r;
}

static int ask_all(struct question *question, char **signer, abatis_error *err)
{
        OWN_FREE char *user_keys = NULL;
        int r = config_path("keys", &user_keys, err);

        if (!r)
                r = ask_directory(question, system_keys, signer, err);
        if (!r && user_keys)
                r = ask_directory(question, user_keys, signer, err);
        if (r)
                return r < 0 ? r : 0;
        if (!question->keys)
                return error_set(err, ABATIS_E_INVALID,
                                 "there is no key in '%s' or '%s' to check its signature by",
                                 user_keys ? user_keys : "~/.config/abatis/keys", system_keys);
        return error_set(
                err, ABATIS_E_INVALID,
                "its signature is of none of the keys that are trusted (%d in '%s' and '%s'), or of another "
                "manifest",
                question->keys, user_keys ? user_keys : "~/.config/abatis/keys", system_keys);
}

int signature_check(const struct package *package, const char *program, char **signer, abatis_error *err)
{
        OWN_TEXT struct text base64 = { 0 };
        OWN_FREE char *verifier = NULL;
        OWN_FD int manifest = -1;
        struct question question = { 0 };
        int r = read_signature(package, &base64, err);

        if (!r && !*package->manifest->sha256)
                r = error_set(
                        err, ABATIS_E_INVALID,
                        "a signature is of the manifest alone, which does not name the module: it has no sha256");
        if (!r)
                r = find_verifier(program, &verifier, err);
        if (!r)
                r = keep_bytes(package, &manifest, err);
        if (r < 0)
                return r;
        question = (struct question){ .verifier = verifier, .base64 = base64.data, .manifest = manifest };
        return ask_all(&question, signer, err);
}
