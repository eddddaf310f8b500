/* child_broker_linux.c: threads of init that do for the command what neither a mount nor Landlock judges. What each call is
 * about is found in child_caller_linux.c and judged in child_judge_linux.c. Raw system calls over prepared data.
 *
 * The filter sends such a call here. The path is read once, what it leads to is opened, the kernel is asked where that lies,
 * and the call is made on what is open: whatever the command does to the string or to the tree meanwhile changes nothing.
 * A call is let go on only if all that was decided on are numbers, or if others judge it anyway. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "plan/plan.h"
#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        SLICE_NS = 100 * 1000, /* the least */
        NO_FLAGS = 0,
        FLAG_WAIT_KILLABLE = 1 << 5, /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
        SYNC_WAKE_UP = 1 << 0,       /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6 */
        THE_THREAD = 0,              /* PRIO_PROCESS */
        THE_IO_THREAD = 1,           /* IOPRIO_WHO_PROCESS */
};

/* SECCOMP_IOCTL_NOTIF_SET_FLAGS, which older headers do not have */
static const unsigned long NOTIF_SET_FLAGS = SECCOMP_IOW(4, __u64);

const size_t child_broker_room_size = sizeof(struct child_broker_room);

/* What the kernel fills may grow: it says how large it is only to those who ask. */
union notification {
        struct seccomp_notif notif;
        uint64_t room[32];
};

union response {
        struct seccomp_notif_resp response;
        uint64_t room[8];
};

/* ---- what is done --------------------------------------------------------------------------------------- */

/* Of the calls below each gets what was opened and was found to be the command's to change. */
typedef long changer(const struct request *request, long object);

static long change_mode(const struct request *request, long object)
{
        const uint64_t *args = request->args;
        bool is_of_descriptor = request->call == SYS_fchmod;
        char name[PROC_PATH_SIZE];

#ifdef SYS_chmod
        is_of_descriptor |= request->call == SYS_chmod;
#endif
        broker_descriptor_name(name, object);
        return RAW(SYS_fchmodat, request->room->descriptors, name, args[is_of_descriptor ? 1 : 2] & 01777, 0);
}

static long change_owner(const struct request *request, long object)
{
        const uint64_t *args = request->args;
        int first = request->call == SYS_fchownat ? 2 : 1;

        return RAW(SYS_fchownat, object, "", args[first], args[first + 1], AT_EMPTY_PATH);
}

#ifdef SYS_utimes
/* The older calls' times. */
static long read_old_times(const struct request *request, uint64_t address, struct timespec times[2])
{
        int64_t old[4];
        bool has_seconds_only = request->call == SYS_utime;
        long r = caller_read(request, address, old, has_seconds_only ? 16 : 32);

        for (int i = 0; i < 2 && !r; i++) {
                times[i].tv_sec = has_seconds_only ? old[i] : old[2 * i];
                times[i].tv_nsec = 0;
                if (has_seconds_only)
                        continue;
                if (old[2 * i + 1] < 0 || old[2 * i + 1] > 999999)
                        return -EINVAL;
                times[i].tv_nsec = old[2 * i + 1] * 1000;
        }
        return r;
}
#endif

static long change_times(const struct request *request, long object)
{
        const uint64_t *args = request->args;
        struct timespec times[2];
        long r;

#ifdef SYS_utimes
        if (request->call != SYS_utimensat) {
                uint64_t address = args[request->call == SYS_futimesat ? 2 : 1];

                r = address ? read_old_times(request, address, times) : 0;
                return r ? r : RAW(SYS_utimensat, object, "", address ? times : 0, AT_EMPTY_PATH);
        }
#endif
        r = args[2] ? caller_read(request, args[2], times, sizeof(times)) : 0;
        return r ? r : RAW(SYS_utimensat, object, "", args[2] ? times : 0, AT_EMPTY_PATH);
}

static long set_attribute(const struct request *request, long object)
{
        const uint64_t *args = request->args;
        struct child_broker_room *room = request->room;
        char path[PROC_PATH_SIZE];
        long r = caller_read_text(request, args[1], room->name, ATTRIBUTE_NAME_SIZE, -ERANGE);

        if (!r && args[3] > ATTRIBUTE_SIZE)
                r = -E2BIG;
        if (!r && args[3])
                r = caller_read(request, args[2], room->value, args[3]);
        if (r < 0)
                return r;
        caller_proc_path(path, 0, "fd", object);
        return RAW(SYS_setxattr, path, room->name, room->value, args[3], args[4]);
}

