/* error.c: formats error messages so that they are always exactly one printable line. */
#define _GNU_SOURCE
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A path in a message may hold anything; a terminal or a log must not be driven by it. */
static void copy_printable(char *to, size_t size, const char *from)
{
        size_t used = 0;
        bool is_c1 = false;

        for (; *from && used + 5 < size; from++) {
                unsigned char byte = (unsigned char)*from;
                bool was_c1 = is_c1;

                /* U+0080 to U+009f drive terminals as well, and their second byte does so by itself. */
                is_c1 = byte == 0xc2 && (unsigned char)from[1] >= 0x80 && (unsigned char)from[1] <= 0x9f;
                if (byte >= 0x20 && byte != 0x7f && !is_c1 && !was_c1)
                        to[used++] = *from;
                else
                        used += (size_t)snprintf(to + used, size - used, "\\x%02x", byte);
        }
        to[used] = '\0';
}

/* Thread-safe under both libcs: glibc's function returns the string, any other fills the buffer. */
static const char *describe_errno(int os_errno, char *buffer, size_t size)
{
#ifdef __GLIBC__
        return strerror_r(os_errno, buffer, size);
#else
        return strerror_r(os_errno, buffer, size) ? "unknown error" : buffer;
#endif
}

__attribute__((format(printf, 4, 0))) static void format_message(abatis_error *err, int code, int os_errno,
                                                                 const char *format, va_list arguments)
{
        char raw[sizeof(err->message)];
        int length = vsnprintf(raw, sizeof(raw), format, arguments);

        if (length < 0)
                length = snprintf(raw, sizeof(raw), "error %d", code);
        if (os_errno && (size_t)length < sizeof(raw)) {
                char text[128];

                snprintf(raw + length, sizeof(raw) - (size_t)length, ": %s",
                         describe_errno(os_errno, text, sizeof(text)));
        }
        err->code = code;
        err->os_errno = os_errno;
        copy_printable(err->message, sizeof(err->message), raw);
}

int error_set(abatis_error *err, int code, const char *format, ...)
{
        va_list arguments;

        if (!err)
                return code;
        va_start(arguments, format);
        format_message(err, code, 0, format, arguments);
        va_end(arguments);
        return code;
}

int error_os(abatis_error *err, int os_errno, const char *format, ...)
{
        va_list arguments;

        if (!err)
                return ABATIS_E_SYSTEM;
        va_start(arguments, format);
        format_message(err, ABATIS_E_SYSTEM, os_errno, format, arguments);
        va_end(arguments);
        return ABATIS_E_SYSTEM;
}

int error_within(abatis_error *err, const abatis_error *below, const char *format, ...)
{
        abatis_error above;
        va_list arguments;

        va_start(arguments, format);
        format_message(&above, below->code, 0, format, arguments);
        va_end(arguments);
        error_set(err, below->code, "%s: %s", above.message, below->message);
        if (err)
                err->os_errno = below->os_errno;
        return below->code;
}

int error_memory(abatis_error *err)
{
        return error_set(err, ABATIS_E_MEMORY, "out of memory");
}
