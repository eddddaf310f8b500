/* shortage.c: lets one allocation of the core fail.
 *
 * The linker wraps the allocating functions that the core calls; what libc and cmocka allocate themselves is left alone. */
#define _GNU_SOURCE
#include "shortage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long countdown;
bool has_failed;

static bool is_refused(void)
{
        if (!countdown || --countdown)
                return false;
        has_failed = true;
        errno = ENOMEM;
        return true;
}

/* The linker makes the core call __wrap_x where it says x, and x where these say __real_x. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t length);
char *__real_realpath(const char *path, char *resolved);
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
int __real_vasprintf(char **out, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t length);
char *__wrap_realpath(const char *path, char *resolved);
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
int __wrap_vasprintf(char **out, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_malloc(size_t size)
{
        return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
        return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
        return is_refused() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *string)
{
        return is_refused() ? NULL : __real_strdup(string);
}

char *__wrap_strndup(const char *string, size_t length)
{
        return is_refused() ? NULL : __real_strndup(string, length);
}

char *__wrap_realpath(const char *path, char *resolved)
{
        return !resolved && is_refused() ? NULL : __real_realpath(path, resolved);
}

void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
        return is_refused() ? NULL : __real_tsearch(key, root, compare);
}

int __wrap_vasprintf(char **out, const char *format, va_list arguments)
{
        return is_refused() ? -1 : __real_vasprintf(out, format, arguments);
}

int __wrap_asprintf(char **out, const char *format, ...)
{
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = __wrap_vasprintf(out, format, arguments);
        va_end(arguments);
        return r;
}
