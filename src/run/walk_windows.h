/* walk_windows.h: opens files as what they are, and goes through directories without being led out of them. */
#ifndef RUN_WALK_WINDOWS_H
#define RUN_WALK_WINDOWS_H

#include "run/system_windows.h"

/* Which file it is, by whatever name it is met. */
struct walk_file {
        DWORD volume, attributes;
        ULONGLONG index;
};

/* A link is opened as itself. */
int walk_open(const char *path, DWORD access, DWORD sharing, HANDLE *out, abatis_error *err);
bool walk_identify(HANDLE handle, struct walk_file *out);
/* What Windows calls it, as plans spell paths: with every link on the way resolved, long names, and letters as the disk has them. Owned by the
 * caller. A path on another machine has none. */
int walk_find_name(HANDLE handle, char **out, abatis_error *err);
/* Refuses what has no access lists that are kept, and what another machine may show to whom it likes. */
int walk_check_volume(HANDLE handle, const char *path, abatis_error *err);

/* One of a directory's entries. What it returns ends the walk, if it is not 0. */
typedef int walk_visit(void *user, HANDLE directory, FILE_ID_BOTH_DIR_INFO *entry, unsigned depth);

/* Visits all but "." and "..". `depth` is that of the directory: from some on it is an error. */
int walk_entries(HANDLE directory, unsigned depth, walk_visit *visit, void *user, abatis_error *err);
/* From the directory that it was found in, whatever has happened to its path meanwhile. 0, or what Windows says. */
DWORD walk_open_child(HANDLE directory, const FILE_ID_BOTH_DIR_INFO *entry, ACCESS_MASK access, HANDLE *out);

#endif
