/* acl_windows.h: entries for one container in the access list of one file or directory. */
#ifndef RUN_ACL_WINDOWS_H
#define RUN_ACL_WINDOWS_H

#include "run/system_windows.h"

/* What is allowed, and how it is inherited: OBJECT_INHERIT_ACE and the like. INHERITED_ACE says that it was. */
struct acl_entry {
        DWORD mask;
        BYTE flags;
};

/* The same list with these entries for the SID, and no others that allow it something; owned by the caller. Explicit ones
 * stand before inherited ones, as Windows wants it. *removed are those that were there before. */
int acl_make(const ACL *old, PSID sid, const struct acl_entry *entries, size_t count, ACL **out,
             size_t *removed, abatis_error *err);
/* The same for an open file or directory (READ_CONTROL and WRITE_DAC), and of what lies below it nothing. A list that everybody
 * may do everything by is left alone, and one that inherits nothing too if these are inherited. */
int acl_change(HANDLE object, PSID sid, const struct acl_entry *entries, size_t count, size_t *removed,
               abatis_error *err);

/* What the list allows this container already, also by what it allows all of them, to the file or to what is made in it later. Entries
 * that deny something are not counted: they may be for others. Without a list all is allowed. */
DWORD acl_rights(const ACL *list, PSID sid);
/* Of an open file or directory (READ_CONTROL). */
int acl_find_rights(HANDLE object, PSID sid, DWORD *out, abatis_error *err);

#endif
