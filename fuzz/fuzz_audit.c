/* fuzz_audit.c: whatever lies where the audit log should be is answered without harm, and the next record is not lost in it.
 *
 * Up to the first NUL the input is the head, what follows is the log.
 *
 * links: src/audit/*.c src/plan/connection.c src/base/fd.c src/base/json.c src/base/json_text.c src/base/sha256*.c
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/read.h"
#include "base/error.h"
#include "policy/compose.h"

/* What the log wants of other folders, which would bring the whole policy with them. */
int usual_log_path(char **out, abatis_error *err)
{
        (void)out;
        return error_set(err, ABATIS_E_INVALID, "no log but the one that is given");
}

int make_directories(char *path, bool with_last, abatis_error *err)
{
        (void)path;
        (void)with_last;
        (void)err;
        return -1;
}

const char *abatis_version(void)
{
        return "fuzz";
}

static char directory[64], log_path[128], head_path[128];

static void remove_all(void)
{
        unlink(log_path);
        unlink(head_path);
        rmdir(directory);
}

static void prepare(void)
{
        snprintf(directory, sizeof(directory), "/dev/shm/abatis-fuzz-audit.%d", (int)getpid());
        if (mkdir(directory, 0700) < 0) {
                snprintf(directory, sizeof(directory), "/var/tmp/abatis-fuzz-audit.%d", (int)getpid());
                if (mkdir(directory, 0700) < 0)
                        abort();
        }
        snprintf(log_path, sizeof(log_path), "%s/log", directory);
        snprintf(head_path, sizeof(head_path), "%s/log.head", directory);
        atexit(remove_all);
}

static void put(const char *path, const uint8_t *data, size_t size)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || write(fd, data, size) != (ssize_t)size)
                abort();
        close(fd);
}

static void ask_everything(void)
{
        static const char *const verdicts[] = { NULL, "ok" };
        abatis_error err;
        char *out;
        int faults;

        if (!audit_verify(log_path, &out, &faults, &err))
                free(out);
        for (int i = 0; i < 2; i++) {
                abatis_audit_query query = { .size = sizeof(query),
                                             .file = log_path,
                                             .verdict = verdicts[i] };

                for (int format = 0; format < 2; format++) {
                        if (!audit_list(&query, (abatis_format)format, &out, &err))
                                free(out);
                        if (!audit_stats(&query, (abatis_format)format, &out, &err))
                                free(out);
                        query.id = "a";
                        if (!audit_show(&query, (abatis_format)format, &out, &err))
                                free(out);
                        query.id = NULL;
                }
                if (!audit_report(&query, &out, &err)) {
                        if (strstr(out, "<script") || strstr(out, "<img"))
                                abort();
                        free(out);
                }
                if (!audit_sql(&query, &out, &err))
                        free(out);
        }
}

/* Either it is refused and nothing has changed, or it is the last line. */
static void append_one(void)
{
        static const char *const argv[] = { "the-next-one", NULL };
        const struct audit_settings settings = { .path = log_path };
        const struct audit_record record = { .event = AUDIT_PLANNED, .id = "a-1", .argv = argv };
        static const char wanted[] = "\"event\":\"planned\",\"id\":\"a-1\",\"argv\":[\"the-next-one\"]}\n";
        struct audit_log *log;
        struct stat before, after;
        char end[sizeof(wanted)] = "";
        abatis_error err;
        int fd, r;

        if (stat(log_path, &before) < 0 || audit_open(&settings, &log, &err) < 0)
                abort();
        r = audit_append(log, &record, &err);
        audit_close(log);
        fd = open(log_path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &after) < 0 || (r < 0 && after.st_size != before.st_size) ||
            (!r && (pread(fd, end, sizeof(wanted) - 1, after.st_size - (off_t)sizeof(wanted) + 1) < 0 ||
                    strcmp(end, wanted))))
                abort();
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
        size_t head = nul ? (size_t)(nul - data) : 0, skipped = nul ? head + 1 : 0;

        if (!*directory)
                prepare();
        unlink(head_path);
        if (nul)
                put(head_path, data, head);
        put(log_path, data + skipped, size - skipped);
        ask_everything();
        append_one();
        ask_everything();
        return 0;
}
