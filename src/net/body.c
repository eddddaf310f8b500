/* body.c: walks over the body of an HTTP/1 request, in whatever pieces it comes. */
#include "net/body.h"

#include <string.h>
#include <strings.h>

enum {
        DIGITS_MAX = 15, /* more would not surely fit */
        EXTRA_MAX = 8192
};

void body_init(struct body *body, const struct head *head)
{
        *body = (struct body){ .state = BODY_DONE };
        if (head->body == HEAD_BODY_LENGTH && head->body_length) {
                body->state = BODY_DATA;
                body->left = head->body_length;
        } else if (head->body == HEAD_BODY_CHUNKED)
                body->state = BODY_SIZE;
}

static int hexadecimal(char character)
{
        if (character >= '0' && character <= '9')
                return character - '0';
        if (character >= 'a' && character <= 'f')
                return character - 'a' + 10;
        return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

static enum body_state read_digit(struct body *body, char character)
{
        int digit = hexadecimal(character);

        if (character == '\r' && body->digits)
                return BODY_SIZE_END;
        if (character == ';' && body->digits)
                return BODY_EXTENSION;
        if (digit < 0 || body->digits == DIGITS_MAX)
                return BODY_MALFORMED;
        body->digits++;
        body->left = body->left << 4 | (unsigned)digit;
        return BODY_SIZE;
}

static bool is_value_character(char character)
{
        return character == '\t' || ((unsigned char)character >= ' ' && character != 0x7f);
}

/* A server that joins it with the head would read the request differently. */
static bool is_forbidden(const struct body *body)
{
        static const char *const names[] = { "Host",    "Content-Length", "Transfer-Encoding", "Connection",
                                             "Upgrade", "Trailer",        "Proxy-Connection",  "Expect",
                                             "TE" };

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (body->name_length == strlen(names[i]) &&
                    strncasecmp(body->name, names[i], body->name_length) == 0)
                        return true;
        return false;
}

static enum body_state read_name(struct body *body, char character)
{
        if (character == '\r' && !body->name_length)
                return BODY_LAST_LF;
        if (character == ':' && body->name_length)
                return is_forbidden(body) ? BODY_MALFORMED : BODY_VALUE;
        if (!head_is_token_character(character))
                return BODY_MALFORMED;
        if (body->name_length < BODY_NAME_SIZE)
                body->name[body->name_length] = character;
        body->name_length++;
        return BODY_FIELD;
}

/* One character of what is beside the data, of which there may not be much. */
static enum body_state read_extra(struct body *body, char character)
{
        if (++body->extra > EXTRA_MAX)
                return BODY_MALFORMED;
        if (body->state == BODY_FIELD)
                return read_name(body, character);
        if (character == '\r')
                return body->state == BODY_VALUE ? BODY_VALUE_LF : BODY_SIZE_END;
        return is_value_character(character) ? body->state : BODY_MALFORMED;
}

/* The state behind one character of what frames the data. */
static enum body_state read_frame(struct body *body, char character)
{
        switch (body->state) {
        case BODY_SIZE:
                return read_digit(body, character);
        case BODY_SIZE_END:
                body->digits = 0;
                if (character != '\n')
                        return BODY_MALFORMED;
                return body->left ? BODY_CHUNK : BODY_FIELD;
        case BODY_CHUNK_CR:
                return character == '\r' ? BODY_CHUNK_LF : BODY_MALFORMED;
        case BODY_CHUNK_LF:
                return character == '\n' ? BODY_SIZE : BODY_MALFORMED;
        case BODY_EXTENSION:
        case BODY_FIELD:
        case BODY_VALUE:
                return read_extra(body, character);
        case BODY_VALUE_LF:
                body->name_length = 0;
                return character == '\n' ? BODY_FIELD : BODY_MALFORMED;
        case BODY_LAST_LF:
                return character == '\n' ? BODY_DONE : BODY_MALFORMED;
        case BODY_DATA:
        case BODY_CHUNK:
        case BODY_DONE:
        case BODY_MALFORMED:
                break;
        }
        return body->state;
}

size_t body_walk(struct body *body, const char *bytes, size_t length)
{
        size_t at = 0;

        while (at < length && body->state != BODY_DONE && body->state != BODY_MALFORMED) {
                if (body->state == BODY_DATA || body->state == BODY_CHUNK) {
                        size_t part = length - at < body->left ? length - at : (size_t)body->left;

                        at += part;
                        body->left -= part;
                        if (!body->left)
                                body->state = body->state == BODY_DATA ? BODY_DONE : BODY_CHUNK_CR;
                        continue;
                }
                body->state = read_frame(body, bytes[at]);
                at += body->state != BODY_MALFORMED;
        }
        return at;
}
