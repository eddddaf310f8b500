/* job_loop_darwin.c: a job while it runs: one pollable descriptor, a kqueue, and what is done when it is readable. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "run/job_darwin.h"
#include "run/outputs.h"
#include "run/sweep_darwin.h"

enum {
        GRACE_MS =
                1000, /* between the deadline, which asks the command to end, and the end of the whole tree */
        GUARD_MS =
                5000, /* between the word to the guard that all have to end, and its own end, should it not answer */
        DEADLINE = 1, /* the number of the timer */
};

/* ---- what is waited for --------------------------------------------------------------------------------- */

int job_open_queue(struct job *job, abatis_error *err)
{
        job->queue = fd_above_stdio(kqueue());
        if (job->queue < 0 || fcntl(job->queue, F_SETFD, FD_CLOEXEC) < 0)
                return error_os(err, errno, "cannot watch the command");
        return 0;
}

static int change(const struct job *job, int fd, int filter, int flags)
{
        struct kevent event;

        EV_SET(&event, (uintptr_t)fd, (short)filter, (unsigned short)flags, 0, 0, NULL);
        return kevent(job->queue, &event, 1, NULL, 0, NULL);
}

static int watch(const struct job *job, int fd, int filter, abatis_error *err)
{
        return change(job, fd, filter, EV_ADD) < 0 ? error_os(err, errno, "cannot watch the command") : 0;
}

static void unwatch(const struct job *job, int fd, int filter)
{
        change(job, fd, filter, EV_DELETE);
}

/* Lets the queue wait for what the stream waits for. */
static int watch_stream(struct job *job, int index, abatis_error *err)
{
        struct stream *stream = &job->streams[index];

        if (job->watched[index] == stream->state)
                return 0;
        /* A closed pipe has left by itself. */
        if (job->watched[index] == STREAM_READS && stream->pipe >= 0)
                unwatch(job, stream->pipe, EVFILT_READ);
        /* The queue knows one wish for each descriptor, and the other stream may have the same one. */
        if (job->watched[index] == STREAM_BLOCKED &&
            !(job->watched[!index] == STREAM_BLOCKED && job->streams[!index].copy == stream->copy))
                unwatch(job, stream->copy, EVFILT_WRITE);
        job->watched[index] = stream->state;
        switch (stream->state) {
        case STREAM_CLOSED:
                return 0;
        case STREAM_READS:
                return watch(job, stream->pipe, EVFILT_READ, err);
        case STREAM_BLOCKED:
                return watch(job, stream->copy, EVFILT_WRITE, err);
        }
        return 0;
}

int job_watch_output(struct job *job, int index, int copy, abatis_error *err)
{
        int r = stream_open(&job->streams[index], index + 1, copy, &job->stdio.ends[index + 1], err);

        job->streams[index].listener = (struct listener){ job->options.on_output, job->options.user };
        job->stdio.fds[index + 1] = job->stdio.ends[index + 1];
        return r ? r : watch_stream(job, index, err);
}

int job_watch_input(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int r = feed_open(&job->feed, options->stdin_data, options->stdin_length, &job->stdio.ends[0], err);

        job->stdio.fds[0] = job->stdio.ends[0];
        return r || job->feed.pipe < 0 ? r : watch(job, job->feed.pipe, EVFILT_WRITE, err);
}

int job_watch_guard(struct job *job, abatis_error *err)
{
        return watch(job, job->control, EVFILT_READ, err);
}

static int set_timer(const struct job *job, uint64_t milliseconds)
{
        struct kevent event;

        EV_SET(&event, DEADLINE, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, (intptr_t)milliseconds, NULL);
        return kevent(job->queue, &event, 1, NULL, 0, NULL);
}

int job_set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err)
{
        return set_timer(job, milliseconds) < 0 ? error_os(err, errno, "cannot set the deadline") : 0;
}

/* ---- the terminal --------------------------------------------------------------------------------------- */

