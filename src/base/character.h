/* character.h: UTF-8, character by character. */
#ifndef BASE_CHARACTER_H
#define BASE_CHARACTER_H

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed UTF-8 sequence that begins a text which is not empty, or 0: no overlong forms, no
 * surrogates. */
size_t text_sequence_length(const char *text, size_t left);
/* The character there, and how many bytes it takes. A byte that is no UTF-8 counts as a character of its own, above all
 * others. */
size_t text_character(const char *bytes, size_t length, uint32_t *out);

#endif
