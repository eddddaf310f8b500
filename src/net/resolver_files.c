/* resolver_files.c: reads /etc/hosts and /etc/resolv.conf, anew when they have changed.
 *
 * What libc would not understand is skipped and not refused: these files are the host's, and its other programs live with
 * them as they are. */
#define _GNU_SOURCE
#include "net/resolver_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host_name.h"
#include "base/own.h"

enum {
        FILE_MAX = 1024 * 1024,
        LOOK_MS = 1000,
        TIMEOUT_S = 5, /* these and their bounds are libc's */
        TIMEOUT_MAX_S = 30,
        ATTEMPTS = 2,
        ATTEMPTS_MAX = 5,
        HOSTS_FIRST = 64,
};

struct host {
        const char *name; /* borrowed of the text; where it lies tells the order in the file */
        struct address address;
};

/* ---- files ---------------------------------------------------------------------------------------------- */

/* Taken before the file is read: one that changes meanwhile is read again. */
static bool is_changed(const struct resolver_file *file, struct resolver_stamp *out)
{
        const struct resolver_stamp *old = &file->stamp;
        struct stat status;

        *out = (struct resolver_stamp){ 0 };
        if (!(file->given < 0 ? stat(file->path, &status) : fstat(file->given, &status)) &&
            S_ISREG(status.st_mode))
                *out = (struct resolver_stamp){ true, status.st_dev, status.st_ino, status.st_size,
                                                status.st_mtim };
        return !file->was_read || out->is_there != old->is_there || out->device != old->device ||
               out->inode != old->inode || out->size != old->size ||
               out->changed.tv_sec != old->changed.tv_sec || out->changed.tv_nsec != old->changed.tv_nsec;
}

static size_t read_bytes(int fd, char *out, size_t size)
{
        size_t length = 0;

        while (length < size) {
                ssize_t got = read(fd, out + length, size - length);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        break;
                length += (size_t)got;
        }
        return length;
}

/* With room for one byte behind the text. A file that cannot be read is an empty one, as it is to libc. NULL for want of memory; and for
 * a file that was read before and may not be now, since another has taken its place outside of the relay's cage: then what it said
 * counts, until that one is given. */
