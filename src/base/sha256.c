/* sha256.c: SHA-256 of what is in memory. */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64 };

static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int bits)
{
        return word >> bits | word << (32 - bits);
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
        uint32_t words[64], a[8];

        for (int i = 0; i < 16; i++)
                words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                           (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (int i = 16; i < 64; i++) {
                uint32_t first = words[i - 15], second = words[i - 2];

                words[i] = words[i - 16] + words[i - 7] +
                           (rotate(first, 7) ^ rotate(first, 18) ^ first >> 3) +
                           (rotate(second, 17) ^ rotate(second, 19) ^ second >> 10);
        }
        memcpy(a, state, sizeof(a));
        for (int i = 0; i < 64; i++) {
                uint32_t sum = a[7] + (rotate(a[4], 6) ^ rotate(a[4], 11) ^ rotate(a[4], 25)) +
                               ((a[4] & a[5]) ^ (~a[4] & a[6])) + constants[i] + words[i];
                uint32_t majority = (rotate(a[0], 2) ^ rotate(a[0], 13) ^ rotate(a[0], 22)) +
                                    ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));

                memmove(a + 1, a, 7 * sizeof(*a));
                a[4] += sum;
                a[0] = sum + majority;
        }
        for (int i = 0; i < 8; i++)
                state[i] += a[i];
}

void sha256_text(const void *bytes, size_t length, char out[SHA256_TEXT_SIZE])
{
        static const char digits[] = "0123456789abcdef";
        uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
        const unsigned char *at = bytes;
        unsigned char last[2 * BLOCK] = { 0 };
        size_t left = length, padded;

        for (; left >= BLOCK; at += BLOCK, left -= BLOCK)
                add_block(state, at);
        /* The rest, a one, zeros, and the number of bits. */
        if (left)
                memcpy(last, at, left);
        last[left] = 0x80;
        padded = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
        for (size_t i = 0; i < 8; i++)
                last[padded - 1 - i] = (unsigned char)((uint64_t)length * 8 >> 8 * i);
        for (size_t i = 0; i < padded; i += BLOCK)
                add_block(state, last + i);
        for (size_t i = 0; i < 64; i++)
                out[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
        out[64] = '\0';
}
