/* child_who_linux.c: a thread of init that finds out for the relay which process of the sandbox a socket belongs to. Raw system calls.
 *
 * The kernel is asked for the socket by its addresses, and then every process of the sandbox for its descriptors. Nothing depends on
 * the answer: it is told. Whoever has more descriptors than are looked at, or closes the socket meanwhile, is not found. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "plan/relay.h"
#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        LOOKS_MAX = 50000, /* at descriptors and processes, for one question: some 50 ms */
        LINK_SIZE = 40,    /* "socket:[18446744073709551615]" */
        NUMBER_SIZE = 12,  /* of a process, or of a descriptor */
};

static uint16_t swap(uint16_t port)
{
        return (uint16_t)(port << 8 | port >> 8);
}

/* ---- which socket --------------------------------------------------------------------------------------- */

struct diag_request {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
};

static void copy_address(const struct address *from, void *to)
{
        volatile uint8_t *bytes = to;

        for (int i = 0; i < 16; i++)
                bytes[i] = i < (from->is_v6 ? 16 : 4) ? from->bytes[i] : 0;
}

static void fill_request(const struct who_question *question, struct diag_request *out)
{
        struct inet_diag_sockid *id = &out->body.id;
        /* Of datagrams the kernel wants to know the sender first. */
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        const bool is_udp = question->is_udp;

        out->header.nlmsg_len = sizeof(*out);
        out->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
        out->header.nlmsg_flags = NLM_F_REQUEST;
        out->header.nlmsg_seq = 0;
        out->header.nlmsg_pid = 0;
        out->body.sdiag_family = question->client.is_v6 ? AF_INET6 : AF_INET;
        out->body.sdiag_protocol = is_udp ? IPPROTO_UDP : IPPROTO_TCP;
        out->body.idiag_ext = out->body.pad = 0;
        out->body.idiag_states = ~0u;
        id->idiag_sport = swap(is_udp ? question->port : question->client_port);
        id->idiag_dport = swap(is_udp ? question->client_port : question->port);
        copy_address(is_udp ? &question->address : &question->client, id->idiag_src);
        copy_address(is_udp ? &question->client : &question->address, id->idiag_dst);
        id->idiag_if = 0;
        id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* The number of its inode, or 0. */
static unsigned long find_inode(long netlink, const struct who_question *question)
{
        struct diag_request request;
        struct {
                struct nlmsghdr header;
                struct inet_diag_msg body;
                char rest[512];
        } answer;
        long r;

        fill_request(question, &request);
        r = RAW(SYS_sendto, netlink, &request, sizeof(request), 0, 0, 0);
        if (r >= 0)
                r = RAW(SYS_recvfrom, netlink, &answer, sizeof(answer), 0, 0, 0);
        if (r < (long)(sizeof(answer.header) + sizeof(answer.body)))
                return 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
            answer.body.id.idiag_sport != swap(question->client_port))
                return 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        return answer.body.idiag_inode;
}

/* ---- whose it is ---------------------------------------------------------------------------------------- */

static bool is_link_to(long directory, const char *name, const char *wanted)
{
        char text[LINK_SIZE];
        long length = RAW(SYS_readlinkat, directory, name, text, sizeof(text) - 1);

        if (length < 0)
                return false;
        text[length] = '\0';
        return text_is_same(text, wanted);
}

/* Where the last one was: who connects often does it with the same number mostly. Only a place to look at first. */
struct hint {
        char pid[NUMBER_SIZE], path[2 * NUMBER_SIZE + sizeof("/fd/")]; /* "" at first */
};

static void keep_hint(struct hint *hint, const char *pid, const char *fd)
{
        text_write(hint->pid, pid);
        text_write(text_write(text_write(hint->path, pid), "/fd/"), fd);
}

static bool has_socket(long proc, const char *pid, const char *wanted, int *looks, struct hint *hint)
{
        char path[32], entries[2048] __attribute__((aligned(8)));
        long fds, length;
        bool is_found = false;

        text_write(text_write(path, pid), "/fd");
        fds = RAW(SYS_openat, proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fds < 0)
                return false;
        while (!is_found && *looks > 0 && (length = RAW(SYS_getdents64, fds, entries, sizeof(entries))) > 0)
                for (long at = 0; at < length && !is_found && *looks > 0; --*looks) {
                        const struct directory_entry *entry = (const void *)(entries + at);

                        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it */
                        at += entry->length;
                        is_found = is_link_to(fds, entry->name, wanted);
                        if (is_found)
                                keep_hint(hint, pid, entry->name);
                }
        RAW(SYS_close, fds);
        return is_found;
}

