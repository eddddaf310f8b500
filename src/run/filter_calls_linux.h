/* filter_calls_linux.h: what each system call gets: tables, for filter_linux.c alone. */
#ifndef RUN_FILTER_CALLS_LINUX_H
#define RUN_FILTER_CALLS_LINUX_H

#include <stddef.h>
#include <sys/syscall.h>

#include "run/filter_builder_linux.h"

/* What no tool needs. A number that this architecture or its headers lack is left out or written as a number: those
 * above 423 are the same everywhere. */
static const struct entry entries[] = {
        /* mounts and roots */
        { SYS_mount, REFUSE },
        { SYS_umount2, REFUSE },
        { SYS_pivot_root, REFUSE },
        { SYS_chroot, REFUSE },
        { 428 /* open_tree */, REFUSE },
        { 429 /* move_mount */, REFUSE },
        { 430 /* fsopen */, REFUSE },
        { 431 /* fsconfig */, REFUSE },
        { 432 /* fsmount */, REFUSE },
        { 433 /* fspick */, REFUSE },
        { 442 /* mount_setattr */, REFUSE },
        { 443 /* quotactl_fd */, REFUSE },
        { 457 /* statmount */, ABSENT },
        { 458 /* listmount */, ABSENT },
        { 467 /* open_tree_attr */, REFUSE },
        { SYS_quotactl, REFUSE },
        { SYS_swapon, REFUSE },
        { SYS_swapoff, REFUSE },
        { SYS_fanotify_init, REFUSE },
        { SYS_open_by_handle_at, REFUSE },
        { SYS_acct, REFUSE },
        /* namespaces */
        { SYS_setns, REFUSE },
        { SYS_unshare, CHECK_UNSHARE },
        { SYS_clone, CHECK_CLONE },
        { 435 /* clone3: its flags lie in memory */, ABSENT },
        { SYS_sethostname, REFUSE },
        { SYS_setdomainname, REFUSE },
        /* the kernel itself */
        { SYS_init_module, REFUSE },
        { SYS_finit_module, REFUSE },
        { SYS_delete_module, REFUSE },
        { SYS_kexec_load, REFUSE },
#ifdef SYS_kexec_file_load
        { SYS_kexec_file_load, REFUSE },
#endif
        { SYS_reboot, REFUSE },
        { SYS_settimeofday, REFUSE },
        { SYS_clock_settime, REFUSE },
        { SYS_syslog, REFUSE },
        { SYS_bpf, REFUSE },
        { SYS_perf_event_open, REFUSE },
        { SYS_userfaultfd, REFUSE },
        { SYS_lookup_dcookie, REFUSE },
        { SYS_nfsservctl, REFUSE },
        { SYS_vhangup, REFUSE },
        { 460 /* lsm_set_self_attr */, REFUSE },
#ifdef SYS_iopl
        { SYS_iopl, REFUSE },
        { SYS_ioperm, REFUSE },
        { SYS_modify_ldt, REFUSE },
        { SYS_uselib, REFUSE },
        { SYS_sysfs, REFUSE },
#endif
        /* keys of the session, which outlives the sandbox */
        { SYS_add_key, REFUSE },
        { SYS_request_key, REFUSE },
        { SYS_keyctl, REFUSE },
        /* io_uring does its work past this filter */
        { 425 /* io_uring_setup */, ABSENT },
        { 426 /* io_uring_enter */, ABSENT },
        { 427 /* io_uring_register */, ABSENT },
        /* other processes */
        { SYS_kcmp, REFUSE },
#ifdef __aarch64__
        { SYS_ptrace, CHECK_TRACING },
#endif
        { SYS_prlimit64, CHECK_TARGET },
        { 438 /* pidfd_getfd */, REFUSE },
        /* terminals */
        { SYS_ioctl, CHECK_IOCTL },
        /* files that others outside want to write */
        { SYS_fcntl, CHECK_FCNTL },
        /* a setuid file left in the workspace would act for whoever ran the sandbox */
        { SYS_fchmod, CHECK_MODE_1 },
        { SYS_fchmodat, CHECK_MODE_2 },
        { 452 /* fchmodat2 */, CHECK_MODE_2 },
        { SYS_mknodat, CHECK_MODE_2 },
        /* openat: asked before the tree, see filter_build */
        { 437 /* openat2: its mode lies in memory */, ABSENT },
#ifdef SYS_open
        { SYS_open, CHECK_OPEN_1 },
        { SYS_creat, CHECK_MODE_1 },
        { SYS_chmod, CHECK_MODE_1 },
        { SYS_mknod, CHECK_MODE_1 },
#endif
        /* sockets */
        { SYS_socket, CHECK_SOCKET },
        { SYS_socketpair, CHECK_SOCKETPAIR },
        { LAST_KNOWN + 1, ABSENT },
};

