/* wide_windows.c: strings as Windows has them, and paths: the only place where one form becomes the other. */
#include "base/wide_windows.h"

#define WIN32_LEAN_AND_MEAN
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/own.h"

#define PREFIX "\\\\?\\"

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

/* ---- paths ---------------------------------------------------------------------------------------------- */

static bool is_letter(int character)
{
        return (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
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

const char *wide_path_fault(const char *path)
{
        if (path[0] != '/' || path[1] < 'a' || path[1] > 'z' || (path[2] && path[2] != '/'))
                return "it is on no drive";
        for (const char *at = path + 2; *at;) {
                size_t length = strcspn(++at, "/");
                const char *fault = find_fault(at, length);

                if (fault)
                        return fault;
                at += length;
        }
        return NULL;
}

wchar_t *wide_path(const char *path)
{
        OWN_FREE char *spelled = malloc(strlen(path) + sizeof(PREFIX "C:\\"));
        char *at;

        if (!spelled)
                return NULL;
        strcpy(spelled, PREFIX "C:\\");
        spelled[sizeof(PREFIX) - 1] = (char)(path[1] - 'a' + 'A');
        at = spelled + sizeof(PREFIX "C:\\") - 1;
        strcpy(at, path[2] ? path + 3 : "");
        for (; *at; at++)
                if (*at == '/')
                        *at = '\\';
        return wide_from_utf8(spelled);
}

void wide_path_read(char *text)
{
        size_t length = strlen(text);

        if (!is_letter(*text) || text[1] != ':' || (text[2] != '\\' && text[2] != '/'))
                return;
        text[1] = (char)(*text | 0x20);
        text[0] = '/';
        for (char *at = text + 2; *at; at++)
                if (*at == '\\')
                        *at = '/';
        while (length > 2 && text[length - 1] == '/')
                text[--length] = '\0';
}

char *wide_path_name(const wchar_t *path)
{
        char *name =
                utf8_from_wide(wcsncmp(path, L"\\\\?\\", 4) && wcsncmp(path, L"\\??\\", 4) ? path : path + 4);

        if (name)
                wide_path_read(name);
        if (name && *name != '/') {
                free(name);
                return NULL;
        }
        return name;
}
