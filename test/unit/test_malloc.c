/* test_malloc.c: the allocator of the static executable, in a test binary that keeps the libc's own beside it.
 *
 * The source is included with its public names changed. Its system calls are changed too, so that a test can count
 * what it takes from the kernel, and refuse it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned maps, unmaps, remaps; /* calls that the kernel was asked for */
static bool is_refused;               /* the kernel has no memory */

static void *tested_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
        maps++;
        if (is_refused) {
                errno = EAGAIN;
                return MAP_FAILED;
        }
        return mmap(address, size, protection, flags, fd, offset);
}

/* Where it succeeds, a system call leaves errno alone; what is to be kept must be kept from one that fails as well. */
static int tested_munmap(void *address, size_t size)
{
        int r = munmap(address, size);

        unmaps++;
        errno = EIO;
        return r;
}

static void *tested_mremap(void *address, size_t size, size_t new_size, int flags)
{
        remaps++;
        if (is_refused) {
                errno = EAGAIN;
                return MAP_FAILED;
        }
        return mremap(address, size, new_size, flags);
}

void *tested_malloc(size_t wanted);
void tested_free(void *memory);
void *tested_calloc(size_t count, size_t size);
void *tested_realloc(void *memory, size_t wanted);

#define malloc tested_malloc
#define free tested_free
#define calloc tested_calloc
#define realloc tested_realloc
#define mmap tested_mmap
#define munmap tested_munmap
#define mremap tested_mremap
#include "libc/malloc_musl.c" // NOLINT(bugprone-suspicious-include): its names are changed only here
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef mmap
#undef munmap
#undef mremap

/* After the source, which has a function fail() where cmocka has a macro. */
#include "scratch.h"

/* The largest that is cut from a region. */
#define LARGEST_CUT (128 * 1024 - sizeof(struct block))

/* ---- contents ------------------------------------------------------------------------------------------- */

/* Each word differs from its neighbours and from those of a block with another mark. */
static uint64_t word_at(uint64_t mark, size_t index)
{
        return (mark + 1) * 0x9e3779b97f4a7c15u + index;
}

static void fill(void *memory, size_t size, uint64_t mark)
{
        uint64_t *words = memory, last = word_at(mark, size / 8);

        for (size_t i = 0; i < size / 8; i++)
                words[i] = word_at(mark, i);
        memcpy(&words[size / 8], &last, size % 8);
}

/* Of a block that was filled with at least as much. */
static void assert_kept(const void *memory, size_t size, uint64_t mark)
{
        const uint64_t *words = memory;
        uint64_t last = word_at(mark, size / 8);

        for (size_t i = 0; i < size / 8; i++)
                if (words[i] != word_at(mark, i))
                        fail_msg("a block of %zu bytes has lost what was at %zu", size, i * 8);
        if (memcmp(&words[size / 8], &last, size % 8) != 0)
                fail_msg("a block of %zu bytes has lost its end", size);
}

static void assert_zero(const void *memory, size_t size)
{
        const unsigned char *bytes = memory;

        for (size_t i = 0; i < size; i++)
                if (bytes[i])
                        fail_msg("a zeroed block of %zu bytes is not zero at %zu", size, i);
}

static void assert_aligned(const void *memory, size_t size)
{
        if (!memory || (uintptr_t)memory % 16)
                fail_msg("a block of %zu bytes is at %p", size, memory);
}

static bool is_mapping(const void *memory)
{
        return ((const struct block *)memory - 1)->class == MAPPED;
}

static size_t random_below(uint64_t *state, size_t limit)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return (size_t)(*state >> 16) % limit;
}

/* Up to 300000, and small ones as often as large ones. */
static size_t random_size(uint64_t *state)
{
        return random_below(state, (size_t)2 << random_below(state, 19)) % 300001;
}

/* ---- blocks --------------------------------------------------------------------------------------------- */

static void every_block_is_aligned_and_holds_its_size(void **state)
{
        (void)state;
        for (size_t size = 0; size <= 300000; size += size < 3000 ? 1 : 379) {
                void *block = tested_malloc(size), *zeroed = tested_calloc(1, size);

                assert_aligned(block, size);
                assert_aligned(zeroed, size);
                assert_ptr_not_equal(block, zeroed);
                fill(block, size, size);
                assert_zero(zeroed, size);
                assert_kept(block, size, size);
                tested_free(block);
                zeroed = tested_realloc(zeroed, size + 1);
                assert_aligned(zeroed, size + 1);
                tested_free(zeroed);
        }
}

static void only_what_is_too_large_for_every_class_gets_a_mapping(void **state)
{
        void *cut = tested_malloc(LARGEST_CUT), *mapped = tested_malloc(LARGEST_CUT + 1);

        (void)state;
        assert_false(is_mapping(cut));
        assert_true(is_mapping(mapped));
        tested_free(cut);
        tested_free(mapped);
}

