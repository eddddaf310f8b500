/* test_filter_second.c: runs the program of the second filter: few calls, no other process, no new code. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "bpf.h"
#include "plan/plan.h"
#include "scratch.h"

enum {
        LAST_KNOWN = 469,
        LAST_TRIED = 600,
        ALL = PLAN_NO_FORK | PLAN_FEW_CALLS | PLAN_SOCKETS | PLAN_NO_NEW_CODE
};

static void build_second(unsigned calls)
{
        abatis_error err = { .message = "" };

        memset(&filter, 0xee, sizeof(filter));
        if (filter_build_second(calls, &filter, &err) < 0)
                fail_msg("%s", err.message);
        assert_true(filter.length > 0 && filter.length <= FILTER_MAX);
}

/* Of every name in the list, which are separated by spaces, and with arguments that decide nothing. */
static void assert_all(const char *names, uint32_t expected)
{
        char *copy = strdup(names), *rest = copy;

        assert_non_null(copy);
        for (char *name; (name = strtok_r(rest, " ", &rest));)
                assert_answer(name, 0, 0, 0, 0, expected);
        free(copy);
}

static const char of_files[] =
        "openat read readv pread64 preadv write writev pwrite64 pwritev lseek close dup dup3 fcntl fstat newfstatat statx getdents64 "
        "mkdirat unlinkat renameat renameat2 linkat symlinkat readlinkat utimensat truncate ftruncate fallocate fadvise64 fsync "
        "fdatasync faccessat getcwd chdir fchdir umask open stat lstat access mkdir rmdir unlink rename link symlink readlink";
static const char of_work[] =
        "execve exit exit_group brk mmap munmap mremap mprotect madvise futex set_robust_list set_tid_address rseq rt_sigaction "
        "rt_sigprocmask rt_sigreturn sigaltstack tgkill kill getpid gettid getuid getrandom clock_gettime clock_nanosleep nanosleep "
        "ppoll poll epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 pipe2 sched_yield sched_getaffinity uname sysinfo "
        "prlimit64 restart_syscall arch_prctl membarrier";
static const char of_sockets[] =
        "socket socketpair connect bind listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg getsockname "
        "getpeername setsockopt getsockopt shutdown";
static const char of_nobody[] =
        "ptrace process_vm_readv process_vm_writev bpf keyctl add_key request_key mount umount2 pivot_root chroot setns unshare "
        "perf_event_open shmget shmat shmdt shmctl semget semop semctl msgget msgsnd mq_open mq_unlink personality seccomp setuid "
        "setresuid setgroups capset chmod fchmod fchmodat chown fchownat setxattr getxattr flock inotify_init1 signalfd4 fanotify_init "
        "timer_create setitimer setpriority sched_setaffinity mlock mlockall mincore io_setup io_submit name_to_handle_at "
        "open_by_handle_at mknodat mknod reboot init_module kexec_load swapon acct syslog sethostname iopl ioperm modify_ldt "
        "remap_file_pages move_pages mbind kcmp sync syncfs quotactl setsid setpgid vhangup wait4 waitid fork vfork";
static const char of_nobody_yet[] =
        "clone3 openat2 io_uring_setup io_uring_enter io_uring_register memfd_create memfd_secret pidfd_open pidfd_getfd "
        "pidfd_send_signal copy_file_range splice tee sendfile execveat userfaultfd pkey_alloc pkey_mprotect open_tree move_mount "
        "fsopen fsmount mount_setattr landlock_create_ruleset process_madvise process_mrelease";

static void few_calls_are_what_files_and_threads_need(void **state)
{
        (void)state;
        build_second(PLAN_FEW_CALLS | PLAN_NO_FORK);
        assert_all(of_files, ALLOWED);
        assert_all(of_work, ALLOWED);
        assert_all(of_sockets, REFUSED);
        assert_all(of_nobody, REFUSED);
        assert_all(of_nobody_yet, MISSING);
}

static void sockets_and_processes_come_with_what_the_policy_allows(void **state)
{
        (void)state;
        build_second(PLAN_FEW_CALLS | PLAN_SOCKETS);
        assert_all(of_sockets, ALLOWED);
        assert_all("wait4 waitid clone fork vfork", ALLOWED);
        assert_answer("clone3", 0, 0, 0, 0, MISSING);
        assert_all(of_files, ALLOWED);
        assert_answer("ptrace", 0, 0, 0, 0, REFUSED);
}

