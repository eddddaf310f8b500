/* audits.c: audit logs for tests: records, and the files read and changed behind the log's back. */
#define _GNU_SOURCE
#include "audits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/sha256.h"

const char *log_path(void)
{
        return at("log/audit.jsonl");
}

const char *head_path(void)
{
        return at("log/audit.jsonl.head");
}

struct audit_log *open_log(uint64_t max_size, unsigned keep)
{
        const struct audit_settings settings = { .path = log_path(), .max_size = max_size, .keep = keep };
        struct audit_log *log = NULL;
        abatis_error err;

        if (audit_open(&settings, &log, &err) < 0)
                fail_msg("%s", err.message);
        return log;
}

void append(struct audit_log *log, enum audit_event event, const char *id, const char *word)
{
        const char *const argv[] = { word, NULL };
        const struct audit_record record = { .event = event, .id = id, .argv = argv };
        abatis_error err;

        if (audit_append(log, &record, &err) < 0)
                fail_msg("%s", err.message);
}

void write_log(int count)
{
        struct audit_log *log = open_log(0, 0);

        for (int i = 1; i <= count; i++) {
                char word[24];

                snprintf(word, sizeof(word), "word%d", i);
                append(log, AUDIT_PLANNED, "a-1", word);
        }
        audit_close(log);
}

char *read_text(const char *path, size_t *length)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
        char *text;

        assert_true(size >= 0);
        text = malloc((size_t)size + 1);
        assert_non_null(text);
        assert_int_equal(pread(fd, text, (size_t)size, 0), size);
        text[size] = '\0';
        close(fd);
        if (length)
                *length = (size_t)size;
        return text;
}

void write_text(const char *path, const char *text, size_t length)
{
        int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, length), (ssize_t)length);
        close(fd);
}

char **read_lines(const char *path, size_t *count)
{
        size_t length;
        char *text = read_text(path, &length), **lines = NULL;

        *count = 0;
        for (char *from = text, *end; from < text + length; from = end) {
                end = memchr(from, '\n', (size_t)(text + length - from));
                end = end ? end + 1 : text + length;
                lines = realloc(lines, (*count + 1) * sizeof(*lines));
                assert_non_null(lines);
                lines[*count] = strndup(from, (size_t)(end - from));
                assert_non_null(lines[(*count)++]);
        }
        free(text);
        return lines;
}

void write_lines_to(const char *path, char *const *lines, size_t count)
{
        size_t length = 0;
        char *text;

        for (size_t i = 0; i < count; i++)
                length += lines[i] ? strlen(lines[i]) : 0;
        text = calloc(1, length + 1);
        assert_non_null(text);
        for (size_t i = 0; i < count; i++)
                strcat(text, lines[i] ? lines[i] : "");
        write_text(path, text, length);
        free(text);
}

void free_lines(char **lines, size_t count)
{
        while (count)
                free(lines[--count]);
        free(lines);
}

void assert_verifies(int faults, ...)
{
        abatis_error err = { .message = "" };
        char *said = NULL;
        const char *wanted;
        va_list texts;
        int found = 0;

        if (audit_verify(log_path(), &said, &found, &err) < 0)
                fail_msg("%s", err.message);
        if (faults < 0 ? !found : found != faults)
                fail_msg("%d faults instead of %d: %s", found, faults, said);
        va_start(texts, faults);
        while ((wanted = va_arg(texts, const char *)))
                if (!strstr(said, wanted))
                        fail_msg("not said: %s in: %s", wanted, said);
        va_end(texts);
        free(said);
}

char *hash_of_line(const char *line)
{
        static char hash[SHA256_TEXT_SIZE];

        sha256_text(line, strcspn(line, "\n"), hash);
        return hash;
}
