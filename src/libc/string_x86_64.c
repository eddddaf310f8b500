/* string_x86_64.c: memcpy, strlen and strchrnul for the static executable.
 *
 * A launch copies and measures hundreds of short strings. musl's memcpy aligns byte by byte and repeats a string
 * instruction, 30 ns for twenty bytes; its strlen and strchrnul look at eight bytes a step after aligning likewise. These
 * need a few, with what every x86_64 processor has. The other architecture's are fast in musl too. */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE = sizeof(__m128i), REPEATED = 512 /* from here on the processor copies faster by itself */ };

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *__memcpy_fwd(void *to, const void *from, size_t size);
size_t strlen(const char *text);
char *strchrnul(const char *text, int wanted);
char *__strchrnul(const char *text, int wanted);

static __m128i load(const char *from)
{
        return _mm_loadu_si128((const __m128i *)from);
}

static void store(char *to, __m128i lane)
{
        _mm_storeu_si128((__m128i *)to, lane);
}

/* Words at any address, of memory that somebody else knows as something else. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) word32;
typedef uint16_t __attribute__((aligned(1), may_alias)) word16;

/* Two words that may overlap cover every size from one word to two. */
static void copy_short(char *to, const char *from, size_t size)
{
        if (size >= 8) {
                word64 first = *(const word64 *)from, last = *(const word64 *)(from + size - 8);

                *(word64 *)to = first;
                *(word64 *)(to + size - 8) = last;
        } else if (size >= 4) {
                word32 first = *(const word32 *)from, last = *(const word32 *)(from + size - 4);

                *(word32 *)to = first;
                *(word32 *)(to + size - 4) = last;
        } else if (size >= 2) {
                word16 first = *(const word16 *)from, last = *(const word16 *)(from + size - 2);

                *(word16 *)to = first;
                *(word16 *)(to + size - 2) = last;
        } else if (size) {
                *to = *from;
        }
}

/* From the beginning to the end, so that both may overlap if the target comes first. */
static void copy(char *to, const char *from, size_t size)
{
        __m128i last;

        if (size < LANE) {
                copy_short(to, from, size);
                return;
        }
        if (size >= REPEATED) {
                __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
                return;
        }
        last = load(from + size - LANE);
        for (size_t at = 0; at < size - LANE; at += LANE) {
                store(to + at, load(from + at));
                /* Lest the compiler finds that this is a memcpy, and calls it. */
                __asm__ volatile("" : : : "memory");
        }
        store(to + size - LANE, last);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
        copy(to, from, size);
        return to;
}

/* musl's memmove calls it where the target comes first. */
void *__memcpy_fwd(void *to, const void *from, size_t size)
{
        copy(to, from, size);
        return to;
}

/* Aligned lanes lie in one page each, so nothing is read that may not be; what comes before the text is left out. */
static unsigned look(const __m128i *lane, __m128i wanted)
{
        const __m128i found =
                _mm_or_si128(_mm_cmpeq_epi8(*lane, wanted), _mm_cmpeq_epi8(*lane, _mm_setzero_si128()));

        return (unsigned)_mm_movemask_epi8(found);
}

static const char *find_byte_or_end(const char *text, int byte)
{
        const uintptr_t offset = (uintptr_t)text % LANE;
        const __m128i wanted = _mm_set1_epi8((char)byte), *lane = (const __m128i *)(text - offset);
        unsigned found = look(lane, wanted) >> offset;

        if (found)
                return text + __builtin_ctz(found);
        while (!(found = look(++lane, wanted)))
                ;
        return (const char *)lane + __builtin_ctz(found);
}

size_t strlen(const char *text)
{
        return (size_t)(find_byte_or_end(text, 0) - text);
}

char *strchrnul(const char *text, int wanted)
{
        return (char *)(uintptr_t)find_byte_or_end(text, wanted);
}

/* What musl's own functions call. */
char *__strchrnul(const char *text, int wanted)
{
        return strchrnul(text, wanted);
}
