/* text.h: a growing string whose builders are sticky: after a failed allocation they do nothing. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/character.h"

struct text {
        char *data; /* owned; NUL-terminated once anything was added */
        size_t length, capacity;
        bool has_failed;
};

void text_add(struct text *text, const char *string);
/* The same on one line, as text_show() shows it, with "\\" for a backslash: no other string looks like it. */
void text_add_line(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t length);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands the string over (never NULL on success), or fails if any builder call did. Leaves the text empty. */
int text_take(struct text *text, char **out, abatis_error *err);
void text_done(struct text *text);

#define OWN_TEXT __attribute__((cleanup(text_done)))

/* Three strings in one, owned by the caller, or NULL. On the launch path: printf would cost more than the launch of a
 * thread. */
char *text_join(const char *first, const char *second, const char *third);

/* True for what would break a line, drive a terminal, turn text round, or not be seen. */
bool text_is_hidden(uint32_t character);
enum { TEXT_SHOWN_SIZE = 8 };
/* The same character as people can see it: itself, or "\n", "\x1b", "\u202e", and "\xff" for a byte that is no UTF-8.
 * Returns how many bytes it takes; what is shown is terminated. */
size_t text_show(const char *bytes, size_t length, char shown[TEXT_SHOWN_SIZE]);
/* How many bytes from the beginning are whole characters of UTF-8. */
size_t text_utf8_prefix(const char *bytes, size_t length);
bool text_is_utf8(const char *bytes, size_t length);
/* True for what JSON, C strings and people can all hold: UTF-8 without NUL. */
bool text_is_plain(const char *bytes, size_t length);
void text_add_base64(struct text *text, const void *bytes, size_t length);
/* The bytes behind it. False, and nothing is added, for what is not exactly what text_add_base64() makes of some bytes. */
bool text_add_decoded(struct text *text, const char *base64, size_t length);

/* A list of owned strings. */
struct strings {
        char **items;
        size_t count;
};

int strings_add(struct strings *strings, const char *item, abatis_error *err);
bool strings_has(const struct strings *strings, const char *item);
void strings_done(struct strings *strings);

#endif
