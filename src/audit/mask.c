/* mask.c: takes secrets out of what is written down. */
#define _GNU_SOURCE
#include "audit/mask.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum { SHORTEST = 4 /* a shorter one would be found everywhere, and is no secret */ };

static const struct masked nothing_left = { "***", 3 };

/* Where the secret stands next, or `length`. */
static size_t find(const char *string, size_t length, size_t from, const char *secret)
{
        size_t secret_length = strlen(secret);
        const char *found;

        if (secret_length < SHORTEST || from >= length)
                return length;
        found = memmem(string + from, length - from, secret, secret_length);
        return found ? (size_t)(found - string) : length;
}

/* Goes on from `end` as long as secrets overlap what is covered so far or follow it at once: of two that overlap, the
 * rest of the second must not stay. Each secret's next place is looked for only when the last one is behind, so that a
 * text full of secrets costs no more than its length for each of them. */
static size_t cover(const char *string, size_t length, size_t end, const char *const *secrets, size_t *next)
{
        bool has_grown = true;

        while (has_grown) {
                has_grown = false;
                for (size_t i = 0; secrets[i]; i++)
                        while (next[i] < length && next[i] <= end) {
                                size_t secret_length = strlen(secrets[i]), past = next[i] + secret_length;

                                if (past > end)
                                        end = past;
                                /* One that begins before that ends in what is covered. */
                                next[i] = find(string, length, end - secret_length + 1, secrets[i]);
                                has_grown = true;
                        }
        }
        return end;
}

static struct masked replace(const char *string, size_t length, const char *const *secrets, size_t *next,
                             struct text *scratch)
{
        size_t at = 0;

        scratch->length = 0;
        while (at < length) {
                size_t start = length;

                for (size_t i = 0; secrets[i]; i++)
                        if (next[i] < start)
                                start = next[i];
                text_add_bytes(scratch, string + at, start - at);
                if (start == length)
                        break;
                text_add(scratch, "***");
                at = cover(string, length, start, secrets, next);
        }
        return scratch->has_failed ? nothing_left : (struct masked){ scratch->data, scratch->length };
}

struct masked mask_string(const char *string, const char *const *secrets, struct text *scratch)
{
        OWN_FREE size_t *next = NULL;
        size_t length = strlen(string), count = 0;
        bool has_any = false;

        while (secrets && secrets[count])
                has_any |= find(string, length, 0, secrets[count++]) < length;
        if (!has_any)
                return (struct masked){ string, length };
        next = calloc(count, sizeof(*next));
        if (!next) {
                scratch->has_failed = true;
                return nothing_left;
        }
        for (size_t i = 0; i < count; i++)
                next[i] = find(string, length, 0, secrets[i]);
        return replace(string, length, secrets, next, scratch);
}