static void few_ioctls_and_prctls_are_left(void **state)
{
        (void)state;
        build_second(PLAN_FEW_CALLS);
        assert_answer_whatever_is_above("ioctl", 1, 0x5401 /* TCGETS */, 0, ALLOWED);
        assert_answer_whatever_is_above("ioctl", 1, 0x5421 /* FIONBIO */, 0, ALLOWED);
        assert_answer_whatever_is_above("ioctl", 1, 0x5412 /* TIOCSTI */, 0, REFUSED);
        assert_answer_whatever_is_above("ioctl", 1, 0x40049409 /* FICLONE */, 0, REFUSED);
        assert_answer_whatever_is_above("prctl", PR_SET_NAME, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("prctl", 0x53564d41 /* PR_SET_VMA */, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("prctl", PR_SET_SECCOMP, 0, 0, REFUSED);
        assert_answer_whatever_is_above("prctl", PR_SET_MM, 0, 0, REFUSED);
        assert_answer_whatever_is_above("prctl", PR_SET_PTRACER, 0, 0, REFUSED);
}

static void a_thread_is_no_process(void **state)
{
        const uint64_t thread =
                CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

        (void)state;
        for (unsigned calls = PLAN_NO_FORK; calls <= ALL; calls = (calls + 1) | PLAN_NO_FORK) {
                build_second(calls);
                assert_answer_whatever_is_above("clone", thread, 0, 0, ALLOWED);
                assert_answer_whatever_is_above("clone", SIGCHLD, 0, 0, REFUSED);
                assert_answer_whatever_is_above("clone", thread & ~(uint64_t)CLONE_THREAD, 0, 0, REFUSED);
                assert_answer_whatever_is_above("clone", CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, REFUSED);
                assert_all("fork vfork", REFUSED);
                assert_answer("clone3", 0, 0, 0, 0, MISSING);
        }
        build_second(PLAN_NO_NEW_CODE);
        assert_answer("clone", SIGCHLD, 0, 0, 0, ALLOWED);
}

static void assert_mmap(uint64_t protection, uint64_t flags, uint32_t expected)
{
        assert_answer("mmap", 0, 4096, protection, flags, expected);
        assert_answer("mmap", 0, 4096, protection | 1ull << 32, flags | 1ull << 40, expected);
}

static void code_is_a_file_as_it_is(void **state)
{
        const uint64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

        (void)state;
        for (unsigned calls = PLAN_NO_NEW_CODE; calls <= ALL; calls = (calls + 1) | PLAN_NO_NEW_CODE) {
                build_second(calls);
                assert_mmap(PROT_READ | PROT_WRITE, anonymous, ALLOWED);
                assert_mmap(PROT_READ | PROT_WRITE, MAP_SHARED, ALLOWED);
                assert_mmap(PROT_NONE, anonymous, ALLOWED);
                assert_mmap(PROT_READ | PROT_EXEC, MAP_PRIVATE, ALLOWED);
                assert_mmap(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | MAP_DENYWRITE, ALLOWED);
                assert_mmap(PROT_READ | PROT_EXEC, anonymous, REFUSED);
                assert_mmap(PROT_EXEC, anonymous, REFUSED);
                assert_mmap(PROT_READ | PROT_WRITE | PROT_EXEC, anonymous, REFUSED);
                assert_mmap(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, REFUSED);
                assert_mmap(PROT_READ | PROT_EXEC, MAP_SHARED, REFUSED);
                assert_mmap(PROT_READ | PROT_EXEC, 3 /* MAP_SHARED_VALIDATE */, REFUSED);
                assert_mmap(PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, REFUSED);
                assert_mmap(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_HUGETLB | MAP_ANONYMOUS, REFUSED);
                assert_answer_whatever_is_above("mprotect", 0, 4096, PROT_READ | PROT_WRITE, ALLOWED);
                assert_answer_whatever_is_above("mprotect", 0, 4096, PROT_READ | PROT_EXEC, REFUSED);
                assert_answer_whatever_is_above("mprotect", 0, 4096, PROT_EXEC | 0x10 /* PROT_BTI */,
                                                REFUSED);
                assert_all("ptrace process_vm_writev remap_file_pages", REFUSED);
                assert_all("memfd_create memfd_secret", MISSING);
        }
        build_second(PLAN_NO_NEW_CODE);
        assert_answer_whatever_is_above("pkey_mprotect", 0, 4096, PROT_READ | PROT_EXEC, REFUSED);
        assert_answer_whatever_is_above("pkey_mprotect", 0, 4096, PROT_READ, ALLOWED);
        assert_answer_whatever_is_above("shmat", 0, 0, SHM_EXEC, REFUSED);
        assert_answer_whatever_is_above("shmat", 0, 0, SHM_RDONLY, ALLOWED);
        assert_answer("personality", 0, 0, 0, 0, ALLOWED);
        assert_answer("personality", 0xffffffff, 0, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("personality", 0x0400000 /* READ_IMPLIES_EXEC */, 0, 0, REFUSED);
        assert_all(of_files, ALLOWED);
        assert_all("socket keyctl flock", ALLOWED); /* of these the first filter tells */
}

static void what_is_unknown_or_foreign_does_not_exist(void **state)
{
        (void)state;
        for (unsigned calls = 1; calls <= ALL; calls++) {
                build_second(calls);
                for (uint32_t number = LAST_KNOWN + 1; number <= LAST_TRIED; number++)
                        assert_int_equal(ask_number(NATIVE, number, 0, 0, 0, 0), MISSING);
                assert_int_equal(ask_number(NATIVE, 0x40000000 | SYS_read, 0, 0, 0, 0), MISSING);
                assert_int_equal(ask_number(AUDIT_ARCH_ARM, SYS_read, 0, 0, 0, 0), MISSING);
                assert_int_equal(ask_number(AUDIT_ARCH_I386, SYS_read, 0, 0, 0, 0), MISSING);
        }
}

/* In a child, which has it from then on. */
static void the_kernel_accepts_every_combination(void **state)
{
        (void)state;
        for (unsigned calls = 1; calls <= ALL; calls++) {
                int status = 0;
                pid_t child;

                build_second(calls);
                child = fork();
                if (!child) {
                        const struct sock_fprog built = { (unsigned short)filter.length, filter.code };

                        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                        _exit(syscall(SYS_seccomp, 1, 0, &built) ? 1 : 0);
                }
                assert_true(child > 0 && waitpid(child, &status, 0) == child);
                assert_int_equal(status, 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(few_calls_are_what_files_and_threads_need),
                cmocka_unit_test(sockets_and_processes_come_with_what_the_policy_allows),
                cmocka_unit_test(few_ioctls_and_prctls_are_left),
                cmocka_unit_test(a_thread_is_no_process),
                cmocka_unit_test(code_is_a_file_as_it_is),
                cmocka_unit_test(what_is_unknown_or_foreign_does_not_exist),
                cmocka_unit_test(the_kernel_accepts_every_combination),
        };

        return cmocka_run_group_tests_name("filter_second", tests, NULL, NULL);
}