static long remove_attribute(const struct request *request, long object)
{
        char path[PROC_PATH_SIZE];
        long r = caller_read_text(request, request->args[1], request->room->name, ATTRIBUTE_NAME_SIZE,
                                  -ERANGE);

        if (r < 0)
                return r;
        caller_proc_path(path, 0, "fd", object);
        return RAW(SYS_removexattr, path, request->room->name);
}

static bool may_change(const struct request *request, long object)
{
        const char *real = caller_find_place(request, object);

        return real && broker_may_change(request, real);
}

static long act(const struct request *request, changer *change)
{
        long object = caller_open_object(request), r;

        if (object < 0)
                return object;
        if (!caller_is_waiting(request))
                r = -ESRCH;
        else if (!may_change(request, object))
                r = -EROFS; /* as a mount would say */
        else
                r = change(request, object);
        RAW(SYS_close, object);
        return r;
}

static long act_on_descriptor(struct request *request, changer *change)
{
        request->directory = (int)request->args[0];
        /* Not the working directory, which only calls that take a path know. */
        return request->directory < 0 ? -EBADF : act(request, change);
}

static long act_on_path(struct request *request, bool follows, changer *change)
{
        request->directory = AT_FDCWD;
        request->path = request->args[0];
        request->has_path = true;
        request->follows = follows;
        return act(request, change);
}

