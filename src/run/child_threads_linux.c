/* child_threads_linux.c: holds a caller's other threads still while a call of it goes on. For the broker; raw system calls.
 *
 * What a descriptor is of was judged, and any other thread could put something else in its place before the call takes it. So
 * each of them is stopped as a debugger would stop it: nobody of the job can let it go. It is done by a thread that ends
 * afterwards, since with it ends whatever it has begun, also what could not be stopped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        PATIENCE = 10000, /* pauses, about a second */
        AT_ONCE = 50,     /* of these, that last no time */
        PASSES_MAX = 100,
        STOP_EVENT = 128, /* PTRACE_EVENT_STOP */
};

static void pause_for(int tries)
{
        const struct timespec moment = { 0, 50 * 1000 };

        if (tries < AT_ONCE)
                RAW(SYS_sched_yield);
        else
                RAW(SYS_nanosleep, &moment, 0);
}

static bool is_stopped(int thread)
{
        unsigned long message;

        return RAW(SYS_ptrace, PTRACE_GETEVENTMSG, thread, 0, &message) >= 0;
}

/* It waits in a call, and stops when that is over, before anything else: nothing but a signal that kills ends a wait for the
 * broker, or for a child that has its parent's memory. Only some calls change what a number is a descriptor of. */
static bool waits_harmlessly(int thread)
{
        char path[PROC_PATH_SIZE], text[64];
        unsigned long call;

        caller_proc_path(path, thread, "syscall", -1);
        /* Else it is running. */
        if (descent_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 || !text_read_number(text, &call))
                return false;
        switch (call) {
        case SYS_close:
        case SYS_close_range:
#ifdef SYS_dup2
        case SYS_dup2:
#endif
        case SYS_dup3:
        case SYS_execve:
        case SYS_execveat:
                return false;
        default:
                return true;
        }
}

static bool is_held(const struct holder *holder, int thread)
{
        for (int i = 0; i < holder->count; i++)
                if (holder->threads[i] == thread)
                        return true;
        return false;
}

/* One that was held for another question may be so for a moment longer. */
static long seize(struct holder *holder, int thread)
{
        long r = -EPERM;

        if (holder->count == HELD_MAX)
                return -EAGAIN;
        for (int tries = 0; tries < 4 * AT_ONCE && r == -EPERM; tries++) {
                r = RAW(SYS_ptrace, PTRACE_SEIZE, thread, 0, 0);
                if (r == -EPERM)
                        pause_for(tries);
        }
        if (r < 0)
                return r;
        holder->threads[holder->count++] = thread;
        return RAW(SYS_ptrace, PTRACE_INTERRUPT, thread, 0, 0);
}

/* Those that are there and not held yet. *found is how many there are in all. Returns how many are new, or a negative errno. */
static long seize_new(struct holder *holder, int *found)
{
        const struct request *request = holder->request;
        char path[PROC_PATH_SIZE], *buffer = request->room->value;
        long directory, got, news = 0, r = 0;
        unsigned long thread;

        caller_proc_path(path, request->thread, "task", -1);
        directory = RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
                return directory;
        *found = 0;
        while (r >= 0 && (got = RAW(SYS_getdents64, directory, buffer, ATTRIBUTE_SIZE)) > 0)
                for (long at = 0; at < got && r >= 0;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        at += entry->length;
                        if (!text_read_number(entry->name, &thread))
                                continue;
                        ++*found;
                        if (is_held(holder, (int)thread))
                                continue;
                        news++;
                        r = seize(holder, (int)thread);
                        if (r == -ESRCH)
                                r = 0; /* it has ended */
                }
        RAW(SYS_close, directory);
        return r < 0 ? r : news;
}

static bool waits_for_all(const struct holder *holder)
{
        for (int i = 0; i < holder->count; i++) {
                int thread = holder->threads[i], tries = 0;

                if (thread == holder->request->thread)
                        continue;
                while (!is_stopped(thread) && !waits_harmlessly(thread) &&
                       descent_is_thread(holder->request->thread, thread)) {
                        if (tries == PATIENCE)
                                return false;
                        pause_for(tries++);
                }
        }
        return true;
}

/* When none is new and none is missing, nobody is left who could start another. */
static bool hold_all(struct holder *holder)
{
        int found = 0;
        long news = 1;

        for (int pass = 0; pass < PASSES_MAX && news > 0; pass++) {
                news = seize_new(holder, &found);
                if (news < 0 || !waits_for_all(holder))
                        return false;
        }
        return !news && caller_count_threads(holder->request) == found;
}

/* Who was about to get a signal gets it. */
static void let_go(const struct holder *holder)
{
        for (int i = 0; i < holder->count; i++) {
                siginfo_t info;
                int number = 0;

                info.si_signo = info.si_code = 0;
                if (!RAW(SYS_ptrace, PTRACE_GETSIGINFO, holder->threads[i], 0, &info) &&
                    info.si_code >> 8 != STOP_EVENT)
                        number = info.si_signo;
                RAW(SYS_ptrace, PTRACE_DETACH, holder->threads[i], 0, number);
        }
}

static void run_holder(void *argument)
{
        struct holder *holder = argument;
        const struct request *request = holder->request;

        if (hold_all(holder) && !holder->judge(request) && caller_is_waiting(request)) {
                broker_let_go_on(request);
                holder->has_answered = true;
                /* It is held too, and stops when the call is done. */
                for (int tries = 0;
                     !is_stopped(request->thread) && descent_is_thread(request->thread, request->thread);
                     tries++)
                        pause_for(tries);
        }
        let_go(holder);
        for (;;)
                RAW(SYS_exit, 0);
}

long broker_hold_others(const struct request *request, long (*judge)(const struct request *request))
{
        struct holder *holder = &request->room->holder;
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FILES |
                                                       CLONE_CHILD_CLEARTID,
                                              .child_tid = (uintptr_t)&holder->is_running,
                                              .stack = (uintptr_t)holder->stack,
                                              .stack_size = sizeof(holder->stack) };
        long r;

        holder->request = request;
        holder->judge = judge;
        holder->count = 0;
        holder->has_answered = false;
        /* Two would hold each other's threads. */
        broker_take_lock(&request->job->threads_lock);
        __atomic_store_n(&holder->is_running, 1, __ATOMIC_RELEASE);
        r = raw_clone(&arguments, run_holder, holder);
        while (r >= 0 && __atomic_load_n(&holder->is_running, __ATOMIC_ACQUIRE))
                RAW(SYS_futex, &holder->is_running, FUTEX_WAIT, 1, 0, 0, 0);
        broker_leave_lock(&request->job->threads_lock);
        return holder->has_answered ? BROKER_HAS_ANSWERED : -EPERM;
}
