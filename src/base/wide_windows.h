/* wide_windows.h: strings as Windows has them, and paths: the only place where one form becomes the other.
 *
 * Inside, a path is absolute and has slashes: "/c/Users/me" is C:\Users\me. */
#ifndef BASE_WIDE_WINDOWS_H
#define BASE_WIDE_WINDOWS_H

#include <stddef.h>
#include <wchar.h>

/* Owned by the caller, or NULL: when there is no memory, or the text is not valid. */
wchar_t *wide_from_utf8(const char *text);
char *utf8_from_wide(const wchar_t *text);

/* Why no file of Windows is meant by this path and nothing else: networks, devices, streams of a file, names that end with a dot or a space.
 * NULL: one is. */
const char *wide_path_fault(const char *path);
/* "\\?\C:\Users\me", which Windows takes at any length, and for nothing but a path. The path has no fault. Owned by the caller, or NULL. */
wchar_t *wide_path(const char *path);
/* The way back, with or without that prefix. NULL when it is no path of a drive, too. */
char *wide_path_name(const wchar_t *path);
/* "/c" for the root of a drive, and never a slash at the end. In place: "C:\Users\me" and "C:/Users/me" have as many bytes as ours. What is
 * no path of a drive stays as it is. */
void wide_path_read(char *text);

#endif
