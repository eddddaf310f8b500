/* test_filter.c: runs the seccomp program over every system call number and every argument that decides.
 *
 * The names below say what must happen; libseccomp, which the core does not use, says which number a name has here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "bpf.h"
#include "scratch.h"

enum { LAST_KNOWN = 469, LAST_TRIED = 600 };

#define CHECKED 1u /* by its arguments; no seccomp action has this value */

static const enum network_mode modes[] = { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_ALLOW, NETWORK_LIST };

/* ---- what each system call must get --------------------------------------------------------------------- */

static const struct {
        uint32_t verdict;
        const char *names; /* separated by spaces; those this architecture lacks are passed over */
} expectations[] = {
        /* mounts and roots */
        { REFUSED,
          "mount umount2 umount pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick "
          "mount_setattr quotactl quotactl_fd swapon swapoff fanotify_init open_by_handle_at acct" },
        /* namespaces and names of the machine */
        { REFUSED, "setns sethostname setdomainname" },
        /* the kernel itself */
        { REFUSED, "init_module finit_module delete_module kexec_load kexec_file_load reboot settimeofday "
                   "clock_settime syslog bpf perf_event_open userfaultfd lookup_dcookie nfsservctl vhangup "
                   "iopl ioperm modify_ldt uselib sysfs" },
        /* keys, other processes */
        { REFUSED, "add_key request_key keyctl kcmp pidfd_getfd" },
        /* programs have a way around */
        { MISSING, "clone3 openat2 io_uring_setup io_uring_enter io_uring_register" },
        { CHECKED,
          "unshare clone ioctl fchmod fchmodat chmod mknodat mknod openat open creat socket socketpair "
          "connect bind listen prlimit64 fcntl" },
        /* what ordinary work cannot do without; everything not listed above must be allowed as well */
        { ALLOWED,
          "read write readv writev pread64 pwrite64 close dup dup3 lseek mmap mprotect munmap brk mremap madvise "
          "execve execveat exit exit_group wait4 waitid kill tgkill tkill rt_sigaction rt_sigprocmask "
          "rt_sigreturn rt_sigsuspend sigaltstack getpid getppid gettid getuid setsid setpgid getpgid "
          "fork vfork ptrace process_vm_readv process_vm_writev pidfd_open pidfd_send_signal prctl seccomp "
          "landlock_create_ruleset landlock_add_rule landlock_restrict_self capget capset futex set_robust_list "
          "getrandom memfd_create pipe2 epoll_create1 epoll_ctl epoll_pwait eventfd2 timerfd_create signalfd4 "
          "inotify_init1 inotify_add_watch statx newfstatat fstat faccessat faccessat2 readlinkat getdents64 "
          "mkdirat unlinkat renameat renameat2 linkat symlinkat truncate ftruncate fallocate fsync flock "
          "fchown fchownat utimensat setxattr getxattr listxattr removexattr chdir fchdir getcwd umask sync "
          "accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg shutdown getsockopt "
          "setsockopt getsockname getpeername shmget shmat semget msgget mq_open clock_gettime clock_nanosleep "
          "nanosleep sched_yield sched_setaffinity sched_getaffinity getrlimit getrusage uname sysinfo "
          "times personality membarrier rseq close_range copy_file_range splice tee vmsplice sendfile "
          "name_to_handle_at mincore mlock setresuid setgroups setpriority" },
};

/* Newer than the oracle; the numbers are the same on every architecture. */
static const struct {
        int number;
        uint32_t verdict;
        const char *name;
} numbered[] = {
        { 451, ALLOWED, "cachestat" },         { 452, CHECKED, "fchmodat2" },
        { 453, ALLOWED, "map_shadow_stack" },  { 454, ALLOWED, "futex_wake" },
        { 455, ALLOWED, "futex_wait" },        { 456, ALLOWED, "futex_requeue" },
        { 457, MISSING, "statmount" },         { 458, MISSING, "listmount" },
        { 459, ALLOWED, "lsm_get_self_attr" }, { 460, REFUSED, "lsm_set_self_attr" },
        { 461, ALLOWED, "lsm_list_modules" },  { 462, ALLOWED, "mseal" },
        { 463, ALLOWED, "setxattrat" },        { 464, ALLOWED, "getxattrat" },
        { 465, ALLOWED, "listxattrat" },       { 466, ALLOWED, "removexattrat" },
        { 467, REFUSED, "open_tree_attr" },    { 468, ALLOWED, "file_getattr" },
        { 469, ALLOWED, "file_setattr" },
};

