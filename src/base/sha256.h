/* sha256.h: the hash that says whether a file is still the one that was looked at (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT_SIZE = 65, SHA256_BLOCK = 64 };

/* As hexadecimal digits, with a NUL behind them. */
void sha256_text(const void *bytes, size_t length, char out[SHA256_TEXT_SIZE]);

/* True when the next 64 bytes are such digits. */
bool sha256_is_text(const char *bytes);

/* The same of what comes in pieces. */
struct sha256 {
        uint32_t state[8];
        uint64_t length; /* of all that was added */
        unsigned char held[SHA256_BLOCK];
};

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
/* Once, and then nothing more is added. */
void sha256_finish(struct sha256 *hash, char out[SHA256_TEXT_SIZE]);

#endif
