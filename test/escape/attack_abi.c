/* Attempts to reach the kernel through another door: the 32-bit and x32 system call tables, and calls of
 * one architecture only. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#define I386_GETPID 20
#define I386_SOCKETCALL 102

static long i386_call(long number, long first, long second)
{
        long result;
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(number), "b"(first), "c"(second)
                         : "memory", "r8", "r9", "r10", "r11");
        return result;
}

static int call_i386_getpid(char **argument)
{
        (void)argument;
        long result = i386_call(I386_GETPID, 0, 0);
        errno = (int)-result;
        return result > 0 ? SUCCEEDED : refused("int 0x80 getpid");
}

/* socketcall hides its arguments behind a pointer (which must fit 32 bits: EFAULT shows that the call was
 * open). */
static int call_i386_socketcall(char **argument)
{
        (void)argument;
        long result = i386_call(I386_SOCKETCALL, 1, 0x10);
        errno = (int)-result;
        return result >= 0 || errno == EFAULT ? SUCCEEDED : refused("int 0x80 socketcall");
}

static int abi_i386(char **argument)
{
        return in_child(call_i386_getpid, argument);
}

static int abi_i386_socketcall(char **argument)
{
        return in_child(call_i386_socketcall, argument);
}

static int abi_x32(char **argument)
{
        (void)argument;
        return outcome_of(syscall(0x40000000L | SYS_getpid), "x32 getpid");
}

static int abi_iopl(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_iopl, 3), "iopl");
}

static int abi_ioperm(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_ioperm, 0x80, 1, 1), "ioperm");
}

static int abi_modify_ldt(char **argument)
{
        char bytes[64];
        (void)argument;
        return outcome_of(syscall(SYS_modify_ldt, 0, bytes, sizeof(bytes)), "modify_ldt");
}
#else
static int abi_i386(char **argument)
{
        (void)argument;
        return untriable("x86_64 only");
}
#define abi_i386_socketcall abi_i386
#define abi_x32 abi_i386
#define abi_iopl abi_i386
#define abi_ioperm abi_i386
#define abi_modify_ldt abi_i386
#endif

#ifdef __aarch64__
/* A whole 32-bit ARM program: getpid, and exit with 0 if that gave a number. An undefined instruction follows,
 * so that a filter which also refuses the exit ends it. */
static const uint32_t arm_program[] = {
        0x464c457f, 0x00010101, 0,          0,          /* ELF, 32 bit, little endian */
        0x00280002, 1,          0x00010054, 52,         /* executable, ARM, entry, program headers at 52 */
        0,          0x05000000, 0x00200034, 0x00280001, /* EABI 5, one program header */
        0,                                              /* no sections */
        1,          0,          0x00010000, 0x00010000, /* load the file at 0x10000 */
        0x74,       0x74,       5,          0x1000,     /* readable, executable */
        0xe3a07014,                                     /* mov r7, #20 (getpid) */
        0xef000000,                                     /* svc #0 */
        0xe3500000,                                     /* cmp r0, #0 */
        0xc3a00000,                                     /* movgt r0, #0 */
        0xd3a00001,                                     /* movle r0, #1 */
        0xe3a07001,                                     /* mov r7, #1 (exit) */
        0xef000000,                                     /* svc #0 */
        0xe7f000f0,                                     /* udf #0 */
};

/* FILE: where the program may be written. */
static int abi_arm32(char **argument)
{
        int status = 0, fd = open(argument[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        if (fd < 0 || write(fd, arm_program, sizeof(arm_program)) != (ssize_t)sizeof(arm_program) ||
            close(fd) != 0)
                return untriable("cannot write the program");
        pid_t child = fork();
        if (child == 0) {
                char *const arguments[] = { argument[0], NULL };
                execv(argument[0], arguments);
                _exit(errno == ENOEXEC ? UNTRIABLE : REFUSED);
        }
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == UNTRIABLE)
                return untriable("this processor runs no 32-bit ARM code");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return SUCCEEDED;
        return refused_because("32-bit getpid",
                               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no answer");
}
#else
static int abi_arm32(char **argument)
{
        (void)argument;
        return untriable("arm64 only");
}
#endif

const struct attempt abi_attempts[] = {
        { "abi_i386", 0, abi_i386 },     { "abi_i386_socketcall", 0, abi_i386_socketcall },
        { "abi_x32", 0, abi_x32 },       { "abi_iopl", 0, abi_iopl },
        { "abi_ioperm", 0, abi_ioperm }, { "abi_modify_ldt", 0, abi_modify_ldt },
        { "abi_arm32", 1, abi_arm32 },   { NULL, 0, NULL },
};
