/* child_connect_linux.c: the part of the broker that connects sockets: whom a unix socket is connected to lies in memory and in
 * the tree, where no filter looks, and Landlock does not judge it before its ABI 9. Raw system calls.
 *
 * The address is read once and the caller's socket is taken, so that what is connected is what was judged, whatever the caller
 * makes of its memory and of the number. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "plan/plan.h"
#include "plan/relay.h"
#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        OF_THREAD = O_EXCL,    /* PIDFD_THREAD, Linux 6.9 */
        SLICE_US = 370 * 1000, /* nobody else's number, in ticks of any length */
        SECOND_US = 1000 * 1000,
        STATUS_SIZE = 2048,
        RESTART =
                512, /* ERESTARTSYS: the kernel makes EINTR of it, or makes the call again, as the handler says */
        PATH_START = offsetof(struct sockaddr_un, sun_path),
};

/* As the kernel has it: libc's are of other widths elsewhere. */
struct timeout {
        long seconds, microseconds;
};

/* ---- whose abstract sockets are reached ------------------------------------------------------------------ */

/* Landlock keeps the command from abstract sockets that were made outside its domain. The broker is not in that domain and
 * connects in the command's place, so init has one too, around the command's, before there is a command: in it, the broker
 * reaches what the command has made and nobody else's. It closes nothing else. */