/* Any number of blocks, each holding the address of the one before. */
static bool add_block(void **chain, size_t size)
{
        void **block = tested_malloc(size);

        if (!block)
                return false;
        *block = *chain;
        *chain = block;
        return true;
}

static void free_chain(void *chain)
{
        while (chain) {
                void *before = *(void **)chain;

                tested_free(chain);
                chain = before;
        }
}

/* Past what was freed before, so that one is cut. */
static void cut_from_region(void **chain, size_t size)
{
        const char *place = region;

        while (region == place)
                assert_true(add_block(chain, size));
        assert_true(region <= region_end);
}

static void region_is_used_up_and_not_left(void **state)
{
        void *chain = NULL;

        (void)state;
        /* The sixteen bytes that one larger block leaves at the end are too few for another. */
        for (int i = 0; i < 2; i++) {
                const char *end = region_end;

                cut_from_region(&chain, 32);
                while (region_end == end)
                        cut_from_region(&chain, 16);
        }
        free_chain(chain);
}

enum { HELD = 256, OPERATIONS = 40000 };

struct held {
        unsigned char *memory; /* NULL: nothing is held */
        size_t size;
        uint64_t mark;
};

static void assert_apart(const struct held *held, const struct held *fresh)
{
        for (size_t i = 0; i < HELD; i++)
                if (&held[i] != fresh && held[i].memory &&
                    fresh->memory < held[i].memory + held[i].size + sizeof(struct block) &&
                    held[i].memory < fresh->memory + fresh->size + sizeof(struct block))
                        fail_msg("blocks of %zu and %zu bytes overlap", fresh->size, held[i].size);
}

static void replace(struct held *block, uint64_t *random)
{
        size_t size = random_size(random), count = 1 + random_below(random, 3);

        if (block->memory) {
                block->memory = tested_realloc(block->memory, size);
                assert_aligned(block->memory, size);
                assert_kept(block->memory, size < block->size ? size : block->size, block->mark);
        } else if (random_below(random, 2)) {
                size -= size % count;
                block->memory = tested_calloc(count, size / count);
                assert_aligned(block->memory, size);
                assert_zero(block->memory, size);
        } else {
                block->memory = tested_malloc(size);
                assert_aligned(block->memory, size);
        }
        block->size = size;
}

static void blocks_stay_apart_and_keep_their_contents_in_any_order(void **state)
{
        static struct held held[HELD];
        uint64_t random = 20260101;
        unsigned unmapped = unmaps;

        (void)state;
        for (uint64_t i = 0; i < OPERATIONS; i++) {
                struct held *block = &held[random_below(&random, HELD)];

                if (block->memory)
                        assert_kept(block->memory, block->size, block->mark);
                if (block->memory && random_below(&random, 2)) {
                        tested_free(block->memory);
                        block->memory = NULL;
                        continue;
                }
                replace(block, &random);
                assert_apart(held, block);
                block->mark = i;
                fill(block->memory, block->size, block->mark);
        }
        for (size_t i = 0; i < HELD; i++) {
                if (held[i].memory)
                        assert_kept(held[i].memory, held[i].size, held[i].mark);
                tested_free(held[i].memory);
        }
        assert_true(unmaps > unmapped); /* or no mapping was ever among them */
}

static void calloc_zeroes_what_was_used_before(void **state)
{
        static const size_t sizes[] = { 1,     16, 17, 100, 1000, 4096, 70000, LARGEST_CUT, LARGEST_CUT + 1,
                                        300000 };

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                void *used = tested_malloc(sizes[i]), *zeroed;
                uintptr_t place = (uintptr_t)used;

                memset(used, 0xa5, sizes[i]);
                tested_free(used);
                zeroed = tested_calloc(sizes[i], 1);
                if (!is_mapping(zeroed)) /* the kernel zeroes those */
                        assert_int_equal((uintptr_t)zeroed, place);
                assert_zero(zeroed, sizes[i]);
                tested_free(zeroed);
        }
}

/* ---- realloc -------------------------------------------------------------------------------------------- */

static void block_keeps_its_contents_in_every_larger_class(void **state)
{
        size_t size = 1, moves = 0;
        unsigned char *block = tested_malloc(size);

        (void)state;
        while (size < LARGEST_CUT) {
                size_t larger = size + size / 8 + 1;
                unsigned char *moved;

                if (larger > LARGEST_CUT)
                        larger = LARGEST_CUT;
                fill(block, size, size);
                moved = tested_realloc(block, larger);
                assert_aligned(moved, larger);
                assert_kept(moved, size, size);
                moves += moved != block;
                block = moved;
                size = larger;
        }
        assert_false(is_mapping(block));
        assert_int_equal(moves, CLASSES - 1);
        tested_free(block);
}

