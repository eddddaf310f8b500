/* audit.h: writes the audit log: one line of JSON for each event, each holding the hash of the line before it.
 *
 * A log is a file, its older parts (NAME.1 is the newest of them), a head (NAME.head), which is a line of fixed size that
 * says where the log ends, and what writers lock (NAME.lock). The head is what writers believe: a record follows the one
 * that the head names, whatever has become of the file, so that lines which were taken away stay missed for ever.
 * docs/AUDIT.md has the format.
 */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/text.h"
#include "plan/relay.h"

enum audit_sync {
        AUDIT_SYNC_NEVER, /* a record survives the death of its writer; after a power cut the last ones may be missing */
        AUDIT_SYNC_ALWAYS /* a record is on the disk when audit_append() returns */
};

struct audit_settings {
        const char *path; /* absolute; NULL is usual_log_path() */
        enum audit_sync sync;
        uint64_t max_size; /* a file does not grow beyond it; 0 is AUDIT_MAX_SIZE */
        unsigned keep;     /* how many older parts are kept; 0 is all */
};

#define AUDIT_MAX_SIZE (UINT64_C(64) << 20)

enum audit_event { AUDIT_PLANNED, AUDIT_STARTED, AUDIT_FINISHED, AUDIT_REFUSED };

struct audit_output {
        const char *sha256; /* NULL: not known, and nothing is said of this output */
        uint64_t bytes;
        bool is_truncated;
};

/* Everything is borrowed, and what is NULL is left out of the line. Lists end with NULL. */
struct audit_record {
        enum audit_event event;
        const char *id; /* joins the records of one job: audit_id_new() */
        const char *policy, *backend;
        const char *const *argv; /* any bytes; more than 4 KiB are cut, with a hash of all */
        const char *cwd, *context, *error;
        const char *const *enforced, *const *not_enforced;
        bool has_ended; /* exit_code (or signal, when that is not 0), duration_ms and timed_out are said */
        int exit_code, signal;
        double duration_ms;
        bool has_timed_out;
        bool is_cancelled; /* said only if it was */
        const char *limit; /* the key of the limit that was hit */
        struct audit_output output[2];
        const struct connections *connections; /* the first ones are said, and how many there were besides */
        const char *const
                *set_aside; /* what the command must not leave: where it is now, or, if it was removed, was */
        const char *const
                *secrets; /* wherever one of them stands in argv, cwd, context, error, a path or a connection,
                                       "***" is written; those of less than 4 bytes are not looked for */
};

struct audit_log;

/* Makes the directory (0700) where it is missing, and refuses one in which everybody may rename. */
int audit_open(const struct audit_settings *settings, struct audit_log **out, abatis_error *err);
void audit_close(struct audit_log *log);

/* Makes the files (0600) where they are missing; refuses those that are links, not regular, of another user, or writable
 * by others. Several threads and processes may do this at once, with one log or with many, after a fork too. When it
 * fails, nothing was added: what could be written of the line is taken away again. No descriptor of it is inherited, and
 * none is below 3. */
int audit_append(struct audit_log *log, const struct audit_record *record, abatis_error *err);

/* In two parts, for who has time before it is known whether the record will be written: what it says, and the files. What is
 * wrong with those is found when it is written. */
struct audit_draft {
        enum audit_event event;
        struct text members; /* owned */
};
int audit_draft(const struct audit_record *record, struct audit_draft *out, abatis_error *err);
void audit_open_ahead(struct audit_log *log);
int audit_append_draft(struct audit_log *log, const struct audit_draft *draft, abatis_error *err);
void audit_draft_done(struct audit_draft *draft);

enum { AUDIT_ID_SIZE = 16 + 1 + 10 + 1 };
/* Sixteen random digits and the process: unlike any other. */
int audit_id_new(char out[AUDIT_ID_SIZE], abatis_error *err);

#endif
