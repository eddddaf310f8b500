/* rotate.c: begins a new file when the log has grown too large. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

static char *part_name(const struct audit_log *log, uint64_t number)
{
        char digits[24];

        snprintf(digits, sizeof(digits), ".%llu", (unsigned long long)number);
        return text_join(log->name, digits, "");
}

static int move(const struct audit_log *log, uint64_t from, uint64_t to, abatis_error *err)
{
        OWN_FREE char *old = part_name(log, from), *new = part_name(log, to);

        if (!old || !new)
                return error_memory(err);
        if (renameat(log->directory, from ? old : log->name, log->directory, new) < 0)
                return error_os(err, errno, "cannot rotate the audit log '%s'", log->path);
        return 0;
}

/* Older parts move up by one, as far as there is no gap: a writer that died here has left one, and it is filled. */
static int shift(const struct audit_log *log, const uint64_t *numbers, size_t count, abatis_error *err)
{
        size_t run = 0;
        int r = 0;

        while (run < count && numbers[run] == run + 1)
                run++;
        while (!r && run) {
                r = move(log, run, run + 1, err);
                run--;
        }
        return r ? r : move(log, 0, 1, err);
}

/* The number of the first record in a part; 0 when it has none. */
static int first_seq(const struct audit_log *log, uint64_t number, uint64_t *out, abatis_error *err)
{
        OWN_FREE char *name = part_name(log, number);
        OWN_FD int fd =
                name ? openat(log->directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
        OWN_READER struct reader reader = { 0 };
        struct line line;
        const char *prev;
        int r;

        if (!name)
                return error_memory(err);
        if (fd < 0)
                return error_os(err, errno, "cannot read '%s'", name);
        reader_init(&reader, fd, 0, AUDIT_LINE_MAX);
        r = reader_next(&reader, &line, err);
        if (r < 0)
                return r;
        if (!r || !record_parse_place(line.bytes, line.length, out, &prev))
                *out = 0;
        return 0;
}

/* Takes away what is older than the settings want. The head learns it first: if we die between the two, more is there
 * than was promised, not less. */
static int drop(struct session *session, abatis_error *err)
{
        const struct audit_log *log = session->log;
        OWN_FREE uint64_t *numbers = NULL;
        size_t count = 0;
        uint64_t first = 0, oldest = 1;
        int r;

        if (!log->settings.keep)
                return 0;
        r = parts_list(log->directory, log->name, &numbers, &count, err);
        if (r < 0 || !count || numbers[count - 1] <= log->settings.keep)
                return r;
        for (size_t i = 0; i < count && numbers[i] <= log->settings.keep; i++)
                oldest = numbers[i];
        r = first_seq(log, oldest, &first, err);
        if (!r && first > session->state.first && first <= session->state.seq) {
                session->state.first = first;
                r = session_write_head(session, &session->state, err);
        }
        for (size_t i = 0; !r && i < count; i++)
                if (numbers[i] > log->settings.keep) {
                        OWN_FREE char *name = part_name(log, numbers[i]);

                        if (!name)
                                r = error_memory(err);
                        else if (unlinkat(log->directory, name, 0) < 0)
                                r = error_os(err, errno, "cannot remove '%s'", name);
                }
        return r;
}

int session_rotate(struct session *session, abatis_error *err)
{
        const struct audit_log *log = session->log;
        OWN_FREE uint64_t *numbers = NULL;
        size_t count = 0;
        int fd, r = parts_list(log->directory, log->name, &numbers, &count, err);

        /* From here until the next record the head speaks of a file that is shorter than it says, or not there: then
         * writers believe the head. So it must know the last record. */
        if (!r)
                r = session_write_head(session, &session->state, err);
        if (!r)
                r = shift(log, numbers, count, err);
        if (r < 0)
                return r;
        fd = log_open_file(log, log->name, O_RDWR | O_APPEND | O_EXCL, 0600);
        if (fd < 0)
                return error_os(err, errno, "cannot open the audit log '%s'", log->path);
        close(session->files.fd);
        session->files.fd = fd;
        session->state.size = 0;
        /* Now it must be found from the beginning, should we die between the next record and the next head. */
        r = session_write_head(session, &session->state, err);
        return r ? r : drop(session, err);
}