static void block_keeps_its_contents_on_its_way_to_a_mapping(void **state)
{
        static const size_t sizes[] = { 0, 1, 100, 5000, LARGEST_CUT };

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                void *block = tested_malloc(sizes[i]);

                assert_false(is_mapping(block));
                fill(block, sizes[i], i);
                block = tested_realloc(block, LARGEST_CUT + 1);
                assert_aligned(block, LARGEST_CUT + 1);
                assert_true(is_mapping(block));
                assert_kept(block, sizes[i], i);
                tested_free(block);
        }
}

static void mapping_keeps_its_contents_when_it_grows(void **state)
{
        size_t size = 200000;
        void *block = tested_malloc(size), *neighbours[8];
        unsigned before = remaps;

        (void)state;
        for (size_t i = 0; i < 8; i++) {
                size_t larger = size + 4096 + i * 100000;

                fill(block, size, i);
                block = tested_realloc(block, larger);
                assert_aligned(block, larger);
                assert_kept(block, size, i);
                fill(block, larger, i); /* all of it can be written */
                size = larger;
                neighbours[i] = tested_malloc(200000); /* may take the place to grow into */
        }
        assert_int_equal(remaps - before, 8);
        for (size_t i = 0; i < 8; i++)
                tested_free(neighbours[i]);
        tested_free(block);
}

static void block_that_shrinks_stays_where_it_is(void **state)
{
        static const size_t sizes[] = { 100, 5000, LARGEST_CUT, 300000 };

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                void *block = tested_malloc(sizes[i]);

                fill(block, sizes[i], i);
                assert_ptr_equal(tested_realloc(block, sizes[i] / 3), block);
                assert_kept(block, sizes[i] / 3, i);
                assert_ptr_equal(tested_realloc(block, 0), block);
                tested_free(block);
        }
}

static void realloc_of_nothing_allocates(void **state)
{
        static const size_t sizes[] = { 0, 1, 1000, 300000 };

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                void *block = tested_realloc(NULL, sizes[i]);

                assert_aligned(block, sizes[i]);
                fill(block, sizes[i], i);
                assert_kept(block, sizes[i], i);
                tested_free(block);
        }
}

/* ---- free ----------------------------------------------------------------------------------------------- */

static void free_of_nothing_does_nothing(void **state)
{
        unsigned before = unmaps;
        void *first = tested_malloc(1), *second;

        (void)state;
        tested_free(first);
        tested_free(NULL);
        second = tested_malloc(1);
        assert_ptr_equal(second, first);
        assert_int_equal(unmaps, before);
        tested_free(second);
}

static void free_keeps_errno(void **state)
{
        void *cut = tested_malloc(100), *mapped = tested_malloc(300000);
        unsigned before = unmaps;

        (void)state;
        errno = EINTR;
        tested_free(NULL);
        assert_int_equal(errno, EINTR);
        tested_free(cut);
        assert_int_equal(errno, EINTR);
        tested_free(mapped);
        assert_int_equal(unmaps, before + 1); /* which has changed it */
        assert_int_equal(errno, EINTR);
}

/* Blocks of a size, all held at once and freed again, some times over; the kernel's part in it. */
static unsigned maps_for(size_t size, size_t count, unsigned rounds)
{
        static void *blocks[1000];
        unsigned before = maps;

        for (unsigned round = 0; round < rounds; round++) {
                for (size_t i = 0; i < count; i++) {
                        blocks[i] = tested_malloc(size);
                        assert_non_null(blocks[i]);
                }
                for (size_t i = 0; i < count; i++)
                        tested_free(blocks[i]);
        }
        return maps - before;
}

static void long_run_takes_no_more_memory_than_its_first_round(void **state)
{
        static const size_t sizes[] = { 0, 1, 24, 1000, 5000, 100000, LARGEST_CUT };

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                const char *place;

                maps_for(sizes[i], 1, 1);
                place = region;
                assert_int_equal(maps_for(sizes[i], 1, 50000), 0);
                assert_ptr_equal(region, place);
        }
        /* More than one region holds: the kernel is asked, and not again. */
        assert_true(maps_for(5000, 1000, 1) >= 3);
        assert_int_equal(maps_for(5000, 1000, 20), 0);
}

static void block_that_moves_leaves_its_place_to_others(void **state)
{
        const char *place = NULL;
        unsigned before = 0;

        (void)state;
        for (int i = 0; i < 50000; i++) {
                void *block = tested_realloc(tested_malloc(100), 5000);

                block = tested_realloc(block, LARGEST_CUT);
                assert_non_null(block);
                tested_free(block);
                if (!i) {
                        place = region;
                        before = maps;
                }
        }
        assert_int_equal(maps, before);
        assert_ptr_equal(region, place);
}

