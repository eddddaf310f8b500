/* stacks_linux.c: the stacks of jobs that have ended, for the next ones. */
#include "run/stacks_linux.h"

#include <stdlib.h>

#include "run/child_linux.h"

char *stacks_take(struct stacks *stacks)
{
        char *memory = NULL;

        for (size_t i = 0; stacks && i < STACKS_SPARE && !memory; i++)
                memory = __atomic_exchange_n(&stacks->spare[i], NULL, __ATOMIC_ACQUIRE);
        return memory ? memory : malloc(CHILD_STACKS_SIZE);
}

void stacks_return(struct stacks *stacks, char *memory)
{
        for (size_t i = 0; stacks && i < STACKS_SPARE && memory; i++) {
                char *none = NULL;

                if (__atomic_compare_exchange_n(&stacks->spare[i], &none, memory, false, __ATOMIC_RELEASE,
                                                __ATOMIC_RELAXED))
                        return;
        }
        free(memory);
}

void stacks_done(struct stacks *stacks)
{
        for (size_t i = 0; i < STACKS_SPARE; i++)
                free(stacks->spare[i]);
}
