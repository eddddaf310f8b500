/* suggest.c: which of the valid words somebody may have meant. */
#include <string.h>

#include "abatis.h"

/* How many single-character changes lead from one word to the other; long words are never near. */
static size_t distance(const char *from, const char *to)
{
        size_t row[32], length = strlen(to);

        if (length >= 32 || strlen(from) >= 64)
                return 64;
        for (size_t i = 0; i <= length; i++)
                row[i] = i;
        for (size_t i = 1; from[i - 1]; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= length; j++) {
                        size_t best = diagonal + (from[i - 1] != to[j - 1]);

                        diagonal = row[j];
                        if (row[j] + 1 < best)
                                best = row[j] + 1;
                        if (row[j - 1] + 1 < best)
                                best = row[j - 1] + 1;
                        row[j] = best;
                }
        }
        return row[length];
}

const char *abatis_suggest(const char *word, const char *const *candidates)
{
        const char *nearest = NULL;
        /* In a short word fewer letters can be wrong. */
        size_t length = strlen(word), least = length < 3 ? 2 : length < 6 ? 3 : 4;

        for (; *candidates; candidates++) {
                size_t changes = distance(word, *candidates);

                if (changes < least) {
                        least = changes;
                        nearest = *candidates;
                }
        }
        return nearest;
}
