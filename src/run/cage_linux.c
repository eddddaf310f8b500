/* cage_linux.c: the relay's cage. All that it reads may be hostile: whoever takes it over can do what it does, and no more. */
#define _GNU_SOURCE
#include "run/cage_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "run/landlock_linux.h"
#include "run/syscall_linux.h"

#ifdef __aarch64__
#define CAGE_ARCH AUDIT_ARCH_AARCH64
#else
#define CAGE_ARCH AUDIT_ARCH_X86_64
#endif

/* ---- system calls --------------------------------------------------------------------------------------- */

static const unsigned short allowed[] = {
        /* streams, datagrams, and what wakes it */
        SYS_accept4,
        SYS_bind,
        SYS_close,
        SYS_connect,
        SYS_epoll_ctl,
        SYS_epoll_pwait,
        SYS_fcntl,
        SYS_getsockname,
        SYS_getsockopt,
        SYS_ioctl,
        SYS_pipe2,
        SYS_ppoll,
        SYS_read,
        SYS_readv,
        SYS_recvfrom,
        SYS_recvmsg,
        SYS_sendmsg,
        SYS_sendto,
        SYS_setsockopt,
        SYS_shutdown,
        SYS_socket,
        SYS_splice,
        SYS_write,
        SYS_writev,
        /* the files with names, and a spare descriptor */
        SYS_fstat,
        SYS_lseek,
        SYS_newfstatat,
        SYS_openat,
        SYS_statx,
        /* memory, time, chance, the end */
        SYS_brk,
        SYS_clock_gettime,
        SYS_exit,
        SYS_exit_group,
        SYS_futex,
        SYS_getpid,
        SYS_getrandom,
        SYS_gettid,
        SYS_gettimeofday,
        SYS_madvise,
        SYS_mmap,
        SYS_mprotect,
        SYS_mremap,
        SYS_munmap,
        SYS_restart_syscall,
        SYS_rt_sigprocmask,
        SYS_rt_sigreturn,
#ifdef __x86_64__
        SYS_epoll_wait,
        SYS_open,
        SYS_poll,
        SYS_stat,
        SYS_lstat,
        SYS_time,
#endif
};

enum {
        ALLOWED_COUNT = sizeof(allowed) / sizeof(*allowed),
        NUMBERS = 512, /* all that are above are refused */
};

enum verdict { REFUSED, ALLOWED, CHECK_SOCKET, CHECK_MEMORY, CHECK_FCNTL, CHECK_IOCTL };

/* The calls from this number on, up to the next range. */
struct range {
        unsigned first;
        enum verdict verdict;
};

static void emit(struct relay_cage *cage, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
        const struct sock_filter filter = { code, yes, no, value };

        _Static_assert(sizeof(filter) == sizeof(*cage->code), "an instruction has eight bytes");
        if (cage->length < RELAY_CAGE_MAX)
                memcpy(&cage->code[cage->length], &filter, sizeof(filter));
        cage->length++;
}