static void mapping_is_given_back_to_the_kernel(void **state)
{
        unsigned before = unmaps;

        (void)state;
        assert_int_equal(maps_for(200000, 10, 3), 30);
        assert_int_equal(unmaps - before, 30);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static void assert_no_memory(const void *memory)
{
        assert_null(memory);
        assert_int_equal(errno, ENOMEM);
        errno = 0;
}

static void impossible_sizes_fail_with_enomem(void **state)
{
        static const size_t sizes[] = { PTRDIFF_MAX - sizeof(struct block),
                                        PTRDIFF_MAX - sizeof(struct block) + 1,
                                        PTRDIFF_MAX,
                                        (size_t)PTRDIFF_MAX + 1,
                                        SIZE_MAX - sizeof(struct block),
                                        SIZE_MAX - sizeof(struct block) + 1,
                                        SIZE_MAX };
        void *cut = tested_malloc(100), *mapped = tested_malloc(300000);

        (void)state;
        fill(cut, 100, 1);
        fill(mapped, 300000, 2);
        errno = 0;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                assert_no_memory(tested_malloc(sizes[i]));
                assert_no_memory(tested_calloc(1, sizes[i]));
                assert_no_memory(tested_calloc(sizes[i], 1));
                assert_no_memory(tested_realloc(NULL, sizes[i]));
                assert_no_memory(tested_realloc(cut, sizes[i]));
                assert_no_memory(tested_realloc(mapped, sizes[i]));
        }
        assert_kept(cut, 100, 1);
        assert_kept(mapped, 300000, 2);
        tested_free(cut);
        tested_free(mapped);
}

static void calloc_refuses_a_product_that_overflows(void **state)
{
        (void)state;
        errno = 0;
        assert_no_memory(tested_calloc(SIZE_MAX / 2 + 1, 2)); /* 0 */
        assert_no_memory(tested_calloc(2, SIZE_MAX / 2 + 9)); /* 16 */
        assert_no_memory(tested_calloc((size_t)1 << 32, (size_t)1 << 32));
        assert_no_memory(tested_calloc(SIZE_MAX, SIZE_MAX)); /* 1 */
        assert_no_memory(tested_calloc(SIZE_MAX / 16, 17));
}

static void refusal_of_the_kernel_is_enomem_and_costs_no_block(void **state)
{
        void *cut = tested_malloc(LARGEST_CUT), *mapped = tested_malloc(300000), *again, *chain = NULL;

        (void)state;
        fill(cut, LARGEST_CUT, 1);
        fill(mapped, 300000, 2);
        is_refused = true;
        /* What is free already can still be had. */
        while (add_block(&chain, LARGEST_CUT))
                ;
        errno = 0;
        assert_no_memory(tested_malloc(LARGEST_CUT));
        assert_no_memory(tested_malloc(300000));
        assert_no_memory(tested_calloc(3, 100000));
        assert_no_memory(tested_realloc(cut, 300000));
        assert_no_memory(tested_realloc(mapped, 400000));
        is_refused = false;
        assert_kept(cut, LARGEST_CUT, 1);
        assert_kept(mapped, 300000, 2);
        free_chain(chain);
        tested_free(cut);
        tested_free(mapped);
        again = tested_malloc(300000);
        assert_non_null(again);
        tested_free(again);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_block_is_aligned_and_holds_its_size),
                cmocka_unit_test(only_what_is_too_large_for_every_class_gets_a_mapping),
                cmocka_unit_test(region_is_used_up_and_not_left),
                cmocka_unit_test(blocks_stay_apart_and_keep_their_contents_in_any_order),
                cmocka_unit_test(calloc_zeroes_what_was_used_before),
                cmocka_unit_test(block_keeps_its_contents_in_every_larger_class),
                cmocka_unit_test(block_keeps_its_contents_on_its_way_to_a_mapping),
                cmocka_unit_test(mapping_keeps_its_contents_when_it_grows),
                cmocka_unit_test(block_that_shrinks_stays_where_it_is),
                cmocka_unit_test(realloc_of_nothing_allocates),
                cmocka_unit_test(free_of_nothing_does_nothing),
                cmocka_unit_test(free_keeps_errno),
                cmocka_unit_test(long_run_takes_no_more_memory_than_its_first_round),
                cmocka_unit_test(block_that_moves_leaves_its_place_to_others),
                cmocka_unit_test(mapping_is_given_back_to_the_kernel),
                cmocka_unit_test(impossible_sizes_fail_with_enomem),
                cmocka_unit_test(calloc_refuses_a_product_that_overflows),
                cmocka_unit_test(refusal_of_the_kernel_is_enomem_and_costs_no_block),
        };

        return cmocka_run_group_tests_name("malloc", tests, NULL, NULL);
}
