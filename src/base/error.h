/* error.h: fills the caller's error struct; every function returns the code so that it can be returned at once.
 *
 * Whatever is in the arguments, a message is one line that can be printed, and a path that is too long for it loses its
 * middle, with a mark. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>

#include "abatis.h"

int error_set(abatis_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_set_list(abatis_error *err, int code, const char *format, va_list arguments)
        __attribute__((format(printf, 3, 0)));
/* Appends what errno means; the code is ABATIS_E_SYSTEM. */
int error_os(abatis_error *err, int os_errno, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Says what went on before what went wrong below, whose code and errno stay: "WHAT WENT ON: BELOW". */
int error_within(abatis_error *err, const abatis_error *below, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int error_memory(abatis_error *err);

#endif
