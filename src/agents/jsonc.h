/* jsonc.h: JSON, with comments and trailing commas where there are any, as values that know where in the text they stand. */
#ifndef AGENTS_JSONC_H
#define AGENTS_JSONC_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"

enum { JSONC_DEPTH_MAX = 100, JSONC_VALUES_MAX = 1000 * 1000 };

enum jsonc_kind { JSONC_OBJECT, JSONC_ARRAY, JSONC_STRING, JSONC_OTHER };

struct jsonc_value {
        enum jsonc_kind kind;
        size_t start, end;   /* of the text */
        size_t key, key_end; /* of an object's member: its key, with the quotes; both 0: none */
        size_t after;        /* the value that comes after this one and all that is in it */
};

struct jsonc {
        const char *text; /* borrowed */
        size_t length;
        struct jsonc_value *values; /* owned; the first is the outermost, what is in one follows it */
        size_t count;
};

#define JSONC_NONE ((size_t)-1)

/* Refuses what is no JSON, keys that are there twice, and what is too deep or too much; the message begins with "LINE:COLUMN: ". */
int jsonc_parse(const char *text, size_t length, struct jsonc *out, abatis_error *err);
void jsonc_done(struct jsonc *document);
#define OWN_JSONC __attribute__((cleanup(jsonc_done)))

/* The same kind of message about a place of the text. */
int jsonc_refuse(const struct jsonc *document, size_t at, abatis_error *err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* The first value in an object or array, and the one after another in it; JSONC_NONE when there is none. */
size_t jsonc_first(const struct jsonc *document, size_t parent);
size_t jsonc_next(const struct jsonc *document, size_t parent, size_t value);
/* The member of an object with this key, or JSONC_NONE; also when it is no object. */
size_t jsonc_member(const struct jsonc *document, size_t object, const char *key);
/* What a string means that stands, with its quotes, in the text: owned by the caller, NUL and lone surrogates as U+FFFD; or NULL. */
char *jsonc_decode(const struct jsonc *document, size_t start, size_t end);
/* Whether a value is this string. */
bool jsonc_is(const struct jsonc *document, size_t value, const char *string);
/* Behind the blanks that begin here. */
size_t jsonc_blanks_end(const char *text, size_t length, size_t at);

#endif