/* Lets the queue wait for what typing waits for. */
static int watch_typing(struct job *job, bool is_blocked, abatis_error *err)
{
        bool wants_input = !is_blocked && job->terminal.input >= 0 && !job->is_always_readable;
        int r = 0;

        if (job->is_room_watched && !is_blocked)
                unwatch(job, job->terminal.master, EVFILT_WRITE);
        if (job->is_typing_watched && !wants_input)
                unwatch(job, job->options.stdin_fd, EVFILT_READ);
        if (!job->is_room_watched && is_blocked)
                r = watch(job, job->terminal.master, EVFILT_WRITE, err);
        if (!r && !job->is_typing_watched && wants_input)
                r = watch(job, job->terminal.input, EVFILT_READ, err);
        job->is_room_watched = is_blocked;
        job->is_typing_watched = wants_input;
        return r;
}

static int type(struct job *job, bool is_readable, abatis_error *err)
{
        bool is_blocked;

        do
                is_blocked = terminal_type(&job->terminal, is_readable || job->is_always_readable);
        while (job->is_always_readable && !is_blocked && job->terminal.input >= 0);
        return watch_typing(job, is_blocked, err);
}

/* A file, or a device that is no terminal, never lets one wait. */
static bool is_always_readable(int fd)
{
        struct stat status;

        return fd >= 0 && !fstat(fd, &status) &&
               (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(fd)));
}

/* What the terminal shows is the command's stdout, read through a descriptor of its own. */
int job_watch_terminal(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int shown = fcntl(job->terminal.master, F_DUPFD_CLOEXEC, 3), r;

        if (shown < 0)
                return error_os(err, errno, "cannot read the terminal");
        r = stream_adopt(&job->streams[0], shown, 1, options->capture ? -1 : options->stdout_fd, err);
        job->streams[0].listener = (struct listener){ options->on_output, options->user };
        job->is_always_readable = is_always_readable(job->terminal.input);
        if (!r)
                r = watch_stream(job, 0, err);
        return r ? r : type(job, false, err);
}

/* ---- what is done --------------------------------------------------------------------------------------- */

int job_fd(const struct job *job)
{
        return job->queue;
}

static void note_end(struct job *job)
{
        struct timespec now;

        if (job->is_over)
                return;
        job->is_over = true;
        clock_gettime(CLOCK_MONOTONIC, &now);
        job->duration_ms = (double)(now.tv_sec - job->start.tv_sec) * 1e3 +
                           (double)(now.tv_nsec - job->start.tv_nsec) / 1e6;
}

static int tell_guard(const struct job *job, int number)
{
        return pipe_write(job->control, &number, sizeof(number)) == sizeof(number) ? 0 : -1;
}

/* Somebody may have stopped the guard: it is not waited for without end. */
void job_kill_tree(struct job *job)
{
        if (job->control < 0 || job->is_killed)
                return;
        job->is_killed = true;
        tell_guard(job, GUARD_END);
        set_timer(job, GUARD_MS);
}

/* Its number may be another's if the host program has reaped it already: who is still our child is not. */
static void kill_guard(struct job *job)
{
        pid_t pid = waitpid(job->guard, NULL, WNOHANG);

        if (!pid && !kill(job->guard, SIGKILL))
                while (waitpid(job->guard, NULL, 0) < 0 && errno == EINTR)
                        ;
        job->guard = 0;
}

/* Before it has its profile it is known by its number alone; that is its own as long as it is in its session, or still in the guard's. */
static void kill_command(const struct job *job, pid_t guard)
{
        const pid_t session = job->command && !job->has_status ? getsid(job->command) : -1;

        if (session > 0 && session == job->command)
                kill(-job->command, SIGKILL);
        if (session > 0 && (session == job->command || session == guard))
                kill(job->command, SIGKILL);
}

/* Somebody has killed the guard, or it does not answer: then this is ours to do. */
static void end_without_guard(struct job *job)
{
        const pid_t guard = job->guard;

        kill_guard(job);
        kill_command(job, guard);
        if (job->launch.job && !sweep_end(job->launch.job))
                job->failure = (struct guard_report){ .word = GUARD_FAILED, .step = LAUNCH_SWEEP };
        else if (job->launch.tmp)
                job_remove_tmp(job);
        note_end(job);
}

static void take_report(struct job *job, const struct guard_report *report)
{
        switch ((enum guard_word)report->word) {
        case GUARD_STARTED:
                job->command = report->command;
                break;
        case GUARD_FAILED:
                job->failure = *report;
                break;
        case GUARD_ENDED:
                job->has_status = true;
                job->status = report->status;
                break;
        case GUARD_OVER:
                note_end(job);
                break;
        }
}

