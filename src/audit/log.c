/* log.c: appends to the log: where it ends, one write, and what is undone when that fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/log.h"
#include "audit/reader.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/system.h"
#include "policy/compose.h"

/* ---- opening -------------------------------------------------------------------------------------------- */

int audit_id_new(char out[AUDIT_ID_SIZE], abatis_error *err)
{
        static const char digits[] = "0123456789abcdef";
        unsigned char random[8];
        char number[10];
        size_t at = sizeof(number);
        unsigned process = (unsigned)getpid();

        if (system_random(random, sizeof(random)) < 0)
                return error_os(err, errno, "cannot get random bytes");
        for (size_t i = 0; i < sizeof(random); i++) {
                *out++ = digits[random[i] >> 4];
                *out++ = digits[random[i] & 15];
        }
        *out++ = '-';
        do
                number[--at] = (char)('0' + process % 10);
        while (process /= 10);
        memcpy(out, number + at, sizeof(number) - at);
        out[sizeof(number) - at] = '\0';
        return 0;
}

int log_open_file(const struct audit_log *log, const char *name, int flags, unsigned mode)
{
        int fd;

        flags |= O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        /* A read behind a write would else write the time of the read, and cost more than both. */
        fd = flags & O_EXCL ? -1 : openat(log->directory, name, flags | system_unnoted_flags);
        if (fd < 0 && errno == EPERM)
                fd = openat(log->directory, name, flags); /* somebody else's, as the caller will find */
        /* Mostly it is there, and then the directory need not be locked. */
        if (fd < 0 && (flags & O_EXCL || errno == ENOENT))
                fd = openat(log->directory, name, flags | O_CREAT, mode);
        return fd_above_stdio(fd);
}

/* Root in a directory of somebody else would leave files that their owner cannot write, and go where they lead it. */
static int check_directory(const struct stat *status, const char *path, abatis_error *err)
{
        if (status->st_uid && status->st_uid != geteuid())
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s', the directory of the audit log, belongs to another user", path);
        /* Where everybody may rename, everybody may put another file in the log's place. */
        if (status->st_mode & S_IWOTH && !(status->st_mode & S_ISVTX))
                return error_set(
                        err, ABATIS_E_INVALID,
                        "'%s', the directory of the audit log, can be written by everybody; run chmod o-w",
                        path);
        return 0;
}

/* Below the last directory that is there; the path is what it was afterwards. */
static int make_missing(char *path, abatis_error *err)
{
        size_t length = strlen(path);
        struct stat status;
        abatis_error below;
        int r = 0;

        for (size_t i = length - 1; i > 0; i--) {
                bool is_there;

                if (path[i] != '/')
                        continue;
                path[i] = '\0';
                is_there = !stat(path, &status);
                if (is_there)
                        r = check_directory(&status, path, err);
                path[i] = '/';
                if (is_there)
                        break;
        }
        if (!r) {
                r = make_directories(path, true, &below);
                r = r < 0 ? error_within(err, &below, "the directory of the audit log") : 0;
        }
        return r;
}

/* Where everybody may put one, a link may be anybody's. */
static int open_path(const char *path)
{
        bool is_shared = !strncmp(path, "/tmp/", 5) || !strncmp(path, "/var/tmp/", 9);

        return fd_above_stdio(
                openat(AT_FDCWD, path,
                       system_name_flags | O_DIRECTORY | O_CLOEXEC | (is_shared ? O_NOFOLLOW : 0)));
}

static int open_directory(struct audit_log *log, abatis_error *err)
{
        size_t length = (size_t)(log->name - log->path);
        OWN_FREE char *path = strndup(log->path, length > 1 ? length - 1 : 1);
        struct stat status;

        if (!path)
                return error_memory(err);
        log->directory = open_path(path);
        if (log->directory < 0 && errno == ENOENT) {
                int r = make_missing(path, err);

                if (r < 0)
                        return r;
                log->directory = open_path(path);
        }
        if (log->directory < 0 || fstat(log->directory, &status) < 0)
                return error_os(err, errno, "cannot open the directory of the audit log, '%s'", path);
        log->is_private = status.st_uid == log->user && !(status.st_mode & (S_IWGRP | S_IWOTH));
        return check_directory(&status, path, err);
}

static int set_names(struct audit_log *log, const char *path, abatis_error *err)
{
        if (!path || *path != '/' || path[strlen(path) - 1] == '/')
                return error_set(err, ABATIS_E_INVALID, "the audit log '%s' is no absolute path of a file",
                                 path ? path : "");
        log->path = strdup(path);
        log->head_path = text_join(path, ".head", "");
        log->lock_path = text_join(path, ".lock", "");
        if (!log->path || !log->head_path || !log->lock_path)
                return error_memory(err);
        log->name = strrchr(log->path, '/') + 1;
        log->head_name = strrchr(log->head_path, '/') + 1;
        log->lock_name = strrchr(log->lock_path, '/') + 1;
        return 0;
}

