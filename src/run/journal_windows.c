/* journal_windows.c: what has to be undone if abatis does not live to do it.
 *
 * "abatis journal 1", a line for each tree, and "end". It does not say whose entries are meant: that follows from its own name, so no
 * content can make us take away what others have given. */
#include "run/journal_windows.h"

#include <shlobj.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "run/container_windows.h"
#include "run/places_windows.h"

#define FIRST "abatis journal 1\n"
#define LAST "end\n"
#define SUFFIX ".journal"

enum { LARGEST = 4 * 1024 * 1024 };

/* ---- the text ------------------------------------------------------------------------------------------- */

int journal_parse(const char *text, size_t length, const char *name, struct strings *trees, abatis_error *err)
{
        const char *end = text + length, *at = text + sizeof(FIRST) - 1;

        if (!container_name_is_ours(name))
                return error_set(err, ABATIS_E_INVALID, "'%s' is no journal's name", name);
        if (length < sizeof(FIRST) - 1 || memcmp(text, FIRST, sizeof(FIRST) - 1) != 0)
                return error_set(err, ABATIS_E_INVALID, "the journal '%s' begins otherwise", name);
        while ((size_t)(end - at) != sizeof(LAST) - 1 || memcmp(at, LAST, sizeof(LAST) - 1) != 0) {
                const char *line = at;
                OWN_FREE wchar_t *wide = NULL;
                OWN_FREE char *tree = NULL;
                int r;

                at = memchr(line, '\n', (size_t)(end - line));
                if (!at)
                        return error_set(err, ABATIS_E_INVALID, "the journal '%s' is not whole", name);
                tree = calloc(1, (size_t)(at - line) + 1);
                if (!tree)
                        return error_memory(err);
                memcpy(tree, line, (size_t)(at++ - line));
                /* A NUL would hide the rest of the line. */
                r = strlen(tree) + 1 == (size_t)(at - line)
                            ? windows_path(tree, &wide, err)
                            : error_set(err, ABATIS_E_INVALID, "the journal '%s' has a NUL in it", name);
                if (!r)
                        r = strings_add(trees, tree, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_text(const struct strings *trees, struct text *out, abatis_error *err)
{
        text_add(out, FIRST);
        for (size_t i = 0; i < trees->count; i++) {
                text_add(out, trees->items[i]);
                text_add(out, "\n");
        }
        text_add(out, LAST);
        return out->has_failed ? error_memory(err) : 0;
}

/* ---- the files ------------------------------------------------------------------------------------------ */

int journal_find_directory(char **out, abatis_error *err)
{
        static const wchar_t *const names[] = { L"\\abatis", L"\\journal" };
        wchar_t *found = NULL, path[MAX_PATH + 32];
        HRESULT result = SHGetKnownFolderPath(&FOLDERID_LocalAppData, 0, NULL, &found);
        bool fits = SUCCEEDED(result) && wcslen(found) < MAX_PATH;
        char *utf8;

        if (fits)
                wcscpy(path, found);
        CoTaskMemFree(found);
        if (!fits)
                return error_windows(err, (DWORD)result, "find the user's directory for local data");
        for (size_t i = 0; i < 2; i++) {
                wcscat(path, names[i]);
                if (!CreateDirectoryW(path, NULL) && GetLastError() != ERROR_ALREADY_EXISTS)
                        return error_windows(err, GetLastError(), "make the directory for journals");
        }
        utf8 = wide_path_name(path);
        if (!utf8)
                return error_set(err, ABATIS_E_SYSTEM, "the user's directory for local data is on no drive");
        *out = utf8;
        return 0;
}

static int open_journal(const char *directory, const char *name, DWORD disposition, HANDLE *out,
                        abatis_error *err)
{
        OWN_TEXT struct text path = { 0 };
        OWN_FREE wchar_t *wide = NULL;
        int r;

        text_addf(&path, "%s/%s" SUFFIX, directory, name);
        if (path.has_failed)
                return error_memory(err);
        r = windows_path(path.data, &wide, err);
        if (r < 0)
                return r;
        *out = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, disposition,
                           FILE_FLAG_OPEN_REPARSE_POINT, NULL);
        return is_handle(*out) ? 0 : error_windows(err, GetLastError(), "open the journal '%s'", path.data);
}

int journal_begin(const char *directory, const char *name, const struct strings *trees, struct journal *out,
                  abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        OWN_HANDLE HANDLE file = NULL;
        DWORD written = 0;
        int r = write_text(trees, &text, err);

        if (!r)
                r = open_journal(directory, name, CREATE_NEW, &file, err);
        if (r < 0)
                return r;
        if (!WriteFile(file, text.data, (DWORD)text.length, &written, NULL) || written != text.length ||
            !FlushFileBuffers(file))
                return error_windows(err, GetLastError(), "write the journal");
        out->file = take_handle(&file);
        return 0;
}

static int remove_open(HANDLE file, abatis_error *err)
{
        FILE_DISPOSITION_INFO gone = { TRUE };

        return SetFileInformationByHandle(file, FileDispositionInfo, &gone, sizeof(gone))
                       ? 0
                       : error_windows(err, GetLastError(), "remove the journal");
}

int journal_end(struct journal *journal, abatis_error *err)
{
        int r = remove_open(journal->file, err);

        journal_leave(journal);
        return r;
}

void journal_leave(struct journal *journal)
{
        own_handle_close(&journal->file);
        journal->file = NULL;
}

static int read_whole(HANDLE file, char **out, size_t *length, abatis_error *err)
{
        OWN_FREE char *text = NULL;
        LARGE_INTEGER size;
        DWORD got = 0;

        if (!GetFileSizeEx(file, &size))
                return error_windows(err, GetLastError(), "read a journal");
        if (size.QuadPart > LARGEST)
                return error_set(err, ABATIS_E_INVALID, "a journal is larger than any of ours");
        text = malloc((size_t)size.QuadPart + 1);
        if (!text)
                return error_memory(err);
        if (!ReadFile(file, text, (DWORD)size.QuadPart, &got, NULL) || got != (DWORD)size.QuadPart)
                return error_windows(err, GetLastError(), "read a journal");
        *length = got;
        *out = take_pointer(text);
        return 0;
}

/* ---- what dead ones have left --------------------------------------------------------------------------- */

static int undo(HANDLE file, const char *name, size_t *entries, abatis_error *err)
{
        OWN_FREE char *text = NULL;
        struct container_sid sid;
        struct strings trees = { 0 };
        size_t length = 0;
        int r = read_whole(file, &text, &length, err);

        if (!r)
                r = journal_parse(text, length, name, &trees, err);
        if (!r)
                r = container_find_sid(name, &sid, err);
        if (!r)
                r = places_revoke_all(&trees, &sid.u.sid, entries, err);
        strings_done(&trees);
        if (!r)
                r = container_remove(name, err);
        return r < 0 ? r : remove_open(file, err);
}

static void consider(const char *directory, const wchar_t *file_name, struct journal_report *report)
{
        OWN_FREE char *name = utf8_from_wide(file_name);
        size_t length = name ? strlen(name) : 0;
        OWN_HANDLE HANDLE file = NULL;
        abatis_error err = { 0 };
        int r = ABATIS_E_INVALID;

        if (length > sizeof(SUFFIX) - 1)
                name[length - (sizeof(SUFFIX) - 1)] = '\0';
        if (!name || !container_name_is_ours(name))
                error_set(&err, r, "a file in '%s' is no journal", directory);
        else
                r = open_journal(directory, name, OPEN_EXISTING, &file, &err);
        if (err.os_errno == ERROR_SHARING_VIOLATION) {
                report->alive++;
                return;
        }
        /* Another abatis was quicker. */
        if (err.os_errno == ERROR_FILE_NOT_FOUND)
                return;
        if (!r)
                r = undo(file, name, &report->entries, &err);
        if (!r)
                report->undone++;
        else if (!report->refused++)
                report->first = err;
}

int journal_replay(const char *directory, struct journal_report *out, abatis_error *err)
{
        OWN_FREE wchar_t *wide = NULL, *listed = NULL;
        WIN32_FIND_DATAW found;
        HANDLE search;
        int r;

        *out = (struct journal_report){ 0 };
        r = windows_path(directory, &wide, err);
        if (r < 0)
                return r;
        listed = malloc((wcslen(wide) + sizeof("\\*" SUFFIX)) * sizeof(*listed));
        if (!listed)
                return error_memory(err);
        wcscpy(listed, wide);
        wcscat(listed, L"\\*.journal");
        search = FindFirstFileW(listed, &found);
        if (search == INVALID_HANDLE_VALUE)
                return GetLastError() == ERROR_FILE_NOT_FOUND
                               ? 0
                               : error_windows(err, GetLastError(), "look for journals in '%s'", directory);
        do
                consider(directory, found.cFileName, out);
        while (FindNextFileW(search, &found));
        FindClose(search);
        return 0;
}
