/* acl_windows.c: entries for one container in the access list of one file or directory.
 *
 * What lies below is no business of this file's: Windows' own functions would walk a tree by themselves, through links that
 * lead out of it. */
#include "run/acl_windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

static PSID sid_of(void *entry)
{
        ACCESS_ALLOWED_ACE *allowed = entry;

        return &allowed->SidStart;
}

static bool is_of(ACE_HEADER *entry, PSID sid)
{
        return entry->AceType == ACCESS_ALLOWED_ACE_TYPE && EqualSid(sid_of(entry), sid);
}

/* Lists are made whole, and each addition is checked by Windows. */
static bool add_entries(ACL *list, PSID sid, const struct acl_entry *entries, size_t count, bool is_inherited)
{
        for (size_t i = 0; i < count; i++)
                if (!!(entries[i].flags & INHERITED_ACE) == is_inherited &&
                    !AddAccessAllowedAceEx(list, ACL_REVISION_DS, entries[i].flags, entries[i].mask, sid))
                        return false;
        return true;
}

static bool fill(ACL *list, const ACL *old, PSID sid, const struct acl_entry *entries, size_t count,
                 size_t *removed)
{
        bool has_explicit = false;

        for (DWORD i = 0; i < old->AceCount; i++) {
                ACE_HEADER *entry;

                if (!GetAce((ACL *)old, i, (void **)&entry))
                        return false;
                if (entry->AceFlags & INHERITED_ACE && !has_explicit) {
                        if (!add_entries(list, sid, entries, count, false))
                                return false;
                        has_explicit = true;
                }
                if (is_of(entry, sid))
                        ++*removed;
                else if (!AddAce(list, ACL_REVISION_DS, MAXDWORD, entry, entry->AceSize))
                        return false;
        }
        return (has_explicit || add_entries(list, sid, entries, count, false)) &&
               add_entries(list, sid, entries, count, true);
}

int acl_make(const ACL *old, PSID sid, const struct acl_entry *entries, size_t count, ACL **out,
             size_t *removed, abatis_error *err)
{
        size_t size = old->AclSize + count * (sizeof(ACCESS_ALLOWED_ACE) + GetLengthSid(sid));
        OWN_FREE ACL *list = NULL;
        size_t found = 0;

        if (size > 0xfffc)
                return error_set(err, ABATIS_E_SYSTEM, "the access list is full");
        list = calloc(1, size);
        if (!list)
                return error_memory(err);
        if (!InitializeAcl(list, (DWORD)size, ACL_REVISION_DS) ||
            !fill(list, old, sid, entries, count, &found))
                return error_windows(err, GetLastError(), "make an access list");
        *removed = found;
        *out = take_pointer(list);
        return 0;
}

static int read_descriptor(HANDLE object, SECURITY_DESCRIPTOR **out, abatis_error *err)
{
        DWORD size = 0;
        OWN_FREE SECURITY_DESCRIPTOR *descriptor = NULL;

        if (GetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, NULL, 0, &size) ||
            GetLastError() != ERROR_INSUFFICIENT_BUFFER)
                return error_windows(err, GetLastError(), "read an access list");
        descriptor = malloc(size);
        if (!descriptor)
                return error_memory(err);
        if (!GetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, descriptor, size, &size))
                return error_windows(err, GetLastError(), "read an access list");
        *out = take_pointer(descriptor);
        return 0;
}

/* The flag stays only if it is asked for again. */
static int write_list(HANDLE object, ACL *list, SECURITY_DESCRIPTOR_CONTROL control, abatis_error *err)
{
        SECURITY_DESCRIPTOR descriptor;
        SECURITY_DESCRIPTOR_CONTROL kept = control & (SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED);

        if (kept & SE_DACL_AUTO_INHERITED)
                kept |= SE_DACL_AUTO_INHERIT_REQ;
        if (!InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION) ||
            !SetSecurityDescriptorDacl(&descriptor, TRUE, list, FALSE) ||
            !SetSecurityDescriptorControl(&descriptor,
                                          SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED |
                                                  SE_DACL_AUTO_INHERIT_REQ,
                                          kept) ||
            !SetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, &descriptor))
                return error_windows(err, GetLastError(), "change an access list");
        return 0;
}

