/* Attempts to have a call judged by one argument and made with another: whoever traces a process stops it before the call. */
#include "attack.h"

#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__aarch64__)
#define NUMBER(registers) ((registers).regs[8])
#define FIRST(registers) ((registers).regs[0])
#define RESULT(registers) ((long)(registers).regs[0])
#else
#define NUMBER(registers) ((registers).orig_rax)
#define FIRST(registers) ((registers).rdi)
#define RESULT(registers) ((long)(registers).rax)
#endif

enum { HARMLESS = CLONE_FILES };

static long get(pid_t child, struct user_regs_struct *registers)
{
        struct iovec place = { registers, sizeof(*registers) };

        return ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &place);
}

static long set(pid_t child, struct user_regs_struct *registers)
{
        struct iovec place = { registers, sizeof(*registers) };

        return ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &place);
}

/* To a tracer who wants to hear of it: unshare(). */
static void ask_tracer(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { 4, code };

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static pid_t start(bool asks)
{
        pid_t child = fork();

        if (child)
                return child;
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        if (asks)
                ask_tracer();
        syscall(SYS_unshare, HARMLESS);
        raise(SIGSTOP);
        _exit(0);
}

static bool is_elsewhere(pid_t child)
{
        char path[64], its[64] = "", ours[64] = "";

        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)child);
        return readlink(path, its, sizeof(its) - 1) > 0 &&
               readlink("/proc/self/ns/user", ours, sizeof(ours) - 1) > 0 && strcmp(its, ours) != 0;
}

/* Goes on from stop to stop, until the call has been made with what was not asked for. */
static int forge(pid_t child, enum __ptrace_request onward, unsigned long flags)
{
        struct user_regs_struct registers;
        int status;

        while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
                if (is_elsewhere(child))
                        return SUCCEEDED;
                if (get(child, &registers) == 0 && NUMBER(registers) == SYS_unshare &&
                    FIRST(registers) == HARMLESS) {
                        FIRST(registers) = flags;
                        if (set(child, &registers) != 0)
                                return refused("PTRACE_SETREGSET");
                }
                if (ptrace(onward, child, NULL, NULL) != 0)
                        return refused("ptrace");
        }
        errno = EPERM;
        return refused("unshare");
}

static int end(pid_t child, int outcome)
{
        int kept = errno;

        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        errno = kept;
        return outcome;
}

static int forged_at_a_stop(char **argument)
{
        pid_t child = start(false);

        return end(child, forge(child, PTRACE_SYSCALL, strtoul(argument[0], NULL, 0)));
}

static int forged_by_a_filter(char **argument)
{
        pid_t child = start(true);
        int status;

        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
                return end(child, refused("waitpid"));
        if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESECCOMP) != 0)
                return end(child, refused("PTRACE_SETOPTIONS"));
        if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
                return end(child, refused("PTRACE_CONT"));
        return end(child, forge(child, PTRACE_CONT, strtoul(argument[0], NULL, 0)));
}

const struct attempt forged_attempts[] = {
        { "forged_at_a_stop", 1, forged_at_a_stop },
        { "forged_by_a_filter", 1, forged_by_a_filter },
        { NULL, 0, NULL },
};
