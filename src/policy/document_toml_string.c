/* document_toml_string.c: the four kinds of strings in TOML, with their escapes. */
#include "policy/document_toml.h"

#include "base/error.h"

static void add_byte(struct text *out, int byte)
{
        char one = (char)byte;

        text_add_bytes(out, &one, 1);
}

static void add_code_point(struct text *out, unsigned long code)
{
        if (code < 0x80) {
                add_byte(out, (int)code);
                return;
        }
        if (code < 0x800) {
                add_byte(out, (int)(0xc0 | code >> 6));
        } else {
                if (code < 0x10000) {
                        add_byte(out, (int)(0xe0 | code >> 12));
                } else {
                        add_byte(out, (int)(0xf0 | code >> 18));
                        add_byte(out, (int)(0x80 | (code >> 12 & 0x3f)));
                }
                add_byte(out, (int)(0x80 | (code >> 6 & 0x3f)));
        }
        add_byte(out, (int)(0x80 | (code & 0x3f)));
}

static int hex_value(int byte)
{
        if (byte >= '0' && byte <= '9')
                return byte - '0';
        if (byte >= 'a' && byte <= 'f')
                return byte - 'a' + 10;
        return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* Behind the "u" or "U"; `start` is the place of the backslash. */
static int read_code_point(struct toml *toml, const struct toml *start, int digits, struct text *out)
{
        unsigned long code = 0;

        for (int i = 0; i < digits; i++) {
                int value = hex_value(toml_peek(toml, 0));

                if (value < 0)
                        return toml_expected(toml, digits == 4 ? "four hexadecimal digits after \\u"
                                                               : "eight hexadecimal digits after \\U");
                code = code << 4 | (unsigned long)value;
                toml_step(toml);
        }
        if (!code)
                return toml_error(start, "a NUL in a text");
        if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
                return toml_error(start, "U+%04lX is not a character", code);
        add_code_point(out, code);
        return 0;
}

/* A backslash at the end of a line takes away all blanks and line breaks up to the next character. */
static bool skip_folded_lines(struct toml *toml)
{
        struct toml ahead = *toml;

        while (toml_is_space(toml_peek(&ahead, 0)))
                toml_step(&ahead);
        if (!toml_line_break(&ahead))
                return false;
        while (toml_is_space(toml_peek(&ahead, 0)) || toml_line_break(&ahead))
                toml_step(&ahead);
        *toml = ahead;
        return true;
}

static int read_escape(struct toml *toml, bool has_lines, struct text *out)
{
        static const char escapes[][2] = { { 'b', '\b' }, { 't', '\t' }, { 'n', '\n' }, { 'f', '\f' },
                                           { 'r', '\r' }, { '"', '"' },  { '\\', '\\' } };
        const struct toml start = *toml;
        int next;

        toml_step(toml);
        if (has_lines && skip_folded_lines(toml))
                return 0;
        next = toml_peek(toml, 0);
        if (next == 'u' || next == 'U') {
                toml_step(toml);
                return read_code_point(toml, &start, next == 'u' ? 4 : 8, out);
        }
        for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
                if (next == escapes[i][0]) {
                        toml_step(toml);
                        add_byte(out, escapes[i][1]);
                        return 0;
                }
        }
        return toml_expected(toml, "one of b t n f r u U \" \\ after the backslash (a backslash itself is "
                                   "written \\\\, or as it is between single quotes)");
}

/* Up to two quotes may stand directly before the three that close. */
static bool read_closing_quotes(struct toml *toml, int quote, struct text *out)
{
        size_t count = 0;

        while (count < 5 && toml_peek(toml, 0) == quote) {
                toml_step(toml);
                count++;
        }
        for (size_t i = 0; i < (count < 3 ? count : count - 3); i++)
                add_byte(out, quote);
        return count >= 3;
}

static int read_lines(struct toml *toml, int quote, struct text *out)
{
        const struct toml start = *toml;

        for (int i = 0; i < 3; i++)
                toml_step(toml);
        for (size_t length = toml_line_break(toml); length; length--)
                toml_step(toml);
        for (;;) {
                int next = toml_peek(toml, 0);
                int r = 0;

                if (next == TOML_END)
                        return toml_error(toml,
                                          "the string that begins on line %u is not closed; expected %c%c%c",
                                          start.line, quote, quote, quote);
                if (next == quote) {
                        if (read_closing_quotes(toml, quote, out))
                                return 0;
                } else if (next == '\\' && quote == '"') {
                        r = read_escape(toml, true, out);
                } else if (toml_line_break(toml) == 2) {
                        /* The same file says the same, however an editor ends its lines. */
                        toml_step(toml);
                } else if (toml_is_control(next) && next != '\n') {
                        return toml_expected(toml, "an escape such as \\u0001 in the string");
                } else {
                        add_byte(out, next);
                        toml_step(toml);
                }
                if (r < 0)
                        return r;
        }
}

static int read_line(struct toml *toml, int quote, struct text *out)
{
        toml_step(toml);
        for (;;) {
                int next = toml_peek(toml, 0);
                int r = 0;

                if (next == quote) {
                        toml_step(toml);
                        return 0;
                }
                if (next == TOML_END || toml_line_break(toml))
                        return toml_expected(toml, quote == '"' ? "the closing \"" : "the closing '");
                if (toml_is_control(next))
                        return toml_expected(toml, "an escape such as \\u0001 in the string");
                if (next == '\\' && quote == '"') {
                        r = read_escape(toml, false, out);
                } else {
                        add_byte(out, next);
                        toml_step(toml);
                }
                if (r < 0)
                        return r;
        }
}

int toml_read_string(struct toml *toml, bool is_key, struct text *out)
{
        int quote = toml_peek(toml, 0);
        bool has_lines = toml_peek(toml, 1) == quote && toml_peek(toml, 2) == quote;
        int r;

        if (has_lines && is_key)
                return toml_error(toml, "a key is written on one line, between single or double quotes");
        r = has_lines ? read_lines(toml, quote, out) : read_line(toml, quote, out);
        if (r < 0)
                return r;
        text_add_bytes(out, "", 0); /* an empty string is one, too */
        return out->has_failed ? error_memory(toml->source->err) : 0;
}
