/* record.h: a record as a line of the log, and what every line begins with. */
#ifndef AUDIT_RECORD_H
#define AUDIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/text.h"

/* No line that a writer makes is longer, whatever the record holds. */
enum { AUDIT_LINE_MAX = 256 * 1024 };

/* Where a line stands. */
struct record_place {
        uint64_t seq;
        const char *prev;     /* borrowed: the hash of the line before it, without its newline */
        int64_t microseconds; /* since 1970 */
};

/* What a writer did about a log that it found in disorder. */
struct record_repair {
        uint64_t torn_bytes; /* of a last line without newline; 0: there was none */
        const char *torn_sha256;
        const char *head; /* "missing", "damaged", or NULL when it was right */
};

/* What a record says wherever it stands: the rest of its line behind the event. After a failure the text is marked, and
 * nothing of a secret is in it. */
void record_describe(const struct audit_record *record, struct text *out);
/* One line without its newline. */
void record_add(enum audit_event event, const struct text *members, const struct record_place *place,
                struct text *out);
void record_add_repair(const struct record_repair *repair, const struct record_place *place,
                       struct text *out);

/* What a line must begin with to be a record, exactly as record_add() writes it; prev is borrowed from the line, 64
 * digits. */
bool record_parse_place(const char *line, size_t length, uint64_t *seq, const char **prev);

/* "2026-11-15T11:42:58.123456Z" */
enum { RECORD_TIME_SIZE = 28 };
void record_format_time(int64_t microseconds, char out[RECORD_TIME_SIZE]);

#endif
