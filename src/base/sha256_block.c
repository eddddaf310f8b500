/* sha256_block.c: the blocks of SHA-256 in plain C, or with the processor's own instructions where it has them. */
#include "base/sha256_block.h"

#include "base/sha256.h"
#include "base/system.h"

const uint32_t sha256_constants[64] = {
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

/* Word `i` of the schedule, made in place from those before it. */
static uint32_t schedule(uint32_t words[16], int i)
{
        uint32_t first = words[(i + 1) & 15], second = words[(i + 14) & 15];

        words[i & 15] += words[(i + 9) & 15] + (rotate(first, 7) ^ rotate(first, 18) ^ first >> 3) +
                         (rotate(second, 17) ^ rotate(second, 19) ^ second >> 10);
        return words[i & 15];
}

/* The names take turns instead of the values: moving eight words in every round would cost more than the round. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                               \
        do {                                                                           \
                uint32_t sum_ = (h) + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + \
                                ((((f) ^ (g)) & (e)) ^ (g)) + sha256_constants[i] +    \
                                ((i) < 16 ? words[i] : schedule(words, i));            \
                (d) += sum_;                                                           \
                (h) = sum_ + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +          \
                      (((a) & (b)) | ((c) & ((a) | (b))));                             \
        } while (0)

static void add_block(uint32_t state[8], const unsigned char *block)
{
        uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
                            f = state[5], g = state[6], h = state[7];

        for (int i = 0; i < 16; i++)
                words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                           (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (int i = 0; i < 64; i += 8) {
                ROUND(a, b, c, d, e, f, g, h, i);
                ROUND(h, a, b, c, d, e, f, g, i + 1);
                ROUND(g, h, a, b, c, d, e, f, i + 2);
                ROUND(f, g, h, a, b, c, d, e, i + 3);
                ROUND(e, f, g, h, a, b, c, d, i + 4);
                ROUND(d, e, f, g, h, a, b, c, i + 5);
                ROUND(c, d, e, f, g, h, a, b, i + 6);
                ROUND(b, c, d, e, f, g, h, a, i + 7);
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
        state[5] += f;
        state[6] += g;
        state[7] += h;
}

void sha256_blocks_plain(uint32_t state[8], const unsigned char *blocks, size_t count)
{
        for (; count; count--, blocks += SHA256_BLOCK)
                add_block(state, blocks);
}

void sha256_blocks(uint32_t state[8], const unsigned char *blocks, size_t count)
{
        /* Asked once, as in a virtual machine the host answers for the processor, which takes longer than to hash a
         * record. Threads that ask at the same time hear the same. */
        static enum { UNKNOWN, PLAIN, INSTRUCTIONS } known;
        int way = __atomic_load_n(&known, __ATOMIC_RELAXED);

        if (way == UNKNOWN) {
                way = system_has_sha256() ? INSTRUCTIONS : PLAIN;
                __atomic_store_n(&known, way, __ATOMIC_RELAXED);
        }
        if (way == INSTRUCTIONS)
                sha256_blocks_instructions(state, blocks, count);
        else
                sha256_blocks_plain(state, blocks, count);
}
