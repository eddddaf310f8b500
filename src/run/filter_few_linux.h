/* filter_few_linux.h: the system calls of a program that computes and works on files, and no others: tables, for filter_second_linux.c alone.
 *
 * Made by looking at what engines for WebAssembly (wazero, node) and static and dynamic programs in C and Go call, and at what WASI
 * asks for: files, directories, clocks, random numbers, waiting; threads, memory, signals of its own. */
#ifndef RUN_FILTER_FEW_LINUX_H
#define RUN_FILTER_FEW_LINUX_H

#include <sys/syscall.h>

#include "run/filter_builder_linux.h"

static const unsigned short few[] = {
        /* starting and ending */
        SYS_execve,
        SYS_exit,
        SYS_exit_group,
        SYS_restart_syscall,
        SYS_set_tid_address,
        SYS_set_robust_list,
        SYS_rseq,
        /* memory */
        SYS_brk,
        SYS_mmap,
        SYS_munmap,
        SYS_mremap,
        SYS_mprotect,
        SYS_madvise,
        SYS_msync,
        SYS_membarrier,
        /* threads */
        SYS_clone,
        SYS_futex,
        SYS_sched_yield,
        SYS_sched_getaffinity,
        SYS_sched_getparam,
        SYS_sched_getscheduler,
        SYS_getcpu,
        /* signals */
        SYS_rt_sigaction,
        SYS_rt_sigprocmask,
        SYS_rt_sigpending,
        SYS_rt_sigsuspend,
        SYS_rt_sigtimedwait,
        SYS_rt_sigreturn,
        SYS_sigaltstack,
        SYS_kill,
        SYS_tkill,
        SYS_tgkill,
        /* who and where it is */
        SYS_getpid,
        SYS_getppid,
        SYS_gettid,
        SYS_getpgid,
        SYS_getsid,
        SYS_getuid,
        SYS_geteuid,
        SYS_getgid,
        SYS_getegid,
        SYS_getresuid,
        SYS_getresgid,
        SYS_getgroups,
        SYS_capget,
        SYS_uname,
        SYS_sysinfo,
        SYS_getrusage,
        SYS_times,
        SYS_getrlimit,
        SYS_setrlimit,
        SYS_prlimit64,
        SYS_getrandom,
        SYS_umask,
        SYS_getcwd,
        SYS_chdir,
        SYS_fchdir,
        /* time and waiting */
        SYS_clock_gettime,
        SYS_clock_getres,
        SYS_clock_nanosleep,
        SYS_nanosleep,
        SYS_gettimeofday,
        SYS_timerfd_create,
        SYS_timerfd_settime,
        SYS_timerfd_gettime,
        SYS_ppoll,
        SYS_pselect6,
        SYS_epoll_create1,
        SYS_epoll_ctl,
        SYS_epoll_pwait,
        441 /* epoll_pwait2 */,
        SYS_eventfd2,
        SYS_pipe2,
        /* descriptors */
        SYS_close,
        436 /* close_range */,
        SYS_dup,
        SYS_dup3,
        SYS_fcntl,
        SYS_lseek,
        SYS_read,
        SYS_readv,
        SYS_pread64,
        SYS_preadv,
        SYS_preadv2,
        SYS_write,
        SYS_writev,
        SYS_pwrite64,
        SYS_pwritev,
        SYS_pwritev2,
        SYS_ftruncate,
        SYS_fallocate,
        SYS_fadvise64,
        SYS_fsync,
        SYS_fdatasync,
        SYS_fstat,
        SYS_getdents64,
        /* names */
        SYS_openat,
        SYS_newfstatat,
        SYS_statx,
        SYS_faccessat,
        439 /* faccessat2 */,
        SYS_readlinkat,
        SYS_mkdirat,
        SYS_unlinkat,
        SYS_renameat,
        SYS_renameat2,
        SYS_linkat,
        SYS_symlinkat,
        SYS_utimensat,
        SYS_truncate,
#ifdef SYS_open
        SYS_arch_prctl,
        SYS_time,
        SYS_getpgrp,
        SYS_pause,
        SYS_poll,
        SYS_select,
        SYS_epoll_create,
        SYS_epoll_wait,
        SYS_eventfd,
        SYS_pipe,
        SYS_dup2,
        SYS_getdents,
        SYS_open,
        SYS_creat,
        SYS_stat,
        SYS_lstat,
        SYS_access,
        SYS_readlink,
        SYS_mkdir,
        SYS_rmdir,
        SYS_unlink,
        SYS_rename,
        SYS_link,
        SYS_symlink,
        SYS_utime,
        SYS_utimes,
        SYS_futimesat,
#endif
};

static const struct entry few_judged[] = {
        { SYS_ioctl, CHECK_FEW_IOCTLS },
        { SYS_prctl, CHECK_FEW_PRCTLS },
};

/* Where other processes may be started. */
static const unsigned short few_of_processes[] = {
        SYS_wait4,
        SYS_waitid,
#ifdef SYS_fork
        SYS_fork,
        SYS_vfork,
#endif
};

/* Where the policy has a network, or lists unix sockets. */
static const unsigned short few_of_sockets[] = {
        SYS_socket,      SYS_socketpair,  SYS_connect, SYS_bind,     SYS_listen,   SYS_accept,
        SYS_accept4,     SYS_getsockname, SYS_sendto,  SYS_sendmsg,  SYS_sendmmsg, SYS_recvfrom,
        SYS_getpeername, SYS_setsockopt,  SYS_recvmsg, SYS_shutdown, SYS_recvmmsg, SYS_getsockopt,
};

/* Older ones without which programs have a way around if they are told that there are none. */
static const unsigned short few_absent[] = {
        SYS_memfd_create, SYS_copy_file_range, SYS_splice,     SYS_tee,       SYS_sendfile,
        SYS_execveat,     SYS_userfaultfd,     SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
};

static const unsigned few_ioctls[] = {
        0x5401 /* TCGETS, by which a terminal is known */,
        0x5413 /* TIOCGWINSZ */,
        0x541b /* FIONREAD */,
        0x5421 /* FIONBIO */,
        0x5450 /* FIONCLEX */,
        0x5451 /* FIOCLEX */,
};

static const unsigned few_prctls[] = {
        3 /* PR_GET_DUMPABLE */,      4 /* PR_SET_DUMPABLE */,
        15 /* PR_SET_NAME */,         16 /* PR_GET_NAME */,
        23 /* PR_CAPBSET_READ */,     39 /* PR_GET_NO_NEW_PRIVS */,
        38 /* PR_SET_NO_NEW_PRIVS */, 0x53564d41 /* PR_SET_VMA, a name for memory */,
};

#endif
