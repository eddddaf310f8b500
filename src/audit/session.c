/* session.c: a log while it is locked: what the next record follows, and what a dead writer has left behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/own.h"
#include "base/system.h"

enum { LOCK_MODE = 0200 };

/* ---- the files ------------------------------------------------------------------------------------------ */

static int check_facts(const struct audit_log *log, const struct system_file *facts, const char *path,
                       abatis_error *err)
{
        if (!S_ISREG(facts->mode))
                return error_set(err, ABATIS_E_INVALID, "the audit log '%s' is not a regular file", path);
        if (facts->uid != log->user)
                return error_set(err, ABATIS_E_INVALID, "the audit log '%s' belongs to another user", path);
        if (facts->mode & (S_IWGRP | S_IWOTH))
                return error_set(err, ABATIS_E_INVALID,
                                 "the audit log '%s' can be written by others; run chmod go-w", path);
        return 0;
}

static int check_file(const struct audit_log *log, int fd, const char *path, struct system_file *facts,
                      abatis_error *err)
{
        if (system_examine(fd, "", facts) < 0)
                return error_os(err, errno, "cannot examine the audit log '%s'", path);
        return check_facts(log, facts, path, err);
}

static int open_file(const struct audit_log *log, const char *name, const char *path, int flags,
                     unsigned mode, int *out, abatis_error *err)
{
        int fd = log_open_file(log, name, flags, mode);

        if (fd < 0 && errno == ELOOP)
                return error_set(err, ABATIS_E_INVALID, "the audit log '%s' is a symbolic link", path);
        if (fd < 0)
                return error_os(err, errno, "cannot open the audit log '%s'", path);
        *out = fd;
        return 0;
}

