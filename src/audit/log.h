/* log.h: a log while it is locked. */
#ifndef AUDIT_LOG_H
#define AUDIT_LOG_H

#include <sys/types.h>

#include "audit/audit.h"
#include "audit/head.h"

/* Each -1 while there is none. */
struct log_files {
        int lock, head, fd;      /* owned */
        uint64_t device, inode;  /* of the log */
        struct audit_state left; /* how we left it, and its size then, behind a newline; seq 0: not known */
};
#define LOG_FILES_NONE                           \
        {                                        \
                .lock = -1, .head = -1, .fd = -1 \
        }

struct audit_log {
        struct audit_settings settings;           /* without the path */
        int directory;                            /* owned */
        char *path, *head_path, *lock_path;       /* owned */
        const char *name, *head_name, *lock_name; /* borrowed from them: within the directory */
        uid_t user;                               /* whose it must be */
        bool is_private;                          /* nobody else can put a file into the directory */
        bool is_taken;                            /* somebody writes with what is kept; an atomic */
        pid_t keeper;                             /* the process that may use it */
        struct log_files kept;                    /* owned */
};

/* What was opened for the last record is kept for the next one, by whoever comes first: a lock belongs to an opened file,
 * and threads that used the same one would share it. So would a process that was forked; it opens its own. Under the lock
 * it is seen whether the names still lead there: rotation, or somebody else, may have moved or removed them. A head that
 * was removed is missed by the next process. */
struct session {
        struct audit_log *log;  /* borrowed */
        struct log_files files; /* owned */
        bool is_keeper;         /* they go back into the log */
        pid_t process;
        struct audit_state
                state;       /* what the next record follows; its size is the file's, fragment included */
        uint64_t torn_bytes; /* of a last line without newline */
        char torn_sha256[SHA256_TEXT_SIZE];
        const char *lost_head; /* why the head could not be believed, or NULL */
};

void files_close(struct log_files *files);

int session_begin(struct audit_log *log, int patience_ms, struct session *out, abatis_error *err);
void session_end(struct session *session);
int session_write_head(const struct session *session, const struct audit_state *state, abatis_error *err);
/* Moves the file to NAME.1 and what stood there further; the next record begins a new one. */
int session_rotate(struct session *session, abatis_error *err);

/* Made with the mode if it is missing. A descriptor above 2, or -1 with errno. */
int log_open_file(const struct audit_log *log, const char *name, int flags, unsigned mode);
/* 0, or -1 with errno. */
int log_sync_directory(const struct audit_log *log);

#endif
