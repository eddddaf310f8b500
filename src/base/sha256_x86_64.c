/* sha256_x86_64.c: the blocks of SHA-256 with the instructions that x86 processors have for it. */
#include "base/sha256_block.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "base/sha256.h"

/* Rounds `i` to `i` + 3 with four words of the schedule: two with the lower half of the sum, two with the upper. */
#define ROUNDS(words, i)                                                           \
        do {                                                                       \
                __m128i sum_ = _mm_add_epi32(words, load(sha256_constants + (i))); \
                cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum_);                    \
                sum_ = _mm_unpackhi_epi64(sum_, sum_);                             \
                abef = _mm_sha256rnds2_epu32(abef, cdgh, sum_);                    \
        } while (0)

/* The four words that come sixteen after `w0`, in its place; the word nine after each of them lies across w2 and w3. */
#define SCHEDULE(w0, w1, w2, w3)                                                 \
        ((w0) = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), \
                                                   _mm_alignr_epi8(w3, w2, 4)),  \
                                     w3))

static __m128i load(const void *from)
{
        return _mm_loadu_si128(from);
}

static __m128i load_big_endian(const unsigned char *bytes)
{
        return _mm_shuffle_epi8(load(bytes), _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
}

static __m128i swap_pairs(__m128i words)
{
        return _mm_shuffle_epi32(words, _MM_SHUFFLE(2, 3, 0, 1));
}

void sha256_blocks_instructions(uint32_t state[8], const unsigned char *blocks, size_t count)
{
        /* The instructions want the words of the state in this order, the first in the uppermost place. */
        __m128i abef = swap_pairs(_mm_unpacklo_epi64(load(state + 4), load(state))),
                cdgh = swap_pairs(_mm_unpackhi_epi64(load(state + 4), load(state)));

        for (; count; count--, blocks += SHA256_BLOCK) {
                __m128i w0 = load_big_endian(blocks), w1 = load_big_endian(blocks + 16),
                        w2 = load_big_endian(blocks + 32), w3 = load_big_endian(blocks + 48), old_abef = abef,
                        old_cdgh = cdgh;

                for (int i = 0; i < 48; i += 16) {
                        ROUNDS(w0, i);
                        SCHEDULE(w0, w1, w2, w3);
                        ROUNDS(w1, i + 4);
                        SCHEDULE(w1, w2, w3, w0);
                        ROUNDS(w2, i + 8);
                        SCHEDULE(w2, w3, w0, w1);
                        ROUNDS(w3, i + 12);
                        SCHEDULE(w3, w0, w1, w2);
                }
                ROUNDS(w0, 48);
                ROUNDS(w1, 52);
                ROUNDS(w2, 56);
                ROUNDS(w3, 60);
                abef = _mm_add_epi32(abef, old_abef);
                cdgh = _mm_add_epi32(cdgh, old_cdgh);
        }
        abef = swap_pairs(abef);
        cdgh = swap_pairs(cdgh);
        _mm_storeu_si128((void *)state, _mm_unpackhi_epi64(abef, cdgh));
        _mm_storeu_si128((void *)(state + 4), _mm_unpacklo_epi64(abef, cdgh));
}
#endif
