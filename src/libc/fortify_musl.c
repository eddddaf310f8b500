/* fortify_musl.c: what a static library of the distribution wants from libc and musl does not have.
 *
 * The distribution's jansson and libyaml are compiled for glibc, with checks of buffer sizes that glibc carries out in
 * functions of its own, and since Debian 13 with C23's way to read a number, which differs where the base is 2 or none
 * is given; they give 10. Everything else they call, musl has under the same name and with the same meaning. Linked only
 * into the static executable. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, ...);
int __vsnprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, va_list arguments);
char *__strncpy_chk(char *out, const char *in, size_t size, size_t room);
long __isoc23_strtol(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);

int __vsnprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, va_list arguments)
{
        (void)flag;
        if (size > room)
                abort();
        return vsnprintf(out, size, format, arguments);
}

int __snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, ...)
{
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = __vsnprintf_chk(out, size, flag, room, format, arguments);
        va_end(arguments);
        return r;
}

char *__strncpy_chk(char *out, const char *in, size_t size, size_t room)
{
        if (size > room)
                abort();
        return strncpy(out, in, size);
}

long __isoc23_strtol(const char *text, char **end, int base)
{
        return strtol(text, end, base);
}

long long __isoc23_strtoll(const char *text, char **end, int base)
{
        return strtoll(text, end, base);
}