int acl_change(HANDLE object, PSID sid, const struct acl_entry *entries, size_t count, size_t *removed,
               abatis_error *err)
{
        OWN_FREE SECURITY_DESCRIPTOR *descriptor = NULL;
        OWN_FREE ACL *list = NULL;
        SECURITY_DESCRIPTOR_CONTROL control;
        BOOL is_present = FALSE, is_default;
        DWORD revision;
        ACL *old = NULL;
        size_t found = 0;
        int r = read_descriptor(object, &descriptor, err);

        if (r < 0)
                return r;
        if (!GetSecurityDescriptorDacl(descriptor, &is_present, &old, &is_default) ||
            !GetSecurityDescriptorControl(descriptor, &control, &revision))
                return error_windows(err, GetLastError(), "read an access list");
        if (!is_present || !old)
                return 0;
        if (control & SE_DACL_PROTECTED && count && entries[0].flags & INHERITED_ACE)
                count = 0;
        r = acl_make(old, sid, entries, count, &list, &found, err);
        if (!r && (found || count))
                r = write_list(object, list, control, err);
        if (!r)
                *removed += found;
        return r;
}

/* What every container has, or may be given by us: S-1-15-2-1 and -2 are ALL (RESTRICTED) APPLICATION PACKAGES, S-1-15-3-1 to -3 the
 * capabilities for networks. Those of one container or another do not open anything to ours. */
static bool is_of_all(PSID sid)
{
        static const SID_IDENTIFIER_AUTHORITY packages = { { 0, 0, 0, 0, 0, 15 } };
        DWORD kind, number;

        if (memcmp(GetSidIdentifierAuthority(sid), &packages, sizeof(packages)) != 0 ||
            *GetSidSubAuthorityCount(sid) != 2)
                return false;
        kind = *GetSidSubAuthority(sid, 0);
        number = *GetSidSubAuthority(sid, 1);
        return (kind == SECURITY_APP_PACKAGE_BASE_RID && (number == 1 || number == 2)) ||
               (kind == SECURITY_CAPABILITY_BASE_RID && number >= 1 && number <= 3);
}

/* An entry with a condition counts as if it held, and one that is about a part of an object as if it was about ours. */
static bool is_for(ACE_HEADER *entry, PSID sid)
{
        switch (entry->AceType) {
        case ACCESS_ALLOWED_ACE_TYPE:
        case ACCESS_ALLOWED_CALLBACK_ACE_TYPE:
                return EqualSid(sid_of(entry), sid) || is_of_all(sid_of(entry));
        case ACCESS_ALLOWED_OBJECT_ACE_TYPE:
        case ACCESS_ALLOWED_CALLBACK_OBJECT_ACE_TYPE:
        case ACCESS_ALLOWED_COMPOUND_ACE_TYPE:
                return true;
        default:
                return false;
        }
}

DWORD acl_rights(const ACL *list, PSID sid)
{
        static GENERIC_MAPPING files = { FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE,
                                         FILE_ALL_ACCESS };
        DWORD rights = 0;

        for (DWORD i = 0; list && i < list->AceCount; i++) {
                ACCESS_ALLOWED_ACE *entry;

                if (!GetAce((ACL *)list, i, (void **)&entry))
                        return FILE_ALL_ACCESS;
                if (is_for(&entry->Header, sid))
                        rights |= entry->Mask;
        }
        MapGenericMask(&rights, &files);
        return list ? rights : FILE_ALL_ACCESS;
}

int acl_find_rights(HANDLE object, PSID sid, DWORD *out, abatis_error *err)
{
        OWN_FREE SECURITY_DESCRIPTOR *descriptor = NULL;
        BOOL is_present = FALSE, is_default;
        ACL *list = NULL;
        int r = read_descriptor(object, &descriptor, err);

        if (r < 0)
                return r;
        if (!GetSecurityDescriptorDacl(descriptor, &is_present, &list, &is_default))
                return error_windows(err, GetLastError(), "read an access list");
        *out = acl_rights(is_present ? list : NULL, sid);
        return 0;
}
