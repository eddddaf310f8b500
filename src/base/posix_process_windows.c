/* posix_process_windows.c: what the common files use of POSIX, on Windows: the process, its user, and strings. */
#include "base/posix_windows.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <shellapi.h>
#include <stdarg.h>

#include "base/own.h"
#include "base/wide_windows.h"

#undef main

/* ---- the process ---------------------------------------------------------------------------------------- */

/* In UTF-8, and nothing that is printed is changed on its way. */
int main(void)
{
        int count = 0;
        wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
        char **argv = calloc((size_t)count + 1, sizeof(*argv));

        for (int fd = 0; fd < 3; fd++)
                _setmode(fd, _O_BINARY);
        SetConsoleOutputCP(CP_UTF8);
        for (int i = 0; i < count && argv; i++) {
                argv[i] = utf8_from_wide(words[i]);
                if (!argv[i]) {
                        fputs("abatis: an argument is not valid UTF-16\n", stderr);
                        return 125;
                }
        }
        return argv ? posix_main(count, argv) : 125;
}

char *posix_path_of(void *handle)
{
        OWN_FREE wchar_t *name = calloc(PATH_MAX, sizeof(*name));
        DWORD length = name ? GetFinalPathNameByHandleW(handle, name, PATH_MAX, 0) : 0;
        char *path = length && length < PATH_MAX ? wide_path_name(name) : NULL;

        if (!path)
                errno = ENOENT;
        return path;
}

char *posix_getcwd(char *buffer, size_t size)
{
        OWN_FREE wchar_t *name = calloc(PATH_MAX, sizeof(*name));
        DWORD length = name ? GetCurrentDirectoryW(PATH_MAX, name) : 0;
        char *path = length && length < PATH_MAX ? wide_path_name(name) : NULL;

        (void)buffer;
        (void)size;
        if (!path)
                errno = ENOENT;
        return path;
}

/* Paths are resolved name by name (system_folds_names). */
char *posix_realpath(const char *path, char *buffer)
{
        (void)path;
        (void)buffer;
        errno = ENOSYS;
        return NULL;
}

/* Kept for the process' life, as getenv() has it. Whatever is a path comes as ours. */
char *posix_getenv(const char *name)
{
        const char *there = !strcmp(name, "HOME") ? "USERPROFILE" : name;
        OWN_FREE wchar_t *wide = wide_from_utf8(there);
        const wchar_t *value = wide ? _wgetenv(wide) : NULL;
        char *text = value ? utf8_from_wide(value) : NULL;

        if (text)
                wide_path_read(text);
        return text;
}

static TOKEN_USER *find_user(void)
{
        static union {
                TOKEN_USER user;
                char bytes[256];
        } found;
        static bool is_known;
        HANDLE token = NULL;
        DWORD size;

        if (!is_known && OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
                is_known = GetTokenInformation(token, TokenUser, &found, sizeof(found), &size);
                CloseHandle(token);
        }
        return is_known ? &found.user : NULL;
}

bool posix_is_user(void *sid)
{
        TOKEN_USER *user = find_user();

        return user && EqualSid(user->User.Sid, sid);
}

/* Windows has no such numbers; that of root stands for who is elevated. Who cannot find out is taken for one who is. */
unsigned posix_geteuid(void)
{
        TOKEN_ELEVATION elevation = { 1 };
        HANDLE token = NULL;
        DWORD size;

        if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
                if (!GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &size))
                        elevation.TokenIsElevated = 1;
                CloseHandle(token);
        }
        return elevation.TokenIsElevated ? 0 : 1000;
}

long posix_pread(int fd, void *out, size_t length, long long offset)
{
        return _lseeki64(fd, offset, SEEK_SET) < 0 ? -1 : _read(fd, out, (unsigned)length);
}

/* None of ours is closed on its way in, and no descriptor is inherited by what we start. */
int posix_fcntl(int fd, int what, ...)
{
        if (_get_osfhandle(fd) == -1) {
                errno = EBADF;
                return -1;
        }
        return what == F_GETFD ? 0 : _dup(fd);
}

/* Nobody makes our output non-blocking here. */
int posix_poll(struct pollfd *waits, unsigned long count, int timeout)
{
        (void)waits;
        (void)timeout;
        return (int)count;
}

/* ---- strings -------------------------------------------------------------------------------------------- */

char *posix_strndup(const char *text, size_t most)
{
        size_t length = strnlen(text, most);
        char *copy = malloc(length + 1);

        if (copy) {
                memcpy(copy, text, length);
                copy[length] = '\0';
        }
        return copy;
}

char *posix_strsep(char **rest, const char *separators)
{
        char *first = *rest, *end = first ? strpbrk(first, separators) : NULL;

        if (end)
                *end++ = '\0';
        *rest = end;
        return first;
}

void *posix_memrchr(const void *bytes, int byte, size_t length)
{
        const unsigned char *at = bytes;

        while (length--)
                if (at[length] == (unsigned char)byte)
                        return (void *)(at + length);
        return NULL;
}

void *posix_memmem(const void *bytes, size_t length, const void *wanted, size_t size)
{
        for (const char *at = bytes; length >= size; at++, length--)
                if (!memcmp(at, wanted, size))
                        return (void *)at;
        return NULL;
}

int posix_vasprintf(char **out, const char *format, va_list arguments)
{
        va_list again;
        int length;

        va_copy(again, arguments);
        length = vsnprintf(NULL, 0, format, again);
        va_end(again);
        *out = length < 0 ? NULL : malloc((size_t)length + 1);
        return *out ? vsnprintf(*out, (size_t)length + 1, format, arguments) : -1;
}

int posix_asprintf(char **out, const char *format, ...)
{
        va_list arguments;
        int length;

        va_start(arguments, format);
        length = posix_vasprintf(out, format, arguments);
        va_end(arguments);
        return length;
}
