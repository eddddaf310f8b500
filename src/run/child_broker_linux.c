/* child_broker_linux.c: does for the command what neither a mount nor Landlock judges: changes of a file's mode, owner,
 * times and attributes, and lists of directories that hold something denied. Raw system calls over prepared data.
 *
 * The filter sends such a call to init, outside the sandbox. Init reads the path once, opens what it leads to, asks the
 * kernel where that lies, and makes the call itself, on what it has open: whatever the command does to the string or to
 * the tree meanwhile changes nothing. A call is let go on only if all that was decided on are numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        NO_FLAGS = 0,
        FLAG_WAIT_KILLABLE = 1 << 5, /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
        THE_THREAD = 0,              /* PRIO_PROCESS */
        THE_IO_THREAD = 1,           /* IOPRIO_WHO_PROCESS */
};

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

/* ---- may it? ------------------------------------------------------------------------------------------ */

static bool is_below(const char *path, const char *directory)
{
        if (!directory[1]) /* the root */
                return true;
        while (*directory && *path == *directory) {
                path++;
                directory++;
        }
        return !*directory && (!*path || *path == '/');
}

static bool is_in_one_of(const char *path, const char *const *trees)
{
        for (; *trees; trees++)
                if (is_below(path, *trees))
                        return true;
        return false;
}

static bool is_in_own_tmp(const struct request *request, const char *real)
{
        return *request->job->own_tmp && is_below(real, request->job->own_tmp);
}

bool broker_may_write(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        return is_in_own_tmp(request, real) ||
               (is_in_one_of(real, broker->open) && !is_in_one_of(real, broker->closed));
}

bool broker_holds_closed(const struct request *request, const char *real)
{
        /* The job's own directory goes with the job, and not before. */
        if (*request->job->own_tmp && is_below(request->job->own_tmp, real))
                return true;
        for (const char *const *closed = request->job->plan->broker->closed; *closed; closed++)
                if (is_below(*closed, real))
                        return true;
        return false;
}

/* Its own, and nowhere else. */
static bool has_no_place(const char *real)
{
        return text_begins_with(real, "pipe:[") || text_begins_with(real, "socket:[") ||
               text_begins_with(real, "/memfd:");
}

static bool may_change(const struct request *request, long object)
{
        const char *real = caller_find_place(request, object);

        return real && (has_no_place(real) || (*real == '/' && broker_may_write(request, real)));
}

/* The one that was made for the command, by its number among the host's. */
static bool is_own_terminal(const struct request *request, const char *real)
{
        static const char directory[] = "/dev/pts/";
        unsigned number = 0;

        if (!request->job->has_terminal || !text_begins_with(real, directory) || !real[sizeof(directory) - 1])
                return false;
        for (real += sizeof(directory) - 1; *real >= '0' && *real <= '9' && number < 1u << 24; real++)
                number = 10 * number + (unsigned)(*real - '0');
        return !*real && number == (unsigned)request->job->terminal;
}

bool broker_may_open_to_write(const struct request *request, const char *real)
{
        static const char *const devices[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                               "/dev/urandom", "/dev/tty",  "/dev/ptmx", 0 };

        return has_no_place(real) ||
               (*real == '/' && (is_in_one_of(real, devices) || is_own_terminal(request, real) ||
                                 broker_may_write(request, real)));
}

bool broker_may_read(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        if (*real != '/' || is_in_one_of(real, broker->denied))
                return false;
        return is_in_own_tmp(request, real) || is_in_one_of(real, broker->shown) ||
               !is_in_one_of(real, broker->hidden);
}

/* Landlock cannot let a directory be listed and keep one in it from being. */
static bool may_list(const struct request *request, long object)
{
        const char *real = caller_find_place(request, object);

        return real && broker_may_read(request, real);
}

/* ---- what is done --------------------------------------------------------------------------------------- */

/* Of the calls below each gets what was opened and was found to be the command's to change. */
typedef long changer(const struct request *request, long object);

