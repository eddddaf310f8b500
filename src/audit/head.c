/* head.c: the file beside a log that says where it ends: one line of fixed size, written over in place. */
#include "audit/head.h"

#include <string.h>

enum { DIGITS = 20 };

void head_init(struct audit_state *state)
{
        *state = (struct audit_state){ .first = 1 };
        memset(state->hash, '0', SHA256_TEXT_SIZE - 1);
}

static char *add_word(char *to, const char *word)
{
        while (*word)
                *to++ = *word++;
        return to;
}

static char *add_number(char *to, uint64_t number)
{
        for (int i = DIGITS; i-- > 0; number /= 10)
                to[i] = (char)('0' + number % 10);
        return to + DIGITS;
}

void head_format(const struct audit_state *state, char out[HEAD_SIZE])
{
        char *to = add_number(add_word(out, "seq "), state->seq);

        to = add_number(add_word(to, " first "), state->first);
        to = add_number(add_word(to, " size "), state->size);
        to = add_word(add_word(to, " hash "), state->hash);
        *to = '\n';
}

static bool take_word(const char **from, const char *word)
{
        size_t length = strlen(word);

        if (memcmp(*from, word, length))
                return false;
        *from += length;
        return true;
}

static bool take_number(const char **from, uint64_t *out)
{
        uint64_t number = 0;

        for (int i = 0; i < DIGITS; i++) {
                char digit = *(*from)++;

                if (digit < '0' || digit > '9' || __builtin_mul_overflow(number, 10, &number) ||
                    __builtin_add_overflow(number, (uint64_t)(digit - '0'), &number))
                        return false;
        }
        *out = number;
        return true;
}

bool head_parse(const char *bytes, size_t length, struct audit_state *out)
{
        struct audit_state state = { 0 };

        if (length != HEAD_SIZE || bytes[HEAD_SIZE - 1] != '\n' || !take_word(&bytes, "seq ") ||
            !take_number(&bytes, &state.seq) || !take_word(&bytes, " first ") ||
            !take_number(&bytes, &state.first) || !take_word(&bytes, " size ") ||
            !take_number(&bytes, &state.size) || !take_word(&bytes, " hash "))
                return false;
        if (!sha256_is_text(bytes))
                return false;
        memcpy(state.hash, bytes, SHA256_TEXT_SIZE - 1);
        /* Sizes are signed to the kernel; nobody counts further. */
        if (state.size > INT64_MAX || state.seq >= INT64_MAX || !state.first || state.first > state.seq + 1)
                return false;
        *out = state;
        return true;
}
