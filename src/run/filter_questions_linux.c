/* filter_questions_linux.c: the short filter of a prepared job, which asks for sockets on the job's own loopback. */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "run/filter_linux.h"

void filter_build_questions(struct filter *filter)
{
        static const struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };

        filter->length = sizeof(code) / sizeof(*code);
        for (size_t i = 0; i < filter->length; i++)
                filter->code[i] = code[i];
}