static void name_process(long proc, const char *pid, struct who_answer *answer)
{
        char path[32];
        unsigned long number;
        long length;

        text_read_number(pid, &number);
        text_write(text_write(path, pid), "/exe");
        length = RAW(SYS_readlinkat, proc, path, answer->program, sizeof(answer->program) - 1);
        answer->program[length < 0 ? 0 : length] = '\0';
        answer->pid = (uint32_t)number;
}

static bool is_number(const char *name)
{
        unsigned long number;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it */
        const char *end = text_read_number(name, &number);

        return end && !*end && end - name < NUMBER_SIZE;
}

/* The kernel lists them by their numbers: of several that have it, the first, or who had the last one at the same place. */
static void find_process(long proc, unsigned long inode, struct hint *hint, struct who_answer *answer)
{
        char entries[2048] __attribute__((aligned(8))), wanted[LINK_SIZE];
        int looks = LOOKS_MAX;
        long length;

        text_write(text_write_number(text_write(wanted, "socket:["), inode), "]");
        if (*hint->pid && is_link_to(proc, hint->path, wanted)) {
                name_process(proc, hint->pid, answer);
                return;
        }
        RAW(SYS_lseek, proc, 0, 0 /* SEEK_SET */);
        while (looks > 0 && (length = RAW(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
                for (long at = 0; at < length && looks > 0; looks--) {
                        const struct directory_entry *entry = (const void *)(entries + at);

                        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it */
                        at += entry->length;
                        if (!is_number(entry->name) || !has_socket(proc, entry->name, wanted, &looks, hint))
                                continue;
                        name_process(proc, entry->name, answer);
                        return;
                }
}

/* ---- the thread ----------------------------------------------------------------------------------------- */

static void answer_questions(void *argument)
{
        const struct child_job *job = argument;
        long kept[1] = { job->network_asker }, netlink, proc;
        struct who_question question;
        struct who_answer answer;
        struct hint hint;
        const struct sched_param none = { 0 };

        /* Whoever runs goes on: the stream that is asked about is under way. It has its turn as ever, and nothing depends on it. */
        RAW(SYS_sched_setscheduler, 0, SCHED_BATCH, &none);
        hint.pid[0] = '\0';
        child_close_others(kept, 1, 0);
        netlink = RAW(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        /* The sandbox's own by now: the mounts were made before anybody could connect. */
        proc = RAW(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (RAW(SYS_recvfrom, kept[0], &question, sizeof(question), 0, 0, 0) == sizeof(question)) {
                unsigned long inode = netlink < 0 || proc < 0 ? 0 : find_inode(netlink, &question);

                for (size_t i = 0; i < sizeof(answer); i++)
                        ((volatile char *)&answer)[i] = 0;
                /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                answer.number = question.number;
                if (inode)
                        find_process(proc, inode, &hint, &answer);
                RAW(SYS_sendto, kept[0], &answer, sizeof(answer), MSG_NOSIGNAL, 0, 0);
        }
        for (;;)
                RAW(SYS_exit, 0);
}

long child_who_start(struct child_job *job)
{
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
                                              .stack = (uintptr_t)job->network_stack +
                                                       CHILD_NETWORK_STACK_SIZE,
                                              .stack_size = CHILD_WHO_STACK_SIZE };
        int pair[2];
        long r;

        /* There is room for one. */
        if (job->network_asker)
                return -EBUSY;
        r = RAW(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
        if (r < 0)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        job->network_asker = pair[1];
        r = raw_clone(&arguments, answer_questions, job);
        /* It has a copy of its own: no descriptor is shared with this thread. */
        RAW(SYS_close, pair[1]);
        if (r >= 0)
                return pair[0];
        RAW(SYS_close, pair[0]);
        job->network_asker = 0;
        return r;
}
