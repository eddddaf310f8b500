/* child_loopback_linux.c: a thread of init that makes sockets on a loopback of the sandbox's own. Raw system calls over prepared data.
 *
 * The filter asks for each socket, by numbers alone. It is made in a network that this thread is in, and nobody else, and that the
 * kernel takes down when the thread and the last socket are gone. That network takes longer to make than many a command runs,
 * so there is none, and no thread, until the first question. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "run/child_broker_linux.h"
#include "run/syscall_linux.h"

enum { SMALL = 64 * 1024 };
enum loopback_word { LOOPBACK_NONE, LOOPBACK_IDLE, LOOPBACK_ASKED };

/* What the thread has made so far. */
struct network {
        bool is_own, is_up;
};

/* What is at hand but not in effect cannot be used through a socket's file later; and the command, which has none at hand, cannot
 * look into who has. */
static long set_effective(bool is_effective)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        long r = RAW(SYS_capget, &header, sets);

        for (int i = 0; i < _LINUX_CAPABILITY_U32S_3 && r >= 0; i++)
                /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                sets[i].effective = is_effective ? sets[i].permitted : 0;
        return r < 0 ? r : RAW(SYS_capset, &header, sets);
}

/* Who has them cannot go on, and nobody else answers: with init all ends. */
static void drop_effective(void)
{
        while (set_effective(false) < 0)
                RAW(SYS_exit_group, 0);
}

/* Nothing has an address here but the loopback, and nothing leads elsewhere. Whatever it lacks is tried again with the next
 * question: the kernel has no more than so many networks. */
static long open_network(const struct child_job *job, struct network *network)
{
        long r, dropped;

        if (network->is_up)
                return 0;
        r = set_effective(true);
        if (r >= 0 && !network->is_own) {
                r = RAW_PASSING(job->pass, SYS_unshare, CLONE_NEWNET);
                network->is_own = r >= 0;
        }
        if (r >= 0)
                r = child_network_raise(job->pass);
        dropped = set_effective(false);
        r = r < 0 ? r : dropped;
        network->is_up = r >= 0;
        return r;
}

/* Where memory is counted by process, what lies in a socket is not: with a size of its own it does not grow by itself as one of TCP would,
 * to many megabytes. To what it may be set the host has a limit. */
