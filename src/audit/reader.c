/* reader.c: a log line by line, through all of its files, as it was at one moment. */
#define _GNU_SOURCE
#include "audit/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/own.h"
#include "base/system.h"
#include "base/text.h"
#include "policy/compose.h"

enum { BUFFER_SIZE = 64 * 1024, PARTS_MAX = 100000 };

/* ---- one file ------------------------------------------------------------------------------------------- */

void reader_init(struct reader *reader, int fd, uint64_t at, uint64_t end)
{
        *reader = (struct reader){ .fd = fd, .at = at, .end = end };
}

void reader_done(struct reader *reader)
{
        free(reader->buffer);
        free(reader->kept);
        *reader = (struct reader){ .fd = -1 };
}

static int fill(struct reader *reader, abatis_error *err)
{
        uint64_t left = reader->end - reader->at;
        ssize_t got;

        if (!reader->buffer)
                reader->buffer = malloc(BUFFER_SIZE);
        if (!reader->buffer)
                return error_memory(err);
        do
                got = pread(reader->fd, reader->buffer, left < BUFFER_SIZE ? left : BUFFER_SIZE,
                            (off_t)reader->at);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return error_os(err, errno, "cannot read the audit log");
        /* Somebody has cut it meanwhile: it ends here. */
        if (!got)
                reader->end = reader->at;
        reader->at += (uint64_t)got;
        reader->have = (size_t)got;
        reader->used = 0;
        return 0;
}

static int keep(struct reader *reader, const char *bytes, size_t length, abatis_error *err)
{
        size_t room = AUDIT_LINE_MAX - reader->kept_length;
        char *kept;

        if (length > room)
                length = room;
        if (reader->kept_length + length > reader->kept_capacity) {
                /* Lines are short or very long: one step more is enough. */
                size_t capacity =
                        reader->kept_capacity || length > BUFFER_SIZE ? AUDIT_LINE_MAX : BUFFER_SIZE;

                if (capacity < reader->kept_length + length)
                        capacity = AUDIT_LINE_MAX;
                kept = realloc(reader->kept, capacity);
                if (!kept)
                        return error_memory(err);
                reader->kept = kept;
                reader->kept_capacity = capacity;
        }
        if (length)
                memcpy(reader->kept + reader->kept_length, bytes, length);
        reader->kept_length += length;
        return 0;
}

int reader_next(struct reader *reader, struct line *out, abatis_error *err)
{
        struct line line = { 0 };
        struct sha256 hash;
        int r = 0;

        sha256_init(&hash);
        reader->kept_length = 0;
        while (!line.is_whole) {
                const char *from, *newline;
                size_t length;

                if (reader->used == reader->have) {
                        if (reader->at == reader->end)
                                break;
                        r = fill(reader, err);
                        if (r < 0)
                                return r;
                        continue;
                }
                from = reader->buffer + reader->used;
                newline = memchr(from, '\n', reader->have - reader->used);
                length = newline ? (size_t)(newline - from) : reader->have - reader->used;
                sha256_add(&hash, from, length);
                if (newline && !line.full_length) {
                        line.bytes = from;
                        line.length = length;
                } else {
                        r = keep(reader, from, length, err);
                        if (r < 0)
                                return r;
                }
                line.full_length += length;
                line.is_whole = newline;
                reader->used += length + line.is_whole;
        }
        if (!line.is_whole && !line.full_length)
                return 0;
        if (!line.bytes) {
                line.bytes = reader->kept;
                line.length = reader->kept_length;
        }
        sha256_finish(&hash, line.hash);
        *out = line;
        return 1;
}

/* ---- all files ------------------------------------------------------------------------------------------ */

static int compare_numbers(const void *first, const void *second)
{
        const uint64_t *a = first, *b = second;

        return (*a > *b) - (*a < *b);
}

/* "name.17" is 17; anything else is 0. */
static uint64_t part_number(const char *entry, const char *name)
{
        size_t length = strlen(name);
        uint64_t number = 0;

        if (strncmp(entry, name, length) || entry[length] != '.' || entry[length + 1] == '0')
                return 0;
        for (entry += length + 1; *entry; entry++) {
                if (*entry < '0' || *entry > '9' || number > 1000000000)
                        return 0;
                number = number * 10 + (uint64_t)(*entry - '0');
        }
        return number;
}

int parts_list(int directory, const char *name, uint64_t **out, size_t *count, abatis_error *err)
{
        int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = copy < 0 ? NULL : fdopendir(copy);
        OWN_FREE uint64_t *numbers = NULL;
        size_t have = 0, capacity = 0;
        struct dirent *entry;
        int r = 0;

        if (!stream) {
                r = error_os(err, errno, "cannot list the directory of the audit log '%s'", name);
                if (copy >= 0)
                        close(copy);
                return r;
        }
        while (!r && have < PARTS_MAX && (entry = readdir(stream))) {
                uint64_t number = part_number(entry->d_name, name), *grown;

                if (!number)
                        continue;
                if (have == capacity) {
                        capacity = capacity ? capacity * 2 : 16;
                        grown = realloc(numbers, capacity * sizeof(*numbers));
                        if (!grown) {
                                r = error_memory(err);
                                break;
                        }
                        numbers = grown;
                }
                numbers[have++] = number;
        }
        closedir(stream);
        if (r < 0)
                return r;
        if (have)
                qsort(numbers, have, sizeof(*numbers), compare_numbers);
        *count = have;
        *out = take_pointer(numbers);
        return 0;
}

