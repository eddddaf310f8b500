/* sha256_block.h: what SHA-256 does to each block of 64 bytes, in every way this processor may have. */
#ifndef BASE_SHA256_BLOCK_H
#define BASE_SHA256_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds `count` blocks to the state, in the fastest way there is. */
void sha256_blocks(uint32_t state[8], const unsigned char *blocks, size_t count);

/* The same in C, and with the processor's own instructions; the latter only where it has them. */
void sha256_blocks_plain(uint32_t state[8], const unsigned char *blocks, size_t count);
void sha256_blocks_instructions(uint32_t state[8], const unsigned char *blocks, size_t count);

/* One for each round. Hidden here too, so that shared code finds them without a relocation. */
extern const uint32_t sha256_constants[64] __attribute__((visibility("hidden")));

#endif
