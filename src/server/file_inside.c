/* file_inside.c: the small program that runs in the sandbox for MCP's tools for files: it reads, writes or lists, and the kernel judges.
 *
 *   abatis file-inside read PATH OFFSET LIMIT     the bytes on stdout
 *   abatis file-inside write PATH WAY             the bytes from stdin; WAY is overwrite, create or append
 *   abatis file-inside list PATH LIMIT            an array of JSON on stdout
 *
 * What is known about it then is a JSON object on stderr; if it fails, why, as a line for people, and the exit code is 1. Being ours it needs
 * no other program in the sandbox, says the same on every system, and has no more rights than any command there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"
#include "server/reply.h"
#include "server/server.h"

enum { CHUNK = 64 * 1024 };

static int write_all(int fd, const char *bytes, size_t length, abatis_error *err)
{
        while (length) {
                ssize_t written = write(fd, bytes, length);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return error_os(err, errno, "cannot write");
                bytes += written;
                length -= (size_t)written;
        }
        return 0;
}

/* Not for ever at a pipe that nobody writes to, and nothing that is no file: reading a device may do something. */
static int open_file(const char *path, int flags, int *out, struct stat *status, abatis_error *err)
{
        OWN_FD int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);

        if (fd < 0 || fstat(fd, status) < 0)
                return error_os(err, errno, "'%s'", path);
        if (S_ISDIR(status->st_mode))
                return error_os(err, EISDIR, "'%s'", path);
        if (!S_ISREG(status->st_mode))
                return error_set(err, ABATIS_E_INVALID, "'%s': not a file", path);
        *out = take_fd(&fd);
        return 0;
}

