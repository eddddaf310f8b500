/* job_loop_linux.c: a job while it runs: one pollable descriptor, and what is done when it is readable. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "plan/connection.h"
#include "run/job_linux.h"
#include "run/outputs.h"
#include "run/session_linux.h"
#include "run/syscall_linux.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum {
        GRACE_MS =
                1000 /* between the deadline, which asks the command to end, and the end of the whole tree */
};

/* What an epoll event is about. */
enum source {
        SOURCE_STDOUT,
        SOURCE_STDERR,
        SOURCE_STDIN,
        SOURCE_TERMINAL, /* init has made it */
        SOURCE_TYPING,   /* there is something to type */
        SOURCE_ROOM,     /* there is room to type it */
        SOURCE_PROCESS,
        SOURCE_END,
        SOURCE_DEADLINE,
        SOURCE_METER,
        SOURCE_NETWORK, /* the relay tells something */
};

/* ---- what is waited for --------------------------------------------------------------------------------- */

static int open_watch(struct job *job, abatis_error *err)
{
        if (job->epoll >= 0)
                return 0;
        job->epoll = fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
        return job->epoll < 0 ? error_os(err, errno, "cannot watch the command") : 0;
}

static int watch(struct job *job, int fd, uint32_t events, enum source source, abatis_error *err)
{
        struct epoll_event event = { .events = events, .data.u32 = source };

        if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                return error_os(err, errno, "cannot watch the command");
        return 0;
}

static enum source source_of(int index)
{
        return index ? SOURCE_STDERR : SOURCE_STDOUT;
}

/* Lets epoll wait for what the stream waits for. */
static int watch_stream(struct job *job, int index, abatis_error *err)
{
        struct stream *stream = &job->streams[index];

        if (job->watched[index] == stream->state)
                return 0;
        /* A closed pipe has left by itself. */
        if (job->watched[index] == STREAM_READS && stream->pipe >= 0)
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->pipe, NULL);
        if (job->watched[index] == STREAM_BLOCKED)
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->copy, NULL);
        job->watched[index] = stream->state;
        switch (stream->state) {
        case STREAM_CLOSED:
                return 0;
        case STREAM_READS:
                return watch(job, stream->pipe, EPOLLIN, source_of(index), err);
        case STREAM_BLOCKED:
                return watch(job, stream->copy, EPOLLOUT, source_of(index), err);
        }
        return 0;
}

int job_watch_output(struct job *job, int index, int copy, abatis_error *err)
{
        int r = open_watch(job, err);

        if (r < 0)
                return r;
        r = stream_open(&job->streams[index], index + 1, copy, &job->stdio.ends[index + 1], err);

        job->streams[index].listener = (struct listener){ job->options.on_output, job->options.user };

        job->stdio.fds[index + 1] = job->stdio.ends[index + 1];
        return r ? r : watch_stream(job, index, err);
}

static int set_timer(const struct job *job, uint64_t milliseconds)
{
        struct itimerspec when = { .it_value = { (time_t)(milliseconds / 1000),
                                                 (long)(milliseconds % 1000) * 1000000 } };

        return timerfd_settime(job->timer, 0, &when, NULL);
}

static int open_timer(struct job *job, abatis_error *err)
{
        if (job->timer >= 0)
                return 0;
        job->timer = fd_above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        if (job->timer < 0)
                return error_os(err, errno, "cannot set the deadline");
        return watch(job, job->timer, EPOLLIN, SOURCE_DEADLINE, err);
}

int job_watch_ahead(struct job *job, bool has_deadline, abatis_error *err)
{
        int r = open_watch(job, err);

        return r || !has_deadline ? r : open_timer(job, err);
}

int job_set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err)
{
        int r = job_watch_ahead(job, true, err);

        if (!r && set_timer(job, milliseconds) < 0)
                r = error_os(err, errno, "cannot set the deadline");
        return r;
}

/* Mostly the pipe takes it all at once, and there is nothing to watch. */
int job_watch_input(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int r = feed_open(&job->feed, options->stdin_data, options->stdin_length, &job->stdio.ends[0], err);

        job->stdio.fds[0] = job->stdio.ends[0];
        if (!r && job->feed.pipe >= 0)
                r = open_watch(job, err);
        return r || job->feed.pipe < 0 ? r : watch(job, job->feed.pipe, EPOLLOUT, SOURCE_STDIN, err);
}

int job_watch_terminal(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int r = terminal_open(&job->terminal, options->stdin_fd, options->stdin_data, options->stdin_length,
                              err);

        if (!r)
                r = open_watch(job, err);
        return r ? r : watch(job, job->terminal.sockets[0], EPOLLIN, SOURCE_TERMINAL, err);
}

int job_watch_end(struct job *job, abatis_error *err)
{
        int r = open_watch(job, err);

        if (!r && job->end_event >= 0)
                r = watch(job, job->end_event, EPOLLIN, SOURCE_END, err);
        if (!r && job->session)
                r = watch(job, session_sign(job), EPOLLIN, SOURCE_PROCESS, err);
        return r ? r : watch(job, job->session ? job->control : job->pidfd, EPOLLIN, SOURCE_PROCESS, err);
}

