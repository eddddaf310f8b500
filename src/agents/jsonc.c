/* jsonc.c: JSON, with comments and trailing commas where there are any, as values that know where in the text they stand. */
#define _GNU_SOURCE
#include "agents/jsonc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

enum { REPLACEMENT = 0xfffd };

struct reader {
        struct jsonc *document;
        size_t at, capacity;
        unsigned depth;
        abatis_error *err;
};

int jsonc_refuse(const struct jsonc *document, size_t at, abatis_error *err, const char *format, ...)
{
        size_t line = 1, start = 0;
        char what[256];
        va_list arguments;

        for (size_t i = 0; i < at; i++)
                if (document->text[i] == '\n') {
                        line++;
                        start = i + 1;
                }
        va_start(arguments, format);
        vsnprintf(what, sizeof(what), format, arguments);
        va_end(arguments);
        return error_set(err, ABATIS_E_INVALID, "%zu:%zu: %s", line, at - start + 1, what);
}

static int refuse(const struct reader *reader, const char *what)
{
        return jsonc_refuse(reader->document, reader->at, reader->err, "%s", what);
}

/* ---- strings --------------------------------------------------------------------------------------------- */

static int hex_value(char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        digit |= 0x20;
        return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The number of a "\u" with its four digits, or -1. */
static int32_t read_unit(const char *at, const char *end)
{
        int32_t unit = 0;

        if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
                return -1;
        for (int i = 2; i < 6; i++) {
                int value = hex_value(at[i]);

                if (value < 0)
                        return -1;
                unit = unit << 4 | value;
        }
        return unit;
}

/* The character that stands there in a string that is known to be one, and how many bytes it takes. */
static size_t read_character(const char *at, const char *end, uint32_t *out)
{
        static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
        int32_t unit, low;

        if (*at != '\\')
                return text_character(at, (size_t)(end - at), out);
        unit = read_unit(at, end);
        if (unit < 0) {
                const char *letter = strchr(letters, at[1]);

                *out = (unsigned char)(letter ? meanings[letter - letters] : at[1]);
                return 2;
        }
        low = read_unit(at + 6, end);
        if (unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
                *out = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
                return 12;
        }
        *out = (uint32_t)unit;
        return 6;
}

static void add_character(struct text *text, uint32_t character)
{
        char bytes[4];
        size_t count = 1;

        if (!character || (character >= 0xd800 && character < 0xe000))
                character = REPLACEMENT;
        if (character < 0x80) {
                bytes[0] = (char)character;
        } else if (character < 0x800) {
                bytes[0] = (char)(0xc0 | character >> 6);
                count = 2;
        } else if (character < 0x10000) {
                bytes[0] = (char)(0xe0 | character >> 12);
                count = 3;
        } else {
                bytes[0] = (char)(0xf0 | character >> 18);
                count = 4;
        }
        for (size_t i = 1; i < count; i++)
                bytes[i] = (char)(0x80 | (character >> 6 * (count - 1 - i) & 0x3f));
        text_add_bytes(text, bytes, count);
}

char *jsonc_decode(const struct jsonc *document, size_t start, size_t end)
{
        const char *at = document->text + start + 1, *last = document->text + end - 1;
        OWN_TEXT struct text text = { 0 };
        uint32_t character;
        char *out;

        text_add(&text, "");
        while (at < last) {
                at += read_character(at, last, &character);
                add_character(&text, character);
        }
        return text_take(&text, &out, NULL) < 0 ? NULL : out;
}

static int compare_strings(const char *left, const char *left_end, const char *right, const char *right_end)
{
        while (left < left_end && right < right_end) {
                uint32_t a, b;

                left += read_character(left, left_end, &a);
                right += read_character(right, right_end, &b);
                if (a != b)
                        return a < b ? -1 : 1;
        }
        return (left < left_end) - (right < right_end);
}

static bool means(const struct jsonc *document, size_t start, size_t end, const char *string)
{
        const char *text = document->text;
        size_t length = strlen(string);

        if (!memchr(text + start, '\\', end - start))
                return end - start == length + 2 && !memcmp(text + start + 1, string, length);
        /* A backslash in `string` itself would be read as an escape: none of ours has one. */
        return !compare_strings(text + start + 1, text + end - 1, string, string + length);
}

static int read_string(struct reader *reader)
{
        const char *text = reader->document->text;
        size_t length = reader->document->length;

        for (reader->at++; reader->at < length && text[reader->at] != '"'; reader->at++) {
                if ((unsigned char)text[reader->at] < 0x20)
                        return refuse(reader, "a control character in a string");
                if (text[reader->at] != '\\')
                        continue;
                if (reader->at + 1 >= length || !strchr("\"\\/bfnrtu", text[reader->at + 1]) ||
                    !text[reader->at + 1] ||
                    (text[reader->at + 1] == 'u' && read_unit(text + reader->at, text + length) < 0))
                        return refuse(reader, "no such escape in JSON");
                reader->at++;
        }
        if (reader->at >= length)
                return refuse(reader, "a string without an end");
        reader->at++;
        return 0;
}

/* ---- values ---------------------------------------------------------------------------------------------- */

size_t jsonc_blanks_end(const char *text, size_t length, size_t at)
{
        while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
                at++;
        return at;
}

/* Blanks and comments. */
static int skip(struct reader *reader)
{
        const char *text = reader->document->text, *end;
        size_t length = reader->document->length;

        for (;;) {
                reader->at = jsonc_blanks_end(text, length, reader->at);
                if (reader->at + 1 >= length || text[reader->at] != '/')
                        return 0;
                if (text[reader->at + 1] == '/') {
                        end = memchr(text + reader->at, '\n', length - reader->at);
                        reader->at = end ? (size_t)(end - text) : length;
                } else if (text[reader->at + 1] == '*') {
                        end = memmem(text + reader->at + 2, length - reader->at - 2, "*/", 2);
                        if (!end)
                                return refuse(reader, "a comment without an end");
                        reader->at = (size_t)(end - text) + 2;
                } else
                        return 0;
        }
}

static char peek(const struct reader *reader)
{
        return reader->at < reader->document->length ? reader->document->text[reader->at] : '\0';
}

static void skip_digits(struct reader *reader)
{
        while (peek(reader) >= '0' && peek(reader) <= '9')
                reader->at++;
}

static int read_number(struct reader *reader)
{
        size_t start;

        reader->at += peek(reader) == '-';
        start = reader->at;
        skip_digits(reader);
        if (reader->at == start || (reader->document->text[start] == '0' && reader->at > start + 1))
                return refuse(reader, "no value of JSON");
        if (peek(reader) == '.') {
                start = ++reader->at;
                skip_digits(reader);
                if (reader->at == start)
                        return refuse(reader, "no number of JSON");
        }
        if (peek(reader) == 'e' || peek(reader) == 'E') {
                reader->at++;
                reader->at += peek(reader) == '+' || peek(reader) == '-';
                start = reader->at;
                skip_digits(reader);
                if (reader->at == start)
                        return refuse(reader, "no number of JSON");
        }
        return 0;
}

static int read_word(struct reader *reader)
{
        static const char *const words[] = { "true", "false", "null" };

        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
                if (reader->document->length - reader->at >= strlen(words[i]) &&
                    !memcmp(reader->document->text + reader->at, words[i], strlen(words[i]))) {
                        reader->at += strlen(words[i]);
                        return 0;
                }
        return read_number(reader);
}

static int add_value(struct reader *reader, size_t *out)
{
        struct jsonc *document = reader->document;
        struct jsonc_value *values;

        if (document->count >= JSONC_VALUES_MAX)
                return refuse(reader, "too many values");
        if (document->count == reader->capacity) {
                size_t capacity = reader->capacity ? reader->capacity * 2 : 64;

                values = realloc(document->values, capacity * sizeof(*values));
                if (!values)
                        return error_memory(reader->err);
                document->values = values;
                reader->capacity = capacity;
        }
        *out = document->count++;
        document->values[*out] = (struct jsonc_value){ .kind = JSONC_OTHER, .start = reader->at };
        return 0;
}

struct key {
        const char *start, *end;
};

static int compare_keys(const void *left, const void *right)
{
        const struct key *a = left, *b = right;

        return compare_strings(a->start, a->end, b->start, b->end);
}

/* Which of the two a client takes is its own affair: it is not guessed here. */
static int refuse_duplicates(struct reader *reader, size_t object, size_t members)
{
        const struct jsonc *document = reader->document;
        OWN_FREE struct key *keys = members > 1 ? malloc(members * sizeof(*keys)) : NULL;
        size_t count = 0;

        if (members < 2)
                return 0;
        if (!keys)
                return error_memory(reader->err);
        for (size_t i = jsonc_first(document, object); i != JSONC_NONE; i = jsonc_next(document, object, i))
                keys[count++] = (struct key){ document->text + document->values[i].key + 1,
                                              document->text + document->values[i].key_end - 1 };
        qsort(keys, count, sizeof(*keys), compare_keys);
        for (size_t i = 1; i < count; i++)
                if (!compare_keys(&keys[i - 1], &keys[i])) {
                        const char *later =
                                keys[i].start > keys[i - 1].start ? keys[i].start : keys[i - 1].start;

                        return jsonc_refuse(document, (size_t)(later - document->text - 1), reader->err,
                                            "a key that is there twice");
                }
        return 0;
}

static int read_value(struct reader *reader, size_t key, size_t key_end);

static int read_member(struct reader *reader)
{
        size_t key = reader->at, key_end;
        int r = peek(reader) == '"' ? read_string(reader) : refuse(reader, "a key in quotes is missing");

        key_end = reader->at;
        /* What stands there may be found by any other key. */
        if (!r && means(reader->document, key, key_end, "__proto__"))
                r = jsonc_refuse(reader->document, key, reader->err,
                                 "a key that clients in JavaScript read as something else");
        if (!r)
                r = skip(reader);
        if (!r && peek(reader) != ':')
                r = refuse(reader, "a colon is missing");
        reader->at++;
        if (!r)
                r = skip(reader);
        return r ? r : read_value(reader, key, key_end);
}

/* What is between the brackets; a comma may follow the last. */
static int read_members(struct reader *reader, size_t parent, char close)
{
        size_t members = 0;
        int r;

        reader->at++;
        while (!(r = skip(reader)) && peek(reader) != close) {
                if (members && peek(reader) != ',')
                        return refuse(reader, close == '}' ? "a comma or '}' is missing"
                                                           : "a comma or ']' is missing");
                if (members) {
                        reader->at++;
                        r = skip(reader);
                        if (r || peek(reader) == close)
                                break;
                }
                members++;
                r = close == '}' ? read_member(reader) : read_value(reader, 0, 0);
                if (r)
                        return r;
        }
        reader->at++;
        return r || close == ']' ? r : refuse_duplicates(reader, parent, members);
}

static int read_value(struct reader *reader, size_t key, size_t key_end)
{
        struct jsonc *document = reader->document;
        char sign = peek(reader);
        size_t index = JSONC_NONE;
        int r = add_value(reader, &index);

        if (index == JSONC_NONE)
                return r;
        document->values[index].key = key;
        document->values[index].key_end = key_end;
        document->values[index].after = JSONC_NONE; /* until its end is known */
        if (sign == '{' || sign == '[') {
                if (++reader->depth > JSONC_DEPTH_MAX)
                        return refuse(reader, "too deep");
                document->values[index].kind = sign == '{' ? JSONC_OBJECT : JSONC_ARRAY;
                r = read_members(reader, index, sign == '{' ? '}' : ']');
                reader->depth--;
        } else if (sign == '"') {
                document->values[index].kind = JSONC_STRING;
                r = read_string(reader);
        } else
                r = read_word(reader);
        document->values[index].end = reader->at;
        document->values[index].after = document->count;
        return r;
}

/* Some clients end a line with such a return, and with it a comment; others do not. */
static int refuse_returns(struct reader *reader)
{
        const char *text = reader->document->text, *end = text + reader->document->length;

        for (const char *at = text; (at = memchr(at, '\r', (size_t)(end - at))); at++)
                if (at + 1 == end || at[1] != '\n') {
                        reader->at = (size_t)(at - text);
                        return refuse(reader, "a return without a newline");
                }
        return 0;
}

static int read_document(struct reader *reader)
{
        struct jsonc *document = reader->document;
        int r;

        reader->at = text_utf8_prefix(document->text, document->length);
        if (reader->at < document->length)
                return refuse(reader, "not UTF-8");
        /* What some editors put at the beginning. */
        reader->at = document->length >= 3 && !memcmp(document->text, "\xef\xbb\xbf", 3) ? 3 : 0;
        r = refuse_returns(reader);
        if (!r)
                r = skip(reader);
        if (!r)
                r = read_value(reader, 0, 0);
        if (!r)
                r = skip(reader);
        return !r && reader->at < document->length ? refuse(reader, "something after the end") : r;
}

int jsonc_parse(const char *text, size_t length, struct jsonc *out, abatis_error *err)
{
        struct jsonc document = { .text = text, .length = length };
        struct reader reader = { .document = &document, .err = err };
        int r = read_document(&reader);

        if (r < 0)
                jsonc_done(&document);
        else
                *out = document;
        return r;
}

void jsonc_done(struct jsonc *document)
{
        free(document->values);
        document->values = NULL;
        document->count = 0;
}

/* ---- what is asked of it --------------------------------------------------------------------------------- */

/* While a value is being read, all that follows it is in it. */
static size_t end_of(const struct jsonc *document, size_t parent)
{
        size_t after = document->values[parent].after;

        return after < document->count ? after : document->count;
}

size_t jsonc_first(const struct jsonc *document, size_t parent)
{
        return parent + 1 < end_of(document, parent) ? parent + 1 : JSONC_NONE;
}

size_t jsonc_next(const struct jsonc *document, size_t parent, size_t value)
{
        size_t next = document->values[value].after;

        return next < end_of(document, parent) ? next : JSONC_NONE;
}

size_t jsonc_member(const struct jsonc *document, size_t object, const char *key)
{
        if (document->values[object].kind != JSONC_OBJECT)
                return JSONC_NONE;
        for (size_t i = jsonc_first(document, object); i != JSONC_NONE; i = jsonc_next(document, object, i))
                if (means(document, document->values[i].key, document->values[i].key_end, key))
                        return i;
        return JSONC_NONE;
}

bool jsonc_is(const struct jsonc *document, size_t value, const char *string)
{
        const struct jsonc_value *found = &document->values[value];

        return found->kind == JSONC_STRING && means(document, found->start, found->end, string);
}
