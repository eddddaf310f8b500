/* mutations.c: makes damaged inputs of a good one. */
#include "mutations.h"

#include <stdlib.h>
#include <string.h>

#include "scratch.h"

static void read_copy(const uint8_t *first, size_t first_length, const uint8_t *second, size_t second_length,
                      reader *read, void *state)
{
        uint8_t *copy = malloc(first_length + second_length ? first_length + second_length : 1);

        assert_non_null(copy);
        memcpy(copy, first, first_length);
        memcpy(copy + first_length, second, second_length);
        read(copy, first_length + second_length, state);
        free(copy);
}

void read_every_prefix(const void *bytes, size_t length, reader *read, void *state)
{
        for (size_t i = 0; i < length; i++)
                read_copy(bytes, i, (const uint8_t *)"", 0, read, state);
}

void read_every_mutation(const void *bytes, size_t length, reader *read, void *state)
{
        uint8_t *changed = malloc(length + 1);

        assert_non_null(changed);
        memcpy(changed, bytes, length);
        for (size_t i = 0; i < length; i++) {
                const uint8_t byte = changed[i];
                const uint8_t others[] = { 0,
                                           1,
                                           0x0a,
                                           0x20,
                                           0x2e,
                                           0x3f,
                                           0x40,
                                           0x7f,
                                           0x80,
                                           0xc0,
                                           0xff,
                                           (uint8_t)(byte + 1),
                                           (uint8_t)(byte - 1),
                                           (uint8_t)~byte };

                for (size_t j = 0; j < sizeof(others); j++) {
                        changed[i] = others[j];
                        read_copy(changed, length, (const uint8_t *)"", 0, read, state);
                        /* Put in, and cut off behind it. */
                        read_copy(bytes, i, others + j, 1, read, state);
                }
                changed[i] = byte;
                read_copy(bytes, i, changed + i + 1, length - i - 1, read, state);
                read_copy(bytes, i + 1, changed + i, length - i, read, state);
        }
        free(changed);
}
