/* porter_linux.c: the process that starts the commands of a shared session, inside it: a program of its own, without a libc.
 *
 * It is the command of one long job: it has that job's mounts, rules and filter, and whom it starts has them from it. So it may do no
 * more than they, and nothing of the host program is in its memory. They may end it, and with it the session; but they cannot
 * look into it or change what it says, since it is not dumpable.
 *
 * For each command there is one more process, the usher: the subreaper of all that the command starts, so that init can tell these from
 * the others when they have to end (child_sweep_below). When the command ends by itself its usher goes, and who is left becomes the
 * session's. */
#define _GNU_SOURCE
#include "run/porter_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "run/child_linux.h"
#include "run/child_request_linux.h"
#include "run/syscall_linux.h"

enum { FIRST_DRAIN = 2, MOST_DRAINS = 2, DRAIN_SIZE = 16 * 1024 };

struct usher {
        struct child_job job;
        struct child_ground ground;
        struct child_plan plan;
        int porter; /* its number */
        int fds[REQUEST_COUNT];
        long signals;
        struct pollfd waits[FIRST_DRAIN + MOST_DRAINS]; /* the host program, deaths, pipes */
        int wait_count;
        bool is_ending; /* the host program wants nobody to be left */
        bool is_alone;  /* nobody is */
        bool has_told;  /* that the command has ended, and others have not */
        char room[DRAIN_SIZE];
        char stack[CHILD_STACK_SIZE] __attribute__((aligned(16)));
};

/* Of one process: each usher has its own copy. */
static struct usher usher;

/* All that is left to do when the rest is inherited. */
static const struct command_step steps[] = {
        { .op = COMMAND_SESSION }, { .op = COMMAND_STDIO },  { .op = COMMAND_DESCRIPTORS },
        { .op = COMMAND_CHDIR },   { .op = COMMAND_REOPEN }, { .op = COMMAND_SIGNAL_MASK },
        { .op = COMMAND_CALLS },   { .op = COMMAND_EXEC },
};

static __attribute__((noreturn)) void leave(int code)
{
        for (;;)
                RAW(SYS_exit_group, code);
}

/* ---- one command ---------------------------------------------------------------------------------------- */

static long read_request(const struct child_request *request)
{
        const long texts = child_map(request->size, PROT_READ, MAP_PRIVATE, usher.fds[REQUEST_TEXTS]);

        if (texts < 0 && texts > -4096)
                return texts;
        for (int i = 0; i < 3; i++)
                usher.job.stdio[i] = usher.fds[REQUEST_STDIO + i];
        usher.plan.calls = child_request_calls(request, (const char *)texts);
        return child_request_take(request, (const char *)texts, &usher.job);
}

static void report(void)
{
        const struct child_job *job = &usher.job;
        const struct porter_report report = { .has_status = job->has_status,
                                              .status = job->status,
                                              .has_failed = job->has_failed,
                                              .failed_op = (int32_t)job->failed_op,
                                              .failed_errno = job->failed_errno };

        RAW(SYS_sendto, usher.fds[REQUEST_CONTROL], &report, sizeof(report), MSG_NOSIGNAL, 0, 0);
}

static void reap(void)
{
        struct child_job *job = &usher.job;
        int status = 0;
        long pid;

        while ((pid = RAW(SYS_wait4, -1, &status, WNOHANG | __WALL, 0)) > 0) {
                if (pid != job->command || job->has_status || WIFSTOPPED(status))
                        continue;
                job->status = status;
                job->has_status = true;
        }
        usher.is_alone = pid == -ECHILD;
}

static void take_pipe(void)
{
        struct pollfd *control = &usher.waits[0];
        int word = 0, pipe = -1;
        long r = child_receive(control->fd, &word, sizeof(word), &pipe, 1, MSG_CMSG_CLOEXEC);

        if (!word)
                control->fd = -1; /* the host program has let go of it */
        else if (r >= 0 && word == CONTROL_DRAIN && usher.wait_count < FIRST_DRAIN + MOST_DRAINS)
                usher.waits[usher.wait_count++] = (struct pollfd){ pipe, POLLIN, 0 };
        else if (r >= 0)
                RAW(SYS_close, pipe);
        /* Anything else was meant for the command, which has ended. */
}

static void take_deaths(void)
{
        struct signalfd_siginfo info;

        RAW(SYS_read, usher.signals, &info, sizeof(info));
        reap();
}

/* Who is left may still write where nobody reads any more: that must neither block nor kill them. */
static __attribute__((noreturn)) void drain(void)
{
        for (;;) {
                bool is_needed = usher.waits[0].fd >= 0;

                for (int i = FIRST_DRAIN; i < usher.wait_count; i++)
                        is_needed |= usher.waits[i].fd >= 0;
                if (!is_needed)
                        leave(0);
                if (RAW(SYS_ppoll, usher.waits, usher.wait_count, 0, 0, 0) < 0)
                        continue;
                if (usher.waits[1].revents)
                        take_deaths();
                for (int i = FIRST_DRAIN; i < usher.wait_count; i++)
                        if (usher.waits[i].revents &&
                            RAW(SYS_read, usher.waits[i].fd, usher.room, DRAIN_SIZE) == 0)
                                usher.waits[i].fd = -1;
                if (usher.waits[0].revents)
                        take_pipe();
        }
}

static void obey(int word)
{
        usher.is_ending |= word == CONTROL_END || word == CONTROL_ASK;
        if (word == CONTROL_ASK)
                word = SIGTERM;
        if (word > 0 && word < 65 && !usher.job.has_status &&
            RAW(SYS_kill, -usher.job.command, word) == -ESRCH)
                RAW(SYS_kill, usher.job.command, word);
}

