/* places_windows.h: the paths of a plan as open files, and the entries that they and all below them get. */
#ifndef RUN_PLACES_WINDOWS_H
#define RUN_PLACES_WINDOWS_H

#include "plan/plan.h"
#include "run/system_windows.h"

/* What a path is to the container. Of several for the same file the last of these counts. */
enum place_kind { PLACE_PINNED, PLACE_SHOWN, PLACE_WRITABLE, PLACE_PROTECTED, PLACE_HIDDEN };

struct place {
        enum place_kind kind;
        bool is_executable, is_directory;
        const char *path; /* borrowed from the plan */
        DWORD volume;     /* these say which file it is, by whatever name it is met */
        ULONGLONG index;
        HANDLE handle; /* owned: of an exception it forbids everybody to remove, move or replace it while it is open */
};

struct places {
        struct place *items; /* owned */
        size_t count;
};

/* Opens every path of the plan; one that is not there any more, or is a link, is an error. `hidden` is a directory of our own
 * that no tree may open, or NULL. */
int places_open(const struct plan *plan, const char *hidden, struct places *out, abatis_error *err);
/* Puts the entries where they belong. If it fails, some are there: places_revoke() takes them away. */
int places_grant(const struct places *places, PSID sid, abatis_error *err);
/* Takes every entry of the SID from a tree, in which nothing is excepted. A tree that is gone has none. */
int places_revoke(const char *tree, PSID sid, size_t *removed, abatis_error *err);
void places_done(struct places *places);

#endif