static uint32_t wanted[LAST_TRIED + 1]; /* by number */

static int fill_wanted(void **state)
{
        (void)state;
        for (int number = 0; number <= LAST_TRIED; number++)
                wanted[number] = number <= LAST_KNOWN ? ALLOWED : MISSING;
        for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++) {
                char *names = strdup(expectations[i].names), *rest = NULL;

                for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
                        int number = number_of(name);

                        if (number >= 0 && number <= LAST_TRIED)
                                wanted[number] = expectations[i].verdict;
                }
                free(names);
        }
        for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++)
                wanted[numbered[i].number] = numbered[i].verdict;
        return 0;
}

static void build(enum network_mode mode)
{
        build_with((struct filter_options){ .network = mode, .has_memory_files = true });
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

static void every_number_gets_what_its_name_deserves(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                build(modes[i]);
                for (uint32_t number = 0; number <= LAST_TRIED; number++) {
                        uint32_t answer = ask_number(NATIVE, number, 0, 0, 0, 0);
                        char *name;

                        if (wanted[number] == CHECKED || answer == wanted[number])
                                continue;
                        name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
                        fail_msg("system call %u (%s) gets 0x%x instead of 0x%x", number, name ? name : "?",
                                 answer, wanted[number]);
                }
        }
}

static void without_files_in_memory_nothing_else_changes(void **state)
{
        int memfd = number_of("memfd_create");

        (void)state;
        assert_true(memfd > 0);
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
                for (int number = 0; number <= LAST_TRIED; number++) {
                        uint32_t before, after;

                        build_with((struct filter_options){ .network = modes[i], .has_memory_files = true });
                        before = ask_number(NATIVE, (uint32_t)number, 1, 2, 3, 4);
                        build_with((struct filter_options){ .network = modes[i] });
                        after = ask_number(NATIVE, (uint32_t)number, 1, 2, 3, 4);
                        if (number == memfd) {
                                assert_int_equal(before, SECCOMP_RET_ALLOW);
                                assert_int_equal(after, SECCOMP_RET_ERRNO | ENOSYS);
                        } else {
                                assert_int_equal(before, after);
                        }
                }
}

static void where_memory_is_counted_none_is_without_a_process(void **state)
{
        static const char *const names[] = { "memfd_create", "memfd_secret", "shmget",
                                             "msgget",       "semget",       "vmsplice" };
        uint32_t before[LAST_TRIED + 1];

        (void)state;
        build_with((struct filter_options){ .network = NETWORK_DENY, .has_memory_files = true });
        for (int number = 0; number <= LAST_TRIED; number++)
                before[number] = ask_number(NATIVE, (uint32_t)number, 1, 2, 3, 4);
        build_with((struct filter_options){
                .network = NETWORK_DENY, .has_memory_files = true, .counts_memory = true });
        for (int number = 0; number <= LAST_TRIED; number++) {
                bool is_refused = false;

                for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                        is_refused |= number_of(names[i]) == number;
                assert_int_equal(ask_number(NATIVE, (uint32_t)number, 1, 2, 3, 4),
                                 is_refused ? SECCOMP_RET_ERRNO | ENOSYS : before[number]);
        }
}

/* A jump reaches 255 instructions far, and what does not fit is refused at run time. */
static void every_combination_fits(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
                for (int bits = 0; bits < 128; bits++)
                        build_with((struct filter_options){ .network = modes[i],
                                                            .has_memory_files = bits & 1,
                                                            .counts_memory = bits & 2,
                                                            .is_among_others = bits & 4,
                                                            .has_broker = bits & (4 | 8 | 16 | 32 | 64),
                                                            .asks_writes = bits & (16 | 32),
                                                            .asks_reads = bits & 32,
                                                            .asks_connects = bits & 64 });
}

/* A name in the table that the oracle does not know anywhere is a slip of the pen, and would test nothing. */
static void every_name_in_the_table_exists(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++) {
                char *names = strdup(expectations[i].names), *rest = NULL;

                for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
                        if (number_of(name) == __NR_SCMP_ERROR)
                                fail_msg("no system call '%s'", name);
                free(names);
        }
}