static void keep_small(long fd)
{
        const int size = SMALL;

        RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* Answers in any case: with the socket, or with why there is none. */
static void make_socket(const struct child_job *job, long listener, struct network *network, uint64_t id,
                        const int socket[3])
{
        const int type = socket[1];
        const struct request request = { .listener = listener, .id = id };
        /* As the filter says it where there is no loopback. */
        long r = open_network(job, network) < 0 ? -EPERM : 0;

        if (!r)
                r = RAW_PASSING(job->pass, SYS_socket, socket[0], type | SOCK_CLOEXEC, socket[2]);
        if (r >= 0 && job->plan->counts_memory)
                keep_small(r);
        if (r >= 0)
                r = broker_give(&request, r, type & SOCK_CLOEXEC ? O_CLOEXEC : 0);
        if (r < 0)
                broker_send(listener, id, r);
}

/* ---- where there is no broker --------------------------------------------------------------------------- */

/* Whoever has no descriptors of his own has his process's. */
static long take_socket(const struct request *request)
{
        long process = RAW(SYS_pidfd_open, request->thread, O_EXCL /* PIDFD_THREAD, Linux 6.9 */), fd;

        if (process == -EINVAL)
                process = RAW(SYS_pidfd_open, caller_find_process(request), 0);
        if (process < 0)
                return process;
        fd = RAW_PASSING(request->job->pass, SYS_pidfd_getfd, process, (int)request->args[0], 0);
        RAW(SYS_close, process);
        return fd;
}

/* The processes are in the host's network, and so are their pairs of unix sockets: a name in memory, which no filter sees, would be
 * the host's. */
static long take_binding(const struct request *request, struct sockaddr_storage *name)
{
        /* cppcheck-suppress ctuuninitvar ; answer() has filled it */
        const size_t size = (size_t)(unsigned)request->args[2];
        long fd = size > sizeof(*name) ? -EINVAL : take_socket(request);
        long r = fd < 0 ? fd : caller_read(request, request->args[1], name, size);

        if (r < 0 && fd >= 0)
                RAW(SYS_close, fd);
        return r < 0 ? r : fd;
}

static long bind_socket(const struct request *request)
{
        struct sockaddr_storage name;
        unsigned size = sizeof(int);
        int domain = 0;
        long fd = take_binding(request, &name), r;

        /* Into who has made himself unreadable only who may look into anybody does. */
        if (fd == -EPERM && set_effective(true) >= 0) {
                fd = take_binding(request, &name);
                drop_effective();
        }
        if (fd < 0)
                return fd;
        r = RAW(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!r && domain == AF_UNIX)
                r = -EPERM;
        if (!r && !caller_is_waiting(request))
                r = -ESRCH;
        if (!r)
                r = RAW_PASSING(request->job->pass, SYS_bind, fd, &name, (unsigned)request->args[2]);
        RAW(SYS_close, fd);
        return r;
}

union question {
        struct seccomp_notif notif;
        uint64_t room[32]; /* what the kernel fills may grow */
};

/* Who was killed meanwhile asks no more. */
static bool hear(long listener, union question *received)
{
        for (volatile uint64_t *word = received->room; word < received->room + 32; word++)
                *word = 0;
        return RAW(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, received) >= 0;
}

void child_loopback_refuse(const struct child_job *job)
{
        union question received;

        if (hear(job->questions, &received))
                broker_send(job->questions, received.notif.id, -EPERM);
}

static bool answer(struct child_job *job, long listener, struct network *network)
{
        union question received;
        struct request request;
        int socket[3];

        if (!hear(listener, &received))
                return !broker_is_over(listener);
        for (int i = 0; i < 3; i++) {
                request.args[i] = received.notif.data.args[i];
                socket[i] = (int)request.args[i];
        }
        if (received.notif.data.nr == SYS_bind) {
                request.job = job;
                request.listener = listener;
                request.id = received.notif.id;
                request.thread = (int)received.notif.pid;
                broker_send(listener, received.notif.id, bind_socket(&request));
        } else {
                make_socket(job, listener, network, received.notif.id, socket);
        }
        return true;
}

static void serve(void *argument)
{
        struct child_job *job = argument;
        const long listener = job->questions;
        struct network network = { false, false };
        long kept[1] = { listener };

        /* Nothing of the host program's stays open here, and no capability in effect. */
        child_close_others(kept, 1, 0);
        drop_effective();
        while (answer(job, listener, &network))
                ;
        RAW(SYS_close, listener);
        /* Who is counted stays. */
        for (;;)
                RAW(job->loopback_stack ? SYS_ppoll : SYS_exit, 0, 0, 0, 0, 0);
}

/* On the command's stack, if there is no other: that it has left with its exec, and before that nobody asks. */
static long start(struct child_job *job, void (*entry)(void *))
{
        const char *stack = job->loopback_stack ? job->loopback_stack : job->command_stack - CHILD_STACK_SIZE;
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
                                              .stack = (uintptr_t)stack,
                                              .stack_size = CHILD_STACK_SIZE };

        return raw_clone(&arguments, entry, job);
}

/* ---- where the broker is asked first -------------------------------------------------------------------- */

/* The broker's threads stay in the network that they are in, and open no descriptor that another has: it goes from one of them to
 * this thread by its number's question alone. */
static void serve_broker(void *argument)
{
        struct child_job *job = argument;
        const long listener = job->broker_rooms[0].listener; /* the same number in each */
        struct network network = { false, false };
        long kept[1] = { listener };

        child_close_others(kept, 1, 0);
        drop_effective();
        for (;;) {
                int word = __atomic_load_n(&job->loopback_word, __ATOMIC_ACQUIRE);

                if (word != LOOPBACK_ASKED) {
                        RAW(SYS_futex, &job->loopback_word, FUTEX_WAIT, word, 0, 0, 0);
                        continue;
                }
                make_socket(job, listener, &network, job->loopback_id, job->loopback_socket);
                child_set(&job->loopback_word, LOOPBACK_IDLE);
        }
}

long broker_socket(const struct request *request)
{
        struct child_job *job = request->job;
        long r = 0;
        int word;

        broker_take_lock(&job->loopback_lock);
        if (__atomic_load_n(&job->loopback_word, __ATOMIC_ACQUIRE) == LOOPBACK_NONE && !job->loopback_stack)
                r = start(job, serve_broker);
        if (r >= 0) {
                for (int i = 0; i < 3; i++)
                        job->loopback_socket[i] = (int)request->args[i];
                job->loopback_id = request->id;
                child_set(&job->loopback_word, LOOPBACK_ASKED);
                while ((word = __atomic_load_n(&job->loopback_word, __ATOMIC_ACQUIRE)) == LOOPBACK_ASKED)
                        RAW(SYS_futex, &job->loopback_word, FUTEX_WAIT, word, 0, 0, 0);
        }
        broker_leave_lock(&job->loopback_lock);
        return r < 0 ? -EPERM : BROKER_HAS_ANSWERED;
}

long child_loopback_start(struct child_job *job)
{
        return start(job, job->plan->broker ? serve_broker : serve);
}
