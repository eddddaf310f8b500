/* system_windows.c: errors and strings of Windows, and paths that mean nothing but a path. */
#include "run/system_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

wchar_t *wide_from_utf8(const char *text)
{
        int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
        wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof(*wide)) : NULL;

        if (wide)
                MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
        return wide;
}

char *utf8_from_wide(const wchar_t *text)
{
        int length = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, text, -1, NULL, 0, NULL, NULL);
        char *utf8 = length > 0 ? malloc((size_t)length) : NULL;

        if (utf8)
                WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, text, -1, utf8, length, NULL, NULL);
        return utf8;
}

int error_windows(abatis_error *err, DWORD code, const char *format, ...)
{
        wchar_t words[256] = L"";
        OWN_FREE char *said = NULL;
        char what[512];
        va_list arguments;
        size_t length;

        va_start(arguments, format);
        vsnprintf(what, sizeof(what), format, arguments);
        va_end(arguments);
        length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0,
                                words, sizeof(words) / sizeof(*words), NULL);
        while (length &&
               (words[length - 1] == L'\n' || words[length - 1] == L'\r' || words[length - 1] == L'.'))
                words[--length] = L'\0';
        said = utf8_from_wide(words);
        error_set(err, ABATIS_E_SYSTEM, "%s: %s (%lu)", what, said && *said ? said : "Windows error", code);
        if (err)
                err->os_errno = (int)code;
        return ABATIS_E_SYSTEM;
}

/* One name of a path. Windows drops dots and spaces at its end, and takes some names for devices wherever they stand. */
static const char *find_fault(const char *name, size_t length)
{
        static const char *const devices[] = {
                "con", "prn", "aux", "nul", "com", "lpt", "conin$", "conout$"
        };
        size_t stem = 0;

        if (!length)
                return "it has an empty name in it";
        for (size_t i = 0; i < length; i++)
                if ((unsigned char)name[i] < ' ' || strchr("<>:\"|?*\\", name[i]))
                        return "it has a character in it that no name has";
        if (name[length - 1] == '.' || name[length - 1] == ' ')
                return "a name in it ends with a dot or a space";
        while (stem < length && name[stem] != '.')
                stem++;
        for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
                size_t size = strlen(devices[i]);
                bool is_numbered = i == 4 || i == 5;

                if (!_strnicmp(name, devices[i], size) && stem == size + is_numbered &&
                    (!is_numbered || (name[size] >= '0' && name[size] <= '9')))
                        return "a name in it is a device's";
        }
        return NULL;
}

int windows_path(const char *path, wchar_t **out, abatis_error *err)
{
        OWN_FREE char *spelled = malloc(strlen(path) + sizeof("\\\\?\\"));
        wchar_t *wide;

        if (!spelled)
                return error_memory(err);
        if (!((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z' && path[1] == ':' && path[2] == '/'))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a path such as C:/directory", path);
        for (const char *at = path + 3; *at; at += *at == '/') {
                size_t length = strcspn(at, "/");
                const char *fault = find_fault(at, length);

                if (fault)
                        return error_set(err, ABATIS_E_INVALID, "'%s' is no path that can be given: %s", path,
                                         fault);
                at += length;
                if (*at && !at[1])
                        return error_set(err, ABATIS_E_INVALID, "'%s' ends with a slash", path);
        }
        strcpy(spelled, "\\\\?\\");
        strcat(spelled, path);
        for (char *at = spelled; *at; at++)
                if (*at == '/')
                        *at = '\\';
        wide = wide_from_utf8(spelled);
        if (!wide)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not valid UTF-8", path);
        *out = wide;
        return 0;
}
