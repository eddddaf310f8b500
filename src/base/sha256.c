/* sha256.c: SHA-256, of what is in memory and of what comes in pieces. */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

#include "base/sha256_block.h"

enum { BLOCK = SHA256_BLOCK };

void sha256_init(struct sha256 *hash)
{
        *hash = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                            0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t length)
{
        const unsigned char *from = bytes;
        size_t held = hash->length % BLOCK;

        hash->length += length;
        if (held && length) {
                size_t taken = length < BLOCK - held ? length : BLOCK - held;

                memcpy(hash->held + held, from, taken);
                from += taken;
                length -= taken;
                if (held + taken < BLOCK)
                        return;
                sha256_blocks(hash->state, hash->held, 1);
        }
        if (length >= BLOCK)
                sha256_blocks(hash->state, from, length / BLOCK);
        if (length % BLOCK)
                memcpy(hash->held, from + length / BLOCK * BLOCK, length % BLOCK);
}

void sha256_finish(struct sha256 *hash, char out[SHA256_TEXT_SIZE])
{
        static const char digits[] = "0123456789abcdef";
        uint64_t bits = hash->length * 8;
        size_t held = hash->length % BLOCK;

        /* A one, zeros, and the number of bits. */
        hash->held[held++] = 0x80;
        if (held > BLOCK - 8) {
                memset(hash->held + held, 0, BLOCK - held);
                sha256_blocks(hash->state, hash->held, 1);
                held = 0;
        }
        memset(hash->held + held, 0, BLOCK - held);
        for (size_t i = 0; i < 8; i++)
                hash->held[BLOCK - 1 - i] = (unsigned char)(bits >> 8 * i);
        sha256_blocks(hash->state, hash->held, 1);
        for (size_t i = 0; i < 64; i++)
                out[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
        out[64] = '\0';
}

void sha256_text(const void *bytes, size_t length, char out[SHA256_TEXT_SIZE])
{
        struct sha256 hash;

        sha256_init(&hash);
        sha256_add(&hash, bytes, length);
        sha256_finish(&hash, out);
}

bool sha256_is_text(const char *bytes)
{
        for (int i = 0; i < SHA256_TEXT_SIZE - 1; i++)
                if ((bytes[i] < '0' || bytes[i] > '9') && (bytes[i] < 'a' || bytes[i] > 'f'))
                        return false;
        return true;
}
