/* Attempts to make system calls that the usual filter allows and a list of few does not; and what such a list must leave. */
#include "attack.h"
#include "syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPT(name, call)                       \
        static int call_##name(char **argument)   \
        {                                         \
                (void)argument;                   \
                return outcome_of((call), #name); \
        }

static struct iovec here;
static char byte;

static struct iovec *iovec_of_mine(void)
{
        here = (struct iovec){ &byte, 1 };
        return &here;
}

ATTEMPT(socket, socket(AF_UNIX, SOCK_STREAM, 0))
ATTEMPT(socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }))
ATTEMPT(memfd_create, syscall(SYS_memfd_create, "x", 0u))
ATTEMPT(ptrace, ptrace(PTRACE_TRACEME, 0, NULL, NULL))
ATTEMPT(process_vm_readv, process_vm_readv(getpid(), iovec_of_mine(), 1, &(struct iovec){ &byte, 1 }, 1, 0))
ATTEMPT(process_vm_writev, process_vm_writev(getpid(), iovec_of_mine(), 1, &(struct iovec){ &byte, 1 }, 1, 0))
ATTEMPT(pidfd_open, syscall(SYS_pidfd_open, getpid(), 0))
ATTEMPT(inotify, inotify_init1(0))
ATTEMPT(signalfd, signalfd(-1, &(sigset_t){ 0 }, 0))
ATTEMPT(shmget, shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600))
ATTEMPT(semget, semget(IPC_PRIVATE, 1, IPC_CREAT | 0600))
ATTEMPT(msgget, msgget(IPC_PRIVATE, IPC_CREAT | 0600))
ATTEMPT(setitimer, setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL))
ATTEMPT(setpriority, setpriority(PRIO_PROCESS, 0, 10))
ATTEMPT(sched_setaffinity,
        sched_setaffinity(0, sizeof(cpu_set_t), memset(&(cpu_set_t){ 0 }, 0xff, sizeof(cpu_set_t))))
ATTEMPT(mlock, mlock(&byte, 1))
ATTEMPT(mincore, mincore((void *)((uintptr_t)&byte & ~4095ul), 1, (unsigned char[1]){ 0 }))
ATTEMPT(io_setup, syscall(SYS_io_setup, 1, &(unsigned long){ 0 }))
ATTEMPT(personality, syscall(SYS_personality, 0x20000 /* UNAME26 */))
ATTEMPT(seccomp, syscall(SYS_seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &(unsigned){ 0x7fff0000 }))
ATTEMPT(unshare, unshare(CLONE_FS))
ATTEMPT(getxattr, getxattr("/", "user.escape", &byte, 0) < 0 && errno != ENODATA ? -1 : 0)
ATTEMPT(vmsplice, syscall(SYS_vmsplice, 1, NULL, 0, 0) < 0 && errno != EBADF ? -1 : 0)
ATTEMPT(prctl, prctl(PR_SET_TIMERSLACK, 50000))
ATTEMPT(rr_interval, sched_rr_get_interval(0, &(struct timespec){ 0 }))

/* PATH */
static int call_flock(char **argument)
{
        return outcome_of(flock(open_flags(argument[0], O_RDONLY), LOCK_SH), "flock");
}

static int call_chmod(char **argument)
{
        return outcome_of(chmod(argument[0], 0600), "chmod");
}

static int call_ioctl(char **argument)
{
        int flags = 0, fd = open_flags(argument[0], O_RDONLY);

        return outcome_of_reaching(ioctl(fd, 0x80087601 /* FS_IOC_GETVERSION */, &flags), "ioctl", ENOTTY);
}

static int call_execveat(char **argument)
{
        char *const arguments[] = { argument[0], "--list", NULL };
        int fd = open_flags(argument[0], O_RDONLY);

        syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH);
        return refused("execveat");
}

/* ---- other processes ----------------------------------------------------------------------------------- */

static int wait_for(long child, const char *what)
{
        if (!child)
                _exit(0);
        return child < 0 || waitpid((pid_t)child, NULL, 0) < 0 ? refused(what) : SUCCEEDED;
}

static int fork_plain(char **argument)
{
        (void)argument;
        return wait_for(fork(), "fork");
}

static int fork_vfork(char **argument)
{
        pid_t child = vfork();

        (void)argument;
        return wait_for(child, "vfork");
}

/* Memory, files and everything in common, and yet no thread. */
static int fork_nearly_a_thread(char **argument)
{
        const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | SIGCHLD;

        (void)argument;
        return wait_for(syscall(SYS_clone, flags, 0, 0, 0, 0), "clone");
}

/* The upper half of the word says that it was a thread. */
static int fork_with_upper_bits(char **argument)
{
        (void)argument;
        return wait_for(syscall(SYS_clone, (unsigned long)CLONE_THREAD << 32 | SIGCHLD, 0, 0, 0, 0), "clone");
}

static int fork_clone3(char **argument)
{
        uint64_t arguments[8] = { 0, 0, 0, 0, SIGCHLD };

        (void)argument;
        return wait_for(syscall(435 /* clone3 */, arguments, sizeof(arguments)), "clone3");
}

/* ---- what must be left ----------------------------------------------------------------------------------- */

static void *touch(void *what)
{
        ++*(int *)what;
        return NULL;
}

