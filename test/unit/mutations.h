/* mutations.h: gives a reader every beginning of an input and every input that differs from it in one byte. */
#ifndef UNIT_MUTATIONS_H
#define UNIT_MUTATIONS_H

#include <stddef.h>
#include <stdint.h>

/* Called with bytes that have nothing behind them, so that the sanitizers and valgrind see a read past the end. */
typedef void reader(const uint8_t *bytes, size_t length, void *state);

void read_every_prefix(const void *bytes, size_t length, reader *read, void *state);
/* Every byte becomes each of a dozen others; one is taken out, one is put in. */
void read_every_mutation(const void *bytes, size_t length, reader *read, void *state);

#endif
