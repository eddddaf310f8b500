/* walk_windows.c: opens files as what they are, and goes through directories without being led out of them. */
#include "run/walk_windows.h"

#include <stdlib.h>
#include <string.h>
#include <winternl.h>

#include "base/error.h"
#include "base/own.h"

enum { DEEPEST = 512, LIST_SIZE = 16 * 1024 };

int walk_open(const char *path, DWORD access, DWORD sharing, HANDLE *out, abatis_error *err)
{
        OWN_FREE wchar_t *wide = NULL;
        int r = windows_path(path, &wide, err);

        if (r < 0)
                return r;
        *out = CreateFileW(wide, access, sharing, NULL, OPEN_EXISTING,
                           FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
        return is_handle(*out) ? 0 : error_windows(err, GetLastError(), "open '%s'", path);
}

bool walk_identify(HANDLE handle, struct walk_file *out)
{
        BY_HANDLE_FILE_INFORMATION facts;

        if (!GetFileInformationByHandle(handle, &facts))
                return false;
        *out = (struct walk_file){ .volume = facts.dwVolumeSerialNumber,
                                   .attributes = facts.dwFileAttributes,
                                   .index = (ULONGLONG)facts.nFileIndexHigh << 32 | facts.nFileIndexLow };
        return true;
}

/* ---- names and volumes ---------------------------------------------------------------------------------- */

/* With its prefix; owned by the caller, or NULL with what Windows says. */
static wchar_t *find_final(HANDLE handle)
{
        DWORD size = GetFinalPathNameByHandleW(handle, NULL, 0, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
        wchar_t *name = size ? calloc(size + 1, sizeof(*name)) : NULL;
        DWORD length = name ? GetFinalPathNameByHandleW(handle, name, size + 1,
                                                        FILE_NAME_NORMALIZED | VOLUME_NAME_DOS)
                            : 0;

        if (length && length <= size)
                return name;
        free(name);
        return NULL;
}

static bool has_letter(const wchar_t *final)
{
        return !wcsncmp(final, L"\\\\?\\", 4) && final[4] && final[5] == L':' && final[6] == L'\\';
}

int walk_find_name(HANDLE handle, char **out, abatis_error *err)
{
        OWN_FREE wchar_t *final = find_final(handle);
        char *name;

        if (!final)
                return error_windows(err, GetLastError(), "find the name of an open file");
        if (!has_letter(final))
                return error_set(err, ABATIS_E_UNENFORCEABLE, "it is on no disk of this machine");
        name = wide_path_name(final);
        if (!name)
                return error_set(err, ABATIS_E_INVALID, "its name is not valid UTF-16");
        *out = name;
        return 0;
}

/* Any of three signs is enough: not every network's driver gives all of them. */
static bool is_remote(HANDLE handle, const wchar_t *final)
{
        FILE_REMOTE_PROTOCOL_INFO protocol;
        wchar_t root[] = L"?:\\";

        root[0] = final[4];
        return !has_letter(final) || GetDriveTypeW(root) == DRIVE_REMOTE ||
               GetFileInformationByHandleEx(handle, FileRemoteProtocolInfo, &protocol, sizeof(protocol));
}

int walk_check_volume(HANDLE handle, const char *path, abatis_error *err)
{
        OWN_FREE wchar_t *final = find_final(handle);
        DWORD flags = 0;

        if (!final)
                return error_windows(err, GetLastError(), "find out where '%s' is", path);
        if (is_remote(handle, final))
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "'%s' is on another machine, which no container is held back from here",
                                 path);
        if (!GetVolumeInformationByHandleW(handle, NULL, 0, NULL, NULL, &flags, NULL, 0))
                return error_windows(err, GetLastError(), "find out what '%s' is on", path);
        if (!(flags & FILE_PERSISTENT_ACLS))
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "'%s' is on a disk that has no access lists; fix: one with NTFS", path);
        return 0;
}

/* ---- directories ---------------------------------------------------------------------------------------- */

DWORD walk_open_child(HANDLE directory, const FILE_ID_BOTH_DIR_INFO *entry, ACCESS_MASK access, HANDLE *out)
{
        USHORT size = (USHORT)entry->FileNameLength;
        UNICODE_STRING string = { size, size, (wchar_t *)entry->FileName };
        OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes),
                                         .RootDirectory = directory,
                                         .ObjectName = &string };
        IO_STATUS_BLOCK status;

        return RtlNtStatusToDosError(NtCreateFile(out, access, &attributes, &status, NULL, 0,
                                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                                  FILE_OPEN,
                                                  FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT |
                                                          FILE_OPEN_REPARSE_POINT,
                                                  NULL, 0));
}

static bool is_dots(const FILE_ID_BOTH_DIR_INFO *entry)
{
        return entry->FileName[0] == L'.' &&
               (entry->FileNameLength == sizeof(wchar_t) ||
                (entry->FileNameLength == 2 * sizeof(wchar_t) && entry->FileName[1] == L'.'));
}

static int visit_list(HANDLE directory, void *list, unsigned depth, walk_visit *visit, void *user)
{
        for (FILE_ID_BOTH_DIR_INFO *entry = list;; entry = (void *)((char *)entry + entry->NextEntryOffset)) {
                int r = is_dots(entry) ? 0 : visit(user, directory, entry, depth);

                if (r || !entry->NextEntryOffset)
                        return r;
        }
}

int walk_entries(HANDLE directory, unsigned depth, walk_visit *visit, void *user, abatis_error *err)
{
        OWN_FREE void *list = malloc(LIST_SIZE);
        int r = 0;

        if (!list)
                return error_memory(err);
        if (depth > DEEPEST)
                return error_set(err, ABATIS_E_SYSTEM, "directories are nested more than %d deep", DEEPEST);
        for (;;) {
                if (!GetFileInformationByHandleEx(directory, FileIdBothDirectoryInfo, list, LIST_SIZE))
                        return GetLastError() == ERROR_NO_MORE_FILES
                                       ? 0
                                       : error_windows(err, GetLastError(), "list a directory");
                r = visit_list(directory, list, depth, visit, user);
                if (r)
                        return r;
        }
}
