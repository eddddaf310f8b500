/* The program that nobody listed, and the library that nobody should load: either way it says so. Built as both. */
#include <unistd.h>

__attribute__((constructor)) static void say_so(void)
{
        if (write(1, "TOP-SECRET runs\n", 16) != 16)
                _exit(3);
}

int main(void)
{
        return 0;
}

#ifdef HAS_TEXT_RELOCATION /* for disguise.c */
__asm__(".text\n.balign 8\n.quad write\n");
__attribute__((used, aligned(8))) char room[4096] = "ROOM-FOR-A-TABLE";
#endif