int job_watch_meter(struct job *job, abatis_error *err)
{
        int r = job->meter.is_timed ? open_watch(job, err) : 0;

        return r || !job->meter.is_timed ? r : watch(job, job->meter.timer, EPOLLIN, SOURCE_METER, err);
}

int job_watch_network(struct job *job, abatis_error *err)
{
        int r = job->network ? open_watch(job, err) : 0;

        return r || !job->network ? r : watch(job, job->network->events, EPOLLIN, SOURCE_NETWORK, err);
}

/* Lets epoll wait for what typing waits for. */
static int watch_typing(struct job *job, bool is_blocked, abatis_error *err)
{
        bool wants_input = !is_blocked && job->terminal.input >= 0 && !job->is_always_readable;
        int r = 0;

        if (job->is_room_watched && !is_blocked)
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->terminal.master, NULL);
        if (job->is_typing_watched && !wants_input)
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->options.stdin_fd, NULL);
        if (!job->is_room_watched && is_blocked)
                r = watch(job, job->terminal.master, EPOLLOUT, SOURCE_ROOM, err);
        if (!r && !job->is_typing_watched && wants_input)
                r = watch(job, job->terminal.input, EPOLLIN, SOURCE_TYPING, err);
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

/* What epoll cannot wait for, a file or /dev/null, can always be read. */
static bool is_always_readable(const struct job *job, int fd)
{
        struct epoll_event event = { .events = EPOLLIN };

        if (fd < 0 || epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                return fd >= 0 && errno == EPERM;
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, fd, NULL);
        return false;
}

/* What the terminal shows is the command's stdout. It is read through a descriptor of its own, which epoll can tell from
 * the one that is typed into. */
static int use_terminal(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int shown, r;

        if (!terminal_receive(&job->terminal) || job->terminal.master < 0)
                return 0; /* init has reported why, or comes again */
        shown = fcntl(job->terminal.master, F_DUPFD_CLOEXEC, 3);
        if (shown < 0)
                return error_os(err, errno, "cannot read the terminal");
        r = stream_adopt(&job->streams[0], shown, 1, options->capture ? -1 : options->stdout_fd, err);
        job->streams[0].listener = (struct listener){ options->on_output, options->user };
        if (r < 0)
                return r;
        job->is_always_readable = is_always_readable(job, job->terminal.input);
        return type(job, false, err);
}

/* ---- what is done --------------------------------------------------------------------------------------- */

/* A system call of its own: the libc's way, through the vDSO, has pages to fault in that nothing else needs. */
void job_read_clock(struct timespec *now)
{
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now);
}

int job_send_to_init(struct job *job, int number)
{
        siginfo_t info = { .si_signo = CHILD_PASS_SIGNAL, .si_code = SI_QUEUE };

        if (job->session)
                return session_tell(job, number);
        info.si_value.sival_int = number;
        return (int)syscall(SYS_pidfd_send_signal, job->pidfd, CHILD_PASS_SIGNAL, &info, 0);
}

/* With a PID namespace all die with init. Without one init must live to end them all: it finds the word when the signal
 * makes it look. Neither is queued, so a command that fills the queue of its user does not keep it away. */
void job_kill_tree(struct job *job)
{
        if (job->session) {
                if (!job->is_told_to_end)
                        job_set_deadline(job, GUEST_PATIENCE_MS, NULL);
                job->is_ending = true;
                session_end_guest(job);
                return;
        }
        if (!job->ground.child.namespaces)
                child_cancel(&job->child);
        syscall(SYS_pidfd_send_signal, job->pidfd, job->ground.child.namespaces ? SIGKILL : SIGCHLD, NULL, 0);
        /* Who has to end the others must not stay stopped, whoever did that. */
        if (!job->ground.child.namespaces)
                syscall(SYS_pidfd_send_signal, job->pidfd, SIGCONT, NULL, 0);
}

int job_fd(const struct job *job)
{
        return job->epoll;
}

static void note_end(struct job *job)
{
        struct timespec now;

        if (job->is_over)
                return;
        job->is_over = true;
        job_read_clock(&now);
        job->duration_ms = (double)(now.tv_sec - job->start.tv_sec) * 1e3 +
                           (double)(now.tv_nsec - job->start.tv_nsec) / 1e6;
}

int job_reap(struct job *job, int flags, abatis_error *err)
{
        siginfo_t info = { 0 };

        if (job->session) {
                if (session_hear(job, !(flags & WNOHANG))) {
                        job->is_reaped = true;
                        note_end(job);
                }
                return 0;
        }
        while (waitid((idtype_t)P_PIDFD, (id_t)job->pidfd, &info, WEXITED | __WALL | flags) < 0)
                if (errno != EINTR) {
                        /* Somebody else has waited for it. */
                        job->is_reaped = errno == ECHILD;
                        return error_os(err, errno, "cannot wait for the sandbox");
                }
        if (!info.si_pid)
                return 0;
        job->is_reaped = true;
        note_end(job);
        return 0;
}

