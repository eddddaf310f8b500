/* places_windows.h: the paths of a plan as open files, and the entries that they and all below them get. */
#ifndef RUN_PLACES_WINDOWS_H
#define RUN_PLACES_WINDOWS_H

#include "plan/plan.h"
#include "run/walk_windows.h"

/* What a path is to the container. Of several for the same file the last of these counts. */
enum place_kind {
        PLACE_PINNED,
        PLACE_SHOWN,
        PLACE_WRITABLE,
        PLACE_PROTECTED,
        PLACE_CLOSED, /* denied, and in no tree that is given: nobody may have been given it before */
        PLACE_HIDDEN
};

struct place {
        enum place_kind kind;
        bool is_executable, is_directory;
        const char *path; /* borrowed from the plan */
        struct walk_file file;
        HANDLE handle; /* owned: of an exception it forbids everybody to remove, move or replace it while it is open */
};

struct places {
        struct place *items; /* owned */
        size_t count;
};

/* Opens every path of the plan. One that is not there any more, is a link, has another name for Windows, or is on a disk without access
 * lists is an error. `hidden` is a directory of our own
 * that no tree may open, or NULL. */
int places_open(const struct plan *plan, const char *hidden, struct places *out, abatis_error *err);
/* The place that an open file is, or NULL, also if there are no places. What cannot be known is an error: it could be an exception. */
int places_find(const struct places *places, HANDLE handle, const struct place **out, abatis_error *err);
/* Looks whether what is to be closed is (look_windows.h), and puts the entries where they belong. If it fails, some are there: places_revoke() takes them away. */
int places_grant(const struct places *places, PSID sid, abatis_error *err);
/* Takes every entry of the SID from a tree, in which nothing is excepted. A tree that is gone has none. What fails
 * keeps nothing else from being done; the first failure is told. */
int places_revoke(const char *tree, PSID sid, size_t *removed, abatis_error *err);
int places_revoke_all(const struct strings *trees, PSID sid, size_t *removed, abatis_error *err);
void places_done(struct places *places);

#endif