static int few_threads(char **argument)
{
        pthread_t threads[8];
        int touched[8] = { 0 }, sum = 0;

        (void)argument;
        for (size_t i = 0; i < 8; i++)
                if (pthread_create(&threads[i], NULL, touch, &touched[i]))
                        return refused("pthread_create");
        for (size_t i = 0; i < 8; i++) {
                pthread_join(threads[i], NULL);
                sum += touched[i];
        }
        return sum == 8 ? SUCCEEDED : refused_because("threads", "some did not run");
}

static bool lists(const char *directory, const char *name)
{
        DIR *entries = opendir(directory);
        bool is_there = false;

        for (struct dirent *entry; entries && (entry = readdir(entries));)
                is_there |= !strcmp(entry->d_name, name);
        if (entries)
                closedir(entries);
        return is_there;
}

/* DIRECTORY: what WASI has for files; with the usual calls for each. */
static int few_files(char **argument)
{
        const struct timespec times[2] = { { 1, 0 }, { 2, 0 } };
        struct stat status;
        char bytes[8] = "";
        int fd;

        if (chdir(argument[0]) < 0)
                return refused("chdir");
        fd = open("few", O_RDWR | O_CREAT, 0644);
        if (fd < 0 || write(fd, "hello", 5) != 5 || pread(fd, bytes, 4, 1) != 4 || strcmp(bytes, "ello") ||
            pwrite(fd, "x", 1, 9) != 1 || lseek(fd, 0, SEEK_SET) || read(fd, bytes, 1) != 1)
                return refused("read and write");
        if (posix_fallocate(fd, 0, 100) || ftruncate(fd, 50) < 0 || fsync(fd) < 0 || fdatasync(fd) < 0 ||
            futimens(fd, times) < 0 || fstat(fd, &status) < 0 || status.st_size != 50 || close(fd) < 0)
                return refused("change");
        if (rename("few", "few2") < 0 || link("few2", "few3") < 0 || symlink("few2", "few4") < 0 ||
            readlink("few4", bytes, 8) != 4 || mkdir("few5", 0755) < 0 || !lists(".", "few5"))
                return refused("names");
        if (stat("few3", &status) < 0 || lstat("few4", &status) < 0 || access("few3", R_OK) < 0 ||
            utimensat(AT_FDCWD, "few3", times, 0) < 0 || truncate("few3", 1) < 0)
                return refused("look");
        if (unlink("few2") < 0 || unlink("few3") < 0 || unlink("few4") < 0 || rmdir("few5") < 0)
                return refused("remove");
        return SUCCEEDED;
}

static int few_waits(char **argument)
{
        struct timespec moment = { 0, 1000 };
        struct epoll_event event = { .events = EPOLLIN };
        int queue = epoll_create1(0), counter = eventfd(1, 0), pair[2];
        sigset_t signals;
        char *memory;

        (void)argument;
        if (queue < 0 || counter < 0 || epoll_ctl(queue, EPOLL_CTL_ADD, counter, &event) < 0 ||
            epoll_wait(queue, &event, 1, 1000) != 1 || pipe(pair) < 0 ||
            poll(&(struct pollfd){ pair[1], POLLOUT, 0 }, 1, 1000) != 1)
                return refused("wait");
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR1);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 || raise(SIGUSR1) || nanosleep(&moment, NULL) < 0 ||
            clock_getres(CLOCK_MONOTONIC, &moment) < 0 || getrandom(&byte, 1, 0) != 1)
                return refused("signals and clocks");
        memory = malloc(64 << 20);
        if (!memory)
                return refused("malloc");
        memset(memory, 1, 64 << 20);
        memory = realloc(memory, 128 << 20);
        return memory && memory[1 << 20] == 1 ? SUCCEEDED : refused("realloc");
}

const struct attempt calls_attempts[] = {
        { "call_socket", 0, call_socket },
        { "call_socketpair", 0, call_socketpair },
        { "call_memfd_create", 0, call_memfd_create },
        { "call_ptrace", 0, call_ptrace },
        { "call_process_vm_readv", 0, call_process_vm_readv },
        { "call_process_vm_writev", 0, call_process_vm_writev },
        { "call_pidfd_open", 0, call_pidfd_open },
        { "call_inotify", 0, call_inotify },
        { "call_signalfd", 0, call_signalfd },
        { "call_shmget", 0, call_shmget },
        { "call_semget", 0, call_semget },
        { "call_msgget", 0, call_msgget },
        { "call_setitimer", 0, call_setitimer },
        { "call_setpriority", 0, call_setpriority },
        { "call_sched_setaffinity", 0, call_sched_setaffinity },
        { "call_mlock", 0, call_mlock },
        { "call_mincore", 0, call_mincore },
        { "call_io_setup", 0, call_io_setup },
        { "call_personality", 0, call_personality },
        { "call_seccomp", 0, call_seccomp },
        { "call_unshare", 0, call_unshare },
        { "call_getxattr", 0, call_getxattr },
        { "call_vmsplice", 0, call_vmsplice },
        { "call_prctl", 0, call_prctl },
        { "call_rr_interval", 0, call_rr_interval },
        { "call_flock", 1, call_flock },
        { "call_chmod", 1, call_chmod },
        { "call_ioctl", 1, call_ioctl },
        { "call_execveat", 1, call_execveat },
        { "fork_plain", 0, fork_plain },
        { "fork_vfork", 0, fork_vfork },
        { "fork_nearly_a_thread", 0, fork_nearly_a_thread },
        { "fork_with_upper_bits", 0, fork_with_upper_bits },
        { "fork_clone3", 0, fork_clone3 },
        { "few_threads", 0, few_threads },
        { "few_files", 1, few_files },
        { "few_waits", 0, few_waits },
        { NULL, 0, NULL },
};