static void leave_guard(struct job *job)
{
        unwatch(job, job->control, EVFILT_READ);
        close(job->control);
        job->control = -1;
}

/* One word of the guard's, or its end. */
static void hear_guard(struct job *job)
{
        struct guard_report report;
        ssize_t got = read(job->control, &report, sizeof(report));

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got == sizeof(report))
                take_report(job, &report);
        else
                end_without_guard(job);
        if (job->is_over)
                leave_guard(job);
}

/* It has been told to end all, and is not heard of. */
static void give_guard_up(struct job *job)
{
        end_without_guard(job);
        leave_guard(job);
}

void job_await_end(struct job *job)
{
        while (job->control >= 0) {
                struct pollfd word = { job->control, POLLIN, 0 };
                int r = poll(&word, 1, GUARD_MS);

                if (r > 0)
                        hear_guard(job);
                else if (!r)
                        give_guard_up(job);
        }
}

static bool was_killed(const struct job *job)
{
        return job->has_timed_out || job->is_cancelled || !job->has_status || WIFSIGNALED(job->status);
}

static struct outputs outputs_of(struct job *job)
{
        return (struct outputs){ .streams = job->streams,
                                 .is_over = job->is_over,
                                 .was_killed = was_killed(job),
                                 .job = job,
                                 .watch = watch_stream };
}

void job_settle_output(struct job *job)
{
        const struct outputs outputs = outputs_of(job);

        outputs_settle(&outputs);
}

/* First the command is asked, so that it can clean up after itself; who does not listen is killed. */
static void begin_end(struct job *job)
{
        job->is_ending = true;
        if (tell_guard(job, SIGTERM) < 0 || set_timer(job, GRACE_MS) < 0)
                job_kill_tree(job);
}

static void meet_deadline(struct job *job)
{
        if (job->is_over)
                return;
        if (job->is_killed) {
                give_guard_up(job);
                return;
        }
        if (job->is_ending) {
                job_kill_tree(job);
                return;
        }
        job->has_timed_out = true;
        begin_end(job);
}

static int handle(struct job *job, const struct kevent *event, abatis_error *err)
{
        int fd = (int)event->ident;

        if (event->filter == EVFILT_TIMER)
                meet_deadline(job);
        else if (fd == job->control)
                hear_guard(job);
        else if (fd == job->feed.pipe)
                feed_advance(&job->feed);
        else if (job->options.terminal && (fd == job->terminal.master || fd == job->terminal.input))
                return type(job, event->filter == EVFILT_READ, err);
        return 0; /* streams are looked at afterwards */
}

int job_advance(struct job *job, bool *is_done, abatis_error *err)
{
        const struct timespec at_once = { 0 };
        struct kevent events[4];
        struct outputs outputs;
        bool are_streams_done;
        int count, r = 0;

        count = kevent(job->queue, NULL, 0, events, 4, &at_once);
        if (count < 0 && errno != EINTR)
                return error_os(err, errno, "cannot watch the command");
        for (int i = 0; i < count && !r; i++)
                r = handle(job, &events[i], err);
        outputs = outputs_of(job);
        if (!r)
                r = outputs_advance(&outputs, &are_streams_done, err);
        if (!r)
                *is_done = job->is_over && are_streams_done;
        return r;
}

int job_signal(struct job *job, int number, abatis_error *err)
{
        if (job->is_over) {
                /* Only our own waiting for a slow reader is left to end. */
                stream_drop(&job->streams[0]);
                stream_drop(&job->streams[1]);
                return 0;
        }
        if (number == SIGKILL)
                job_kill_tree(job);
        else if (number <= 0 || number >= NSIG)
                return error_os(err, EINVAL, "cannot signal the command");
        else if (tell_guard(job, number) < 0 && errno != EPIPE)
                return error_os(err, errno, "cannot signal the command");
        return 0;
}

void job_cancel(struct job *job)
{
        if (!job->is_launched || job->is_ending || job->is_over || job->has_status)
                return;
        job->is_cancelled = true;
        begin_end(job);
}

void job_resize(struct job *job, unsigned rows, unsigned columns)
{
        terminal_resize(&job->terminal, rows, columns);
}
