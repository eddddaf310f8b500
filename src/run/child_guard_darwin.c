/* child_guard_darwin.c: the process that stands between the host program and a command.
 *
 * It is a copy of a program that may have had threads: so it calls the kernel and nothing else, but for the profile, which is compiled
 * in the command's process where there were none. */
#include "run/child_guard_darwin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "run/kernel_darwin.h"
#include "run/sweep_darwin.h"

enum {
        FIRST_FREE = 3,
        SIGNALS = 32,          /* more than macOS has */
        LOOK_US = 250 * 1000,  /* how often the guard looks after the host program */
        DESCRIPTORS_ONCE = 256 /* how many are closed before the next are listed */
};

struct guard {
        const struct launch *launch;
        int control,
                reports; /* the socket to the host program; a pipe from the command until its exec, or -1 */
        pid_t command;   /* 0 when it was reaped */
        bool is_told_to_end;
};

/* ---- what both do --------------------------------------------------------------------------------------- */

static void reset_signals(void)
{
        struct sigaction plain = { .sa_handler = SIG_DFL };

        for (int number = 1; number < SIGNALS; number++)
                sigaction(number, &plain, NULL);
}

static bool is_kept(int fd, const int *kept, int count)
{
        for (int i = 0; i < count; i++)
                if (kept[i] == fd)
                        return true;
        return false;
}

/* Everything from `first` on but these. */
static int close_others(int first, const int *kept, int count)
{
        int found[DESCRIPTORS_ONCE], closed;

        do {
                int listed = kernel_list_descriptors(found, DESCRIPTORS_ONCE);

                if (listed < 0)
                        return -1;
                closed = 0;
                for (int i = 0; i < listed; i++)
                        if (found[i] >= first && !is_kept(found[i], kept, count) && !close(found[i]))
                                closed++;
        } while (closed);
        return 0;
}

static void report(int fd, const struct guard_report *report)
{
        while (write(fd, report, sizeof(*report)) < 0 && errno == EINTR)
                ;
}

/* ---- the command, until its exec ------------------------------------------------------------------------ */

static _Noreturn void fail(int reports, enum launch_step step)
{
        const struct guard_report failure = { .word = GUARD_FAILED, .step = step, .error = errno };

        report(reports, &failure);
        _exit(127);
}

/* They may have each other's numbers, so each gets one of its own first. */
static void take_streams(const struct launch *launch, int *reports)
{
        int copies[3];

        *reports = fcntl(*reports, F_DUPFD_CLOEXEC, FIRST_FREE);
        for (int i = 0; i < 3; i++) {
                copies[i] = fcntl(launch->stdio[i], F_DUPFD_CLOEXEC, FIRST_FREE);
                if (copies[i] < 0)
                        fail(*reports, LAUNCH_STREAMS);
        }
        for (int i = 0; i < 3; i++)
                if (dup2(copies[i], i) < 0)
                        fail(*reports, LAUNCH_STREAMS);
        if (close_others(FIRST_FREE, reports, 1) < 0)
                fail(*reports, LAUNCH_STREAMS);
}

static void set_limits(const struct launch *launch, int reports)
{
        for (int i = 0; i < launch->limit_count; i++) {
                struct rlimit limit;

                if (getrlimit(launch->limits[i].resource, &limit) < 0)
                        fail(reports, LAUNCH_LIMIT);
                if (limit.rlim_max > launch->limits[i].most)
                        limit.rlim_max = launch->limits[i].most;
                /* Not more than there was: macOS refuses what is more than it gives anybody. */
                if (limit.rlim_cur > limit.rlim_max)
                        limit.rlim_cur = limit.rlim_max;
                if (setrlimit(launch->limits[i].resource, &limit) < 0)
                        fail(reports, LAUNCH_LIMIT);
        }
}

static _Noreturn void become_command(const struct launch *launch, int control, int reports, pid_t guard)
{
        const struct guard_report started = { .word = GUARD_STARTED, .command = getpid() };
        struct guard_report refusal = { .word = GUARD_FAILED, .step = LAUNCH_PROFILE };
        sigset_t none;

        /* If the guard is killed, the host program ends us: by our number, as long as we have no profile. */
        report(control, &started);
        if (setsid() < 0)
                fail(reports, LAUNCH_SESSION);
        take_streams(launch, &reports);
        if (launch->has_terminal && ioctl(0, TIOCSCTTY, 0) < 0)
                fail(reports, LAUNCH_TERMINAL);
        if (chdir(launch->cwd) < 0 && (!launch->fallback_cwd || chdir(launch->fallback_cwd) < 0))
                fail(reports, LAUNCH_DIRECTORY);
        set_limits(launch, reports);
        if (launch->profile &&
            kernel_apply_profile(launch->profile, launch->parameters, refusal.why, sizeof(refusal.why)) < 0) {
                report(reports, &refusal);
                _exit(127);
        }
        /* Whoever looks for the job's processes finds them by the profile: one that got it after its guard's death is nobody's. */
        if (getppid() != guard)
                _exit(127);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(launch->program, (char *const *)launch->argv, (char *const *)launch->envp);
        fail(reports, LAUNCH_EXEC);
}

/* ---- the guard ------------------------------------------------------------------------------------------ */

static void tell_failure(const struct guard *guard, enum launch_step step, int error)
{
        const struct guard_report failure = { .word = GUARD_FAILED, .step = step, .error = error };

        report(guard->control, &failure);
}

