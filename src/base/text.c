/* text.c: growing strings, string lists, UTF-8 and base64. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool make_room(struct text *text, size_t extra)
{
        size_t wanted, capacity = text->capacity ? text->capacity : 256;
        char *data;

        if (text->has_failed)
                return false;
        if (__builtin_add_overflow(text->length, extra, &wanted) || wanted >= SIZE_MAX / 2) {
                text->has_failed = true;
                return false;
        }
        if (wanted + 1 <= text->capacity)
                return true;
        while (capacity < wanted + 1)
                capacity *= 2;
        data = realloc(text->data, capacity);
        if (!data) {
                text->has_failed = true;
                return false;
        }
        text->data = data;
        text->capacity = capacity;
        return true;
}

void text_add_bytes(struct text *text, const void *bytes, size_t length)
{
        if (!make_room(text, length))
                return;
        if (length)
                memcpy(text->data + text->length, bytes, length);
        text->length += length;
        text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
        text_add_bytes(text, string, strlen(string));
}

/* By far the most. */
static bool is_shown_as_it_is(char byte)
{
        return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

void text_add_line(struct text *text, const char *string)
{
        size_t left = strlen(string), taken;

        for (; left; left -= taken, string += taken) {
                char shown[TEXT_SHOWN_SIZE];

                for (taken = 0; taken < left && is_shown_as_it_is(string[taken]);)
                        taken++;
                if (taken) {
                        text_add_bytes(text, string, taken);
                        continue;
                }
                taken = text_show(string, left, shown);
                text_add(text, *string == '\\' ? "\\\\" : shown);
        }
}

void text_addf(struct text *text, const char *format, ...)
{
        va_list arguments;
        int length;

        va_start(arguments, format);
        length = vsnprintf(NULL, 0, format, arguments);
        va_end(arguments);
        if (length < 0) {
                text->has_failed = true;
                return;
        }
        if (!make_room(text, (size_t)length))
                return;
        va_start(arguments, format);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
        va_end(arguments);
        text->length += (size_t)length;
}

int text_take(struct text *text, char **out, abatis_error *err)
{
        text_add_bytes(text, "", 0);
        if (text->has_failed) {
                text_done(text);
                return error_memory(err);
        }
        *out = text->data;
        *text = (struct text){ 0 };
        return 0;
}

void text_done(struct text *text)
{
        free(text->data);
        *text = (struct text){ 0 };
}

char *text_join(const char *first, const char *second, const char *third)
{
        size_t lengths[3] = { strlen(first), strlen(second), strlen(third) };
        char *joined = malloc(lengths[0] + lengths[1] + lengths[2] + 1);

        if (!joined)
                return NULL;
        memcpy(joined, first, lengths[0]);
        memcpy(joined + lengths[0], second, lengths[1]);
        memcpy(joined + lengths[0] + lengths[1], third, lengths[2] + 1);
        return joined;
}

bool text_is_hidden(uint32_t character)
{
        return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
               (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
               character == 0xfeff || character == 0xfffe || character == 0xffff;
}

size_t text_show(const char *bytes, size_t length, char shown[TEXT_SHOWN_SIZE])
{
        static const char names[] = { ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r' };
        uint32_t character;
        size_t taken = text_character(bytes, length, &character);

        if (character < sizeof(names) && names[character])
                snprintf(shown, TEXT_SHOWN_SIZE, "\\%c", names[character]);
        else if (character >= 0x110000 || (character < 0x80 && text_is_hidden(character)))
                snprintf(shown, TEXT_SHOWN_SIZE, "\\x%02x", (unsigned char)*bytes);
        else if (text_is_hidden(character))
                snprintf(shown, TEXT_SHOWN_SIZE, "\\u%04x", (unsigned)character & 0xffff);
        else {
                memcpy(shown, bytes, taken);
                shown[taken] = '\0';
        }
        return taken;
}

size_t text_utf8_prefix(const char *bytes, size_t length)
{
        size_t i = 0, step;

        for (; i < length; i += step) {
                step = text_sequence_length(bytes + i, length - i);
                if (!step)
                        break;
        }
        return i;
}

bool text_is_utf8(const char *bytes, size_t length)
{
        return text_utf8_prefix(bytes, length) == length;
}

bool text_is_plain(const char *bytes, size_t length)
{
        return !memchr(bytes, '\0', length) && text_is_utf8(bytes, length);
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void text_add_base64(struct text *text, const void *bytes, size_t length)
{
        const unsigned char *from = bytes;

        for (size_t i = 0; i < length; i += 3) {
                size_t have = length - i < 3 ? length - i : 3;
                uint32_t group = (uint32_t)from[i] << 16;
                char out[4];

                if (have > 1)
                        group |= (uint32_t)from[i + 1] << 8;
                if (have > 2)
                        group |= from[i + 2];
                out[0] = digits[group >> 18];
                out[1] = digits[group >> 12 & 63];
                out[2] = have > 1 ? digits[group >> 6 & 63] : '=';
                out[3] = have > 2 ? digits[group & 63] : '=';
                text_add_bytes(text, out, sizeof(out));
        }
}

/* Four characters, the last `padding` of them "=", as one number; UINT32_MAX when they are not. */
static uint32_t decode_group(const char *characters, size_t padding)
{
        uint32_t group = 0;

        for (size_t i = 0; i < 4; i++) {
                const char *digit =
                        i < 4 - padding ? memchr(digits, characters[i], sizeof(digits) - 1) : digits;

                if (!digit)
                        return UINT32_MAX;
                group = group << 6 | (uint32_t)(digit - digits);
        }
        /* Bits that stand for nothing are 0, so that no two texts mean the same. */
        return group & (padding == 2 ? 0xffff : padding ? 0xff : 0) ? UINT32_MAX : group;
}

bool text_add_decoded(struct text *text, const char *base64, size_t length)
{
        size_t before = text->length;

        for (size_t i = 0; i + 4 <= length; i += 4) {
                bool is_last = i + 4 == length;
                size_t padding = is_last && base64[i + 3] == '=' ? 1 + (base64[i + 2] == '=') : 0;
                uint32_t group = decode_group(base64 + i, padding);
                const char bytes[] = { (char)(group >> 16), (char)(group >> 8), (char)group };

                if (group == UINT32_MAX) {
                        text->length = before;
                        return false;
                }
                text_add_bytes(text, bytes, 3 - padding);
        }
        if (length % 4)
                text->length = before;
        return !(length % 4);
}

int strings_add(struct strings *strings, const char *item, abatis_error *err)
{
        char **items = realloc(strings->items, (strings->count + 1) * sizeof(*items));

        if (!items)
                return error_memory(err);
        strings->items = items;
        items[strings->count] = strdup(item);
        if (!items[strings->count])
                return error_memory(err);
        strings->count++;
        return 0;
}

bool strings_has(const struct strings *strings, const char *item)
{
        for (size_t i = 0; i < strings->count; i++)
                if (!strcmp(strings->items[i], item))
                        return true;
        return false;
}

void strings_done(struct strings *strings)
{
        for (size_t i = 0; i < strings->count; i++)
                free(strings->items[i]);
        free(strings->items);
        *strings = (struct strings){ 0 };
}
