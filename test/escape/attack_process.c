/* Attempts to look into another process: its /proc files, its memory, its descriptors. */
#include "attack.h"
#include "syscalls.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int proc_open(const char *pid, const char *name, int flags)
{
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
        return open_flags(path, flags);
}

static int proc_environ(char **argument)
{
        int fd = proc_open(argument[0], "environ", O_RDONLY);
        return fd < 0 ? refused("open environ") : reveal_fd(fd);
}

static int proc_cmdline(char **argument)
{
        int fd = proc_open(argument[0], "cmdline", O_RDONLY);
        return fd < 0 ? refused("open cmdline") : reveal_fd(fd);
}

/* PID SECRET: the secret seen through the root directory of that process. */
static int proc_root(char **argument)
{
        char name[PATH_MAX];
        snprintf(name, sizeof(name), "root%s", argument[1]);
        int fd = proc_open(argument[0], name, O_RDONLY);
        return fd < 0 ? refused("open root/...") : reveal_fd(fd);
}

static int proc_cwd(char **argument)
{
        char name[PATH_MAX];
        snprintf(name, sizeof(name), "cwd/%s", argument[1]);
        int fd = proc_open(argument[0], name, O_RDONLY);
        return fd < 0 ? refused("open cwd/...") : reveal_fd(fd);
}

static int proc_fd(char **argument)
{
        char name[64];
        snprintf(name, sizeof(name), "fd/%s", argument[1]);
        int fd = proc_open(argument[0], name, O_RDONLY);
        if (fd < 0)
                return refused("open fd/...");
        lseek(fd, 0, SEEK_SET);
        return reveal_fd(fd);
}

/* Any descriptor of that process will do: init has no secret file, but its pipes lead to the supervisor. */
static int proc_fd_any(char **argument)
{
        char name[64];
        for (int i = 0; i < 64; i++) {
                snprintf(name, sizeof(name), "fd/%d", i);
                if (proc_open(argument[0], name, O_RDONLY | O_NONBLOCK) >= 0 ||
                    proc_open(argument[0], name, O_WRONLY | O_NONBLOCK) >= 0)
                        return SUCCEEDED;
        }
        return refused("open fd/*");
}

static int proc_mem_read(char **argument)
{
        int fd = proc_open(argument[0], "mem", O_RDONLY);
        return fd < 0 ? refused("open mem") : SUCCEEDED;
}

static int proc_mem_write(char **argument)
{
        int fd = proc_open(argument[0], "mem", O_RDWR);
        return fd < 0 ? refused("open mem O_RDWR") : SUCCEEDED;
}

static int proc_maps(char **argument)
{
        char byte;
        int fd = proc_open(argument[0], "maps", O_RDONLY);
        if (fd < 0)
                return refused("open maps");
        ssize_t length = read(fd, &byte, 1);
        return length == 1  ? SUCCEEDED
               : length < 0 ? refused("read maps")
                            : refused_because("read maps", "empty");
}

static int proc_task_environ(char **argument)
{
        char name[64];
        snprintf(name, sizeof(name), "task/%s/environ", argument[0]);
        int fd = proc_open(argument[0], name, O_RDONLY);
        return fd < 0 ? refused("open task/.../environ") : reveal_fd(fd);
}

static int ptrace_by(enum __ptrace_request request, pid_t pid, const char *what)
{
        int status = 0;
        if (ptrace(request, pid, NULL, NULL) != 0)
                return refused(what);
        if (request == PTRACE_SEIZE)
                ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
        waitpid(pid, &status, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return SUCCEEDED;
}

static int ptrace_attach(char **argument)
{
        return ptrace_by(PTRACE_ATTACH, number_of(argument[0]), "PTRACE_ATTACH");
}

static int ptrace_seize(char **argument)
{
        return ptrace_by(PTRACE_SEIZE, number_of(argument[0]), "PTRACE_SEIZE");
}

/* Permission is checked before the address, so a bad address shows that the memory is open to us. */
static int vm_outcome(ssize_t result, const char *what)
{
        return outcome_of_reaching(result, what, EFAULT);
}

static int vm_read(char **argument)
{
        char bytes[16];
        struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)0x10000, sizeof(bytes) };
        return vm_outcome(process_vm_readv(number_of(argument[0]), &here, 1, &there, 1, 0),
                          "process_vm_readv");
}

static int vm_write(char **argument)
{
        char bytes[16] = { 0 };
        struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)0x10, sizeof(bytes) };
        return vm_outcome(process_vm_writev(number_of(argument[0]), &here, 1, &there, 1, 0),
                          "process_vm_writev");
}

