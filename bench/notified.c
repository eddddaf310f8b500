/*
 * notified opens|directories COMMAND...: runs a command that is asked about by who judges nothing and holds nothing. This is the
 * least that asking costs, and what a broker that decides something is measured against.
 *
 * opens: every open, and who is asked does it. The path is read, opened and handed over, as it must be where the caller could
 * change it after a judgement. directories: only opens of directories, and the answer is to go on, as it may be where somebody
 * else judges the call. A thread that waits is nearer than a process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
        perror(what);
        exit(125);
}

static int is_for_directories;

static int load_filter(void)
{
        const unsigned as_if = is_for_directories ? 0 : O_DIRECTORY;
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 3, 0),
#endif
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 5),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
                BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                BPF_STMT(BPF_ALU | BPF_OR | BPF_K, as_if),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        };
        const struct sock_fprog program = { sizeof code / sizeof *code, code };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                die("no_new_privs");
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* One descriptor over a socket: sent if it is not negative, else received. */
static int pass(int socket, int fd)
{
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr header;
        } control = { .bytes = { 0 } };
        char byte = 0;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof control.bytes };
        if (fd >= 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof fd);
                memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
                return sendmsg(socket, &message, 0) < 0 ? -1 : fd;
        }
        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
                return -1;
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
        return fd;
}

/* The path of a question behind the name of the caller's working directory; up to the end of a page, as the next may not be there. */
static int open_for(const struct seccomp_notif *question, int flags)
{
        enum { PAGE = 4096 };
        static char path[64 + PATH_MAX];
        const size_t is_at = question->data.nr == SYS_openat;
        const uint64_t address = question->data.args[is_at];
        const int directory = is_at ? (int)question->data.args[0] : AT_FDCWD, process = (int)question->pid;
        char *name =
                path + (directory == AT_FDCWD ? snprintf(path, 64, "/proc/%d/cwd/", process)
                                              : snprintf(path, 64, "/proc/%d/fd/%d/", process, directory));
        struct iovec mine = { name, PAGE - address % PAGE };
        struct iovec theirs = { (void *)(uintptr_t)address, mine.iov_len };
        if (process_vm_readv((pid_t)question->pid, &mine, 1, &theirs, 1, 0) < 0)
                return -1;
        return open(*name == '/' ? name : path, flags | O_CLOEXEC, (mode_t)question->data.args[is_at + 2]);
}

static void answer_with_descriptor(int listener, const struct seccomp_notif *question)
{
        int flags = (int)question->data.args[question->data.nr == SYS_openat ? 2 : 1];
        int fd = open_for(question, flags);
        struct seccomp_notif_addfd given = { .id = question->id,
                                             .flags = SECCOMP_ADDFD_FLAG_SEND,
                                             .srcfd = (unsigned)fd,
                                             .newfd_flags = (unsigned)flags & O_CLOEXEC };
        struct seccomp_notif_resp refusal = { .id = question->id, .error = -errno };
        if (fd < 0) {
                ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &refusal);
                return;
        }
        ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
        close(fd);
}

static void *answer(void *argument)
{
        int listener = *(const int *)argument;
        for (;;) {
                struct seccomp_notif question;
                memset(&question, 0, sizeof question);
                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
                        continue;
                struct seccomp_notif_resp go_on = { .id = question.id,
                                                    .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
                if (is_for_directories)
                        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
                else
                        answer_with_descriptor(listener, &question);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        int sockets[2], listener, status;
        pthread_t thread;
        if (argc < 3)
                return 125;
        is_for_directories = strcmp(argv[1], "directories") == 0;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                die("socketpair");
        pid_t child = fork();
        if (child == 0) {
                listener = load_filter();
                if (listener < 0 || pass(sockets[1], listener) < 0)
                        die("listener");
                close(listener);
                execv(argv[2], argv + 2);
                die(argv[2]);
        }
        close(sockets[1]);
        listener = pass(sockets[0], -1);
        if (is_for_directories) /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6: as the broker does where it lets go on */
                ioctl(listener, SECCOMP_IOW(4, __u64), 1UL);
        if (child < 0 || listener < 0 || pthread_create(&thread, NULL, answer, &listener) != 0)
                die("start");
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
