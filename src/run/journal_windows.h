/* journal_windows.h: what has to be undone if abatis does not live to do it. */
#ifndef RUN_JOURNAL_WINDOWS_H
#define RUN_JOURNAL_WINDOWS_H

#include "base/text.h"
#include "run/system_windows.h"

/* A file for each job, named as its container, that lists the trees in which there are entries for it. While the job lives it is open and shared
 * with nobody: so whoever can open it knows that the job is over, however it ended. */
struct journal {
        HANDLE file; /* owned */
};

/* Where they are: in the user's own directory, which is made if it is not there. Owned by the caller. */
int journal_find_directory(char **out, abatis_error *err);

/* On the disk when this returns. */
int journal_begin(const char *directory, const char *name, const struct strings *trees, struct journal *out,
                  abatis_error *err);
/* When everything is undone: removes it. */
int journal_end(struct journal *journal, abatis_error *err);
/* When not: it stays for the next start. */
void journal_leave(struct journal *journal);

/* Reads one. Whatever is not exactly as journal_begin() writes it is refused as a whole. */
int journal_parse(const char *text, size_t length, const char *name, struct strings *trees,
                  abatis_error *err);

struct journal_report {
        size_t undone;      /* jobs that were not ended by their abatis */
        size_t entries;     /* of access lists, that were taken away */
        size_t alive;       /* jobs of another abatis that runs */
        size_t refused;     /* files that are no journals of ours, or could not be undone: left as they are */
        abatis_error first; /* why, of the first of those */
};

/* Undoes what dead ones have left. Only the entries of containers that are named as ours are ever taken away, and nothing is
 * ever given. */
int journal_replay(const char *directory, struct journal_report *out, abatis_error *err);

#endif