static int open_pidfd(const char *pid)
{
        return (int)syscall(SYS_pidfd_open, number_of(pid), 0);
}

static int pidfd_getfd_attempt(char **argument)
{
        int pidfd = open_pidfd(argument[0]);
        if (pidfd < 0)
                return refused("pidfd_open");
        for (int i = 0; i < 64; i++)
                if (syscall(SYS_pidfd_getfd, pidfd, i, 0) >= 0)
                        return SUCCEEDED;
        return refused("pidfd_getfd");
}

static int pidfd_madvise(char **argument)
{
        /* MADV_COLD on an address that is not mapped: ENOMEM tells that we were let in. */
        struct iovec there = { (void *)0x10000, 4096 };
        int pidfd = open_pidfd(argument[0]);
        if (pidfd < 0)
                return refused("pidfd_open");
        return outcome_of_reaching(syscall(SYS_process_madvise, pidfd, &there, 1, 20, 0), "process_madvise",
                                   ENOMEM);
}

static int kcmp_attempt(char **argument)
{
        return outcome_of(syscall(SYS_kcmp, getpid(), number_of(argument[0]), 1, 0, 0), "kcmp");
}

static int move_pages_attempt(char **argument)
{
        void *page = (void *)0x10000;
        int status = 0;
        return outcome_of(syscall(SYS_move_pages, number_of(argument[0]), 1UL, &page, NULL, &status, 0),
                          "move_pages");
}

/* PID KIND: any namespace of that process would do; entering the user namespace gives its capabilities. */
static int setns_pidfd(char **argument)
{
        int pidfd = open_pidfd(argument[0]);
        if (pidfd < 0)
                return refused("pidfd_open");
        return outcome_of(setns(pidfd, CLONE_NEWUTS), "setns");
}

static int setns_file(char **argument)
{
        char name[64];
        snprintf(name, sizeof(name), "ns/%s", argument[1]);
        int fd = proc_open(argument[0], name, O_RDONLY);
        if (fd < 0)
                return refused("open ns/...");
        return outcome_of(setns(fd, 0), "setns");
}

/* True when the process has the secret in its environment, which is then printed. */
static bool look_into_environ(const char *pid)
{
        char bytes[65536];
        int fd = atoi(pid) == (int)getpid() ? -1 : proc_open(pid, "environ", O_RDONLY);
        if (fd < 0)
                return false;
        ssize_t length = read(fd, bytes, sizeof(bytes));
        close(fd);
        return length > 0 && memmem(bytes, (size_t)length, SECRET, strlen(SECRET)) &&
               reveal_bytes(bytes, (size_t)length) == SUCCEEDED;
}

/* Every process that /proc lists, and every low number, as it may answer for some that it does not list: the supervisor
 * may have forgotten one. */
static int proc_scan_environ(char **argument)
{
        (void)argument;
        char pid[16];
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;)
                if (isdigit((unsigned char)entry->d_name[0]) && look_into_environ(entry->d_name))
                        return SUCCEEDED;
        if (proc != NULL)
                closedir(proc);
        for (int i = 1; i < 32768; i++) {
                snprintf(pid, sizeof(pid), "%d", i);
                if (look_into_environ(pid))
                        return SUCCEEDED;
        }
        return refused_because("scan", "no secret in any environment");
}

const struct attempt process_attempts[] = {
        { "proc_environ", 1, proc_environ },
        { "proc_cmdline", 1, proc_cmdline },
        { "proc_root", 2, proc_root },
        { "proc_cwd", 2, proc_cwd },
        { "proc_fd", 2, proc_fd },
        { "proc_fd_any", 1, proc_fd_any },
        { "proc_mem_read", 1, proc_mem_read },
        { "proc_mem_write", 1, proc_mem_write },
        { "proc_maps", 1, proc_maps },
        { "proc_task_environ", 1, proc_task_environ },
        { "proc_scan_environ", 0, proc_scan_environ },
        { "ptrace_attach", 1, ptrace_attach },
        { "ptrace_seize", 1, ptrace_seize },
        { "vm_read", 1, vm_read },
        { "vm_write", 1, vm_write },
        { "pidfd_getfd", 1, pidfd_getfd_attempt },
        { "pidfd_madvise", 1, pidfd_madvise },
        { "kcmp", 1, kcmp_attempt },
        { "move_pages", 1, move_pages_attempt },
        { "setns_pidfd", 1, setns_pidfd },
        { "setns_file", 2, setns_file },
        { NULL, 0, NULL },
};
