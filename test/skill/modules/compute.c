/* compute.c: a second of arithmetic: primes, matrices and a hash; the same source becomes a skill and a native program.
 *
 *   compute [ROUNDS]        prints what came out, which is the same everywhere */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 2000000, SIDE = 128, BLOCK = 1 << 16 };

static uint8_t composite[LIMIT];
static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];
static uint8_t block[BLOCK];

static uint32_t count_primes(void)
{
        uint32_t count = 0;

        memset(composite, 0, sizeof composite);
        for (uint32_t i = 2; i < LIMIT; i++) {
                if (composite[i])
                        continue;
                count++;
                for (uint64_t j = (uint64_t)i * i; j < LIMIT; j += i)
                        composite[j] = 1;
        }
        return count;
}

static double multiply(uint32_t seed)
{
        double trace = 0;

        for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                        seed = seed * 1664525 + 1013904223;
                        left[i][j] = (double)(seed >> 16) / 65536;
                        right[j][i] = (double)(seed & 0xffff) / 65536;
                }
        for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                        double sum = 0;

                        for (int k = 0; k < SIDE; k++)
                                sum += left[i][k] * right[k][j];
                        product[i][j] = sum;
                }
        for (int i = 0; i < SIDE; i++)
                trace += product[i][i];
        return trace;
}

static uint32_t turn(uint32_t word, unsigned bits)
{
        return word >> bits | word << (32 - bits);
}

/* Not SHA-256, but its kind of work. */
static uint32_t hash(uint32_t seed)
{
        uint32_t state[8], schedule[64];

        for (int i = 0; i < BLOCK; i++)
                block[i] = (uint8_t)(seed = seed * 1103515245 + 12345);
        for (uint32_t i = 0; i < 8; i++)
                state[i] = 0x6a09e667u + i * 0x9e3779b9u;
        for (int at = 0; at < BLOCK; at += 64) {
                uint32_t s[8];

                memcpy(schedule, block + at, 64);
                for (int i = 16; i < 64; i++) {
                        const uint32_t a = schedule[i - 15], b = schedule[i - 2];

                        schedule[i] = schedule[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
                                      schedule[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
                }
                memcpy(s, state, sizeof s);
                for (int i = 0; i < 64; i++) {
                        const uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + schedule[i];
                        const uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

                        memmove(s + 1, s, 7 * sizeof *s);
                        s[4] += one;
                        s[0] = one + two;
                }
                for (int i = 0; i < 8; i++)
                        state[i] += s[i];
        }
        return state[0] ^ state[7];
}

int main(int argc, char **argv)
{
        const int rounds = argc > 1 ? atoi(argv[1]) : 25;
        uint32_t primes = 0, mixed = 1;
        double trace = 0;

        for (int i = 0; i < rounds; i++) {
                primes += count_primes();
                for (int j = 0; j < 4; j++)
                        trace += multiply(mixed + (uint32_t)j);
                for (int j = 0; j < 20; j++)
                        mixed = hash(mixed);
        }
        printf("{\"primes\":%u,\"trace\":%.6f,\"hash\":\"%08x\"}\n", (unsigned)primes, trace,
               (unsigned)mixed);
        return 0;
}