/* {"path":PATH,"size":SIZE,... without the brace at the end. */
static void open_facts(struct text *facts, const char *path, uint64_t size)
{
        text_add(facts, "{\"path\":");
        json_text_string(facts, path, strlen(path));
        text_addf(facts, ",\"size\":%llu", (unsigned long long)size);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static int read_some(int fd, uint64_t offset, size_t limit, struct text *out, const char *path,
                     abatis_error *err)
{
        while (out->length < limit && !out->has_failed) {
                char bytes[CHUNK];
                size_t wanted = limit - out->length < CHUNK ? limit - out->length : CHUNK;
                ssize_t got = pread(fd, bytes, wanted, (off_t)(offset + out->length));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_os(err, errno, "'%s'", path);
                if (!got)
                        break;
                text_add_bytes(out, bytes, (size_t)got);
        }
        return out->has_failed ? error_memory(err) : 0;
}

/* A text is not cut in the middle of a character: what is left of it comes the next time. */
static size_t whole_length(const struct text *text)
{
        size_t whole = text->length ? text_utf8_prefix(text->data, text->length) : 0;

        return whole && text->length - whole < 4 ? whole : text->length;
}

/* Those of /proc have no size before they are read. */
static void tell_part(struct text *facts, const char *path, uint64_t size, uint64_t offset, size_t length,
                      bool is_full)
{
        uint64_t end = offset + length;
        bool has_more = is_full && (!size || end < size);

        open_facts(facts, path, length && size < end ? end : size);
        text_addf(facts, ",\"offset\":%llu,\"bytes\":%zu,\"has_more\":%s}", (unsigned long long)offset,
                  length, has_more ? "true" : "false");
}

static int read_file(char **argv, struct text *facts, abatis_error *err)
{
        uint64_t offset = strtoull(argv[1], NULL, 10);
        size_t limit = strtoul(argv[2], NULL, 10), length;
        OWN_TEXT struct text bytes = { 0 };
        struct stat status = { 0 };
        OWN_FD int fd = -1;
        int r = open_file(argv[0], O_RDONLY, &fd, &status, err);
        bool is_full;

        if (!r)
                r = read_some(fd, offset, limit, &bytes, argv[0], err);
        if (r < 0)
                return r;
        is_full = bytes.length == limit;
        length = is_full ? whole_length(&bytes) : bytes.length;
        tell_part(facts, argv[0], (uint64_t)status.st_size, offset, length, is_full);
        return length ? write_all(1, bytes.data, length, err) : 0;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

static int way_of(const char *word)
{
        if (!strcmp(word, "create"))
                return O_EXCL;
        return !strcmp(word, "append") ? O_APPEND : O_TRUNC;
}

static int copy_stdin(int fd, const char *path, uint64_t *count, abatis_error *err)
{
        char bytes[CHUNK];
        ssize_t got;

        while ((got = read(0, bytes, sizeof(bytes)))) {
                abatis_error below;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_os(err, errno, "cannot read what to write");
                if (write_all(fd, bytes, (size_t)got, &below) < 0)
                        return error_within(err, &below, "'%s'", path);
                *count += (uint64_t)got;
        }
        return 0;
}

static int write_file(char **argv, struct text *facts, abatis_error *err)
{
        uint64_t count = 0;
        struct stat status = { 0 };
        OWN_FD int fd = -1;
        int r = open_file(argv[0], O_WRONLY | O_CREAT | way_of(argv[1]), &fd, &status, err);

        if (!r)
                r = copy_stdin(fd, argv[0], &count, err);
        if (!r && (fstat(fd, &status) < 0 || close(take_fd(&fd)) < 0))
                r = error_os(err, errno, "'%s'", argv[0]);
        if (r < 0)
                return r;
        open_facts(facts, argv[0], (uint64_t)status.st_size);
        text_addf(facts, ",\"bytes\":%llu}", (unsigned long long)count);
        return 0;
}

/* ---- listing -------------------------------------------------------------------------------------------- */

static const char *type_of(mode_t mode)
{
        if (S_ISREG(mode))
                return "file";
        if (S_ISDIR(mode))
                return "directory";
        return S_ISLNK(mode) ? "link" : "other";
}

static int compare(const void *left, const void *right)
{
        return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted, and no more than these. */
static void keep_first(struct strings *names, size_t limit)
{
        if (names->count)
                qsort(names->items, names->count, sizeof(*names->items), compare);
        while (names->count > limit)
                free(names->items[--names->count]);
}

/* The first by name, however many there are: all of them might not fit into memory. */
static int read_names(DIR *directory, const char *path, size_t limit, struct strings *names, size_t *count,
                      abatis_error *err)
{
        struct dirent *entry;

        while (errno = 0, (entry = readdir(directory))) {
                int r;

                if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                        continue;
                r = strings_add(names, entry->d_name, err);
                if (r < 0)
                        return r;
                ++*count;
                if (names->count >= 2 * limit)
                        keep_first(names, limit);
        }
        if (errno)
                return error_os(err, errno, "'%s'", path);
        keep_first(names, limit);
        return 0;
}

/* What may be listed may still be hidden: then only its name is known. */
static void add_entry(int directory, const char *name, struct text *out)
{
        struct stat status;
        bool is_known = !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);

        text_addf(out, "%s{\"type\":\"%s\"", out->length > 1 ? "," : "",
                  is_known ? type_of(status.st_mode) : "unknown");
        reply_add_bytes(out, "name", name, strlen(name));
        if (is_known && S_ISREG(status.st_mode))
                text_addf(out, ",\"size\":%llu", (unsigned long long)status.st_size);
        text_add(out, "}");
}

static int list_directory(char **argv, struct text *facts, abatis_error *err)
{
        OWN_TEXT struct text out = { 0 };
        struct strings names = { NULL, 0 };
        DIR *directory = opendir(argv[0]);
        size_t count = 0;
        int r;

        if (!directory)
                return error_os(err, errno, "'%s'", argv[0]);
        r = read_names(directory, argv[0], strtoul(argv[1], NULL, 10), &names, &count, err);
        text_add(&out, "[");
        for (size_t i = 0; !r && i < names.count; i++)
                add_entry(dirfd(directory), names.items[i], &out);
        text_add(&out, "]");
        text_add(facts, "{\"path\":");
        json_text_string(facts, argv[0], strlen(argv[0]));
        text_addf(facts, ",\"count\":%zu,\"has_more\":%s}", count, names.count < count ? "true" : "false");
        closedir(directory);
        strings_done(&names);
        if (!r && out.has_failed)
                r = error_memory(err);
        return r ? r : write_all(1, out.data, out.length, err);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static const struct deed {
        const char *name;
        int arguments;
        int (*run)(char **argv, struct text *facts, abatis_error *err);
} deeds[] = {
        { "read", 3, read_file },
        { "write", 2, write_file },
        { "list", 2, list_directory },
};

static const struct deed *find_deed(char **argv)
{
        int count = 0;

        while (*argv && argv[count + 1])
                count++;
        for (size_t i = 0; *argv && i < sizeof(deeds) / sizeof(*deeds); i++)
                if (!strcmp(*argv, deeds[i].name) && count == deeds[i].arguments)
                        return &deeds[i];
        return NULL;
}

int server_file_inside(char **argv)
{
        const struct deed *deed = find_deed(argv);
        OWN_TEXT struct text facts = { 0 };
        abatis_error err;
        int r = deed ? deed->run(argv + 1, &facts, &err)
                     : error_set(&err, ABATIS_E_INVALID, "file-inside is for abatis mcp");

        if (!r && facts.has_failed)
                r = error_memory(&err);
        write_all(2, r < 0 ? err.message : facts.data, r < 0 ? strlen(err.message) : facts.length, NULL);
        return r < 0;
}
