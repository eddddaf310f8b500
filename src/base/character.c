/* character.c: UTF-8, character by character. Calls nothing, for those who must not. */
#include "base/character.h"

size_t text_sequence_length(const char *text, size_t left)
{
        const unsigned char *bytes = (const unsigned char *)text;
        unsigned char first = bytes[0], low = 0x80, high = 0xbf;
        size_t length;

        if (first < 0x80)
                return 1;
        if (first >= 0xc2 && first <= 0xdf)
                length = 2;
        else if (first >= 0xe0 && first <= 0xef)
                length = 3;
        else if (first >= 0xf0 && first <= 0xf4)
                length = 4;
        else
                return 0;
        if (first == 0xe0)
                low = 0xa0;
        else if (first == 0xed)
                high = 0x9f;
        else if (first == 0xf0)
                low = 0x90;
        else if (first == 0xf4)
                high = 0x8f;
        if (left < length || bytes[1] < low || bytes[1] > high)
                return 0;
        for (size_t i = 2; i < length; i++)
                if ((bytes[i] & 0xc0) != 0x80)
                        return 0;
        return length;
}

size_t text_character(const char *bytes, size_t length, uint32_t *out)
{
        static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        size_t taken = text_sequence_length(bytes, length);

        if (!taken) {
                *out = 0x110000 + (unsigned char)*bytes;
                return 1;
        }
        *out = (unsigned char)*bytes & masks[taken];
        for (size_t i = 1; i < taken; i++)
                *out = *out << 6 | ((unsigned char)bytes[i] & 0x3f);
        return taken;
}
