/*
 * notified COMMAND...: runs a command whose every open is asked about, and every answer is to go on.
 *
 * Nothing is looked at and nothing is held: this is what the kernel's notifications cost by themselves, and what a
 * broker that decides something is measured against. A thread that waits is nearer than a process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
        perror(what);
        exit(125);
}

static int load_filter(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 2, 0),
#endif
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
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

static void *answer(void *argument)
{
        int listener = *(const int *)argument;
        for (;;) {
                struct seccomp_notif question;
                memset(&question, 0, sizeof question);
                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) == 0) {
                        struct seccomp_notif_resp response = { .id = question.id,
                                                               .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
                        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
                }
        }
        return NULL;
}

int main(int argc, char **argv)
{
        int sockets[2], listener, status;
        pthread_t thread;
        if (argc < 2)
                return 125;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                die("socketpair");
        pid_t child = fork();
        if (child == 0) {
                listener = load_filter();
                if (listener < 0 || pass(sockets[1], listener) < 0)
                        die("listener");
                close(listener);
                execv(argv[1], argv + 1);
                die(argv[1]);
        }
        close(sockets[1]);
        listener = pass(sockets[0], -1);
        if (child < 0 || listener < 0 || pthread_create(&thread, NULL, answer, &listener) != 0)
                die("start");
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
