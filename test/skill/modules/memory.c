/* memory.c: takes memory until it gets no more, and says how much it was.
 *
 *   memory [touch]        touch: writes to every page of it too */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
        const int touches = argc > 1 && !strcmp(argv[1], "touch");
        size_t old;

        for (size_t step = 16; step; step = step == 16 ? 1 : 0)
                while ((old = __builtin_wasm_memory_grow(0, step)) != (size_t)-1)
                        for (size_t i = 0; touches && i < step * 65536; i += 4096)
                                *(volatile char *)(old * 65536 + i) = 1;
        printf("{\"pages\":%zu}\n", __builtin_wasm_memory_size(0));
        return 0;
}