long child_broker_scope(void)
{
        const struct ll_ruleset ruleset = { .scoped = LL_SCOPE_ABSTRACT };
        long fd = RAW(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
        long r = fd < 0 ? fd : RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

        if (!r)
                r = RAW(SYS_landlock_restrict_self, fd, 0);
        if (fd >= 0)
                RAW(SYS_close, fd);
        return r;
}

/* Whom a socket is connected to is told that it was the broker. Who serves nobody in a sandbox goes by what he then finds in /proc: so
 * init gives up what the command does, and has a filter, if one that allows everything. Namespaces say the same where there are some. */
long child_broker_mark(void)
{
        struct sock_filter everything = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
        const struct sock_fprog filter = { 1, &everything };
        long r = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

        return r ? r : RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

/* ---- what the caller has --------------------------------------------------------------------------------- */

/* Before Linux 6.9 only whole processes can be asked. A thread may have descriptors of its own: then it is not the same. */
static long take_of_process(const struct request *request, long number)
{
        struct stat taken, wanted;
        long leader = caller_find_process(request), fd, object;
        long process = leader < 0 ? leader : RAW(SYS_pidfd_open, leader, 0);

        if (process < 0)
                return process;
        fd = RAW(SYS_pidfd_getfd, process, number, 0);
        RAW(SYS_close, process);
        object = fd < 0 ? fd : caller_open_descriptor(request, number);
        if (object < 0 || RAW(SYS_fstat, fd, &taken) || RAW(SYS_fstat, object, &wanted) ||
            /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled both, as the analyzer cannot see */
            taken.st_dev != wanted.st_dev || taken.st_ino != wanted.st_ino) {
                if (fd >= 0)
                        RAW(SYS_close, fd);
                fd = object < 0 ? object : -EPERM;
        }
        if (object >= 0)
                RAW(SYS_close, object);
        return fd;
}

static long take_descriptor(const struct request *request, long number)
{
        long thread, fd;

        if (number < 0)
                return -EBADF;
        thread = RAW(SYS_pidfd_open, request->thread, OF_THREAD);
        if (thread == -EINVAL)
                return take_of_process(request, number);
        if (thread < 0)
                return thread;
        fd = RAW(SYS_pidfd_getfd, thread, number, 0);
        RAW(SYS_close, thread);
        return fd;
}

static long read_address(const struct request *request, struct socket_name *address)
{
        address->length = (int)request->args[2];
        if (address->length < 0 || address->length > (int)sizeof(address->bytes))
                return -EINVAL;
        return address->length
                       ? caller_read(request, request->args[1], address->bytes, (size_t)address->length)
                       : 0;
}

/* ---- to whom --------------------------------------------------------------------------------------------- */

static bool has_path(const struct socket_name *address)
{
        const struct sockaddr_un *name = (const void *)address->bytes;

        return address->length > PATH_START && address->length <= (int)sizeof(*name) &&
               name->sun_family == AF_UNIX && name->sun_path[0];
}

static bool is_abstract(const struct socket_name *address)
{
        const struct sockaddr_un *name = (const void *)address->bytes;

        return address->length > PATH_START && name->sun_family == AF_UNIX && !name->sun_path[0];
}

/* As if it were opened to be read. */
static long open_readable(struct request *request)
{
        const char *real;
        long object;

        request->directory = AT_FDCWD;
        request->has_path = request->is_read = request->follows = true;
        object = broker_find(request, &real);
        if (object >= 0 && (!real || !broker_may_read(request, real))) {
                RAW(SYS_close, object);
                return -EACCES;
        }
        return object;
}

/* Opens what the path leads to, and makes the address lead to that. Returns a descriptor. */
static long pin(struct request *request, struct socket_name *address)
{
        struct sockaddr_un *name = (void *)address->bytes;
        char *path = request->room->path;
        int length = address->length - PATH_START;
        long object;

        for (int i = 0; i < length; i++)
                path[i] = name->sun_path[i];
        path[length] = '\0';
        object = request->job->plan->broker->sockets ? broker_open_listed(request) : open_readable(request);
        if (object < 0)
                return object;
        caller_proc_path(name->sun_path, 0, "fd", object);
        for (length = 0; name->sun_path[length]; length++)
                ;
        address->length = PATH_START + length + 1;
        return object;
}

/* ---- connecting ------------------------------------------------------------------------------------------ */

static bool is_nonblocking(const struct connector *connector)
{
        return RAW(SYS_fcntl, connector->socket, F_GETFL) & O_NONBLOCK;
}

/* Whether the caller has a signal to handle, for which the kernel would end a wait. Only one that no other thread of its can take:
 * told to make its call again without a signal, it would be told so as an error. */
static bool has_signal(const struct connector *connector)
{
        char text[STATUS_SIZE];
        long length = status_read(connector->thread, text, sizeof(text));
        uint64_t threads, own, shared, blocked, handled;

        if (!status_find(text, length, "\nThreads:\t", 10, &threads) ||
            !status_find(text, length, "\nSigPnd:\t", 16, &own) ||
            !status_find(text, length, "\nShdPnd:\t", 16, &shared) ||
            !status_find(text, length, "\nSigBlk:\t", 16, &blocked) ||
            !status_find(text, length, "\nSigCgt:\t", 16, &handled))
                return false;
        return (own | (threads == 1 ? shared : 0)) & handled & ~blocked;
}

/* Another thread of the caller's may have said meanwhile that nobody waits. */
static bool goes_on(const struct connector *connector, long r)
{
        if (connector->domain == AF_UNIX ? r != -EAGAIN : r != -EINPROGRESS && r != -EALREADY)
                return false;
        return !is_nonblocking(connector) &&
               !RAW(SYS_ioctl, connector->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &connector->id);
}

static long connect_once(struct connector *connector)
{
        long r = RAW(SYS_connect, connector->socket, connector->address.bytes, connector->address.length);

        if (connector->stream && (!r || r == -EINPROGRESS))
                stream_tell(connector);
        return r;
}

static long set_timeout(const struct connector *connector, const struct timeout *timeout)
{
        return RAW(SYS_setsockopt, connector->socket, SOL_SOCKET, SO_SNDTIMEO, timeout, sizeof(*timeout));
}

static long get_timeout(const struct connector *connector, struct timeout *timeout)
{
        unsigned size = sizeof(*timeout);

        return RAW(SYS_getsockopt, connector->socket, SOL_SOCKET, SO_SNDTIMEO, timeout, &size);
}

/* The caller's own limit, in microseconds; -1 if there is none. One that is a slice was set here, by another thread that connects
 * the same socket. */
static long find_limit(const struct connector *connector, struct timeout *limit)
{
        const struct timeout slice = { 0, SLICE_US };
        struct timeout rounded = { 0, 0 };
        long r = get_timeout(connector, limit);

        if (!r)
                r = set_timeout(connector, &slice);
        if (!r)
                r = get_timeout(connector, &rounded);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled both, as the analyzer cannot see */
        if (r || (limit->seconds == rounded.seconds && limit->microseconds == rounded.microseconds))
                limit->seconds = limit->microseconds = 0;
        if (!(limit->seconds || limit->microseconds) || limit->seconds > SECOND_US)
                return -1; /* for ever, or as good as that */
        return limit->seconds * SECOND_US + limit->microseconds;
}

/* Of a socket that waits: in slices, since only its own time limit ends the kernel's wait, and a caller that was killed is
 * waited for no longer. */
static long connect_waiting(struct connector *connector)
{
        struct timeout limit = { 0, 0 };
        long left = find_limit(connector, &limit), first = 0, r;

        for (;;) {
                const struct timeout slice = { 0, left >= 0 && left < SLICE_US ? left : SLICE_US };

                set_timeout(connector, &slice);
                r = connect_once(connector);
                first = first ? first : r;
                left -= left < 0 ? 0 : slice.microseconds;
                if (!left || !goes_on(connector, r))
                        break;
                if (has_signal(connector)) {
                        first = r = left < 0 ? -RESTART : -EINTR;
                        break;
                }
        }
        set_timeout(connector, &limit);
        return r == -EALREADY ? first : r;
}

static void run_connector(void *argument)
{
        struct connector *connector = argument;
        struct stream_request stream;
        const bool is_relayed = connector->job->plan->broker->has_streams && connector->domain != AF_UNIX;
        long r = is_relayed ? stream_ask(connector, &stream) : 0;

        if (!r)
                r = is_nonblocking(connector) ? connect_once(connector) : connect_waiting(connector);

        /* Nobody else has the socket when the caller goes on: its close must close it. */
        RAW(SYS_close, connector->socket);
        while (!__atomic_load_n(&connector->is_alone, __ATOMIC_ACQUIRE))
                RAW(SYS_futex, &connector->is_alone, FUTEX_WAIT, 0, 0, 0, 0);
        broker_send(connector->listener, connector->id, r);
        for (;;)
                RAW(SYS_exit, 0);
}

/* A connection may take minutes, and the broker's threads have other questions to answer: a thread makes it that has copies of
 * all descriptors. */
static long start_connector(const struct request *request, struct connector *connector, int *is_taken)
{
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD |
                                                       CLONE_CHILD_CLEARTID,
                                              .child_tid = (uintptr_t)is_taken,
                                              .stack = (uintptr_t)connector->stack,
                                              .stack_size = sizeof(connector->stack) };

        connector->listener = request->listener;
        connector->id = request->id;
        connector->thread = request->thread;
        connector->job = request->job;
        connector->is_alone = 0;
        return raw_clone(&arguments, run_connector, connector);
}

/* One that is free, of whichever of the broker's threads; *is_taken then is its word. Else the last one of our own, which has no
 * thread, and no word: who connects at once needs none. */
static struct connector *claim(const struct request *request, int **is_taken)
{
        const struct child_job *job = request->job;
        long own = request->room - job->broker_rooms;

        for (long i = 0; i < job->broker_count; i++) {
                struct child_broker_room *room = &job->broker_rooms[(own + i) % job->broker_count];

                for (int j = 0; j < CONNECTORS; j++) {
                        int is_free = 0;

                        *is_taken = &room->is_connecting[j];
                        if (__atomic_compare_exchange_n(*is_taken, &is_free, 1, false, __ATOMIC_ACQUIRE,
                                                        __ATOMIC_RELAXED))
                                return &room->connectors[j];
                }
        }
        *is_taken = 0;
        return &request->room->connectors[CONNECTORS];
}

static void leave(int *is_taken)
{
        if (is_taken)
                __atomic_store_n(is_taken, 0, __ATOMIC_RELEASE);
}

static long get_option(long socket, int option, int *value)
{
        unsigned size = sizeof(*value);

        return RAW(SYS_getsockopt, socket, SOL_SOCKET, option, value, &size);
}

/* Closes what it is given. */
static long connect_pinned(const struct request *request, struct connector *connector, int *is_taken,
                           long object)
{
        int type = 0;
        long socket = connector->socket, r = get_option(socket, SO_TYPE, &type);
        bool is_started = false;

        if (!r && !caller_is_waiting(request))
                r = -ESRCH;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!r && type != SOCK_STREAM && type != SOCK_SEQPACKET) {
                r = connect_once(connector); /* for these there is nothing to wait for */
        } else if (!r) {
                r = is_taken ? start_connector(request, connector, is_taken) : -EAGAIN;
                is_started = r >= 0;
        }
        if (object >= 0)
                RAW(SYS_close, object);
        RAW(SYS_close, socket);
        if (!is_started) {
                leave(is_taken);
                return r;
        }
        child_set(&connector->is_alone, 1);
        return BROKER_HAS_ANSWERED;
}