static void emit_return(struct relay_cage *cage, bool is_allowed)
{
        emit(cage, BPF_RET | BPF_K, is_allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

static void emit_argument(struct relay_cage *cage, unsigned index)
{
        /* The low half, which is all that the kernel takes of these; both machines have it first. */
        emit(cage, BPF_LD | BPF_W | BPF_ABS,
             (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t)), 0, 0);
}

static void emit_verdict(struct relay_cage *cage, enum verdict verdict)
{
        switch (verdict) {
        case REFUSED:
        case ALLOWED:
                emit_return(cage, verdict == ALLOWED);
                break;
        case CHECK_SOCKET:
                emit_argument(cage, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 4);
                emit_argument(cage, 1);
                emit(cage, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
                emit_return(cage, false);
                emit_return(cage, true);
                break;
        case CHECK_FCNTL: /* nobody is sent a signal */
                emit_argument(cage, 1);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, F_SETFD, 4, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, F_GETFL, 3, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 2, 0);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, F_SETPIPE_SZ, 1, 0);
                emit_return(cage, false);
                emit_return(cage, true);
                break;
        case CHECK_IOCTL:
                emit_argument(cage, 1);
                emit(cage, BPF_JMP | BPF_JEQ | BPF_K, TIOCOUTQ, 1, 0); /* how much waits in a socket */
                emit_return(cage, false);
                emit_return(cage, true);
                break;
        case CHECK_MEMORY:
                emit_argument(cage, 2);
                emit(cage, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
                emit_return(cage, false);
                emit_return(cage, true);
                break;
        }
}

/* A balanced tree: the kernel walks the program for each number when it is loaded. */
static void emit_tree(struct relay_cage *cage, const struct range *ranges, size_t count)
{
        size_t half = count / 2;
        uint32_t jump = cage->length, left;
        struct sock_filter filter;

        if (count == 1) {
                emit_verdict(cage, ranges->verdict);
                return;
        }
        emit(cage, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, 0, 0);
        emit_tree(cage, ranges, half);
        left = cage->length - jump - 1;
        if (jump < RELAY_CAGE_MAX && left <= UINT8_MAX) {
                memcpy(&filter, &cage->code[jump], sizeof(filter));
                filter.jt = (uint8_t)left;
                memcpy(&cage->code[jump], &filter, sizeof(filter));
        }
        emit_tree(cage, ranges + half, count - half);
}

void cage_build(struct relay_cage *out)
{
        unsigned char verdicts[NUMBERS + 1] = { REFUSED };
        struct range ranges[2 * ALLOWED_COUNT + 2];
        size_t count = 0;

        for (size_t i = 0; i < ALLOWED_COUNT; i++)
                verdicts[allowed[i]] = ALLOWED;
        verdicts[SYS_socket] = CHECK_SOCKET;
        verdicts[SYS_fcntl] = CHECK_FCNTL;
        verdicts[SYS_ioctl] = CHECK_IOCTL;
        verdicts[SYS_mmap] = verdicts[SYS_mprotect] = CHECK_MEMORY;
        for (unsigned number = 0; number <= NUMBERS; number++)
                if (!number || verdicts[number] != verdicts[number - 1])
                        ranges[count++] = (struct range){ number, (enum verdict)verdicts[number] };
        out->length = 0;
        emit(out, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
        emit(out, BPF_JMP | BPF_JEQ | BPF_K, CAGE_ARCH, 1, 0);
        emit_return(out, false);
        emit(out, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        emit_tree(out, ranges, count);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static int add_rule(int rules, const char *path)
{
        OWN_FD int fd = open(path, O_PATH | O_CLOEXEC);
        const struct ll_path_beneath rule = { LL_READ_FILE, fd };

        return fd < 0 ? 0 : (int)syscall(SYS_landlock_add_rule, rules, LL_RULE_PATH_BENEATH, &rule, 0);
}

/* A file that is a link to elsewhere, as of systemd-resolved, is replaced there by others: so all of that directory is read. One that
 * lies in /etc itself is read as long as it is the same file. */
static int add_file(int rules, const char *path)
{
        char real[PATH_MAX], *slash;

        if (!realpath(path, real))
                return 0;
        slash = strrchr(real, '/');
        /* Never /run as a whole. */
        if (strncmp(real, "/run/", strlen("/run/")) == 0 && slash - real > (ptrdiff_t)strlen("/run"))
                *slash = '\0';
        return add_rule(rules, real);
}

int cage_open_rules(int *out)
{
        int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
        struct ll_ruleset ruleset = { .handled_fs = ll_handled_fs(abi),
                                      .scoped = abi >= 6 ? LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL : 0 };
        OWN_FD int fd =
                abi < 1 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &ruleset, ll_ruleset_size(abi), 0);

        *out = -1;
        if (abi < 1)
                return 0;
        if (fd < 0 || add_rule(fd, "/dev/null") < 0 || add_file(fd, "/etc/hosts") < 0 ||
            add_file(fd, "/etc/resolv.conf") < 0)
                return -errno;
        *out = take_fd(&fd);
        return 0;
}
