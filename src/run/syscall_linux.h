/* syscall_linux.h: raw system calls that leave errno alone, and numbers that older headers lack.
 *
 * Init and the command share the caller's memory and thread-local storage until exec: libc's wrappers would write
 * errno into a running thread of the host process. */
#ifndef RUN_SYSCALL_LINUX_H
#define RUN_SYSCALL_LINUX_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

/* The result or a negative errno. */
static inline long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__aarch64__)
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;

        __asm__ volatile("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory", "cc");
        return x0;
#elif defined(__x86_64__)
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        long result;

        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory", "cc");
        return result;
#else
#error "abatis knows arm64 and x86_64"
#endif
}

#define RAW_ARGUMENTS(number, a, b, c, d, e, f, ...) \
        raw_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define RAW(...) RAW_ARGUMENTS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
/* A call of five arguments at most, with a word behind them that the kernel does not look at and the filter of a prepared
 * sandbox does: see filter_options.pass. */
#define RAW_PASSING_ARGUMENTS(pass, number, a, b, c, d, e, ...) \
        raw_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(pass))
#define RAW_PASSING(pass, ...) RAW_PASSING_ARGUMENTS(pass, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* As getdents64 gives it. */
struct directory_entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
};

struct clone3_arguments {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
                set_tid_size, cgroup;
};

#define CLONE3_CLEAR_SIGHAND 0x100000000ull
#define CLONE3_INTO_CGROUP 0x200000000ull

/* Makes one of the clone calls; the child calls entry(argument) on its new stack and never returns. `pass` as above. */
static inline long raw_clone_call(long number, long a, long b, long c, long child_tid, uint64_t pass,
                                  void (*entry)(void *), void *argument)
{
#if defined(__aarch64__)
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = 0;
        register long x4 __asm__("x4") = child_tid;
        register uint64_t x5 __asm__("x5") = pass;
        register void (*function)(void *) __asm__("x9") = entry;
        register void *value __asm__("x10") = argument;

        /* The kernel keeps every register but x0. */
        __asm__ volatile("svc 0\n\t"
                         "cbnz x0, 1f\n\t"
                         "mov x29, xzr\n\t"
                         "mov x30, xzr\n\t"
                         "mov x0, x10\n\t"
                         "blr x9\n\t"
                         "brk #1\n"
                         "1:"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(function), "r"(value)
                         : "memory", "cc");
        return x0;
#elif defined(__x86_64__)
        register long r10 __asm__("r10") = child_tid;
        register long r8 __asm__("r8") = 0;
        register uint64_t r9 __asm__("r9") = pass;
        register void (*function)(void *) __asm__("r12") = entry;
        register void *value __asm__("r13") = argument;
        long result;

        __asm__ volatile("syscall\n\t"
                         "test %%rax, %%rax\n\t"
                         "jnz 1f\n\t"
                         "xor %%ebp, %%ebp\n\t"
                         "mov %%r13, %%rdi\n\t"
                         "call *%%r12\n\t"
                         "ud2\n"
                         "1:"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9), "r"(function),
                           "r"(value)
                         : "rcx", "r11", "memory", "cc");
        return result;
#endif
}

/* The parent gets the child's PID or a negative errno. Containers, and abatis itself, hide clone3 because its flags lie
 * in memory; the older call then does the same, except that handlers of signals, which nobody sends, are kept. */
static inline long raw_clone(struct clone3_arguments *arguments, void (*entry)(void *), void *argument)
{
        long pid = raw_clone_call(435, (long)arguments, sizeof(*arguments), 0, 0, 0, entry, argument);

        /* A cgroup can be given to the new call only. */
        if (pid != -ENOSYS || arguments->flags & CLONE3_INTO_CGROUP)
                return pid;
        return raw_clone_call(SYS_clone, (long)((arguments->flags & UINT32_MAX) | arguments->exit_signal),
                              (long)(arguments->stack + arguments->stack_size), (long)arguments->pidfd,
                              (long)arguments->child_tid, 0, entry, argument);
}

/* The same on every architecture since Linux 5.1. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_fsopen
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#endif
