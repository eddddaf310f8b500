/* system_windows.c: errors of Windows, and paths for it. */
#include "run/system_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

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

int windows_path(const char *path, wchar_t **out, abatis_error *err)
{
        const char *fault = wide_path_fault(path);
        wchar_t *wide = fault ? NULL : wide_path(path);

        if (fault)
                return error_set(err, ABATIS_E_INVALID, "'%s' is no path that can be given: %s", path, fault);
        if (!wide)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not valid UTF-8", path);
        *out = wide;
        return 0;
}
