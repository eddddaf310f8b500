/* malloc_musl.c: the memory of a program that starts, launches one command and ends.
 *
 * musl's own allocator maps at least a page for each size of block and unmaps it when the last one is freed: twenty
 * system calls and as many page faults, a tenth of a launch. This one cuts blocks from one region and keeps what is
 * freed in a list for its size, so a program that runs long does not grow either. It knows no threads; the executable
 * has none, and what it clones into its own memory never allocates. Linked only into the static executable. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Sizes of blocks, header included: 32, 48, 64, 80, 96, 112, 128, and from there on four for each doubling. */
enum {
        CLASSES = 47,         /* the last holds 128 KiB; what is larger gets a mapping of its own */
        MAPPED = CLASSES,     /* the class of those */
        REGION = 1024 * 1024, /* of one mapping that blocks are cut from */
};

struct block {
        size_t class;
        size_t size; /* header included */
};

struct freed {
        struct block block;
        struct freed *next;
};

/* Blocks keep the alignment of every C type. */
_Static_assert(sizeof(struct block) == 16, "blocks must stay aligned");

/* The first region costs nothing until it is touched, and no system call. */
static char first_region[256 * 1024] __attribute__((aligned(16)));
static char *region = first_region, *region_end = first_region + sizeof(first_region);
static struct freed *freed[CLASSES];

static void *fail(void)
{
        errno = ENOMEM;
        return NULL;
}

static void *map(size_t size)
{
        void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return mapped == MAP_FAILED ? fail() : mapped;
}

static size_t size_of(size_t class)
{
        if (class < 7)
                return 32 + 16 * class;
        return (size_t)(5 + (class - 7) % 4) << (5 + (class - 7) / 4);
}

static size_t class_for(size_t size)
{
        size_t class = 0;

        if (size > size_of(CLASSES - 1))
                return MAPPED;
        if (size > 128) /* start at the class of the power of two that is not larger */
                class = 6 + 4 * (size_t)(56 - __builtin_clzl(size));
        while (size_of(class) < size)
                class ++;
        return class;
}

static struct block *map_block(size_t size)
{
        struct block *block = map(size);

        if (block)
                *block = (struct block){ MAPPED, size };
        return block;
}

static struct block *cut_block(size_t class)
{
        size_t size = size_of(class);
        struct block *block;

        if ((size_t)(region_end - region) < size) {
                char *fresh = map(REGION);

                if (!fresh)
                        return NULL;
                region = fresh;
                region_end = fresh + REGION;
        }
        block = (struct block *)(void *)region;
        region += size;
        *block = (struct block){ class, size };
        return block;
}

static void *allocate(size_t wanted)
{
        struct block *block;
        size_t class, size;

        if (wanted > PTRDIFF_MAX - sizeof(*block))
                return fail();
        size = wanted + sizeof(*block);
        class = class_for(size);
        if (class == MAPPED) {
                block = map_block(size);
        } else if (freed[class]) {
                block = &freed[class]->block;
                freed[class] = freed[class]->next;
        } else {
                block = cut_block(class);
        }
        return block ? block + 1 : NULL;
}

void *malloc(size_t wanted)
{
        return allocate(wanted);
}

void free(void *memory)
{
        struct freed *block;
        int kept_errno = errno;

        if (!memory)
                return;
        block = (struct freed *)(void *)((struct block *)memory - 1);
        if (block->block.class == MAPPED) {
                munmap(block, block->block.size);
                errno = kept_errno;
                return;
        }
        block->next = freed[block->block.class];
        freed[block->block.class] = block;
}

void *calloc(size_t count, size_t size)
{
        size_t wanted;
        void *memory;

        if (__builtin_mul_overflow(count, size, &wanted))
                return fail();
        memory = allocate(wanted);
        if (memory && ((struct block *)memory - 1)->class != MAPPED)
                memset(memory, 0, wanted);
        return memory;
}

void *realloc(void *memory, size_t wanted)
{
        struct block *block;
        void *moved;

        if (!memory)
                return allocate(wanted);
        block = (struct block *)memory - 1;
        if (wanted > PTRDIFF_MAX - sizeof(*block))
                return fail();
        if (wanted <= block->size - sizeof(*block))
                return memory;
        if (block->class == MAPPED) {
                block = mremap(block, block->size, wanted + sizeof(*block), MREMAP_MAYMOVE);
                if (block == MAP_FAILED)
                        return fail();
                block->size = wanted + sizeof(*block);
                return block + 1;
        }
        moved = allocate(wanted);
        if (!moved)
                return NULL;
        memcpy(moved, memory, block->size - sizeof(*block));
        free(memory);
        return moved;
}
