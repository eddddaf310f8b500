/* reader.h: a log line by line, through all of its files, as it was at one moment. */
#ifndef AUDIT_READER_H
#define AUDIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "audit/head.h"

/* ---- one file ------------------------------------------------------------------------------------------- */

struct line {
        const char *bytes;    /* borrowed until the next line; without newline */
        size_t length;        /* AUDIT_LINE_MAX at most: the rest of a longer line is only hashed */
        uint64_t full_length; /* of the line in the file */
        bool is_whole;        /* a newline ended it */
        char hash[SHA256_TEXT_SIZE];
};

struct reader {
        int fd;           /* borrowed */
        uint64_t at, end; /* what has not been read into the buffer yet */
        char *buffer;     /* owned */
        size_t have, used;
        char *kept; /* owned: a line that goes on beyond the buffer */
        size_t kept_length, kept_capacity;
};

/* From the offset `at` to the offset `end`. */
void reader_init(struct reader *reader, int fd, uint64_t at, uint64_t end);
void reader_done(struct reader *reader);
#define OWN_READER __attribute__((cleanup(reader_done)))
/* 1: there is one; 0: no more; negative: an error. */
int reader_next(struct reader *reader, struct line *out, abatis_error *err);

/* ---- all files ------------------------------------------------------------------------------------------ */

struct part {
        char *name; /* owned: the whole path */
        int fd;     /* owned */
        uint64_t number, size;
};

enum head_kind {
        HEAD_MISSING,
        HEAD_EMPTY, /* a writer was killed before its first record, or somebody has emptied it */
        HEAD_DAMAGED,
        HEAD_RIGHT
};

struct snapshot {
        struct part *parts; /* owned; the oldest first, the file itself last */
        size_t count;
        enum head_kind head_kind;
        struct audit_state head;
};

/* Holds the lock only while the files are opened: no writer waits for a reader. Fails when there is neither log nor
 * head. A NULL path is usual_log_path(). */
int snapshot_open(const char *path, struct snapshot *out, abatis_error *err);
void snapshot_done(struct snapshot *snapshot);
#define OWN_SNAPSHOT __attribute__((cleanup(snapshot_done)))

/* The numbers behind the name of a log in its directory: those of its older parts, ascending. */
int parts_list(int directory, const char *name, uint64_t **out, size_t *count, abatis_error *err);

/* `how` is LOCK_SH or LOCK_EX. */
enum { LOCK_PATIENCE_MS = 10000 };
int lock_wait(int fd, int how, int patience_ms, const char *path, abatis_error *err);

#endif