static void arguments_do_not_change_a_verdict_that_is_not_about_them(void **state)
{
        static const uint64_t values[] = { 0, 1, 0x40, 06755, 0x5412, 0x7e020080, 0xffffffff, UINT64_MAX };

        (void)state;
        build(NETWORK_DENY);
        for (uint32_t number = 0; number <= LAST_TRIED; number++)
                for (size_t i = 0; wanted[number] != CHECKED && i < sizeof(values) / sizeof(*values); i++)
                        assert_int_equal(ask_number(NATIVE, number, values[i], values[i], values[i],
                                                    values[i]),
                                         wanted[number]);
}

static void numbers_beyond_the_known_do_not_exist(void **state)
{
        static const uint32_t numbers[] = { 470,        471,        512,
                                            547,        1000,       0x3fffffff,
                                            0x40000000, 0x40000001, 0x40000000 + 512,
                                            0x7fffffff, 0x80000000, 0xfffffffe,
                                            0xffffffff };

        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                build(modes[i]);
                for (size_t j = 0; j < sizeof(numbers) / sizeof(*numbers); j++)
                        assert_int_equal(ask_number(NATIVE, numbers[j], 0, 0, 0, 0), MISSING);
        }
}

static void foreign_architectures_have_no_system_calls_at_all(void **state)
{
        static const uint32_t archs[] = { AUDIT_ARCH_ARM,
                                          AUDIT_ARCH_AARCH64,
                                          AUDIT_ARCH_I386,
                                          AUDIT_ARCH_X86_64,
                                          AUDIT_ARCH_PPC64,
                                          AUDIT_ARCH_RISCV64,
                                          0,
                                          0xffffffff };

        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                build(modes[i]);
                for (size_t j = 0; j < sizeof(archs) / sizeof(*archs); j++)
                        for (uint32_t number = 0; archs[j] != NATIVE && number <= LAST_TRIED; number++)
                                assert_int_equal(ask_number(archs[j], number, 0, 0, 0, 0), MISSING);
        }
}

/* Loading costs what the decisions walk, for every number once. */
static void a_decision_takes_few_instructions(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                unsigned long total = 0;

                build(modes[i]);
                for (int number = 0; number <= LAST_KNOWN; number++) {
                        struct seccomp_data data = { .nr = number, .arch = NATIVE };
                        unsigned steps;

                        bpf_run(filter.code, filter.length, &data, &steps);
                        assert_true(steps <= 32);
                        total += steps;
                }
                assert_true(total / (LAST_KNOWN + 1) <= 16);
        }
}