static void reap(struct guard *guard, int flags)
{
        struct guard_report end = { .word = GUARD_ENDED };
        pid_t pid;

        if (!guard->command)
                return;
        do
                pid = waitpid(guard->command, &end.status, flags);
        while (pid < 0 && errno == EINTR);
        if (!pid)
                return;
        guard->command = 0;
        if (pid > 0)
                report(guard->control, &end);
}

/* Of one that was not executed: the command's own words. Its end closes the pipe. */
static void hear_command(struct guard *guard)
{
        struct guard_report failure;
        ssize_t got = read(guard->reports, &failure, sizeof(failure));

        if (got < 0 && errno == EINTR)
                return;
        if (got == sizeof(failure)) {
                report(guard->control, &failure);
                return;
        }
        close(guard->reports);
        guard->reports = -1;
}

static void hear_host(struct guard *guard)
{
        int number;
        ssize_t got = read(guard->control, &number, sizeof(number));

        if (got < 0 && errno == EINTR)
                return;
        if (got != sizeof(number) || number == GUARD_END)
                guard->is_told_to_end = true;
        else if (guard->command && kill(-guard->command, number) < 0)
                kill(guard->command, number); /* it has no group of its own yet, and holds signals back */
}

/* A child that has ended interrupts the wait: its signal is let through at no other time. */
static void watch(struct guard *guard)
{
        const struct timespec look = { .tv_nsec = LOOK_US * 1000 };
        sigset_t all_but_child;
        int highest = guard->control > guard->reports ? guard->control : guard->reports;
        fd_set readable;

        FD_ZERO(&readable);
        FD_SET(guard->control, &readable);
        if (guard->reports >= 0)
                FD_SET(guard->reports, &readable);
        sigfillset(&all_but_child);
        sigdelset(&all_but_child, SIGCHLD);
        if (pselect(highest + 1, &readable, NULL, NULL, &look, &all_but_child) > 0) {
                if (guard->reports >= 0 && FD_ISSET(guard->reports, &readable))
                        hear_command(guard);
                if (FD_ISSET(guard->control, &readable))
                        hear_host(guard);
        }
        /* Others may hold the far end of the socket, copies of the host program that were never meant to. */
        if (getppid() != guard->launch->host)
                guard->is_told_to_end = true;
        reap(guard, WNOHANG);
}

static void wake_up(int number)
{
        (void)number; /* the wait ends, and that is all */
}

/* False when somebody may be left. */
static bool end_all(struct guard *guard)
{
        const struct guard_report over = { .word = GUARD_OVER };
        bool is_swept;

        if (guard->command) {
                kill(-guard->command, SIGKILL);
                kill(guard->command, SIGKILL);
                reap(guard, 0);
        }
        /* What it wrote before its end comes before the end. */
        if (guard->reports >= 0)
                hear_command(guard);
        is_swept = !guard->launch->job || sweep_end(guard->launch->job);
        if (!is_swept)
                tell_failure(guard, LAUNCH_SWEEP, 0);
        report(guard->control, &over);
        return is_swept;
}

/* Nobody is left who could put something in its way. Directories only: a file may have another name, outside. */
void guard_remove_tmp(const char *path)
{
        static const char script[] =
                "find -P \"$1\" -type d -exec sh -c 'chflags nouchg \"$1\"; chmod u+rwx \"$1\"' sh {} ';'; rm -rf \"$1\"";
        const char *const argv[] = { "sh", "-c", script, "sh", path, NULL };
        const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };
        const struct sigaction plain = { .sa_handler = SIG_DFL };
        int null = open("/dev/null", O_RDWR);
        sigset_t none;

        setsid();                         /* where it is not the guard who does it */
        sigaction(SIGCHLD, &plain, NULL); /* who ignores it does not hear of its children's ends */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (int i = 0; i < 3 && null >= 0; i++)
                dup2(null, i);
        close_others(FIRST_FREE, NULL, 0);
        execve("/bin/sh", (char *const *)argv, (char *const *)envp);
        _exit(1);
}

static void start(struct guard *guard)
{
        const pid_t own = getpid();
        int ends[2];

        if (pipe(ends) < 0) {
                tell_failure(guard, LAUNCH_START, errno);
                guard->is_told_to_end = true;
                return;
        }
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        guard->command = fork();
        if (!guard->command)
                become_command(guard->launch, guard->control, ends[1], own);
        if (guard->command < 0) {
                tell_failure(guard, LAUNCH_START, errno);
                guard->is_told_to_end = true;
                guard->command = 0;
        }
        close(ends[1]);
        guard->reports = fcntl(ends[0], F_DUPFD, FIRST_FREE);
}

/* The first two, which are small enough for a set of them. Neither has one of these yet. */
static void take_numbers(struct guard *guard)
{
        guard->control = dup2(guard->control, 0);
        if (guard->reports >= 0)
                guard->reports = dup2(guard->reports, 1);
}

void guard_run(const struct launch *launch, int control)
{
        const int kept[] = { 0, 1 };
        struct guard guard = { .launch = launch, .control = control, .reports = -1 };
        struct sigaction wake = { .sa_handler = wake_up }, ignored = { .sa_handler = SIG_IGN };

        reset_signals();
        setsid(); /* what is typed at the host program's terminal is not for us */
        start(&guard);
        /* The streams are the command's alone, or their ends would never come. */
        take_numbers(&guard);
        close_others(0, kept, guard.reports < 0 ? 1 : 2);
        sigaction(SIGCHLD, &wake, NULL);
        sigaction(SIGPIPE, &ignored, NULL); /* of who is not there any more to be told */
        while (!guard.is_told_to_end && guard.command)
                watch(&guard);
        if (end_all(&guard) && launch->tmp)
                guard_remove_tmp(launch->tmp);
        _exit(0);
}
