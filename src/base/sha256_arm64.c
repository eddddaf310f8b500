/* sha256_arm64.c: the blocks of SHA-256 with the instructions that ARMv8 has for it. */
#include "base/sha256_block.h"

#ifdef __aarch64__
#include <arm_neon.h>

#include "base/sha256.h"

/* Rounds `i` to `i` + 3 with four words of the schedule. The empty assembly makes the compiler copy what is kept of the
 * state and not what the first instruction changes, which would have to wait for the copy: a tenth slower. */
#define ROUNDS(words, i)                                                               \
        do {                                                                           \
                uint32x4_t sum_ = vaddq_u32(words, vld1q_u32(sha256_constants + (i))); \
                uint32x4_t before_ = abcd;                                             \
                __asm__("" : "+w"(before_));                                           \
                abcd = vsha256hq_u32(abcd, efgh, sum_);                                \
                efgh = vsha256h2q_u32(efgh, before_, sum_);                            \
        } while (0)

/* The four words that come sixteen after `w0`, in its place. */
#define SCHEDULE(w0, w1, w2, w3) ((w0) = vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3))

static uint32x4_t load(const unsigned char *bytes)
{
        return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes)));
}

void sha256_blocks_instructions(uint32_t state[8], const unsigned char *blocks, size_t count)
{
        uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);

        for (; count; count--, blocks += SHA256_BLOCK) {
                uint32x4_t w0 = load(blocks), w1 = load(blocks + 16), w2 = load(blocks + 32),
                           w3 = load(blocks + 48), old_abcd = abcd, old_efgh = efgh;

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
                abcd = vaddq_u32(abcd, old_abcd);
                efgh = vaddq_u32(efgh, old_efgh);
        }
        vst1q_u32(state, abcd);
        vst1q_u32(state + 4, efgh);
}
#endif
