/* run_windows.h: carries a plan out on Windows: one command, from its container to the death of its whole tree. */
#ifndef RUN_RUN_WINDOWS_H
#define RUN_RUN_WINDOWS_H

#include "run/journal_windows.h"
#include "run/run.h"

/* All borrowed. */
struct windows_command {
        const char *program;            /* absolute */
        const char *const *argv;        /* ends with NULL */
        const char *directory;          /* absolute */
        const char *const *environment; /* NAME=VALUE, filtered already; ends with NULL */
        HANDLE input;                   /* what the command reads; NULL is nothing */
        HANDLE output[2]; /* where each of its streams is written to as it comes; NULL: it is kept */
        uint64_t most;    /* bytes of each; 0: all */
        HANDLE cancel;    /* an event that ends it, or NULL */
};

/* Undoes what earlier ones have left, and then runs the command. *report may be NULL. Whatever is returned, nothing of the
 * job runs any more, and what could not be undone stays in the journal. The caller owns what is in *out. */
int windows_run(const struct plan *plan, const uint64_t limits[LIMIT_COUNT],
                const struct windows_command *command, struct job_outcome *out, struct journal_report *report,
                abatis_error *err);

#endif