static long change_mode(const struct request *request, long object)
{
        const uint64_t *args = request->args;
        bool is_of_descriptor = request->call == SYS_fchmod;
        char path[PROC_PATH_SIZE];

#ifdef SYS_chmod
        is_of_descriptor |= request->call == SYS_chmod;
#endif
        caller_proc_path(path, 0, "fd", object);
        return RAW(SYS_fchmodat, AT_FDCWD, path, args[is_of_descriptor ? 1 : 2] & 01777, 0);
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

/* The caller gets a descriptor of a directory. What lies in it is opened by the caller, under its own rules. */
static long list(const struct request *request, long object)
{
        const uint64_t kept = O_CLOEXEC | O_NONBLOCK | O_NOATIME;
        uint64_t flags = request->args[request->call == SYS_openat ? 2 : 1];
        char path[PROC_PATH_SIZE];

        caller_proc_path(path, 0, "fd", object);
        return broker_give(request,
                           RAW(SYS_openat, AT_FDCWD, path,
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC | (flags & kept)),
                           flags);
}

static long open_directory(struct request *request, bool has_directory)
{
        uint64_t flags = request->args[has_directory ? 2 : 1];
        long object, r;

        request->directory = has_directory ? (int)request->args[0] : AT_FDCWD;
        request->path = request->args[has_directory ? 1 : 0];
        request->has_path = true;
        request->follows = !(flags & O_NOFOLLOW);
        if ((flags & O_ACCMODE) != O_RDONLY)
                return -EISDIR;
        object = caller_open_object(request);
        if (object < 0)
                return object;
        r = !caller_is_waiting(request)  ? -ESRCH
            : !may_list(request, object) ? -EACCES
                                         : list(request, object);
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

/* Another thread of the caller's process may be meant, nobody else. Only numbers decide, so the call itself goes on. */
static long judge_target(const struct request *request, uint64_t number, bool *goes_on)
{
        char path[PROC_PATH_SIZE];
        long fd;

        if ((int)number <= 0)
                return -EPERM;
        caller_proc_path(path, request->thread, "task", (int)number);
        fd = RAW(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -EPERM;
        RAW(SYS_close, fd);
        *goes_on = caller_is_waiting(request);
        return *goes_on ? 0 : -ESRCH;
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
                if (broker_is_write(request->args[2]))
                        return broker_open_to_write(request, (int)request->args[0], request->args[1],
                                                    request->args[2], request->args[3]);
                return open_directory(request, true);
#ifdef SYS_chmod
        case SYS_open:
                if (broker_is_write(request->args[1]))
                        return broker_open_to_write(request, AT_FDCWD, request->args[0], request->args[1],
                                                    request->args[2]);
                return open_directory(request, false);
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
        case SYS_fcntl: /* F_SETOWN; 0 is nobody */
                *goes_on = !(int)request->args[2];
                return *goes_on ? 0 : judge_target(request, request->args[2], goes_on);
        case SYS_setpriority:
                return request->args[0] == THE_THREAD ? judge_target(request, request->args[1], goes_on)
                                                      : -EPERM;
        case SYS_ioprio_set:
                return request->args[0] == THE_IO_THREAD ? judge_target(request, request->args[1], goes_on)
                                                         : -EPERM;
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

void child_broker_serve(struct child_job *job, long listener)
{
        union notification received;
        union response answer;
        struct request request = { .job = job, .room = job->broker_room, .listener = listener };
        bool goes_on = false;
        long r;

        clear(received.room, sizeof(received.room) / sizeof(*received.room));
        clear(answer.room, sizeof(answer.room) / sizeof(*answer.room));
        /* Who was killed meanwhile asks no more. */
        if (RAW(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &received) < 0)
                return;
        request.id = received.notif.id;
        request.call = received.notif.data.nr;
        request.thread = (int)received.notif.pid;
        for (int i = 0; i < 6; i++)
                request.args[i] = received.notif.data.args[i];
        /* One that init cannot see has no number here. */
        r = request.thread > 0 ? serve(&request, &goes_on) : -EPERM;
        if (r == BROKER_HAS_ANSWERED)
                return;
        answer.response.id = received.notif.id;
        answer.response.error = goes_on ? 0 : (int)r;
        answer.response.flags = goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        RAW(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* ---- how it begins -------------------------------------------------------------------------------------- */

long child_broker_prepare(struct child_job *job)
{
        return RAW(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, job->broker_sockets);
}

long child_broker_give(const struct child_job *job)
{
        const struct sock_fprog *filter = &job->plan->filter;
        long listener = RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE, filter),
             r;

        if (listener == -EINVAL)
                listener =
                        RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, filter);
        if (listener < 0)
                return listener;
        r = child_send_descriptor(job->broker_sockets[1], listener);
        RAW(SYS_close, listener);
        return r < 0 ? r : 0;
}

/* What root may do to other users' files is nothing that the command may. */
static long drop_capabilities(void)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

        return RAW(SYS_capset, &header, none);
}

long child_broker_take(struct child_job *job)
{
        long r = drop_capabilities(), listener;

        RAW(SYS_close, job->broker_sockets[1]);
        listener = r < 0 ? r : child_receive_descriptor(job->broker_sockets[0]);
        RAW(SYS_close, job->broker_sockets[0]);
        return listener;
}
