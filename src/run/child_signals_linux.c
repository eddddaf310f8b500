/* child_signals_linux.c: the part of the broker that sends signals, where the host's processes are in view and Landlock does not
 * keep signals in yet (before ABI 6). Raw system calls.
 *
 * To its own process the caller sends them itself: that number stays its own while it waits. To another of the job the broker
 * does, through the directory in /proc by which it was found to be one: who has the number a moment later is not met. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        PASSES_MAX = 100,
        TOLD_MAX = ATTRIBUTE_SIZE / sizeof(int),
        EVERYBODY = -1,
};

/* A signal, and what comes with it. */
struct message {
        int signal;
        bool has_info;
        union {
                siginfo_t info;
                char room[128]; /* as the kernel has it */
        };
};

static long send_through(long process, const struct message *message)
{
        return RAW(SYS_pidfd_send_signal, process, message->signal, message->has_info ? &message->info : 0,
                   0);
}

/* What comes with it, as the kernel takes it for another process: never as if the kernel had sent it. */
static long read_info(const struct request *request, uint64_t address, struct message *message)
{
        long r = caller_read(request, address, message->room, sizeof(message->room));

        if (r < 0)
                return r;
        message->has_info = true;
        message->info.si_signo = message->signal;
        return message->info.si_code >= 0 || message->info.si_code == SI_TKILL ? -EPERM : 0;
}

static long tell_one(const struct request *request, long number, const struct message *message)
{
        long process = descent_open(number), r;

        if (process < 0)
                return process == -ENOENT ? -ESRCH : process;
        r = number == 1 ? -EPERM : descent_check(request, process);
        if (!r && !caller_is_waiting(request))
                r = -ESRCH;
        if (!r)
                r = send_through(process, message);
        RAW(SYS_close, process);
        return r;
}

/* ---- groups --------------------------------------------------------------------------------------------- */

struct crowd {
        const struct request *request;
        const struct message *message;
        long group; /* or EVERYBODY, but the caller */
        int *told;  /* in the room */
        int count;
        bool has_new; /* somebody was told */
        long error;   /* of who could not be told */
};

static bool is_told(const struct crowd *crowd, int number)
{
        for (int i = 0; i < crowd->count; i++)
                if (crowd->told[i] == number)
                        return true;
        return false;
}

static bool is_in(const struct crowd *crowd, long number, long process)
{
        if (crowd->group != EVERYBODY)
                return descent_read(process, DESCENT_GROUP) == crowd->group;
        return !caller_is_process(crowd->request, number);
}

static void tell_member(struct crowd *crowd, long number)
{
        long process, r;

        if (is_told(crowd, (int)number) || (process = descent_open(number)) < 0)
                return;
        if (is_in(crowd, number, process)) {
                r = descent_check(crowd->request, process);
                /* Of everybody, only the job's are meant. */
                if (!r)
                        r = send_through(process, crowd->message);
                else if (crowd->group == EVERYBODY)
                        r = -ESRCH;
                if (r && r != -ESRCH)
                        crowd->error = r;
                crowd->has_new |= !r;
                if (!r && crowd->count < TOLD_MAX)
                        crowd->told[crowd->count++] = (int)number;
        }
        RAW(SYS_close, process);
}

static void tell_members(struct crowd *crowd, long proc)
{
        char entries[2048] __attribute__((aligned(8)));
        unsigned long number;
        long length;

        while ((length = RAW(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
                for (long at = 0; at < length;) {
                        const struct directory_entry *entry = (const void *)(entries + at);

                        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                        at += entry->length;
                        if (text_read_number(entry->name, &number) && number <= INT_MAX)
                                tell_member(crowd, (long)number);
                }
}

/* Until nobody has come since: whoever is told may have had a child a moment before. */
static long tell_group(const struct request *request, long group, const struct message *message)
{
        struct crowd crowd = {
                .request = request, .message = message, .group = group, .told = (void *)request->room->value
        };
        long proc = RAW(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (proc < 0)
                return proc;
        if (caller_is_waiting(request))
                for (int pass = 0; pass < PASSES_MAX && (!pass || (crowd.has_new && message->signal));
                     pass++) {
                        crowd.has_new = false;
                        RAW(SYS_lseek, proc, 0, 0);
                        tell_members(&crowd, proc);
                }
        RAW(SYS_close, proc);
        return crowd.count ? 0 : crowd.error ? crowd.error : -ESRCH;
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

/* Nothing but a number decides, so the call itself goes on. */
static bool is_own(const struct request *request, long number, bool *goes_on)
{
        *goes_on = caller_keeps_number(request, number);
        return *goes_on;
}

static long tell(const struct request *request, long number, const struct message *message, bool *goes_on)
{
        if (is_own(request, number, goes_on))
                return 0;
        if (number > 0)
                return tell_one(request, number, message);
        return number == INT_MIN ? -ESRCH : tell_group(request, number == -1 ? EVERYBODY : -number, message);
}

/* A thread: of the caller's process, in which the kernel looks for it; else its process is told. */
static long tell_thread(const struct request *request, long thread, const struct message *message,
                        bool *goes_on)
{
        long process;

        if (thread <= 0)
                return -EINVAL;
        if (is_own(request, thread, goes_on))
                return 0;
        process = caller_find_process(request);
        if (process > 0 && descent_is_thread(process, thread) && caller_is_waiting(request))
                return RAW(SYS_tgkill, process, thread, message->signal);
        return tell_one(request, thread, message);
}

/* The same, of a process that is named, too. In the caller's own the kernel looks for it. */
static long tell_thread_of(const struct request *request, long process, long thread,
                           const struct message *message, bool *goes_on)
{
        if (process <= 0 || thread <= 0)
                return -EINVAL;
        *goes_on = process == caller_find_process(request) && caller_is_waiting(request);
        if (*goes_on)
                return 0;
        return descent_is_thread(process, thread) ? tell_one(request, thread, message) : -ESRCH;
}

long broker_signal(const struct request *request, bool *goes_on)
{
        const int first = (int)request->args[0], second = (int)request->args[1];
        struct message message;
        long r;

        message.has_info = false;
        switch (request->call) {
        case SYS_kill:
                message.signal = second;
                return tell(request, first, &message, goes_on);
        case SYS_tkill:
                message.signal = second;
                return tell_thread(request, first, &message, goes_on);
        case SYS_tgkill:
                message.signal = (int)request->args[2];
                return tell_thread_of(request, first, second, &message, goes_on);
        case SYS_rt_sigqueueinfo:
                if (is_own(request, first, goes_on))
                        return 0;
                message.signal = second;
                r = read_info(request, request->args[2], &message);
                return r < 0 ? r : first > 0 ? tell_one(request, first, &message) : -ESRCH;
        default: /* SYS_rt_tgsigqueueinfo */
                message.signal = (int)request->args[2];
                r = first == caller_find_process(request) ? 0
                                                          : read_info(request, request->args[3], &message);
                return r < 0 ? r : tell_thread_of(request, first, second, &message, goes_on);
        }
}
