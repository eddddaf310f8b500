/* wire.c: reads LEB128 and UTF-8 as strictly as the standard of WebAssembly has them. */
#include "skill/wire.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

enum { MORE = 0x80, BITS = 0x7f, SHOWN_MAX = 100 };

void wire_fail(struct wire *wire, size_t at, const char *format, ...)
{
        abatis_error below;
        va_list arguments;

        if (wire->failure)
                return;
        va_start(arguments, format);
        wire->failure = error_set_list(&below, ABATIS_E_INVALID, format, arguments);
        va_end(arguments);
        error_set(wire->err, ABATIS_E_INVALID, "byte %zu: %s", at, below.message);
}

/* Whether so many bytes are left; else the reader has failed. */
static bool has_left(struct wire *wire, size_t length)
{
        if (wire->end - wire->at < length)
                wire_fail(wire, wire->at, "the %s ends too early", wire->part);
        return !wire->failure;
}

uint8_t wire_byte(struct wire *wire)
{
        return has_left(wire, 1) ? wire->bytes[wire->at++] : 0;
}

void wire_skip(struct wire *wire, size_t length)
{
        if (has_left(wire, length))
                wire->at += length;
}

uint64_t wire_number(struct wire *wire, unsigned bits)
{
        const size_t begin = wire->at;
        uint64_t number = 0;

        for (unsigned shift = 0; shift < bits && !wire->failure; shift += 7) {
                uint8_t byte = wire_byte(wire);

                if (bits - shift < 7 && byte >> (bits - shift))
                        break;
                number |= (uint64_t)(byte & BITS) << shift;
                if (!(byte & MORE))
                        return wire->failure ? 0 : number;
        }
        wire_fail(wire, begin, "a number that does not fit into %u bits", bits);
        return 0;
}

uint32_t wire_u32(struct wire *wire)
{
        return (uint32_t)wire_number(wire, 32);
}

void wire_skip_signed(struct wire *wire, unsigned bits)
{
        const size_t begin = wire->at;

        for (unsigned shift = 0; shift < bits && !wire->failure; shift += 7) {
                uint8_t byte = wire_byte(wire);

                if (bits - shift < 7) {
                        /* The sign and all that is above it. */
                        unsigned above = (unsigned)byte >> (bits - shift - 1),
                                 ones = BITS >> (bits - shift - 1);

                        if (above && above != ones)
                                break;
                }
                if (!(byte & MORE))
                        return;
        }
        wire_fail(wire, begin, "a signed number that does not fit into %u bits", bits);
}

uint32_t wire_count(struct wire *wire)
{
        const size_t begin = wire->at;
        uint32_t count = wire_u32(wire);

        if (count > wire->end - wire->at)
                wire_fail(wire, begin, "%u things, for which the %s is too short", count, wire->part);
        return wire->failure ? 0 : count;
}

uint32_t wire_index(struct wire *wire, uint32_t count, const char *what)
{
        const size_t begin = wire->at;
        uint32_t index = wire_u32(wire);

        if (index >= count)
                wire_fail(wire, begin, "there is no %s %u, but %u of them", what, index, count);
        return index;
}

struct wire_name wire_name(struct wire *wire)
{
        struct wire_name name;
        size_t begin;

        name.length = wire_u32(wire);
        begin = wire->at;
        name.bytes = (const char *)wire->bytes + begin;
        wire_skip(wire, name.length);
        if (wire->failure)
                return (struct wire_name){ .bytes = "" };
        if (!text_is_utf8(name.bytes, name.length))
                wire_fail(wire, begin + text_utf8_prefix(name.bytes, name.length),
                          "a name that is not UTF-8");
        return name;
}

size_t wire_write(uint64_t number, size_t width, uint8_t out[WIRE_NUMBER_SIZE])
{
        size_t length = 0;

        do {
                out[length] = (uint8_t)((number & BITS) | MORE);
                number >>= 7;
        } while (++length < WIRE_NUMBER_SIZE && (number || length < width));
        out[length - 1] &= BITS;
        return length;
}

bool wire_name_is(struct wire_name name, const char *text)
{
        return name.length == strlen(text) && !memcmp(name.bytes, text, name.length);
}

int wire_shown(struct wire_name name)
{
        return name.length < SHOWN_MAX ? (int)name.length : SHOWN_MAX;
}