static void hear_all(void)
{
        long got = 0;
        int word = 0;

        while (usher.waits[0].fd >= 0) {
                got = RAW(SYS_recvfrom, usher.waits[0].fd, &word, sizeof(word), MSG_DONTWAIT, 0, 0);
                if (got == -EAGAIN || got == -EINTR)
                        return;
                if (got == sizeof(word))
                        obey(word);
                else
                        usher.waits[0].fd = -1; /* nobody is interested any more */
        }
}

/* Whom the command leaves has to end with it: init does that, when the host program says so. */
static void tell_of_others(void)
{
        const struct porter_report report = { .usher = usher.job.init, .has_status = true };

        usher.has_told = true;
        RAW(SYS_sendto, usher.fds[REQUEST_CONTROL], &report, sizeof(report), MSG_NOSIGNAL, 0, 0);
}

static __attribute__((noreturn)) void attend(void)
{
        for (;;) {
                if (RAW(SYS_ppoll, usher.waits, 2, 0, 0, 0) < 0)
                        continue;
                take_deaths();
                /* The host program says that they have to end before they are killed, so that is heard of now. */
                hear_all();
                if (usher.is_alone || (usher.job.has_status && !usher.is_ending)) {
                        report();
                        drain();
                }
                if (usher.job.has_status && !usher.has_told)
                        tell_of_others();
        }
}

static __attribute__((noreturn)) void fail(long r)
{
        usher.job.has_failed = true;
        usher.job.failed_op = COMMAND_EXEC;
        usher.job.failed_errno = (int)-r;
        report();
        leave(0);
}

static __attribute__((noreturn)) void be_usher(const struct child_request *request)
{
        const uint64_t all = ~0ull, deaths = 1ull << (SIGCHLD - 1);
        const struct porter_report begun = { .usher = (int32_t)RAW(SYS_getpid) };
        struct child_job *job = &usher.job;
        long r;

        child_reset_signals();
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof(all));
        usher.waits[0] = (struct pollfd){ usher.fds[REQUEST_CONTROL], POLLIN, 0 };
        usher.waits[1].fd = -1;
        usher.wait_count = 2;
        r = child_sweep_prepare(job);
        /* Where there is no PID namespace, and init was killed: the porter ends with it, we with the porter, the command with us. */
        if (r >= 0)
                r = RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (r >= 0 && RAW(SYS_getppid) != usher.porter)
                r = -ESRCH;
        if (r >= 0)
                r = usher.signals =
                        RAW(SYS_signalfd4, -1, &deaths, sizeof(deaths), SFD_CLOEXEC | SFD_NONBLOCK);
        if (r >= 0)
                r = read_request(request);
        if (r < 0)
                fail(r);
        usher.waits[1] = (struct pollfd){ (int)usher.signals, POLLIN, 0 };
        usher.plan.command_steps = steps;
        usher.plan.command_count = sizeof(steps) / sizeof(*steps);
        job->plan = &usher.plan;
        job->ground = &usher.ground;
        job->command_stack = usher.stack + CHILD_STACK_SIZE;
        job->must_reopen = true;
        r = child_command_start(job);
        if (r < 0)
                fail(r);
        /* Not before: whoever is told could want it to be ended, and would not find it. */
        RAW(SYS_sendto, usher.fds[REQUEST_CONTROL], &begun, sizeof(begun), MSG_NOSIGNAL, 0, 0);
        /* The command has its own; its readers and writers must see when it lets go of them. */
        for (int i = 0; i < 3; i++)
                RAW(SYS_close, usher.fds[REQUEST_STDIO + i]);
        RAW(SYS_close, usher.fds[REQUEST_TEXTS]);
        RAW(SYS_close, PORTER_REQUESTS);
        attend();
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

static void serve(void)
{
        struct child_request request = { 0 };

        usher.porter = (int)RAW(SYS_getpid);
        while (child_receive(PORTER_REQUESTS, &request, sizeof(request), usher.fds, REQUEST_COUNT,
                             MSG_CMSG_CLOEXEC) >= 0) {
                long pid = RAW(SYS_clone, SIGCHLD, 0, 0, 0, 0);

                if (!pid)
                        be_usher(&request);
                if (pid < 0) {
                        const struct porter_report report = { .has_failed = true,
                                                              .failed_op = COMMAND_EXEC,
                                                              .failed_errno = (int)-pid };

                        RAW(SYS_sendto, usher.fds[REQUEST_CONTROL], &report, sizeof(report), MSG_NOSIGNAL, 0,
                            0);
                }
                for (int i = 0; i < REQUEST_COUNT; i++)
                        RAW(SYS_close, usher.fds[i]);
        }
}

/* Called by the code below. */
__attribute__((noreturn)) void porter_main(void);

void porter_main(void)
{
        const struct {
                void *handler;
                uint64_t flags, restorer, mask;
        } ignored = { SIG_IGN, 0, 0, 0 };

        RAW(SYS_prctl, PR_SET_NAME, "abatis porter", 0, 0, 0);
        /* What is not dumpable is nobody's to trace; the exec of a command makes it dumpable again. Ushers that end are not waited for. */
        if (RAW(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) >= 0 &&
            RAW(SYS_dup3, PORTER_NULL, 1, O_CLOEXEC) >= 0 &&
            RAW(SYS_rt_sigaction, SIGCHLD, &ignored, 0, sizeof(uint64_t)) >= 0 &&
            RAW(SYS_fcntl, PORTER_REQUESTS, F_SETFD, FD_CLOEXEC) >= 0)
                serve();
        leave(0);
}

#if defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tbl porter_main\n\tbrk #1\n");
#elif defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall porter_main\n\tud2\n");
#endif
