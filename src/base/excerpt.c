/* excerpt.c: the beginning and the end of more bytes than there is room for. */
#include "base/excerpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 /* "\n… 18446744073709551615 bytes omitted …\n" */ };

static bool is_inside_character(char byte)
{
        return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t character_length(char first)
{
        unsigned char byte = (unsigned char)first;

        return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* Without a character at the end that is not whole. */
static size_t cut_end(const char *bytes, size_t length)
{
        size_t start = length;

        for (int i = 0; i < 4 && start; i++) {
                start--;
                if (is_inside_character(bytes[start]))
                        continue;
                return start + character_length(bytes[start]) > length ? start : length;
        }
        return length;
}

/* How much of the beginning belongs to a character that began before. */
static size_t cut_start(const char *bytes, size_t length)
{
        size_t start = 0;

        while (start < 3 && start < length && is_inside_character(bytes[start]))
                start++;
        return start;
}

static bool make_room(struct text *text, size_t wanted, size_t most)
{
        size_t capacity = text->capacity ? text->capacity : 4096;
        char *grown;

        while (capacity < wanted)
                capacity *= 2;
        if (capacity > most)
                capacity = most;
        if (capacity <= text->capacity)
                return true;
        grown = realloc(text->data, capacity);
        if (!grown) {
                text->has_failed = true;
                return false;
        }
        text->data = grown;
        text->capacity = capacity;
        return true;
}

void excerpt_add(struct excerpt *excerpt, const char *bytes, size_t length)
{
        struct text *text = &excerpt->text;
        size_t most = excerpt->room + 1;

        while (length && excerpt->room && !text->has_failed) {
                size_t at, part, ring = excerpt->room - excerpt->head;

                if (excerpt->total < excerpt->room)
                        at = (size_t)excerpt->total;
                else
                        at = excerpt->head + (size_t)((excerpt->total - excerpt->head) % ring);
                part = excerpt->room - at < length ? excerpt->room - at : length;
                if (!make_room(text, at + part + 1, most))
                        return;
                memcpy(text->data + at, bytes, part);
                excerpt->total += part;
                bytes += part;
                length -= part;
        }
        excerpt->total += length;
}

static void reverse(char *bytes, size_t length)
{
        for (size_t i = 0; i < length / 2; i++) {
                char byte = bytes[i];

                bytes[i] = bytes[length - 1 - i];
                bytes[length - 1 - i] = byte;
        }
}

/* The oldest byte of the ring comes first. */
static void unroll(char *ring, size_t length, size_t oldest)
{
        reverse(ring, oldest);
        reverse(ring + oldest, length - oldest);
        reverse(ring, length);
}

/* The words about what is left out between `last` and `next`. */
static size_t describe(char words[WORDS_MAX], uint64_t omitted, char last, char next)
{
        return (size_t)snprintf(words, WORDS_MAX, "%s… %llu bytes omitted …%s",
                                last && last != '\n' ? "\n" : "", (unsigned long long)omitted,
                                next != '\n' ? "\n" : "");
}

bool excerpt_finish(struct excerpt *excerpt)
{
        struct text *text = &excerpt->text;
        size_t ring = excerpt->room - excerpt->head, head, skipped, length = 0;
        char words[WORDS_MAX], *end, last;
        bool has_words;

        if (text->has_failed || !text->data)
                return excerpt->total > 0;
        if (excerpt->total <= excerpt->room) {
                text->length = (size_t)excerpt->total;
                text->data[text->length] = '\0';
                return false;
        }
        end = text->data + excerpt->head;
        unroll(end, ring, (size_t)((excerpt->total - excerpt->head) % ring));
        head = cut_end(text->data, excerpt->head);
        last = head ? text->data[head - 1] : excerpt->before;
        /* They cannot become longer than this. */
        skipped = describe(words, excerpt->total, 'x', 'x');
        has_words = skipped <= ring / 2;
        if (!has_words)
                skipped = 0;
        skipped += cut_start(end + skipped, ring - skipped);
        if (has_words)
                length = describe(words, excerpt->total - head - (ring - skipped), last,
                                  skipped < ring ? end[skipped] : '\n');
        memmove(text->data + head + length, end + skipped, ring - skipped);
        memcpy(text->data + head, words, length);
        text->length = head + length + ring - skipped;
        text->data[text->length] = '\0';
        return true;
}

void excerpt_done(struct excerpt *excerpt)
{
        text_done(&excerpt->text);
}