static bool was_killed(const struct job *job)
{
        return job->has_timed_out || job->is_cancelled || !job->child.has_status ||
               WIFSIGNALED(job->child.status);
}

/* In a shared session others may still write, and that is not this command's. */
static void drain(struct job *job, struct stream *stream)
{
        if (job->session)
                stream_end_here(stream);
        stream_advance(stream, true);
        if (!stream->left)
                return;
        /* It does not leave by itself: the usher has it. */
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->left, NULL);
        session_drain(job, stream->left);
        close(stream->left);
        stream->left = 0;
}

static struct outputs outputs_of(struct job *job)
{
        return (struct outputs){ .streams = job->streams,
                                 .is_over = job->is_over,
                                 .was_killed = was_killed(job),
                                 .job = job,
                                 .watch = watch_stream,
                                 .drain = drain };
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
        if ((job->session ? session_ask(job) : job_send_to_init(job, SIGTERM)) < 0 ||
            set_timer(job, GRACE_MS) < 0)
                job_kill_tree(job);
}

static void meet_deadline(struct job *job)
{
        if (!job->is_over && !job->is_ending) {
                job->has_timed_out = true;
                begin_end(job);
                return;
        }
        if (!job->session || job->is_over || job->is_told_to_end)
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->timer, NULL);
        if (!job->is_over && job->session && job->is_told_to_end)
                session_give_up(job);
        else if (!job->is_over)
                job_kill_tree(job);
}

static void tell_connection(void *user, const struct relay_event *event)
{
        const struct job *job = user;
        abatis_connection connection;

        if (!job->options.on_connection)
                return;
        connection_describe(event, &connection);
        job->options.on_connection(job->options.user, &connection);
}

void job_hear_network(struct job *job, bool is_over)
{
        const struct network_listener listener = { tell_connection, job };

        if (job->network && is_over)
                network_conclude(job->network, &listener);
        else if (job->network)
                network_hear(job->network, &listener);
}

static int handle_event(struct job *job, enum source source, abatis_error *err)
{
        int r;

        switch (source) {
        case SOURCE_STDOUT:
        case SOURCE_STDERR:
                return 0; /* both are looked at afterwards */
        case SOURCE_STDIN:
                feed_advance(&job->feed);
                return 0;
        case SOURCE_TERMINAL:
                return use_terminal(job, err);
        case SOURCE_TYPING:
        case SOURCE_ROOM:
                return type(job, source == SOURCE_TYPING, err);
        case SOURCE_DEADLINE:
                meet_deadline(job);
                return 0;
        case SOURCE_METER:
                if (!job->is_over && meter_look(&job->meter, &job->child, job->init, job->pidfd))
                        job_kill_tree(job);
                return 0;
        case SOURCE_NETWORK:
                job_hear_network(job, false);
                if (job->network->is_deaf)
                        epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->network->events, NULL);
                return 0;
        case SOURCE_END:
                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->end_event, NULL);
                if (__atomic_load_n(&job->child.is_over, __ATOMIC_ACQUIRE))
                        note_end(job);
                return 0;
        case SOURCE_PROCESS:
                r = job_reap(job, WNOHANG, err);
                if (job->is_reaped) {
                        epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->session ? job->control : job->pidfd, NULL);
                        if (job->session)
                                epoll_ctl(job->epoll, EPOLL_CTL_DEL, session_sign(job), NULL);
                        if (job->meter.timer >= 0)
                                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->meter.timer, NULL);
                }
                return r;
        }
        return 0;
}

int job_advance(struct job *job, bool *is_done, abatis_error *err)
{
        struct epoll_event events[4];
        struct outputs outputs;
        bool are_streams_done;
        int count, r = 0;

        count = epoll_wait(job->epoll, events, 4, 0);
        if (count < 0 && errno != EINTR)
                return error_os(err, errno, "cannot watch the command");
        for (int i = 0; i < count && !r; i++)
                r = handle_event(job, (enum source)events[i].data.u32, err);
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
        if (number == SIGKILL) {
                job_kill_tree(job);
                return 0;
        }
        if (job_send_to_init(job, number) < 0 && errno != ESRCH)
                return error_os(err, errno, "cannot signal the command");
        return 0;
}

/* The command, or a step on the way to it, has come to its end by itself: init has written so into our memory. */
static bool has_ended(const struct job *job)
{
        return job->is_over || __atomic_load_n(&job->child.has_status, __ATOMIC_ACQUIRE) ||
               __atomic_load_n(&job->child.has_failed, __ATOMIC_ACQUIRE);
}

void job_cancel(struct job *job)
{
        if (!job->is_launched || job->is_ending || has_ended(job))
                return;
        job->is_cancelled = true;
        if (job->timer < 0 && job_set_deadline(job, GRACE_MS, NULL) < 0)
                job_kill_tree(job);
        else
                begin_end(job);
}

void job_resize(struct job *job, unsigned rows, unsigned columns)
{
        terminal_resize(&job->terminal, rows, columns);
}
