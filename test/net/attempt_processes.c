/* attempt_processes.c: attempts by other processes: their descriptors, memory and namespaces, and what /proc and /sys show. */
#define _GNU_SOURCE
#include "attempt.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define VICTIM "lab-victim"

/* Calls `act` for every process that can be seen, this one left out, until one returns 0. */
static int for_each_process(int (*act)(int pid))
{
        DIR *directory = opendir("/proc");
        struct dirent *entry;
        int result = -1;

        while (directory && result && (entry = readdir(directory)))
                if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
                        result = act(atoi(entry->d_name));
        if (directory)
                closedir(directory);
        return result;
}

static ssize_t read_file(const char *path, char *out, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, out, size - 1);

        close(fd);
        out[length > 0 ? length : 0] = 0;
        return length;
}

static int is_victim(int pid)
{
        char path[64], name[32];

        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        return read_file(path, name, sizeof(name)) > 0 && !strcmp(name, VICTIM "\n");
}

/* Who runs outside, holds a socket and a secret, and waits. */
static int be_victim(char **arguments)
{
        (void)arguments;
        if (socket(AF_INET, SOCK_STREAM, 0) < 0 || prctl(PR_SET_NAME, VICTIM))
                return -1;
        for (;;)
                pause();
}

/* ---- descriptors ---- */

/* Leads a socket to where nobody is allowed, if it is one of the internet and serves nobody. */
static int lead_astray(int fd)
{
        int family = 0, type = 0, listens = 0;
        socklen_t size = sizeof(int);

        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) ||
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || family != AF_INET || listens)
                return -1;
        return type == SOCK_DGRAM ? send_closed(fd) : connect_closed(fd);
}

static int steal_from(int pid)
{
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), result = -1;

        for (int fd = 0; pidfd >= 0 && fd < 64 && result; fd++) {
                int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

                if (copy >= 0) {
                        result = lead_astray(copy);
                        close(copy);
                }
        }
        if (pidfd >= 0)
                close(pidfd);
        return result;
}

static int try_steal(char **arguments)
{
        (void)arguments;
        return for_each_process(steal_from);
}

/* Sockets that were open when the command began: they may be of the network outside, and can be led elsewhere. */
static int try_inherited(char **arguments)
{
        struct sockaddr none = { .sa_family = AF_UNSPEC };
        int result = -1;

        (void)arguments;
        for (int fd = 0; fd < 10 && result; fd++) {
                connect(fd, &none, sizeof(none));
                result = lead_astray(fd);
        }
        return result;
}

static int try_passed(char **arguments)
{
        int pair[2], fd;
        char byte = 0, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
        struct iovec part = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);

        (void)arguments;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
                return -1;
        if (fork() == 0) {
                fd = socket(AF_INET, SOCK_STREAM, 0);
                *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS };
                memcpy(CMSG_DATA(head), &fd, sizeof(fd));
                _exit(sendmsg(pair[0], &message, 0) != 1);
        }
        if (recvmsg(pair[1], &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
                return -1;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return connect_closed(fd);
}

/* ---- memory ---- */

static int attach_to(int pid)
{
        return is_victim(pid) && !ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? 0 : -1;
}

static int try_ptrace(char **arguments)
{
        (void)arguments;
        return for_each_process(attach_to);
}

static int read_memory_of(int pid)
{
        static char maps[65536], memory[1 << 18];
        struct iovec here = { memory, sizeof(memory) }, there;
        char path[64], *line;
        unsigned long start, end;

        snprintf(path, sizeof(path), "/proc/%d/maps", pid);
        if (!is_victim(pid) || read_file(path, maps, sizeof(maps)) <= 0 || !(line = strstr(maps, "[stack]")))
                return -1;
        while (line > maps && line[-1] != '\n')
                line--;
        if (sscanf(line, "%lx-%lx", &start, &end) != 2)
                return -1;
        there = (struct iovec){ (void *)start, end - start };
        return process_vm_readv(pid, &here, 1, &there, 1, 0) > 0 ? 0 : -1;
}

static int try_memory(char **arguments)
{
        (void)arguments;
        return for_each_process(read_memory_of);
}

static int read_environment_of(int pid)
{
        static char text[65536];
        char path[64];
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/%d/environ", pid);
        return is_victim(pid) && (length = read_file(path, text, sizeof(text))) > 0 &&
                               memmem(text, (size_t)length, "SECRET=", 7)
                       ? 0
                       : -1;
}

static int try_environment(char **arguments)
{
        (void)arguments;
        return for_each_process(read_environment_of);
}

/* ---- namespaces ---- */

static int enter_network_of(int pid)
{
        char path[64];
        int status = 1, child = fork(); /* whoever has entered another one could not come back */

        if (child == 0) {
                snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
                setns(open(path, O_RDONLY), CLONE_NEWUSER);
                snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
                if (setns(open(path, O_RDONLY), CLONE_NEWNET))
                        setns((int)syscall(SYS_pidfd_open, pid, 0), CLONE_NEWNET);
                _exit(connect_closed(socket(AF_INET, SOCK_STREAM, 0)) != 0);
        }
        waitpid(child, &status, 0);
        return status ? -1 : 0;
}

static int try_setns(char **arguments)
{
        if (arguments[0] && !strcmp(arguments[0], "unshare") && unshare(CLONE_NEWUSER | CLONE_NEWNET))
                return -1;
        return for_each_process(enter_network_of);
}

/* Past the mounts, by the root directory of another process. */
static int connect_by_root_of(int pid)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char path[64];
        int fd = socket(AF_UNIX, SOCK_STREAM, 0), result, root;

        snprintf(path, sizeof(path), "/proc/%d/root", pid);
        root = open(path, O_PATH | O_DIRECTORY);
        if (root < 0 || fd < 0 || fchdir(root)) {
                close(root);
                close(fd);
                return -1;
        }
        snprintf(address.sun_path, sizeof(address.sun_path), ".%s/shared/socket", getenv("LAB"));
        result = connect_soon(fd, &address, sizeof(address)) || say(fd) ? -1 : 0;
        close(root);
        close(fd);
        return result;
}

static int try_root(char **arguments)
{
        (void)arguments;
        return for_each_process(connect_by_root_of);
}

/* ---- what is shown ---- */

/* The lab's servers listen on port 8123 (1FBB). */
static int sees_server(const char *path)
{
        static char text[1 << 18];

        return read_file(path, text, sizeof(text)) > 0 && strstr(text, ":1FBB ") ? 0 : -1;
}

static int sees_server_by(int pid)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/net/tcp", pid);
        return sees_server(path);
}

static int try_proc_net(char **arguments)
{
        (void)arguments;
        return sees_server("/proc/net/tcp") && for_each_process(sees_server_by) ? -1 : 0;
}

static int try_sys_net(char **arguments)
{
        char text[64];

        (void)arguments;
        return read_file("/sys/class/net/lo/ifalias", text, sizeof(text)) > 0 && !strcmp(text, "lab\n") ? 0
                                                                                                        : -1;
}

const struct attempt process_attempts[] = {
        { "be-victim", be_victim },     { "steal", try_steal },
        { "inherited", try_inherited }, { "passed", try_passed },
        { "ptrace", try_ptrace },       { "memory", try_memory },
        { "setns", try_setns },         { "environment", try_environment },
        { "root", try_root },           { "proc-net", try_proc_net },
        { "sys-net", try_sys_net },     { 0 },
};