int lock_wait(int fd, int how, int patience_ms, const char *path, abatis_error *err)
{
        enum { LONGEST_US = 1000 };
        long waited = 0, step = 20;

        /* Not the waiting kind: nobody should wait without end for one who was stopped. */
        while (flock(fd, how | LOCK_NB) < 0) {
                struct timespec pause = { 0, step * 1000 };

                if (errno == EINTR)
                        continue;
                if (errno != EWOULDBLOCK)
                        return error_os(err, errno, "cannot lock the audit log '%s'", path);
                if (waited >= patience_ms * 1000L)
                        return error_set(err, ABATIS_E_SYSTEM,
                                         "another process has held the lock of the audit log '%s' for %d ms",
                                         path, patience_ms);
                nanosleep(&pause, NULL);
                waited += step;
                if (step < LONGEST_US)
                        step *= 2;
        }
        return 0;
}

static int add_part(struct snapshot *snapshot, const char *path, uint64_t number, bool is_optional,
                    abatis_error *err)
{
        OWN_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat status;
        struct part *parts;
        char *name;

        if (fd < 0 && errno == ENOENT && is_optional)
                return 0;
        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "cannot read the audit log '%s'", path);
        if (!S_ISREG(status.st_mode))
                return error_set(err, ABATIS_E_INVALID, "the audit log '%s' is not a regular file", path);
        parts = realloc(snapshot->parts, (snapshot->count + 1) * sizeof(*parts));
        if (!parts)
                return error_memory(err);
        snapshot->parts = parts;
        name = strdup(path);
        if (!name)
                return error_memory(err);
        parts[snapshot->count++] = (struct part){
                .name = name, .fd = take_fd(&fd), .number = number, .size = (uint64_t)status.st_size
        };
        return 0;
}

static int add_older_parts(struct snapshot *snapshot, const char *path, abatis_error *err)
{
        OWN_FREE char *directory = strdup(path);
        OWN_FREE uint64_t *numbers = NULL;
        OWN_FD int fd = -1;
        char *slash = directory ? strrchr(directory, '/') : NULL;
        size_t count = 0;
        int r;

        if (!directory)
                return error_memory(err);
        if (slash)
                slash[slash == directory] = '\0';
        fd = open(slash ? directory : ".", system_name_flags | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return error_os(err, errno, "cannot read the audit log '%s'", path);
        r = parts_list(fd, slash ? path + (slash - directory) + 1 : path, &numbers, &count, err);
        while (!r && count--) {
                OWN_TEXT struct text name = { 0 };

                text_addf(&name, "%s.%llu", path, (unsigned long long)numbers[count]);
                r = name.has_failed ? error_memory(err)
                                    : add_part(snapshot, name.data, numbers[count], true, err);
        }
        return r;
}

static void read_head(int fd, struct snapshot *snapshot)
{
        char bytes[HEAD_SIZE + 1];
        ssize_t got = pread(fd, bytes, sizeof(bytes), 0);

        snapshot->head_kind = got == HEAD_SIZE && head_parse(bytes, HEAD_SIZE, &snapshot->head) ? HEAD_RIGHT
                              : got                                                             ? HEAD_DAMAGED
                                                                                                : HEAD_EMPTY;
}

static int open_all(const char *path, struct snapshot *snapshot, abatis_error *err)
{
        OWN_FREE char *head_path = text_join(path, ".head", ""), *lock_path = text_join(path, ".lock", "");
        OWN_FD int lock = -1, head = -1;
        int r = 0;

        if (!head_path || !lock_path)
                return error_memory(err);
        /* A copy has no lock, and who may only read the log cannot take it: writers do not wait for him. */
        lock = open(lock_path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (lock >= 0)
                r = lock_wait(lock, LOCK_SH, LOCK_PATIENCE_MS, path, err);
        if (r < 0)
                return r;
        head = open(head_path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (head < 0 && errno != ENOENT && errno != ENOTDIR)
                return error_os(err, errno, "cannot read '%s'", head_path);
        if (head >= 0)
                read_head(head, snapshot);
        if (!r)
                r = add_older_parts(snapshot, path, err);
        /* Where something of a log is left, the file itself may be gone: that is for the reader to judge. */
        if (!r)
                r = add_part(snapshot, path, 0, head >= 0 || snapshot->count, err);
        return r;
}

int snapshot_open(const char *path, struct snapshot *out, abatis_error *err)
{
        OWN_SNAPSHOT struct snapshot snapshot = { 0 };
        OWN_FREE char *standard = NULL;
        int r = path ? 0 : usual_log_path(&standard, err);

        if (!r)
                r = open_all(path ? path : standard, &snapshot, err);
        if (r < 0)
                return r;
        *out = snapshot;
        snapshot = (struct snapshot){ 0 };
        return 0;
}

void snapshot_done(struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->count; i++) {
                free(snapshot->parts[i].name);
                close(snapshot->parts[i].fd);
        }
        free(snapshot->parts);
        *snapshot = (struct snapshot){ 0 };
}