/* ---- where every connection is the relay's --------------------------------------------------------------- */

static void knock(const struct request *request, const struct socket_name *address)
{
        broker_take_lock(&request->job->relay_lock);
        child_network_knock(request->job, address->bytes, address->length);
        broker_leave_lock(&request->job->relay_lock);
}

/* ---- what is asked --------------------------------------------------------------------------------------- */

/* What is not refused is pinned, if it has a path: then *object is a descriptor. */
static long judge(struct request *request, struct connector *connector, long *object)
{
        const struct child_broker *broker = request->job->plan->broker;
        struct socket_name *address = &connector->address;
        long r = get_option(connector->socket, SO_DOMAIN, &connector->domain);

        if (r < 0)
                return r;
        if (broker->has_streams && (connector->domain != AF_UNIX || !broker->sockets))
                return stream_check(connector->socket, connector->domain);
        if (connector->domain != AF_UNIX && broker->asks & BROKER_DOORS)
                knock(request, address);
        if (connector->domain != AF_UNIX)
                return broker->has_unix_only || request->job->closed
                               ? -EACCES /* as Landlock says to the command */
                               : 0;
        if (is_abstract(address) && !broker->needs_scope)
                return -EPERM; /* whose it is nobody tells; and none is on a list */
        if (!has_path(address))
                return broker->sockets ? -EINVAL : 0;
        *object = pin(request, address);
        return *object < 0 ? *object : 0;
}