static long act_at(struct request *request, uint64_t flags, changer *change)
{
        const uint64_t *args = request->args;

        if (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        request->directory = (int)args[0];
        request->path = args[1];
        request->has_path = true;
        request->follows = !(flags & AT_SYMLINK_NOFOLLOW);
        request->takes_empty = flags & AT_EMPTY_PATH;
        return act(request, change);
}

/* Without a path they mean the descriptor. */
static long act_on_times_at(struct request *request, uint64_t flags)
{
        const uint64_t *args = request->args;

        if (args[1])
                return act_at(request, flags, change_times);
        return flags ? -EINVAL : act_on_descriptor(request, change_times);
}

/* The caller itself may be meant, nobody else: not even another of its threads, whose number is somebody else's when that has
 * ended. Only numbers decide, so the call itself goes on. */
static long judge_target(const struct request *request, uint64_t number, bool *goes_on)
{
        *goes_on = caller_keeps_number(request, (int)number);
        return *goes_on ? 0 : -EPERM;
}

static long open_by_flags(struct request *request, bool has_directory, bool *goes_on)
{
        const uint64_t *args = request->args + has_directory;
        const uint64_t flags = args[1];

        request->directory = has_directory ? (int)request->args[0] : AT_FDCWD;
        if (request->job->plan->broker->asks & BROKER_READS || broker_is_write(flags))
                return broker_open(request, request->directory, args[0], flags, args[2]);
        /* Else only directories are asked about. */
        request->path = args[0];
        request->has_path = true;
        request->follows = !(flags & O_NOFOLLOW);
        return broker_list(request, flags, goes_on);
}

/* For a door alone, the call goes on. Where unix sockets are judged it does not: what it holds by then may be another one's. */
static long serve_connect(struct request *request, bool *goes_on)
{
        const unsigned asks = request->job->plan->broker->asks;

        return (asks & (BROKER_DOORS | BROKER_CONNECTS | BROKER_SOCKETS | BROKER_STREAMS)) == BROKER_DOORS
                       ? broker_knock(request, goes_on)
                       : broker_connect(request);
}

static long serve_socket(struct request *request, bool *goes_on)
{
        switch (request->call) {
        case SYS_socket:
                return broker_socket(request);
        case SYS_bind:
        case SYS_listen:
                return broker_bind(request);
        default:
                return serve_connect(request, goes_on);
        }
}

static long serve(struct request *request, bool *goes_on)
{
        switch (request->call) {
        case SYS_fchmod:
                return act_on_descriptor(request, change_mode);
        case SYS_fchmodat:
                return act_at(request, NO_FLAGS, change_mode);
        case 452 /* fchmodat2 */:
                return act_at(request, (unsigned)request->args[3], change_mode);
        case SYS_fchown:
                return act_on_descriptor(request, change_owner);
        case SYS_fchownat:
                return act_at(request, (unsigned)request->args[4], change_owner);
        case SYS_utimensat:
                return act_on_times_at(request, (unsigned)request->args[3]);
        case SYS_setxattr:
                return act_on_path(request, true, set_attribute);
        case SYS_lsetxattr:
                return act_on_path(request, false, set_attribute);
        case SYS_fsetxattr:
                return act_on_descriptor(request, set_attribute);
        case SYS_removexattr:
                return act_on_path(request, true, remove_attribute);
        case SYS_lremovexattr:
                return act_on_path(request, false, remove_attribute);
        case SYS_fremovexattr:
                return act_on_descriptor(request, remove_attribute);
        case SYS_openat:
                return open_by_flags(request, true, goes_on);
#ifdef SYS_chmod
        case SYS_open:
                return open_by_flags(request, false, goes_on);
        case SYS_chmod:
                return act_on_path(request, true, change_mode);
        case SYS_chown:
                return act_on_path(request, true, change_owner);
        case SYS_lchown:
                return act_on_path(request, false, change_owner);
        case SYS_utime:
        case SYS_utimes:
                return act_on_path(request, true, change_times);
        case SYS_futimesat:
                return act_on_times_at(request, NO_FLAGS);
#endif
        case SYS_prlimit64:
        case SYS_sched_setaffinity:
        case SYS_sched_setparam:
        case SYS_sched_setscheduler:
        case SYS_sched_setattr:
                return judge_target(request, request->args[0], goes_on);
        case SYS_flock: /* locks of an open file: it was seen to that nobody else has it open */
                *goes_on = true;
                return 0;
        case SYS_fcntl:
                /* The same; or F_SETOWN, and 0 is nobody. */
                *goes_on = (unsigned)request->args[1] != F_SETOWN || !(int)request->args[2];
                return *goes_on ? 0 : judge_target(request, request->args[2], goes_on);
        case SYS_ioctl:
                return pty_serve_peer(request, goes_on);
        case SYS_setpriority:
        case SYS_ioprio_set:
                return request->args[0] == (request->call == SYS_setpriority ? THE_THREAD : THE_IO_THREAD)
                               ? judge_target(request, request->args[1], goes_on)
                               : -EPERM;
        case SYS_connect:
        case SYS_bind:
        case SYS_listen:
        case SYS_socket:
                return serve_socket(request, goes_on);
        case SYS_kill:
        case SYS_tkill:
        case SYS_tgkill:
        case SYS_rt_sigqueueinfo:
        case SYS_rt_tgsigqueueinfo:
                return broker_signal(request, goes_on);
        case SYS_umask:
                request->job->has_umasks = true;
                *goes_on = true;
                return 0;
        default:
                return broker_serve_name(request);
        }
}

/* Not calls of memset(), which would be somebody else's. */
static void clear(volatile uint64_t *words, size_t count)
{
        while (count)
                words[--count] = 0;
}

/* Where a directory is and what may be made in it must be one question. What is only read is judged by where it is found. */
static bool changes_names(const struct request *request)
{
        switch (request->call) {
        case SYS_openat:
                return broker_is_write(request->args[2]);
#ifdef SYS_open
        case SYS_open:
                return broker_is_write(request->args[1]);
#endif
        case SYS_connect:
        case SYS_bind:
        case SYS_listen:
        case SYS_socket:
        case SYS_ioctl:
        case SYS_mmap:
        case SYS_mprotect:
        case SYS_pkey_mprotect:
        case SYS_personality:
        case SYS_kill:
        case SYS_tkill:
        case SYS_tgkill:
        case SYS_rt_sigqueueinfo:
        case SYS_rt_tgsigqueueinfo:
                return false;
        default:
                return true;
        }
}

enum { FREE, TAKEN, AWAITED };

void broker_take_lock(int *lock)
{
        int seen = FREE;

        if (__atomic_compare_exchange_n(lock, &seen, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return;
        while (__atomic_exchange_n(lock, AWAITED, __ATOMIC_ACQUIRE) != FREE)
                RAW(SYS_futex, lock, FUTEX_WAIT, AWAITED, 0, 0, 0);
}

void broker_leave_lock(int *lock)
{
        if (__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) == AWAITED)
                RAW(SYS_futex, lock, FUTEX_WAKE, 1, 0, 0, 0);
}

static void send_response(long listener, uint64_t id, long result, unsigned flags)
{
        union response answer;

        clear(answer.room, sizeof(answer.room) / sizeof(*answer.room));
        answer.response.id = id;
        answer.response.error = result < 0 ? (int)result : 0;
        answer.response.val = result > 0 ? result : 0;
        answer.response.flags = flags;
        RAW(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void broker_send(long listener, uint64_t id, long result)
{
        send_response(listener, id, result, 0);
}

void broker_let_go_on(const struct request *request)
{
        send_response(request->listener, request->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

/* Not before there is a question: what the kernel makes in /proc for it has to go when the thread ends, and that can take
 * longer than the command. */
static long find_own_descriptors(struct child_broker_room *room)
{
        if (room->descriptors < 0)
                room->descriptors = (int)RAW(SYS_openat, AT_FDCWD, "/proc/thread-self/fd",
                                             O_PATH | O_DIRECTORY | O_CLOEXEC);
        return room->descriptors;
}

/* Receives one question and answers it. */
static long answer(struct child_broker_room *room)
{
        union notification received;
        struct request request = { .job = room->job, .room = room, .listener = room->listener };
        bool goes_on = false, is_alone;
        long r;

        clear(received.room, sizeof(received.room) / sizeof(*received.room));
        r = RAW(SYS_ioctl, room->listener, SECCOMP_IOCTL_NOTIF_RECV, &received);
        if (r < 0)
                return r;
        request.id = received.notif.id;
        request.call = received.notif.data.nr;
        request.thread = (int)received.notif.pid;
        for (int i = 0; i < 6; i++)
                request.args[i] = received.notif.data.args[i];
        is_alone = changes_names(&request);
        if (is_alone) {
                broker_settle(&request);
                broker_take_lock(&room->job->names_lock);
        }
        r = find_own_descriptors(room);
        /* One that init cannot see has no number here. */
        if (r >= 0)
                r = request.thread <= 0                  ? -EPERM
                    : broker_is_about_code(request.call) ? broker_serve_code(&request, &goes_on)
                                                         : serve(&request, &goes_on);
        if (is_alone)
                broker_leave_lock(&room->job->names_lock);
        if (r != BROKER_HAS_ANSWERED)
                send_response(room->listener, request.id, goes_on ? 0 : r,
                              goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0);
        return 0;
}

/* ---- how it begins -------------------------------------------------------------------------------------- */

long child_broker_prepare(struct child_job *job)
{
        int *sockets = job->broker_sockets;
        long r = RAW(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets);

        /* Where the host program has closed its own, the command's will come. */
        for (int i = 0; i < 2 && r >= 0; i++)
                if (sockets[i] < 3) {
                        r = RAW(SYS_fcntl, sockets[i], F_DUPFD_CLOEXEC, 3);
                        RAW(SYS_close, sockets[i]);
                        sockets[i] = (int)r;
                }
        return r < 0 ? r : 0;
}

/* A keeper's filter refuses it to whoever has no pass. */
long child_broker_load(const struct sock_fprog *filter, uint64_t pass)
{
        const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
        long listener =
                RAW_PASSING(pass, SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | FLAG_WAIT_KILLABLE, filter);

        return listener != -EINVAL ? listener
                                   : RAW_PASSING(pass, SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);
}

bool child_asks_init(const struct child_job *job)
{
        return job->plan->broker || (job->plan->has_loopback && !job->closed);
}

long child_broker_give(struct child_job *job)
{
        long listener = child_broker_load(job->closed ? job->closed : &job->plan->filter, job->pass), r;

        if (listener < 0)
                return listener;
        if (job->ground->namespaces) {
                /* Init takes it; the exec closes it here. */
                child_set(&job->listener, (int)listener);
                return 0;
        }
        r = child_send_descriptor(job->broker_sockets[1], listener);
        RAW(SYS_close, listener);
        return r < 0 ? r : 0;
}

/* What root may do to other users' files is nothing that the command may: none is in effect. Whoever has none cannot look into
 * who has them, so where they are no harm outside, they stay at hand. */
static long drop_capabilities(const struct child_job *job)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        long r = job->ground->namespaces ? RAW(SYS_capget, &header, sets) : 0;

        for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                sets[i].effective = 0;
        return r < 0 ? r : RAW(SYS_capset, &header, sets);
}

static long take_from_command(struct child_job *job)
{
        int number = child_wait(job, &job->listener, 0, true);
        long process = RAW_PASSING(job->pass, SYS_pidfd_open, job->command, 0), r;

        if (process < 0)
                return process;
        r = RAW_PASSING(job->pass, SYS_pidfd_getfd, process, number, 0);
        RAW(SYS_close, process);
        return r;
}

static long take_from_socket(struct child_job *job)
{
        long listener;

        RAW(SYS_close, job->broker_sockets[1]);
        listener = child_receive_descriptor(job->broker_sockets[0]);
        RAW(SYS_close, job->broker_sockets[0]);
        return listener;
}

/* An answer takes microseconds, and somebody waits for it: it asks for little of a processor, and gets it sooner. Linux 6.12;
 * nothing depends on it. */
static void ask_for_short_slices(void)
{
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } attributes = { .size = 0 };

        if (!RAW(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0)) {
                attributes.runtime = SLICE_NS;
                RAW(SYS_sched_setattr, 0, &attributes, 0);
        }
}

long child_broker_take(struct child_job *job)
{
        return job->ground->namespaces ? take_from_command(job) : take_from_socket(job);
}

/* Nobody is left who could ask, or could be answered. */
bool broker_is_over(long listener)
{
        const struct timespec at_once = { 0, 0 };
        struct pollfd questions = { (int)listener, POLLIN, 0 };

        return RAW(SYS_ppoll, &questions, 1, &at_once, 0, 0) > 0 && questions.revents & (POLLHUP | POLLERR);
}

static void run_thread(void *argument)
{
        struct child_broker_room *room = argument;
        const struct child_broker *broker = room->job->plan->broker;
        long kept[3] = { room->listener, broker->sockets ? broker->host : room->listener,
                         broker->has_streams           ? room->job->network
                         : broker->asks & BROKER_DOORS ? room->job->knocks
                                                       : room->listener };
        long r = drop_capabilities(room->job);

        /* Nothing else of the host program's stays open here: its pipes must see their ends. */
        child_close_others(kept, 3, 0);
        ask_for_short_slices();
        /* Without an answer the kernel says ENOSYS, and nobody gets anything. */
        if (r >= 0)
                while (answer(room) >= 0 || !broker_is_over(room->listener))
                        ; /* who was killed meanwhile asks no more */
        for (;;)
                RAW(SYS_exit, 0);
}

static void begin(struct child_broker_room *room, struct child_job *job, long listener)
{
        room->job = job;
        room->listener = listener;
        room->hold = FREE;
        room->caller = 0;
        room->descriptors = -1;
        room->holder_count = HOLDERS_UNKNOWN;
        for (int i = 0; i < WAITERS; i++)
                room->waiters[i].is_taken = 0;
        for (int i = 0; i < CONNECTORS; i++)
                __atomic_store_n(&room->is_connecting[i], 0, __ATOMIC_RELAXED);
}

/* Who asks waits for the answer, and who answers for the next question: each is woken on the processor that the other leaves,
 * instead of one that sleeps, and a question takes half the time. But what hands over a descriptor wakes the caller twice,
 * and the kernel does that elsewhere: not where most answers are descriptors. Nothing depends on it. */
static void stay_on_one_processor(long listener)
{
        RAW(SYS_ioctl, listener, NOTIF_SET_FLAGS, SYNC_WAKE_UP);
}

/* Several: while one has given its answer and waits for a processor, another caller's question is not to wait for it. Each has
 * its own descriptors, so that none can be somebody else's a moment later. */
long child_broker_start(struct child_job *job, long listener)
{
        long r = 0;

        if (!(job->plan->broker->asks & BROKER_READS))
                stay_on_one_processor(listener);
        /* Each looks at what the others have, too. */
        for (int i = 0; i < job->broker_count; i++)
                begin(&job->broker_rooms[i], job, listener);
        for (int i = 0; i < job->broker_count && r >= 0; i++) {
                struct child_broker_room *room = &job->broker_rooms[i];
                struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
                                                      .stack = (uintptr_t)room->stack,
                                                      .stack_size = sizeof(room->stack) };

                r = raw_clone(&arguments, run_thread, room);
        }
        return r < 0 ? r : 0;
}