int audit_open(const struct audit_settings *settings, struct audit_log **out, abatis_error *err)
{
        OWN_FREE char *standard = NULL;
        struct audit_log *log;
        int r = settings->path ? 0 : usual_log_path(&standard, err);

        if (r < 0)
                return r;
        log = calloc(1, sizeof(*log));
        if (!log)
                return error_memory(err);
        log->directory = -1;
        log->user = geteuid();
        log->kept = (struct log_files)LOG_FILES_NONE;
        log->settings = *settings;
        log->settings.path = NULL;
        if (!settings->max_size)
                log->settings.max_size = AUDIT_MAX_SIZE;
        r = set_names(log, settings->path ? settings->path : standard, err);
        if (!r)
                r = open_directory(log, err);
        if (r < 0) {
                audit_close(log);
                return r;
        }
        *out = log;
        return 0;
}

void audit_close(struct audit_log *log)
{
        if (!log)
                return;
        if (log->directory >= 0)
                close(log->directory);
        files_close(&log->kept);
        free(log->path);
        free(log->head_path);
        free(log->lock_path);
        free(log);
}

/* ---- appending ------------------------------------------------------------------------------------------ */

/* The line that follows what the state says was last; the state then says that it is. */
static void follow(struct audit_state *state, const struct text *lines, size_t start)
{
        state->seq++;
        sha256_text(lines->data + start, lines->length - start, state->hash);
}

static int build(const struct session *session, enum audit_event event, const struct text *members,
                 struct audit_state *state, struct text *lines, abatis_error *err)
{
        struct record_place place = { 0, state->hash, system_now() };
        const struct record_repair repair = { session->torn_bytes, session->torn_sha256, session->lost_head };
        size_t start = 0;

        /* The fragment becomes a line of its own: nothing that was written is taken away. */
        if (session->torn_bytes)
                text_add(lines, "\n");
        if (session->torn_bytes || session->lost_head) {
                start = lines->length;
                place.seq = state->seq + 1;
                record_add_repair(&repair, &place, lines);
                if (lines->has_failed)
                        return error_memory(err);
                follow(state, lines, start);
                text_add(lines, "\n");
        }
        start = lines->length;
        place.seq = state->seq + 1;
        record_add(event, members, &place, lines);
        if (lines->has_failed)
                return error_memory(err);
        if (lines->length - start > AUDIT_LINE_MAX)
                return error_set(err, ABATIS_E_INVALID, "a record of %zu bytes is too long for the audit log",
                                 lines->length - start);
        follow(state, lines, start);
        text_add(lines, "\n");
        return lines->has_failed ? error_memory(err) : 0;
}

/* All of it or nothing. */
static int write_lines(const struct audit_log *log, const struct session *session, const struct text *lines,
                       abatis_error *err)
{
        ssize_t written = write(session->files.fd, lines->data, lines->length);
        int os_errno = written < 0 ? errno : ENOSPC;
        bool is_done = written == (ssize_t)lines->length;

        if (is_done && log->settings.sync == AUDIT_SYNC_ALWAYS) {
                is_done = !system_sync(session->files.fd) &&
                          (session->state.size || !log_sync_directory(log)); /* a new file has a new name */
                os_errno = errno;
        }
        if (is_done)
                return 0;
        /* When this fails too, what is left has no newline, or nothing that the head knows follows it: the next writer
         * repairs it. */
        if (ftruncate(session->files.fd, (off_t)session->state.size) < 0 && written < 0)
                os_errno = errno;
        return error_os(err, os_errno, "cannot write the audit log '%s'", log->path);
}

int audit_draft(const struct audit_record *record, struct audit_draft *out, abatis_error *err)
{
        *out = (struct audit_draft){ .event = record->event };
        record_describe(record, &out->members);
        if (!out->members.has_failed)
                return 0;
        audit_draft_done(out);
        return error_memory(err);
}

void audit_draft_done(struct audit_draft *draft)
{
        text_done(&draft->members);
}

void audit_open_ahead(struct audit_log *log)
{
        struct session session;

        if (session_begin(log, 0, &session, NULL) < 0)
                return;
        if (!session.torn_bytes && !session.lost_head)
                session.files.left = session.state;
        session_end(&session);
}

int audit_append_draft(struct audit_log *log, const struct audit_draft *draft, abatis_error *err)
{
        OWN_TEXT struct text lines = { 0 };
        struct session session;
        struct audit_state state;
        int r = session_begin(log, LOCK_PATIENCE_MS, &session, err);

        if (r < 0)
                return r;
        state = session.state;
        r = build(&session, draft->event, &draft->members, &state, &lines, err);
        if (!r && session.state.size && !session.torn_bytes &&
            session.state.size + lines.length > log->settings.max_size) {
                r = session_rotate(&session, err);
                state.first = session.state.first;
        }
        if (!r)
                r = write_lines(log, &session, &lines, err);
        if (!r) {
                state.size = session.state.size + lines.length;
                r = session_write_head(&session, &state, err);
                /* A record that the head does not know would be none that can be missed. */
                if (r < 0 && ftruncate(session.files.fd, (off_t)session.state.size) < 0)
                        r = error_os(err, errno, "cannot write the audit log '%s'", log->path);
        }
        session.files.left = state;
        session.files.left.seq = r ? 0 : state.seq;
        session_end(&session);
        return r;
}

int audit_append(struct audit_log *log, const struct audit_record *record, abatis_error *err)
{
        struct audit_draft draft;
        /* Before others have to wait: secrets are looked for in all of it. */
        int r = audit_draft(record, &draft, err);

        if (r < 0)
                return r;
        r = audit_append_draft(log, &draft, err);
        audit_draft_done(&draft);
        return r;
}
