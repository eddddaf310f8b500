/* system_windows.h: what all of the Windows files share: its errors, its strings, and who owns a handle. */
#ifndef RUN_SYSTEM_WINDOWS_H
#define RUN_SYSTEM_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#include <stdbool.h>
#include <wchar.h>
#include <windows.h>

#include "abatis.h"
#include "base/wide_windows.h"

/* Its names for rights on the registry are ours for keys of a policy. */
#undef KEY_EXECUTE
#undef KEY_READ
#undef KEY_WRITE

/* Appends what Windows says of the code, which also becomes os_errno; returns ABATIS_E_SYSTEM. */
int error_windows(abatis_error *err, DWORD code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* A path of a plan, such as "/c/Users/u/project", as Windows takes it; see wide_path(). What has a fault is refused. */
int windows_path(const char *path, wchar_t **out, abatis_error *err);

/* Windows has two words for no handle. */
static inline bool is_handle(HANDLE handle)
{
        return handle && handle != INVALID_HANDLE_VALUE;
}

static inline void own_handle_close(HANDLE *handle)
{
        if (is_handle(*handle))
                CloseHandle(*handle);
}

#define OWN_HANDLE __attribute__((cleanup(own_handle_close)))

static inline HANDLE take_handle(HANDLE *handle)
{
        HANDLE taken = *handle;

        *handle = NULL;
        return taken;
}

#endif
