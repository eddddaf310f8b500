/* disarm.c: takes the wish for another protocol out of a request.
 *
 * What is kept moves down over what goes, so nothing is written that has not been read yet. */
#include "net/disarm.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_word(const char *bytes, size_t length, const char *word)
{
        return length == strlen(word) && strncasecmp(bytes, word, length) == 0;
}

static bool is_blank(char character)
{
        return character == ' ' || character == '\t';
}

static bool is_upgrade(const char *bytes, size_t length)
{
        while (length && is_blank(*bytes)) {
                bytes++;
                length--;
        }
        while (length && is_blank(bytes[length - 1]))
                length--;
        return is_word(bytes, length, "Upgrade");
}

/* The value of Connection without that word, to `to`; returns its length, 0 if no word is left. */
static size_t keep_words(const char *value, size_t length, char *to)
{
        const char *end = value + length;
        char *at = to;

        while (value < end) {
                const char *comma = memchr(value, ',', (size_t)(end - value));
                size_t word = (size_t)((comma ? comma : end) - value);

                if (!is_upgrade(value, word)) {
                        if (at != to)
                                *at++ = ',';
                        memmove(at, value, word);
                        at += word;
                }
                value += word + (comma != NULL);
        }
        return (size_t)(at - to);
}

/* One line with its end, to `to`; returns how much of it is left. */
static size_t keep_line(const char *line, size_t length, char *to)
{
        const char *colon = memchr(line, ':', length);
        size_t name = colon ? (size_t)(colon - line) : 0, words;

        if (is_word(line, name, "Upgrade"))
                return 0;
        if (!is_word(line, name, "Connection")) {
                memmove(to, line, length);
                return length;
        }
        memmove(to, line, name + 1);
        words = keep_words(colon + 1, length - name - 1 - strlen("\r\n"), to + name + 1);
        if (!words)
                return 0;
        to += name + 1 + words;
        to[0] = '\r';
        to[1] = '\n';
        return name + 1 + words + strlen("\r\n");
}

size_t disarm_head(char *bytes, size_t length)
{
        char *to = bytes;

        for (const char *line = bytes, *end = bytes + length; line < end;) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));
                size_t size = (size_t)((newline ? newline + 1 : end) - line);

                /* The first is the request's own, whatever it looks like. */
                if (line == bytes)
                        to += size;
                else
                        to += keep_line(line, size, to);
                line += size;
        }
        return (size_t)(to - bytes);
}