static char *read_text(struct resolver_file *file, const struct resolver_stamp *stamp, size_t *length)
{
        /* Nothing but a regular file is opened; should it just have become a pipe, that does not block. */
        OWN_FD int opened = stamp->is_there && file->given < 0
                                    ? open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                                    : -1;
        const int fd = file->given < 0 ? opened : file->given;
        const bool is_kept = stamp->is_there && fd < 0 && errno == EACCES && file->was_read;
        size_t size = fd < 0 ? 0 : stamp->size < FILE_MAX ? (size_t)stamp->size : FILE_MAX;
        char *text = is_kept ? NULL : malloc(size + 1);
        struct stat status;

        file->is_shut = is_kept;
        if (!text)
                return NULL;
        *length = 0;
        if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
                *length = read_bytes(fd, text, size);
        /* Half a line could say something that nobody wrote. */
        while (stamp->size > FILE_MAX && *length && text[*length - 1] != '\n')
                (*length)--;
        return text;
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

struct span {
        char *at, *end;
};

static struct span next_line(struct span *text, const char *comments)
{
        struct span line = { text->at, memchr(text->at, '\n', (size_t)(text->end - text->at)) };

        if (!line.end)
                line.end = text->end;
        text->at = line.end < text->end ? line.end + 1 : line.end;
        for (char *at = line.at; at < line.end; at++)
                if (*at && strchr(comments, *at))
                        line.end = at;
        return line;
}

static bool is_space(char character)
{
        return character == ' ' || character == '\t' || character == '\r';
}

/* False at the line's end. */
static bool next_word(struct span *line, struct span *out)
{
        while (line->at < line->end && is_space(*line->at))
                line->at++;
        out->at = line->at;
        while (line->at < line->end && !is_space(*line->at))
                line->at++;
        out->end = line->at;
        /* What ended it is read too: whoever keeps the word writes its terminator there. */
        if (line->at < line->end)
                line->at++;
        return out->at < out->end;
}

static bool word_is(const struct span *word, const char *text)
{
        size_t length = strlen(text);

        return (size_t)(word->end - word->at) == length && !memcmp(word->at, text, length);
}

/* ---- hosts ---------------------------------------------------------------------------------------------- */

static int compare_hosts(const void *first, const void *second)
{
        const struct host *a = first, *b = second;
        int order = strcmp(a->name, b->name);

        return order ? order : (a->name > b->name) - (a->name < b->name);
}

struct hosts {
        struct host *items; /* owned */
        size_t count, capacity;
};

static bool add_host(struct hosts *hosts, const char *name, const struct address *address)
{
        if (hosts->count == hosts->capacity) {
                size_t capacity = hosts->capacity ? 2 * hosts->capacity : HOSTS_FIRST;
                struct host *items = realloc(hosts->items, capacity * sizeof(*items));

                if (!items)
                        return false;
                hosts->items = items;
                hosts->capacity = capacity;
        }
        hosts->items[hosts->count++] = (struct host){ name, *address };
        return true;
}

/* False for want of memory. */
static bool read_hosts(struct span text, struct hosts *out)
{
        while (text.at < text.end) {
                struct span line = next_line(&text, "#"), word;
                struct address address;

                if (!next_word(&line, &word) ||
                    !address_parse(word.at, (size_t)(word.end - word.at), &address))
                        continue;
                while (next_word(&line, &word)) {
                        char name[HOST_NAME_SIZE];

                        if (!host_name_read(word.at, (size_t)(word.end - word.at), name))
                                continue;
                        /* It is no longer than it was written, so the terminator lies on what ended it at the furthest. */
                        memcpy(word.at, name, strlen(name) + 1);
                        if (!add_host(out, word.at, &address))
                                return false;
                }
        }
        return true;
}

static void refresh_hosts(struct resolver_files *files)
{
        OWN_FREE char *text = NULL;
        struct resolver_stamp stamp;
        struct hosts hosts = { 0 };
        size_t length;

        if (!is_changed(&files->hosts_file, &stamp))
                return;
        text = read_text(&files->hosts_file, &stamp, &length);
        if (!text || !read_hosts((struct span){ text, text + length }, &hosts)) {
                free(hosts.items);
                return;
        }
        if (hosts.count)
                qsort(hosts.items, hosts.count, sizeof(*hosts.items), compare_hosts);
        free(files->hosts);
        free(files->text);
        files->hosts = hosts.items;
        files->host_count = hosts.count;
        files->text = take_pointer(text);
        files->hosts_file.stamp = stamp;
        files->hosts_file.was_read = true;
}

static bool has_address(const struct address *addresses, size_t count, const struct address *wanted)
{
        for (size_t i = 0; i < count; i++)
                if (address_equals(&addresses[i], wanted))
                        return true;
        return false;
}

size_t resolver_files_find(const struct resolver_files *files, const char *name,
                           struct address out[RESOLVER_ADDRESSES_MAX])
{
        size_t low = 0, high = files->host_count, count = 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (strcmp(files->hosts[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (int is_v4 = 0; is_v4 < 2; is_v4++) {
                size_t most = count + DNS_ADDRESSES_MAX;

                for (size_t i = low; i < files->host_count && !strcmp(files->hosts[i].name, name); i++) {
                        const struct address *address = &files->hosts[i].address;

                        if (address->is_v6 == !is_v4 && count < most && !has_address(out, count, address))
                                out[count++] = *address;
                }
        }
        return count;
}

/* ---- servers -------------------------------------------------------------------------------------------- */

/* The number of "NAME:NUMBER", within these bounds. False leaves *out untouched. */
static bool read_option(const struct span *word, const char *name, int64_t most, int64_t *out)
{
        size_t length = strlen(name);
        int64_t value = 0;

        if ((size_t)(word->end - word->at) <= length || memcmp(word->at, name, length) != 0)
                return false;
        for (const char *at = word->at + length; at < word->end; at++) {
                if (*at < '0' || *at > '9')
                        return false;
                value = 10 * value + (*at - '0');
                value = value > most ? most : value;
        }
        *out = value ? value : 1;
        return true;
}

static void read_servers(struct span text, struct resolver_servers *out)
{
        int64_t timeout = TIMEOUT_S, attempts = ATTEMPTS;

        *out = (struct resolver_servers){ 0 };
        while (text.at < text.end) {
                const char *start = text.at;
                struct span line = next_line(&text, "#;"), word;
                struct address address;

                /* To libc, a line that begins with a space says nothing. */
                if (!next_word(&line, &word) || word.at != start)
                        continue;
                if (word_is(&word, "nameserver")) {
                        if (next_word(&line, &word) && out->count < RESOLVER_SERVERS_MAX &&
                            address_parse(word.at, (size_t)(word.end - word.at), &address))
                                out->addresses[out->count++] = address;
                } else if (word_is(&word, "options")) {
                        while (next_word(&line, &word))
                                if (!read_option(&word, "timeout:", TIMEOUT_MAX_S, &timeout))
                                        read_option(&word, "attempts:", ATTEMPTS_MAX, &attempts);
                }
        }
        if (!out->count)
                out->addresses[out->count++] = (struct address){ .bytes = { 127, 0, 0, 1 } };
        out->timeout_ms = 1000 * timeout;
        out->attempts = (size_t)attempts;
}

static bool refresh_servers(struct resolver_files *files)
{
        OWN_FREE char *text = NULL;
        struct resolver_stamp stamp;
        size_t length;

        if (!is_changed(&files->servers_file, &stamp))
                return false;
        text = read_text(&files->servers_file, &stamp, &length);
        if (!text)
                return false;
        read_servers((struct span){ text, text + length }, &files->servers);
        files->servers_file.stamp = stamp;
        files->servers_file.was_read = true;
        return true;
}

bool resolver_files_refresh(struct resolver_files *files, int64_t now)
{
        if (now < files->next_look)
                return false;
        files->next_look = now + LOOK_MS;
        files->hosts_file.is_shut = files->servers_file.is_shut = false;
        refresh_hosts(files);
        return refresh_servers(files);
}

bool resolver_files_take(struct resolver_files *files, enum resolver_file_kind kind, int fd)
{
        struct resolver_file *file = kind == RESOLVER_HOSTS ? &files->hosts_file : &files->servers_file;
        bool is_other = false;

        file->given = fd;
        if (kind == RESOLVER_HOSTS)
                refresh_hosts(files);
        else
                is_other = refresh_servers(files);
        file->given = -1;
        close(fd);
        return is_other;
}

int resolver_files_init(struct resolver_files *files, const char *hosts, const char *resolv_conf, int64_t now)
{
        *files = (struct resolver_files){
                .hosts_file = { .path = strdup(hosts ? hosts : "/etc/hosts"), .given = -1 },
                .servers_file = { .path = strdup(resolv_conf ? resolv_conf : "/etc/resolv.conf"),
                                  .given = -1 },
                .next_look = now,
        };
        if (!files->hosts_file.path || !files->servers_file.path)
                return -ENOMEM;
        resolver_files_refresh(files, now);
        return files->hosts_file.was_read && files->servers_file.was_read ? 0 : -ENOMEM;
}

void resolver_files_done(struct resolver_files *files)
{
        free(files->hosts_file.path);
        free(files->servers_file.path);
        free(files->hosts);
        free(files->text);
        *files = (struct resolver_files){ 0 };
}