/* Where there is a broker: a file's mode, owner, times and attributes. */
static const struct entry entries_of_attributes[] = {
        { SYS_fchmod, CHECK_CHMOD_1 },
        { SYS_fchmodat, CHECK_CHMOD_2 },
        { 452 /* fchmodat2 */, CHECK_CHMOD_2 },
        { SYS_fchown, ASK },
        { SYS_fchownat, ASK },
        { SYS_utimensat, ASK },
        { SYS_setxattr, ASK },
        { SYS_lsetxattr, ASK },
        { SYS_fsetxattr, ASK },
        { SYS_removexattr, ASK },
        { SYS_lremovexattr, ASK },
        { SYS_fremovexattr, ASK },
        { 463 /* setxattrat */, ABSENT },
        { 466 /* removexattrat */, ABSENT },
        { 469 /* file_setattr */, ABSENT },
        { SYS_ioctl, CHECK_IOCTL_OF_FILES },
        /* the broker knows nothing of a domain within */
        { 444 /* landlock_create_ruleset */, ABSENT },
        /* limits of init, which has threads then */
        { SYS_prlimit64, CHECK_SELF },
#ifdef SYS_chmod
        { SYS_chmod, CHECK_CHMOD_1 },
        { SYS_chown, ASK },
        { SYS_lchown, ASK },
        { SYS_utime, ASK },
        { SYS_utimes, ASK },
        { SYS_futimesat, ASK },
#endif
};

/* Where there are no namespaces, too. */
static const struct entry entries_among_others[] = {
        /* other processes */
        { SYS_sched_setaffinity, CHECK_SELF },
        { SYS_sched_setparam, CHECK_SELF },
        { SYS_sched_setscheduler, CHECK_SELF },
        { SYS_sched_setattr, CHECK_SELF },
        { SYS_setpriority, CHECK_PRIORITY_OF },
        { SYS_ioprio_set, CHECK_IO_PRIORITY_OF },
        /* queues, semaphores and memory of the host's */
        { SYS_mq_open, ABSENT },
        { SYS_mq_unlink, ABSENT },
        { SYS_msgget, ABSENT },
        { SYS_msgctl, ABSENT },
        { SYS_msgrcv, ABSENT },
        { SYS_msgsnd, ABSENT },
        { SYS_semget, ABSENT },
        { SYS_semctl, ABSENT },
        { SYS_semtimedop, ABSENT },
        { SYS_semop, ABSENT },
        { SYS_shmget, ABSENT },
        { SYS_shmctl, ABSENT },
        { SYS_shmat, ABSENT },
};

/* Where writes are asked about: everything that makes, changes or removes a name. Opening is asked about by its flags. */
static const struct entry entries_of_names[] = {
        { SYS_mkdirat, ASK },   { SYS_mknodat, CHECK_CHMOD_2 },
        { SYS_symlinkat, ASK }, { SYS_linkat, ASK },
        { SYS_unlinkat, ASK },  { SYS_renameat, ASK },
        { SYS_renameat2, ASK }, { SYS_truncate, ASK },
        { SYS_umask, ASK },
#ifdef SYS_mkdir
        { SYS_mkdir, ASK },     { SYS_mknod, CHECK_CHMOD_1 },
        { SYS_symlink, ASK },   { SYS_link, ASK },
        { SYS_unlink, ASK },    { SYS_rmdir, ASK },
        { SYS_rename, ASK },    { SYS_creat, CHECK_CHMOD_1 },
#endif
};

/* Where reads or lists are asked about: locks that belong to an open file, which the broker may still have open. */
static const struct entry entries_of_locks[] = {
        { SYS_flock, ASK },
};

/* Where connections are asked about. Only datagrams take an address elsewhere: those of unix sockets are refused then. */
static const struct entry entries_of_connects[] = {
        { SYS_connect, ASK },
};

/* Where streams are made by the broker alone, in the host's network. Whoever sends may connect, too, and a listener needs no
 * address to have one. */
static const struct entry entries_of_streams[] = {
        { SYS_connect, ASK },
        { SYS_bind, REFUSE },
        { SYS_listen, REFUSE },
        { SYS_sendto, CHECK_SEND_3 },
        { SYS_sendmsg, CHECK_SEND_2 },
        { SYS_sendmmsg, CHECK_SEND_3 },
        { SYS_setsockopt, CHECK_OPTION },
};

/* Where signals are asked about. 0 is the caller's own group, which nobody else is in. */
static const struct entry entries_of_signals[] = {
        { SYS_kill, CHECK_SELF },
        { SYS_tkill, ASK },
        { SYS_tgkill, ASK },
        { SYS_rt_sigqueueinfo, ASK },
        { SYS_rt_tgsigqueueinfo, ASK },
        { 424 /* pidfd_send_signal */, ABSENT },
};

/* Where files that are mapped as code are asked about. */
static const struct entry entries_of_mappings[] = {
        { SYS_mmap, CHECK_MAPPING },  { SYS_mprotect, CHECK_MAPPING }, { SYS_pkey_mprotect, CHECK_MAPPING },
        { SYS_unshare, CHECK_CLONE }, { SYS_personality, CHECK_SELF }, /* 0 is the usual one */
};

#define ENTRY_COUNT (sizeof(entries) / sizeof(*entries))
#define OF_ATTRIBUTES_COUNT (sizeof(entries_of_attributes) / sizeof(*entries_of_attributes))
#define AMONG_OTHERS_COUNT (sizeof(entries_among_others) / sizeof(*entries_among_others))
#define OF_NAMES_COUNT (sizeof(entries_of_names) / sizeof(*entries_of_names))
#define OF_LOCKS_COUNT (sizeof(entries_of_locks) / sizeof(*entries_of_locks))
#define OF_CONNECTS_COUNT (sizeof(entries_of_connects) / sizeof(*entries_of_connects))
#define OF_STREAMS_COUNT (sizeof(entries_of_streams) / sizeof(*entries_of_streams))
#define OF_SIGNALS_COUNT (sizeof(entries_of_signals) / sizeof(*entries_of_signals))
#define OF_MAPPINGS_COUNT (sizeof(entries_of_mappings) / sizeof(*entries_of_mappings))

#endif
