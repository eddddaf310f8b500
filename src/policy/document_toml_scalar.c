/* document_toml_scalar.c: the numbers, booleans, dates and times of TOML. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/system.h"
#include "policy/document_toml.h"

/* What a scalar can be written with, as far as it goes: all ASCII, so that a byte is a column. */
struct token {
        struct source *source; /* borrowed */
        const char *text;      /* borrowed, not terminated */
        size_t length;
        unsigned line, column;
};

#define refuse(token, at, ...) \
        source_error((token)->source, (token)->line, (token)->column + (unsigned)(at), __VA_ARGS__)

static bool is_digit(int byte, int base)
{
        if (base == 16 && ((byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F')))
                return true;
        return byte >= '0' && byte < '0' + (base < 10 ? base : 10);
}

static bool is_word(int byte)
{
        return is_digit(byte, 10) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte > 0 && strchr("_+-.:", byte));
}

/* The byte at an index, or 0 behind the end: no text has a NUL. */
static char byte_at(const struct token *token, size_t at)
{
        return at < token->length ? token->text[at] : '\0';
}

static bool is_equal(const struct token *token, size_t from, const char *word)
{
        return token->length - from == strlen(word) && !memcmp(token->text + from, word, strlen(word));
}

static bool begins_with_digits(const struct token *token, size_t count, char mark)
{
        for (size_t i = 0; i < count; i++)
                if (!is_digit(byte_at(token, i), 10))
                        return false;
        return byte_at(token, count) == mark;
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

static const char *name_of_base(int base)
{
        switch (base) {
        case 2:
                return "a binary";
        case 8:
                return "an octal";
        case 16:
                return "a hexadecimal";
        default:
                return "a decimal";
        }
}

/* Adds the digits without the underscores between them, and moves `*at` behind. */
static int read_digits(const struct token *token, int base, size_t *at, struct text *out)
{
        bool was_digit = false;

        for (; *at < token->length; (*at)++) {
                const char *byte = token->text + *at;

                if (is_digit(*byte, base)) {
                        text_add_bytes(out, byte, 1);
                        was_digit = true;
                } else if (*byte == '_' && was_digit) {
                        was_digit = false;
                } else {
                        break;
                }
        }
        return was_digit ? 0 : refuse(token, *at, "expected %s digit", name_of_base(base));
}

static int set_integer(const struct token *token, const struct text *digits, int base, struct node *node)
{
        long long value;

        if (digits->has_failed)
                return error_memory(token->source->err);
        errno = 0;
        value = strtoll(digits->data, NULL, base);
        if (errno)
                return refuse(token, 0, "the number does not fit in 64 bits");
        node->kind = NODE_INTEGER;
        node->integer = value;
        return 0;
}

static int set_float(const struct token *token, const struct text *digits, struct node *node)
{
        if (digits->has_failed)
                return error_memory(token->source->err);
        /* The program around this library may have chosen a locale where 1.5 is written 1,5. */
        if (system_read_decimal(digits->data, &node->number) < 0)
                return error_memory(token->source->err);
        node->kind = NODE_FLOAT;
        return isinf(node->number) ? refuse(token, 0, "the number does not fit in 64 bits") : 0;
}

static int parse_decimal(const struct token *token, struct node *node)
{
        size_t at = byte_at(token, 0) == '+' || byte_at(token, 0) == '-';
        OWN_TEXT struct text digits = { 0 };
        bool is_float = false;
        int r;

        text_add_bytes(&digits, token->text, at);
        if (byte_at(token, at) == '0' &&
            (is_digit(byte_at(token, at + 1), 10) || byte_at(token, at + 1) == '_'))
                return refuse(token, at, "a number does not begin with a zero");
        r = read_digits(token, 10, &at, &digits);
        if (!r && byte_at(token, at) == '.') {
                is_float = true;
                text_add(&digits, ".");
                at++;
                r = read_digits(token, 10, &at, &digits);
        }
        if (!r && (byte_at(token, at) == 'e' || byte_at(token, at) == 'E')) {
                size_t sign = byte_at(token, at + 1) == '+' || byte_at(token, at + 1) == '-';

                is_float = true;
                text_add_bytes(&digits, token->text + at, 1 + sign);
                at += 1 + sign;
                r = read_digits(token, 10, &at, &digits);
        }
        if (r < 0)
                return r;
        if (at < token->length)
                return refuse(token, at, "expected the end of the number, not '%c'", token->text[at]);
        return is_float ? set_float(token, &digits, node) : set_integer(token, &digits, 10, node);
}

static int parse_number(const struct token *token, struct node *node)
{
        int base = byte_at(token, 1) == 'x' ? 16 : byte_at(token, 1) == 'o' ? 8 : 2;
        OWN_TEXT struct text digits = { 0 };
        size_t at = 2;
        int r;

        if (byte_at(token, 0) != '0' || !byte_at(token, 1) || !strchr("xob", byte_at(token, 1)))
                return parse_decimal(token, node);
        r = read_digits(token, base, &at, &digits);
        if (r < 0)
                return r;
        if (at < token->length)
                return refuse(token, at, "expected %s digit, not '%c'", name_of_base(base), token->text[at]);
        return set_integer(token, &digits, base, node);
}

/* ---- dates and times ------------------------------------------------------------------------------------ */

/* A number of exactly so many digits, between two bounds. */
static int read_field(const struct token *token, size_t *at, size_t digits, const char *name, unsigned low,
                      unsigned high, unsigned *out)
{
        unsigned value = 0;

        for (size_t i = 0; i < digits; i++) {
                char byte = byte_at(token, *at + i);

                if (!is_digit(byte, 10))
                        return refuse(token, *at + i, "expected the %s as %zu digits", name, digits);
                value = 10 * value + (unsigned)(byte - '0');
        }
        if (value < low || value > high)
                return refuse(token, *at, "the %s is not between %02u and %02u", name, low, high);
        *at += digits;
        *out = value;
        return 0;
}

static int read_mark(const struct token *token, size_t *at, char mark, const char *where)
{
        if (byte_at(token, *at) != mark)
                return refuse(token, *at, "expected '%c' after the %s", mark, where);
        (*at)++;
        return 0;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
        static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        return month == 2 && is_leap ? 29 : days[month - 1];
}

static int read_date(const struct token *token, size_t *at)
{
        unsigned year = 0, month = 1, day;
        int r = read_field(token, at, 4, "year", 0, 9999, &year);

        if (!r)
                r = read_mark(token, at, '-', "year");
        if (!r)
                r = read_field(token, at, 2, "month", 1, 12, &month);
        if (!r)
                r = read_mark(token, at, '-', "month");
        if (!r)
                r = read_field(token, at, 2, "day", 1, days_of_month(year, month), &day);
        return r;
}

static int read_clock(const struct token *token, size_t *at)
{
        unsigned hour, minute, second;
        int r = read_field(token, at, 2, "hour", 0, 23, &hour);

        if (!r)
                r = read_mark(token, at, ':', "hour");
        if (!r)
                r = read_field(token, at, 2, "minute", 0, 59, &minute);
        if (!r)
                r = read_mark(token, at, ':', "minute");
        if (!r)
                r = read_field(token, at, 2, "second", 0, 60, &second); /* there are leap seconds */
        if (r < 0 || byte_at(token, *at) != '.')
                return r;
        (*at)++;
        if (!is_digit(byte_at(token, *at), 10))
                return refuse(token, *at, "expected a digit of the fraction of the second");
        while (is_digit(byte_at(token, *at), 10))
                (*at)++;
        return 0;
}

static int read_offset(const struct token *token, size_t *at)
{
        char first = byte_at(token, *at);
        unsigned hour, minute;
        int r;

        if (first != 'Z' && first != 'z' && first != '+' && first != '-')
                return refuse(token, *at, "expected the end of the time, or an offset such as Z or +01:00");
        (*at)++;
        if (first == 'Z' || first == 'z')
                return 0;
        r = read_field(token, at, 2, "hour of the offset", 0, 23, &hour);
        if (!r)
                r = read_mark(token, at, ':', "hour of the offset");
        if (!r)
                r = read_field(token, at, 2, "minute of the offset", 0, 59, &minute);
        return r;
}

static int parse_time(const struct token *token, struct node *node)
{
        size_t at = 0, date = 0;
        int r = 0;

        node->kind = NODE_TIME;
        node->time = TIME_CLOCK;
        if (byte_at(token, 2) != ':') {
                r = read_date(token, &at);
                date = at;
                node->time = TIME_DATE;
        }
        if (!r && date && at < token->length) {
                if (!strchr("Tt ", token->text[at]))
                        return refuse(token, at, "expected 'T' and a time, or the end of the date");
                at++;
                node->time = TIME_LOCAL;
        }
        if (!r && node->time != TIME_DATE)
                r = read_clock(token, &at);
        if (!r && node->time == TIME_LOCAL && at < token->length) {
                node->time = TIME_OFFSET;
                r = read_offset(token, &at);
        }
        if (r < 0)
                return r;
        if (at < token->length)
                return refuse(token, at, "expected the end of the time, not '%c'", token->text[at]);
        r = node_set_text(token->source, node, token->text, token->length);
        if (!r && (node->time == TIME_LOCAL || node->time == TIME_OFFSET))
                node->text[date] = 'T';
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static int parse_token(const struct token *token, struct node *node)
{
        size_t sign = byte_at(token, 0) == '+' || byte_at(token, 0) == '-';

        if (is_equal(token, 0, "true") || is_equal(token, 0, "false")) {
                node->kind = NODE_BOOLEAN;
                node->boolean = token->length == 4;
                return 0;
        }
        if (is_equal(token, sign, "inf") || is_equal(token, sign, "nan")) {
                node->kind = NODE_FLOAT;
                node->number = token->text[sign] == 'i' ? (double)INFINITY : (double)NAN;
                if (token->text[0] == '-')
                        node->number = -node->number;
                return 0;
        }
        if (begins_with_digits(token, 4, '-') || begins_with_digits(token, 2, ':'))
                return parse_time(token, node);
        if (sign || is_digit(byte_at(token, 0), 10))
                return parse_number(token, node);
        return refuse(token, 0, "expected a value, not '%.*s'; text is written in quotes",
                      token->length < 40 ? (int)token->length : 40, token->text);
}

int toml_parse_scalar(struct toml *toml, struct node **out)
{
        struct token token = { .source = toml->source,
                               .text = toml->source->text + toml->at,
                               .line = toml->line,
                               .column = toml->column };
        OWN_NODE struct node *node = node_new(toml->source, NODE_NULL, toml->line, toml->column);
        int r;

        if (!node)
                return toml_node_error(toml);
        while (is_word(toml_peek(toml, 0))) {
                toml_step(toml);
                token.length++;
                /* One space may stand for the T between a date and a time. */
                if (token.length == 10 && begins_with_digits(&token, 4, '-') && toml_peek(toml, 0) == ' ' &&
                    is_digit(toml_peek(toml, 1), 10)) {
                        toml_step(toml);
                        token.length++;
                }
        }
        if (!token.length)
                return toml_expected(toml, "a value");
        r = parse_token(&token, node);
        if (r < 0)
                return r;
        *out = take_pointer(node);
        return 0;
}
