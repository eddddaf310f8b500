/* log.h: a log while it is locked. */
#ifndef AUDIT_LOG_H
#define AUDIT_LOG_H

#include "audit/audit.h"
#include "audit/head.h"

struct audit_log {
        struct audit_settings settings;           /* without the path */
        int directory;                            /* owned */
        char *path, *head_path, *lock_path;       /* owned */
        const char *name, *head_name, *lock_name; /* borrowed from them: within the directory */
};

/* All files are opened anew for each record. A lock belongs to an opened file: threads, and processes that were forked
 * with one in their hands, would share it; and whoever opens the log under the lock finds the one that rotation left. */
struct session {
        const struct audit_log *log; /* borrowed */
        int lock, head, fd;          /* owned */
        struct audit_state
                state;       /* what the next record follows; its size is the file's, fragment included */
        uint64_t torn_bytes; /* of a last line without newline */
        char torn_sha256[SHA256_TEXT_SIZE];
        const char *lost_head; /* why the head could not be believed, or NULL */
};

int session_begin(const struct audit_log *log, struct session *out, abatis_error *err);
void session_end(struct session *session);
int session_write_head(const struct session *session, const struct audit_state *state, abatis_error *err);
/* Moves the file to NAME.1 and what stood there further; the next record begins a new one. */
int session_rotate(struct session *session, abatis_error *err);

/* Made with the mode if it is missing. A descriptor above 2, or -1 with errno. */
int log_open_file(const struct audit_log *log, const char *name, int flags, unsigned mode);
/* 0, or -1 with errno. */
int log_sync_directory(const struct audit_log *log);

#endif