static void close_file(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* Whoever may read a file may hold its lock: a command that reads the user's files could keep every other from being
 * recorded, and so from running. This one nobody may read, not even its owner; he may write it, and the command not. */
static int take_lock(const struct audit_log *log, int patience_ms, int *fd, abatis_error *err)
{
        for (;;) {
                struct system_file facts = { 0 };
                int r = *fd >= 0 ? 0
                                 : open_file(log, log->lock_name, log->lock_path, O_WRONLY, LOCK_MODE, fd,
                                             err);

                if (!r)
                        r = lock_wait(*fd, LOCK_EX, patience_ms, log->lock_path, err);
                if (!r)
                        r = check_file(log, *fd, log->lock_path, &facts, err);
                if (!r && (facts.mode & 07777) != LOCK_MODE && fchmod(*fd, LOCK_MODE) < 0)
                        r = error_os(err, errno, "cannot close '%s' to readers", log->lock_path);
                if (r < 0 || facts.links)
                        return r;
                /* Somebody has removed it; others lock the next one. */
                close_file(fd);
        }
}

static int find_head(const struct audit_log *log, int *fd, abatis_error *err)
{
        struct system_file facts;
        int r;

        if (*fd >= 0)
                return 0;
        r = open_file(log, log->head_name, log->head_path, O_RDWR, 0600, fd, err);
        return r || log->is_private ? r : check_file(log, *fd, log->head_path, &facts, err);
}

static int open_log_file(const struct audit_log *log, struct log_files *files, struct system_file *facts,
                         abatis_error *err)
{
        int r;

        close_file(&files->fd);
        files->left.seq = 0;
        r = open_file(log, log->name, log->path, O_RDWR | O_APPEND, 0600, &files->fd, err);
        if (!r)
                r = check_file(log, files->fd, log->path, facts, err);
        files->device = facts->device;
        files->inode = facts->inode;
        return r;
}

/* *size is what the file has. */
static int find_file(const struct audit_log *log, struct log_files *files, uint64_t *size, abatis_error *err)
{
        struct system_file facts = { 0 };
        int r;

        if (files->fd < 0 || system_examine(log->directory, log->name, &facts) < 0 ||
            facts.inode != files->inode || facts.device != files->device)
                r = open_log_file(log, files, &facts, err);
        else
                r = check_facts(log, &facts, log->path, err);
        *size = facts.size;
        return r;
}

int log_sync_directory(const struct audit_log *log)
{
        OWN_FD int fd = openat(log->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -1 : fsync(fd);
}

int session_write_head(const struct session *session, const struct audit_state *state, abatis_error *err)
{
        char bytes[HEAD_SIZE];
        ssize_t written;

        head_format(state, bytes);
        written = pwrite(session->files.head, bytes, sizeof(bytes), 0);
        if (written != sizeof(bytes))
                return error_os(err, written < 0 ? errno : ENOSPC, "cannot write '%s'",
                                session->log->head_path);
        return 0;
}

/* ---- where it ends -------------------------------------------------------------------------------------- */

/* Where the line begins that ends at the offset `end`: behind the newline before it, no more than `max` bytes away. */
static int find_line(int fd, uint64_t end, uint64_t max, uint64_t *out, abatis_error *err)
{
        char buffer[4096];
        uint64_t at = end;

        while (at) {
                size_t step = at < sizeof(buffer) ? (size_t)at : sizeof(buffer);
                size_t left = step;

                if (end - at > max)
                        return error_set(err, ABATIS_E_INVALID,
                                         "its last line is longer than any record; move it away");
                if (pread(fd, buffer, step, (off_t)(at - step)) != (ssize_t)step)
                        return error_os(err, errno, "cannot read it");
                while (left && buffer[left - 1] != '\n')
                        left--;
                at -= step - left;
                if (left)
                        break;
        }
        *out = at;
        return 0;
}

/* The bytes behind the last newline, if there are any. */
static int find_fragment(struct session *session, abatis_error *err)
{
        OWN_READER struct reader reader = { 0 };
        uint64_t size = session->state.size, start = 0;
        struct line line;
        int r;

        /* Not only a line: of what a power cut takes, zeros may be left. */
        r = find_line(session->files.fd, size, AUDIT_MAX_SIZE, &start, err);
        if (r < 0 || start == size)
                return r;
        reader_init(&reader, session->files.fd, start, size);
        r = reader_next(&reader, &line, err);
        if (r < 0)
                return r;
        session->torn_bytes = size - start;
        memcpy(session->torn_sha256, line.hash, sizeof(line.hash));
        return 0;
}

static bool follows(const struct audit_state *state, uint64_t seq, const char *prev)
{
        return seq == state->seq + 1 && !memcmp(prev, state->hash, SHA256_TEXT_SIZE - 1);
}

static bool is_repair(const char *prev, const struct line *line)
{
        static const char event[] = "\",\"event\":\"repaired\",\"torn_bytes\":";
        const char *at = prev + SHA256_TEXT_SIZE - 1;

        return (size_t)(line->bytes + line->length - at) > sizeof(event) &&
               !memcmp(at, event, sizeof(event) - 1);
}

/* Takes the lines that follow what the head knows: their writer died before it could tell the head, or the head's last
 * words were lost in a power cut. What does not follow is passed over: fragments of lines, and what `audit verify` will
 * find. A fragment that lacked nothing but its newline looks like a record, until a repair says that it was none. */
static int replay(struct session *session, uint64_t from, abatis_error *err)
{
        OWN_READER struct reader reader = { 0 };
        struct audit_state *state = &session->state, before = *state;
        struct line line;
        int r;

        reader_init(&reader, session->files.fd, from, state->size);
        while ((r = reader_next(&reader, &line, err)) > 0 && line.is_whole) {
                const char *prev;
                uint64_t seq;

                if (line.full_length != line.length ||
                    !record_parse_place(line.bytes, line.length, &seq, &prev))
                        continue;
                if (follows(state, seq, prev))
                        before = *state;
                else if (!follows(&before, seq, prev) || !is_repair(prev, &line))
                        continue;
                state->seq = seq;
                memcpy(state->hash, line.hash, sizeof(line.hash));
        }
        return r < 0 ? r : 0;
}

/* Without a head the last whole line has to be believed. */
static int take_last_line(struct session *session, int fd, uint64_t size, abatis_error *err)
{
        OWN_READER struct reader reader = { 0 };
        uint64_t end = 0, start = 0;
        struct line line;
        const char *prev;
        int r = find_line(fd, size, AUDIT_MAX_SIZE, &end, err);

        if (!r && end)
                r = find_line(fd, end - 1, AUDIT_LINE_MAX, &start, err);
        if (r < 0)
                return r;
        reader_init(&reader, fd, start, end);
        r = reader_next(&reader, &line, err);
        if (r < 0)
                return r;
        if (!r || !record_parse_place(line.bytes, line.length, &session->state.seq, &prev))
                return error_set(err, ABATIS_E_INVALID,
                                 "its last line is no record, and it has no head; move it away");
        memcpy(session->state.hash, line.hash, sizeof(line.hash));
        return 0;
}

/* The first of an older part, of which the file itself has nothing yet. */
static int take_older_line(struct session *session, abatis_error *err)
{
        OWN_FREE char *name = text_join(session->log->name, ".1", "");
        OWN_FD int fd = name ? openat(session->log->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
        struct stat status;

        if (!name)
                return error_memory(err);
        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "cannot read '%s'", name);
        session->lost_head = "missing";
        return take_last_line(session, fd, (uint64_t)status.st_size, err);
}

static int begin_without_head(struct session *session, const char *why, abatis_error *err)
{
        int r;

        if (session->state.size) {
                session->lost_head = why;
                r = take_last_line(session, session->files.fd, session->state.size, err);
        } else {
                r = take_older_line(session, err);
        }
        /* Said before the first record is written: from now on a log without a head has lost it. */
        if (!r && !session->lost_head) {
                r = session_write_head(session, &session->state, err);
                if (!r && (system_sync(session->files.head) < 0 || log_sync_directory(session->log) < 0))
                        r = error_os(err, errno, "cannot write '%s'", session->log->head_path);
        }
        return r;
}

static int find_end(struct session *session, uint64_t size, abatis_error *err)
{
        char bytes[HEAD_SIZE + 1], last = '\n';
        ssize_t got = pread(session->files.head, bytes, sizeof(bytes), 0);
        struct audit_state *state = &session->state;
        uint64_t known;
        int r = 0;

        if (got < 0)
                return error_os(err, errno, "cannot read '%s'", session->log->head_path);
        head_init(state);
        if (!head_parse(bytes, (size_t)got, state)) {
                state->size = size;
                r = begin_without_head(session, got ? "damaged" : "missing", err);
        } else {
                known = state->size;
                state->size = size;
                if (known < size)
                        r = replay(session, known, err);
                /* Lines are gone, or a rotation was cut short. If we die behind our record, the next writer has to find
                 * it, and looks for it from here on. */
                else if (known > size)
                        r = session_write_head(session, state, err);
        }
        /* After a power cut a file may be as long as it should be and hold nothing. */
        if (!r && size && pread(session->files.fd, &last, 1, (off_t)size - 1) != 1)
                r = error_os(err, errno, "cannot read it");
        if (!r && last != '\n')
                r = find_fragment(session, err);
        return r;
}

/* Whoever writes makes it longer. Then the head says what it said, too. */
static bool is_as_we_left_it(const struct log_files *files, uint64_t size)
{
        return files->left.seq && files->left.size == size;
}

static void take_kept(struct session *session)
{
        struct audit_log *log = session->log;

        session->is_keeper = !__atomic_test_and_set(&log->is_taken, __ATOMIC_ACQUIRE);
        if (!session->is_keeper)
                return;
        session->files = log->kept;
        log->kept = (struct log_files)LOG_FILES_NONE;
        if (log->keeper != session->process)
                files_close(&session->files);
}

int session_begin(struct audit_log *log, int patience_ms, struct session *out, abatis_error *err)
{
        struct session session = { .log = log, .files = LOG_FILES_NONE, .process = getpid() };
        abatis_error why = { 0 };
        uint64_t size = 0;
        int r;

        take_kept(&session);
        r = take_lock(log, patience_ms, &session.files.lock, err);
        if (!r)
                r = find_head(log, &session.files.head, err);
        if (!r)
                r = find_file(log, &session.files, &size, err);
        if (!r) {
                if (is_as_we_left_it(&session.files, size))
                        session.state = session.files.left;
                else
                        r = find_end(&session, size, &why);
                if (r < 0 && err) {
                        error_set(err, r, "the audit log '%s': %s", log->path, why.message);
                        err->os_errno = why.os_errno;
                }
        }
        if (r < 0) {
                session_end(&session);
                return r;
        }
        *out = session;
        return 0;
}

void session_end(struct session *session)
{
        struct audit_log *log = session->log;

        /* By name: a process that another thread has cloned meanwhile has a copy of the descriptor, and would keep the
         * lock while it waits for that thread, which waits for the lock. */
        if (session->files.lock >= 0)
                flock(session->files.lock, LOCK_UN);
        if (!session->is_keeper) {
                files_close(&session->files);
                return;
        }
        log->kept = session->files;
        log->keeper = session->process;
        __atomic_clear(&log->is_taken, __ATOMIC_RELEASE);
}

void files_close(struct log_files *files)
{
        close_file(&files->fd);
        close_file(&files->head);
        close_file(&files->lock);
}
