/* wire.h: the numbers and names of a WebAssembly module, byte by byte.
 *
 * Sticky: after the first mistake nothing is read any more, numbers are 0 and names empty, and the message stays what it was. */
#ifndef SKILL_WIRE_H
#define SKILL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"

struct wire {
        const uint8_t *bytes; /* borrowed */
        size_t at, end;       /* what is left of the part that is being read */
        const char *part;     /* static: what messages call it */
        int failure;          /* 0, or the code to return */
        abatis_error *err;    /* borrowed, or NULL */
};

struct wire_name {
        const char *bytes; /* borrowed: it lies in the module; UTF-8, in which there may be NUL */
        size_t length;
};

/* "byte AT: FORMAT", unless something else was wrong before. */
void wire_fail(struct wire *wire, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

uint8_t wire_byte(struct wire *wire);
void wire_skip(struct wire *wire, size_t length);
/* LEB128 of so many bits, 32 or 64. As the standard has it, zeros may fill it up to the 5 or 10 bytes that the width needs, and
 * no further; bits beyond the width must be zeros, or copies of the sign. */
uint64_t wire_number(struct wire *wire, unsigned bits);
uint32_t wire_u32(struct wire *wire);
void wire_skip_signed(struct wire *wire, unsigned bits);
/* How many things follow, of which each takes a byte at least: no more than there are bytes. */
uint32_t wire_count(struct wire *wire);
/* The number of one of so many, which messages call `what`. */
uint32_t wire_index(struct wire *wire, uint32_t count, const char *what);
struct wire_name wire_name(struct wire *wire);

/* The same number again, in so few bytes as it takes, or filled up to `width` of them if that is more. Returns how many. */
enum { WIRE_NUMBER_SIZE = 10 };
size_t wire_write(uint64_t number, size_t width, uint8_t out[WIRE_NUMBER_SIZE]);

bool wire_name_is(struct wire_name name, const char *text);
/* For "%.*s": a name may be as long as the file, and a message never is. */
int wire_shown(struct wire_name name);

#endif
