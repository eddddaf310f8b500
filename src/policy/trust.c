/* trust.c: remembers which projects' files the user has vouched for, by their hash, outside of the projects. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/sha256.h"
#include "policy/compose.h"

/* One small file for each project, called by the hash of the path: "HASH PATH\n". */
static int record_path(const char *path, char **out, abatis_error *err)
{
        char name[sizeof("trust/") + SHA256_TEXT_SIZE];
        char hash[SHA256_TEXT_SIZE];

        sha256_text(path, strlen(path), hash);
        snprintf(name, sizeof(name), "trust/%s", hash);
        return state_path(name, out, err);
}

int trust_check(const char *path, const char *text, size_t length, bool *is_trusted, abatis_error *err)
{
        OWN_FREE char *record = NULL, *known = NULL;
        char hash[SHA256_TEXT_SIZE];
        size_t known_length;
        int r = record_path(path, &record, err);

        *is_trusted = false;
        if (r < 0 || !record)
                return r;
        r = file_read(record, FILE_OURS, &known, &known_length, err);
        if (r < 0 || !known)
                return r;
        sha256_text(text, length, hash);
        *is_trusted = !strncmp(known, hash, SHA256_TEXT_SIZE - 1) && known[SHA256_TEXT_SIZE - 1] == ' ' &&
                      !strncmp(known + SHA256_TEXT_SIZE, path, strlen(path));
        return 0;
}

/* All of it or nothing: written beside, then renamed. */
static int write_record(const char *path, const char *text, abatis_error *err)
{
        OWN_FREE char *temporary = text_join(path, ".new", "");
        OWN_FD int fd =
                temporary ? open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
        size_t length = strlen(text);
        int r = 0;

        if (!temporary)
                return error_memory(err);
        if (fd < 0)
                return error_os(err, errno, "cannot write '%s'", path);
        if (write(fd, text, length) != (ssize_t)length || rename(temporary, path) < 0) {
                r = error_os(err, errno, "cannot write '%s'", path);
                unlink(temporary);
        }
        return r;
}

static int remember(const char *path, const char *text, size_t length, abatis_error *err)
{
        OWN_FREE char *record = NULL, *line = NULL;
        char hash[SHA256_TEXT_SIZE];
        int r = record_path(path, &record, err);

        if (r < 0)
                return r;
        if (!record)
                return error_set(err, ABATIS_E_INVALID, "there is no home directory to remember it in");
        sha256_text(text, length, hash);
        line = text_join(hash, " ", path);
        if (!line)
                return error_memory(err);
        r = make_directories(record, false, err);
        return r ? r : write_record(record, line, err);
}

static int forget(const char *path, abatis_error *err)
{
        OWN_FREE char *record = NULL;
        int r = record_path(path, &record, err);

        if (r < 0)
                return r;
        if (record && unlink(record) < 0 && errno != ENOENT && errno != ENOTDIR)
                return error_os(err, errno, "cannot remove '%s'", record);
        return 0;
}

int abatis_trust(const char *workspace, int is_trusted, char **out, abatis_error *err)
{
        OWN_FREE char *directory = workspace ? path_real(workspace) : reach_working_directory(), *path = NULL,
                      *text = NULL;
        OWN_LAYER struct layer *layer = NULL;
        size_t length = 0;
        int r;

        if (!directory)
                return error_os(err, errno, "workspace '%s'", workspace ? workspace : ".");
        r = files_find_project(directory, &path, err);
        if (r < 0)
                return r;
        if (!path)
                return error_set(err, ABATIS_E_INVALID, "'%s' has no .abatis.yaml, nor its repository",
                                 directory);
        if (is_trusted)
                r = file_read(path, FILE_NO_LINK, &text, &length, err);
        /* Nobody can vouch for what cannot be read. */
        if (!r && is_trusted && text)
                r = layer_read(DOCUMENT_YAML, path, text, length, &layer, err);
        if (!r)
                r = is_trusted && text ? remember(path, text, length, err) : forget(path, err);
        if (!r)
                *out = take_pointer(path);
        return r;
}