/* The kernel's own checker has the last word on whether this is a program. */
static void the_kernel_accepts_the_program(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                struct sock_fprog program;
                pid_t pid;
                int status;

                build(modes[i]);
                program = (struct sock_fprog){ (unsigned short)filter.length, filter.code };
                pid = fork();
                if (!pid) {
                        long r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

                        if (!r)
                                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
                        if (r)
                                _exit(errno == EINVAL ? 2 : 1);
                        /* and it does here what it did in the machine of this test */
                        _exit(syscall(SYS_chroot, "/") == -1 && errno == EPERM &&
                                              syscall(425 /* io_uring_setup */, 1, NULL) == -1 &&
                                              errno == ENOSYS && syscall(SYS_getpid) > 0
                                      ? 0
                                      : 3);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
        }
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

static void no_clone_makes_a_namespace(void **state)
{
        static const uint64_t refused[] = {
                CLONE_NEWNS,  CLONE_NEWCGROUP,         CLONE_NEWUTS,
                CLONE_NEWIPC, CLONE_NEWUSER,           CLONE_NEWPID,
                CLONE_NEWNET, CLONE_NEWUSER | SIGCHLD, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_VM,
                0xffffffff
        };
        static const uint64_t allowed[] = { SIGCHLD,
                                            0,
                                            CLONE_VM | CLONE_VFORK | SIGCHLD,
                                            CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                                    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                                    CLONE_CHILD_CLEARTID,
                                            CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
                                            CLONE_PIDFD | SIGCHLD };

        (void)state;
        build(NETWORK_DENY);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_answer_whatever_is_above("clone", refused[i], 0, 0, REFUSED);
        for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
                assert_answer_whatever_is_above("clone", allowed[i], 0x7e020080, 0x7e020080, ALLOWED);
}

static void no_unshare_makes_a_namespace(void **state)
{
        static const uint64_t refused[] = { CLONE_NEWNS,
                                            CLONE_NEWCGROUP,
                                            CLONE_NEWUTS,
                                            CLONE_NEWIPC,
                                            CLONE_NEWUSER,
                                            CLONE_NEWPID,
                                            CLONE_NEWNET,
                                            0x80 /* CLONE_NEWTIME */,
                                            CLONE_NEWUSER | CLONE_FILES,
                                            0x7e020080 };

        (void)state;
        build(NETWORK_DENY);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_answer_whatever_is_above("unshare", refused[i], 0, 0, REFUSED);
        assert_answer_whatever_is_above("unshare", CLONE_FILES, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("unshare", CLONE_FS | CLONE_SYSVSEM, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("unshare", 0, 0, 0, ALLOWED);
}

static void nothing_is_pushed_into_a_terminal(void **state)
{
        static const uint64_t refused[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP };
        static const uint64_t allowed[] = { TCGETS,    TCSETS,    TCSETSW,  TIOCGWINSZ, TIOCSWINSZ,
                                            TIOCGPGRP, TIOCSPGRP, FIONREAD, FIONBIO,    FIOCLEX,
                                            TIOCSCTTY, TIOCNOTTY, TIOCGPTN, TIOCSPTLCK, TIOCGSID,
                                            0x5411,    0x5413,    0x541b,   0x15412,    0x8000541c,
                                            0 };

        (void)state;
        build(NETWORK_DENY);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                for (uint64_t descriptor = 0; descriptor < 4; descriptor++)
                        assert_answer_whatever_is_above("ioctl", descriptor, refused[i], 0, REFUSED);
        for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
                assert_answer_whatever_is_above("ioctl", 0, allowed[i], TIOCSTI, ALLOWED);
}

/* Init shares the user's id, so its limits could be lowered until it dies. */
static void the_limits_of_init_are_out_of_reach(void **state)
{
        (void)state;
        build(NETWORK_DENY);
        assert_answer_whatever_is_above("prlimit64", 1, 0, 0, REFUSED);
        assert_answer_whatever_is_above("prlimit64", 0, 1, 1, ALLOWED);
        assert_answer_whatever_is_above("prlimit64", 2, 1, 1, ALLOWED);
        assert_answer_whatever_is_above("prlimit64", 4711, 1, 1, ALLOWED);
}

static void no_lease_makes_others_wait(void **state)
{
        (void)state;
        build(NETWORK_DENY);
        assert_answer_whatever_is_above("fcntl", 3, 1024, 0, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, 1040, 0, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, 1025, 0, ALLOWED);
        assert_answer_whatever_is_above("fcntl", 3, 1, 1, ALLOWED);
        assert_answer_whatever_is_above("fcntl", 3, 1030, 0, ALLOWED);
}

static const uint64_t set_id_modes[] = {
        04755, 02755, 06755, 04000, 02000, 06000, 07777, 0104755, 0xffffffff
};
static const uint64_t plain_modes[] = { 0, 0644, 0755, 0777, 01777, 0100644, 0010644 };

static void no_call_makes_a_set_id_file(void **state)
{
        static const struct {
                const char *name;
                int argument; /* which one is the mode */
        } calls[] = { { "chmod", 1 }, { "fchmod", 1 },  { "fchmodat", 2 }, { "fchmodat2", 2 },
                      { "mknod", 1 }, { "mknodat", 2 }, { "creat", 1 } };

        (void)state;
        build(NETWORK_DENY);
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
                bool is_second = calls[i].argument == 1;

                for (size_t j = 0; j < sizeof(set_id_modes) / sizeof(*set_id_modes); j++)
                        assert_answer_whatever_is_above(calls[i].name, 0, is_second ? set_id_modes[j] : 0,
                                                        is_second ? 0 : set_id_modes[j], REFUSED);
                /* In any other argument the same bits mean something else. */
                for (size_t j = 0; j < sizeof(plain_modes) / sizeof(*plain_modes); j++)
                        assert_answer_whatever_is_above(calls[i].name, 06000,
                                                        is_second ? plain_modes[j] : 06000,
                                                        is_second ? 06000 : plain_modes[j], ALLOWED);
        }
}

static void no_open_creates_a_set_id_file(void **state)
{
        static const uint64_t creating[] = { O_CREAT, O_CREAT | O_WRONLY | O_TRUNC,
                                             O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, O_TMPFILE | O_RDWR,
                                             O_TMPFILE | O_WRONLY | O_EXCL };
        static const uint64_t others[] = { O_RDONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDONLY | O_DIRECTORY,
                                           O_PATH };

        (void)state;
        build(NETWORK_DENY);
        for (size_t i = 0; i < sizeof(creating) / sizeof(*creating); i++) {
                for (size_t j = 0; j < sizeof(set_id_modes) / sizeof(*set_id_modes); j++) {
                        assert_answer("openat", 0, 0, creating[i], set_id_modes[j], REFUSED);
                        assert_answer("openat", 0, 0, creating[i] | 1ull << 32, set_id_modes[j] | 1ull << 40,
                                      REFUSED);
                        assert_answer("open", 0, creating[i], set_id_modes[j], 0, REFUSED);
                }
                for (size_t j = 0; j < sizeof(plain_modes) / sizeof(*plain_modes); j++) {
                        assert_answer("openat", 0, 0, creating[i], plain_modes[j], ALLOWED);
                        assert_answer("open", 0, creating[i], plain_modes[j], 06000, ALLOWED);
                }
        }
        /* Without creating the mode is whatever lay in the register. */
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
                assert_answer("openat", 06000, 06000, others[i], 06755, ALLOWED);
                assert_answer("open", 06000, others[i], 06755, 0, ALLOWED);
        }
}

/* ---- sockets -------------------------------------------------------------------------------------------- */

enum { FAMILIES = 64 };

static void assert_socket(uint64_t family, uint64_t type, uint64_t protocol, uint32_t expected)
{
        assert_answer_whatever_is_above("socket", family, type, protocol, expected);
        assert_answer("socket", family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol, 0, expected);
}

static void without_network_no_socket_is_made(void **state)
{
        (void)state;
        build(NETWORK_DENY);
        for (uint64_t family = 0; family < FAMILIES; family++)
                for (uint64_t type = 0; type <= SOCK_PACKET; type++)
                        assert_socket(family, type, 0, REFUSED);
}

/* Whoever starts the command may give it one. */
static void without_network_no_socket_finds_another_peer(void **state)
{
        static const char *const calls[] = { "connect", "bind", "listen" };

        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
                for (size_t j = 0; j < sizeof(calls) / sizeof(*calls); j++) {
                        bool is_open = modes[i] != NETWORK_DENY;

                        build(modes[i]);
                        assert_answer(calls[j], 0, 1, 16, 0, is_open ? ALLOWED : REFUSED);
                }
}

static void unix_only_means_unix_only(void **state)
{
        (void)state;
        build(NETWORK_UNIX_ONLY);
        for (uint64_t family = 0; family < FAMILIES; family++)
                for (uint64_t type = 1; type <= SOCK_PACKET; type++)
                        assert_socket(family, type, 0, family == AF_UNIX ? ALLOWED : REFUSED);
}

static void assert_internet(enum network_mode mode)
{
        static const uint64_t types[] = { 0,        SOCK_STREAM,    SOCK_DGRAM, SOCK_RAW,
                                          SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP,  SOCK_PACKET };

        build(mode);
        for (uint64_t family = 0; family < FAMILIES; family++)
                for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
                        for (uint64_t protocol = 0; protocol <= 300; protocol++) {
                                bool is_internet = family == AF_INET || family == AF_INET6;
                                bool is_common = types[i] == SOCK_STREAM || types[i] == SOCK_DGRAM;
                                bool is_known = protocol == 0 || protocol == 6 || protocol == 17;
                                bool is_allowed = (family == AF_UNIX && mode == NETWORK_ALLOW) ||
                                                  (family == AF_NETLINK && !protocol) ||
                                                  (is_internet && is_common && is_known);

                                assert_answer("socket", family, types[i], protocol, 0,
                                              is_allowed ? ALLOWED : REFUSED);
                        }
        assert_socket(AF_INET, SOCK_STREAM, 0, ALLOWED);
        assert_socket(AF_INET6, SOCK_DGRAM, 17, ALLOWED);
        assert_socket(AF_INET, SOCK_STREAM, 262 /* MPTCP */, REFUSED);
        assert_socket(AF_INET, SOCK_RAW, 1, REFUSED);
        assert_socket(AF_INET, SOCK_STREAM, 132 /* SCTP */, REFUSED);
        assert_socket(AF_NETLINK, SOCK_RAW, 0, ALLOWED);
        assert_socket(AF_NETLINK, SOCK_RAW, 16 /* generic */, REFUSED);
}

static void an_allowed_network_is_tcp_udp_unix_and_route_only(void **state)
{
        (void)state;
        assert_internet(NETWORK_ALLOW);
}

/* With a list it is the sandbox's own; unix sockets would lead out of it. */
static void a_network_of_its_own_is_tcp_udp_and_route_only(void **state)
{
        (void)state;
        assert_internet(NETWORK_LIST);
}

static void assert_pair(uint64_t family, uint64_t type, uint32_t expected)
{
        assert_answer_whatever_is_above("socketpair", family, type, 0, expected);
        assert_answer("socketpair", family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, expected);
}

/* A pair of datagram sockets can be aimed at any other by an address. */
static void without_network_a_pair_is_connected_for_good(void **state)
{
        (void)state;
        build(NETWORK_DENY);
        assert_pair(AF_UNIX, SOCK_STREAM, ALLOWED);
        assert_pair(AF_UNIX, SOCK_SEQPACKET, ALLOWED);
        assert_pair(AF_UNIX, SOCK_DGRAM, REFUSED);
        assert_pair(AF_UNIX, SOCK_RAW, REFUSED); /* the kernel makes a datagram pair of it */
        build(NETWORK_UNIX_ONLY);
        assert_pair(AF_UNIX, SOCK_DGRAM, ALLOWED);
        build(NETWORK_ALLOW);
        assert_pair(AF_UNIX, SOCK_DGRAM, ALLOWED);
}

/* The kernel makes both sockets, and loads the family's module, before it looks whether they can be a pair. */
static void a_pair_is_of_unix_sockets_whatever_the_network(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
                build(modes[i]);
                for (uint64_t family = 0; family < FAMILIES; family++)
                        for (uint64_t type = 0; family != AF_UNIX && type <= SOCK_PACKET; type++)
                                assert_pair(family, type, REFUSED);
        }
}

