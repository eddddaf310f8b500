/* error.c: formats error messages so that they are always exactly one printable line. */
#define _GNU_SOURCE
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

/* A path in a message may hold anything; a terminal or a log must not be driven by it. False when it did not fit; then
 * three dots at the end say so. A backslash stays one: messages are made of messages. */
static bool copy_shown(char *to, size_t size, const char *from)
{
        size_t left = strlen(from), used = 0, taken;

        for (; left; left -= taken, from += taken) {
                char shown[TEXT_SHOWN_SIZE];
                size_t length;

                taken = text_show(from, left, shown);
                length = strlen(shown);
                if (used + length + sizeof("...") > size) {
                        memcpy(to + used, "...", sizeof("..."));
                        return false;
                }
                memcpy(to + used, shown, length);
                used += length;
        }
        to[used] = '\0';
        return true;
}

static bool is_inside_character(char byte)
{
        return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Takes the middle out of the first `length` bytes, so that about `kept` are left: of a long path its end tells most. */
static void take_middle_out(char *text, size_t length, size_t kept)
{
        static const char mark[] = "[...]";
        size_t from = kept / 3, to = length - (kept - from);

        while (from && is_inside_character(text[from]))
                from--;
        while (to < length && is_inside_character(text[to]))
                to++;
        memcpy(text + from, mark, sizeof(mark) - 1);
        memmove(text + from + sizeof(mark) - 1, text + to, strlen(text + to) + 1);
}

static void shorten_words(char *text, size_t longest)
{
        while (*text) {
                size_t length = strcspn(text, " ");

                if (length > longest + 8)
                        take_middle_out(text, length, longest);
                text += strcspn(text, " ");
                text += *text == ' ';
        }
}

/* What has no place in a message is left out where it is missed least: in the middle of paths, then of the whole. */
static void fit(abatis_error *err, char *text)
{
        const size_t size = sizeof(err->message);

        for (size_t longest = 512; longest >= 32; longest /= 2) {
                if (copy_shown(err->message, size, text))
                        return;
                shorten_words(text, longest);
        }
        for (size_t longest = 512; longest >= 64; longest /= 2) {
                if (copy_shown(err->message, size, text))
                        return;
                if (strlen(text) > longest + 8)
                        take_middle_out(text, strlen(text), longest);
        }
        copy_shown(err->message, size, text);
}

/* Thread-safe under every libc: glibc's function returns the string, others fill the buffer. */
static const char *describe_errno(int os_errno, char *buffer, size_t size)
{
#ifdef __GLIBC__
        return strerror_r(os_errno, buffer, size);
#elif defined(_WIN32)
        return strerror_s(buffer, size, os_errno) ? "unknown error" : buffer;
#else
        return strerror_r(os_errno, buffer, size) ? "unknown error" : buffer;
#endif
}

__attribute__((format(printf, 4, 0))) static void format_message(abatis_error *err, int code, int os_errno,
                                                                 const char *format, va_list arguments)
{
        char buffer[128], raw[sizeof(err->message) + sizeof(buffer) + 4], *text = raw;
        OWN_FREE char *whole = NULL;
        va_list again;
        int length;

        va_copy(again, arguments);
        length = vsnprintf(raw, sizeof(err->message), format, arguments);
        if (length < 0)
                snprintf(raw, sizeof(raw), "error %d", code);
        else if ((size_t)length >= sizeof(err->message)) {
                whole = malloc((size_t)length + sizeof(buffer) + 4);
                if (whole) {
                        vsnprintf(whole, (size_t)length + 1, format, again);
                        text = whole;
                }
        }
        va_end(again);
        if (os_errno)
                snprintf(text + strlen(text), sizeof(buffer) + 2, ": %s",
                         describe_errno(os_errno, buffer, sizeof(buffer)));
        err->code = code;
        err->os_errno = os_errno;
        fit(err, text);
}

int error_set_list(abatis_error *err, int code, const char *format, va_list arguments)
{
        if (err)
                format_message(err, code, 0, format, arguments);
        return code;
}

int error_set(abatis_error *err, int code, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        error_set_list(err, code, format, arguments);
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
