/* executable.h: what the kernel would load together with a file to start it: its interpreter. */
#ifndef BASE_EXECUTABLE_H
#define BASE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"

enum executable_kind {
        EXECUTABLE_OTHER, /* nothing that the kernel starts by itself */
        EXECUTABLE_ELF,
        EXECUTABLE_SCRIPT,
};

struct executable {
        enum executable_kind kind;
        char *interpreter;         /* owned: as it stands in the file, or NULL when there is none */
        char *argument;            /* owned: what follows the interpreter in a script's first line, or NULL */
        bool has_writable_code;    /* a segment that can be written and executed; */
        bool has_executable_stack; /* or a stack, or no word on that, which older kernels take for yes */
};

/* Reads no more than headers, and believes none of them. `name` is only for the message: a damaged file, and one for
 * 32-bit processors, is ABATIS_E_INVALID. */
int executable_read(int fd, const char *name, struct executable *out, abatis_error *err);
void executable_done(struct executable *executable);
#define OWN_EXECUTABLE __attribute__((cleanup(executable_done)))

/* How many bytes executable_disarm() adds. */
enum { EXECUTABLE_ADDED = 2 };

/* Changes a loader in memory, which must have room for EXECUTABLE_ADDED bytes more, so that the kernel still takes it as
 * the interpreter of a program but refuses to start it as a program: `/lib/ld.so /usr/bin/curl` would run anything that
 * can be read. */
int executable_disarm(unsigned char *image, size_t length, const char *name, abatis_error *err);

#endif