/* Who is sent it may be outside. */
static void nobody_is_sent_signals_for_input(void **state)
{
        (void)state;
        build_with((struct filter_options){ .network = NETWORK_DENY, .has_memory_files = true });
        assert_answer_whatever_is_above("fcntl", 3, F_SETSIG, 9, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, F_SETFL, O_ASYNC | O_NONBLOCK, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, F_SETFL, O_NONBLOCK | O_APPEND, ALLOWED);
        assert_answer_whatever_is_above("fcntl", 3, F_GETFL, O_ASYNC, ALLOWED);
        assert_answer_whatever_is_above("ioctl", 3, FIOASYNC, 0, REFUSED);
        assert_answer_whatever_is_above("ioctl", 3, FIONBIO, 0, ALLOWED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_name_in_the_table_exists),
                cmocka_unit_test(without_files_in_memory_nothing_else_changes),
                cmocka_unit_test(where_memory_is_counted_none_is_without_a_process),
                cmocka_unit_test(every_combination_fits),
                cmocka_unit_test(every_number_gets_what_its_name_deserves),
                cmocka_unit_test(arguments_do_not_change_a_verdict_that_is_not_about_them),
                cmocka_unit_test(numbers_beyond_the_known_do_not_exist),
                cmocka_unit_test(foreign_architectures_have_no_system_calls_at_all),
                cmocka_unit_test(a_decision_takes_few_instructions),
                cmocka_unit_test(the_kernel_accepts_the_program),
                cmocka_unit_test(no_clone_makes_a_namespace),
                cmocka_unit_test(no_unshare_makes_a_namespace),
                cmocka_unit_test(nothing_is_pushed_into_a_terminal),
                cmocka_unit_test(the_limits_of_init_are_out_of_reach),
                cmocka_unit_test(no_lease_makes_others_wait),
                cmocka_unit_test(no_call_makes_a_set_id_file),
                cmocka_unit_test(no_open_creates_a_set_id_file),
                cmocka_unit_test(without_network_no_socket_is_made),
                cmocka_unit_test(without_network_no_socket_finds_another_peer),
                cmocka_unit_test(unix_only_means_unix_only),
                cmocka_unit_test(an_allowed_network_is_tcp_udp_unix_and_route_only),
                cmocka_unit_test(a_network_of_its_own_is_tcp_udp_and_route_only),
                cmocka_unit_test(without_network_a_pair_is_connected_for_good),
                cmocka_unit_test(a_pair_is_of_unix_sockets_whatever_the_network),
                cmocka_unit_test(nobody_is_sent_signals_for_input),
        };

        return cmocka_run_group_tests_name("filter", tests, fill_wanted, NULL);
}
