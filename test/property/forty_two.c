/* forty_two.c: the smallest program there is, to be copied wherever something executable is wanted: it exits with 42. */
#include <sys/syscall.h>

#if !defined(__aarch64__) && !defined(__x86_64__)
#error "the program is written for arm64 and x86_64"
#endif

void _start(void);

void _start(void)
{
#ifdef __aarch64__
        register long status __asm__("x0") = 42;
        register long number __asm__("x8") = SYS_exit_group;

        __asm__ volatile("svc 0" : : "r"(status), "r"(number));
#else
        long number = SYS_exit_group;

        __asm__ volatile("syscall" : "+a"(number) : "D"(42L) : "rcx", "r11", "memory");
#endif
        __builtin_unreachable();
}