long broker_connect(struct request *request)
{
        int *is_taken;
        struct connector *connector = claim(request, &is_taken);
        long object = -1, r = 0;

        connector->stream = 0;
        connector->socket = take_descriptor(request, (int)request->args[0]);
        if (connector->socket < 0) {
                r = connector->socket;
                leave(is_taken);
                return r;
        }
        r = read_address(request, &connector->address);
        if (!r)
                r = judge(request, connector, &object);
        if (r < 0) {
                RAW(SYS_close, connector->socket);
                leave(is_taken);
                return r;
        }
        return connect_pinned(request, connector, is_taken, object);
}

/* A unix socket that nobody has bound has a name all the same, once it was to be connected with SO_PASSCRED. */
long broker_bind(const struct request *request)
{
        const bool listens = request->call == SYS_listen;
        struct socket_name address;
        int domain = 0;
        long socket = take_descriptor(request, (int)request->args[0]), r;

        if (socket < 0)
                return socket;
        r = listens ? 0 : read_address(request, &address);
        if (!r)
                r = get_option(socket, SO_DOMAIN, &domain);
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!r && domain == AF_UNIX)
                r = -EPERM;
        if (!r && !caller_is_waiting(request))
                r = -ESRCH;
        if (!r)
                r = listens ? RAW(SYS_listen, socket, request->args[1])
                            : RAW(SYS_bind, socket, address.bytes, address.length);
        RAW(SYS_close, socket);
        return r;
}

/* What is read is a hint, and nothing is decided by it: the call goes on with whatever address the memory has by then. Where the
 * relay listens the list allows it to be reached, and the relay judges who comes by the address at which he came; anywhere else the
 * kernel finds nobody. There are no unix sockets. */
long broker_knock(const struct request *request, bool *goes_on)
{
        struct socket_name address;

        *goes_on = true;
        if (!read_address(request, &address))
                knock(request, &address);
        return 0;
}
