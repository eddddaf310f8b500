/* job_linux.c: one command from clone to the death of its whole tree, driven through one pollable descriptor. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/program.h"
#include "policy/keys.h"
#include "run/ground_linux.h"
#include "run/pipe_linux.h"
#include "run/resources_linux.h"
#include "run/stdio_linux.h"
#include "run/stream_linux.h"
#include "run/syscall_linux.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum {
        DEFAULT_OUTPUT_LIMIT = 1024 * 1024,
        GRACE_MS =
                1000, /* between the deadline, which asks the command to end, and the end of the whole tree */
        PAGE = 4096,
};

/* What an epoll event is about. */
enum source { SOURCE_STDOUT, SOURCE_STDERR, SOURCE_STDIN, SOURCE_PROCESS, SOURCE_DEADLINE };

struct job {
        struct child_job child;
        struct ground ground;
        abatis_job_options options; /* what it points to is borrowed until the launch */
        struct job_context context;
        char *arena; /* owned: argv, envp and their strings; the command reads them until its exec */
        char *program, *cwd;
        char *stacks; /* owned: init's and the command's */
        int *slots;
        struct stdio stdio;
        int epoll; /* -1 when there is nothing to wait for but the process */
        int pidfd, timer;
        struct feed feed;             /* stdin, if it comes from memory */
        struct stream streams[2];     /* stdout and stderr, if they pass through us */
        enum stream_state watched[2]; /* what epoll waits for on their behalf */
        bool is_launched, has_timed_out, is_reaped;
        struct timespec start;
        double duration_ms;
};

/* A system call of its own: the libc's way, through the vDSO, has pages to fault in that nothing else needs. */
static void read_clock(struct timespec *now)
{
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now);
}

/* ---- start ---------------------------------------------------------------------------------------------- */

static size_t list_size(const char *const *list, size_t *count)
{
        size_t bytes = 0;

        for (*count = 0; list[*count]; (*count)++)
                bytes += strlen(list[*count]) + 1;
        return bytes;
}

static const char *const *copy_list(const char *const *list, size_t count, const char ***pointers,
                                    char **strings)
{
        const char **copied = *pointers;

        for (size_t i = 0; i < count; i++) {
                copied[i] = *strings;
                *strings = stpcpy(*strings, list[i]) + 1;
        }
        copied[count] = NULL;
        *pointers += count + 1;
        return copied;
}

/* The command execs after this function's caller may have freed its own copies. */
static int copy_arguments(struct job *job, const char *const *argv, const char *const *envp,
                          abatis_error *err)
{
        size_t argc, envc, bytes = list_size(argv, &argc);
        const char **pointers;
        char *strings;

        bytes += list_size(envp, &envc);
        job->arena = malloc((argc + envc + 2) * sizeof(char *) + bytes);
        if (!job->arena)
                return error_memory(err);
        pointers = (const char **)(void *)job->arena;
        strings = job->arena + (argc + envc + 2) * sizeof(char *);
        job->child.argv = copy_list(argv, argc, &pointers, &strings);
        job->child.envp = copy_list(envp, envc, &pointers, &strings);
        return 0;
}

static int check_options(const abatis_job_options *options, abatis_error *err)
{
        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.size is not set");
        if (!options->argv || !options->argv[0])
                return error_set(err, ABATIS_E_INVALID, "no program given");
        if (options->capture < ABATIS_CAPTURE_NONE || options->capture > ABATIS_CAPTURE_MERGED)
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.capture is %d", options->capture);
        if (options->cwd && *options->cwd != '/')
                return error_set(err, ABATIS_E_INVALID, "the working directory '%s' is relative",
                                 options->cwd);
        return 0;
}

static int prepare_command(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const abatis_policy *policy = job->context.policy;
        const char *const *host_envp = options->envp ? options->envp : (const char *const *)environ;
        OWN_FREE const char **envp = NULL;
        int r = environment_filter(policy, host_envp, &envp, err);

        if (!r)
                r = program_find(options->argv[0], envp, &job->program, err);
        if (!r)
                r = commands_check(policy, job->program, err);
        if (!r)
                r = copy_arguments(job, options->argv, envp, err);
        if (r < 0)
                return r;
        job->slots = calloc(job->context.resources->slot_count + 1, sizeof(*job->slots));
        if (!job->slots)
                return error_memory(err);
        job->child.slots = job->slots;
        job->child.plan = &job->context.resources->child;
        job->cwd = options->cwd ? strdup(options->cwd) : getcwd(NULL, 0);
        for (int i = 0; i < 3; i++)
                job->child.reopen[i] = job->stdio.is_reopened[i] ? job->stdio.paths[i] : NULL;
        job->child.program = job->program;
        job->child.cwd = job->cwd ? job->cwd : policy->workspace;
        job->child.fallback_cwd = options->cwd ? NULL : policy->workspace;
        return arguments_check(policy, options->argv, job->child.cwd, err);
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

static int open_stream(struct job *job, int index, int copy, abatis_error *err)
{
        int r = stream_open(&job->streams[index], index + 1, copy, &job->stdio.ends[index + 1], err);

        job->streams[index].listener = (struct listener){ job->options.on_output, job->options.user };

        job->stdio.fds[index + 1] = job->stdio.ends[index + 1];
        return r ? r : watch_stream(job, index, err);
}

static int open_watch(struct job *job, abatis_error *err)
{
        if (job->epoll >= 0)
                return 0;
        job->epoll = epoll_create1(EPOLL_CLOEXEC);
        return job->epoll < 0 ? error_os(err, errno, "cannot watch the command") : 0;
}

static int set_timer(const struct job *job, uint64_t milliseconds)
{
        struct itimerspec when = { .it_value = { (time_t)(milliseconds / 1000),
                                                 (long)(milliseconds % 1000) * 1000000 } };

        return timerfd_settime(job->timer, 0, &when, NULL);
}

static int set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err)
{
        int r = open_watch(job, err);

        if (r < 0)
                return r;

        job->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (job->timer < 0 || set_timer(job, milliseconds) < 0)
                return error_os(err, errno, "cannot set the deadline");
        return watch(job, job->timer, EPOLLIN, SOURCE_DEADLINE, err);
}

/* What the kernel refused is explained by trying it all again: the reason is in a sysctl or a security module. */
static int explain_refusal(int os_errno, const char *what, abatis_error *err)
{
        abatis_host host;
        int r;

        if (!err)
                return ABATIS_E_SYSTEM;
        if (!host_probe_fully(&host, NULL) && host.namespaces == NAMESPACES_NONE)
                r = error_set(err, ABATIS_E_UNENFORCEABLE, "%s: %s", what, host.namespaces_reason);
        else
                r = error_os(err, os_errno, "%s", what);
        host_done(&host);
        return r;
}

/* A host program that has closed 0, 1 or 2 gives those numbers to what it opens next; the command's own go there. */
static int raise_above_stdio(int fd)
{
        int raised;

        if (fd < 0 || fd > 2)
                return fd;
        raised = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        close(fd);
        return raised;
}

static int clone_init(struct job *job, abatis_error *err)
{
        /* A stack that ends with a page touches one page less. */
        char *stacks = job->stacks + (-(uintptr_t)job->stacks & (PAGE - 1));
        struct clone3_arguments arguments = {
                .flags = job->ground.child.namespaces | CLONE_VM | CLONE_PIDFD | CLONE3_CLEAR_SIGHAND,
                .pidfd = (uintptr_t)&job->pidfd,
                /* No exit signal: the host program's own SIGCHLD handling never sees this child. */
                .exit_signal = 0,
                .stack = (uintptr_t)stacks,
                .stack_size = CHILD_STACK_SIZE,
        };
        OWN_FD int host = raise_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
        const uint64_t all = ~0ull;
        uint64_t before;
        long pid;

        if (host < 0)
                return error_os(err, errno, "cannot watch the host process");
        job->child.ground = &job->ground.child;
        job->child.command_stack = stacks + 2 * CHILD_STACK_SIZE;
        job->child.host_pidfd = host;
        memcpy(job->child.stdio, job->stdio.fds, sizeof(job->child.stdio));
        /* Init begins with everything blocked: what it must pass on or hear of may come before its first instruction. */
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
        pid = raw_clone(&arguments, child_init, &job->child);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
        if (pid < 0) {
                job->pidfd = -1;
                return explain_refusal((int)-pid, "cannot create the sandbox's namespaces", err);
        }
        return 0;
}

/* Mostly the pipe takes it all at once, and there is nothing to watch. */
static int open_feed(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        int r = feed_open(&job->feed, options->stdin_data, options->stdin_length, &job->stdio.ends[0], err);

        job->stdio.fds[0] = job->stdio.ends[0];
        if (!r && job->feed.pipe >= 0)
                r = open_watch(job, err);
        return r || job->feed.pipe < 0 ? r : watch(job, job->feed.pipe, EPOLLOUT, SOURCE_STDIN, err);
}

/* What the command will have as 0, 1 and 2, and where we read its output. The caller's descriptors are looked at before
 * any of ours is made: one of ours could get a number of theirs that they had closed. */
static int connect_stdio(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const int given[3] = { options->stdin_fd, options->stdout_fd, options->stderr_fd };
        int r = 0;

        for (int i = 0; i < 3 && !r; i++)
                if (i ? !options->capture : !options->stdin_data)
                        r = stdio_choose(&job->stdio, i, given[i], err);
        if (!r && options->stdin_data)
                r = open_feed(job, err);
        if (r || !options->capture)
                return r;
        r = open_watch(job, err);
        for (int i = 0; i < (options->capture == ABATIS_CAPTURE_MERGED ? 1 : 2) && !r; i++)
                r = open_stream(job, i, given[i + 1], err);
        if (!r && options->capture == ABATIS_CAPTURE_MERGED)
                job->stdio.fds[2] = job->stdio.fds[1];
        return r;
}

static void job_free(struct job *job)
{
        const int fds[] = { job->epoll, job->pidfd, job->timer };

        for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        stdio_done(&job->stdio);
        feed_done(&job->feed);
        stream_done(&job->streams[0]);
        stream_done(&job->streams[1]);
        free(job->arena);
        free(job->program);
        free(job->cwd);
        free(job->stacks);
        free(job->slots);
        free(job);
}

/* Without a plan there is no telling yet which refusal matters: a ground that cannot be laid now is tried again at the
 * launch, which reports it. */
static void begin_ground(struct job *job)
{
        abatis_host host;

        host_probe_quickly(&host);
        ground_lay_out(&job->ground, &host);
        if (!clone_init(job, NULL))
                child_wait_for_init(&job->child);
}

int job_prepare(const abatis_job_options *options, struct job **out, abatis_error *err)
{
        struct job *job;
        int r = check_options(options, err);

        if (r < 0)
                return r;
        job = calloc(1, sizeof(*job));
        if (!job)
                return error_memory(err);
        job->options = *options;
        job->epoll = job->pidfd = job->timer = job->feed.pipe = job->streams[0].pipe = job->streams[1].pipe =
                -1;
        job->stdio = (struct stdio)STDIO_INIT;
        job->stacks = malloc(2 * CHILD_STACK_SIZE + PAGE);
        r = job->stacks ? connect_stdio(job, err) : error_memory(err);
        if (r < 0) {
                job_free(job);
                return r;
        }
        begin_ground(job);
        *out = job;
        return 0;
}

static int reap(struct job *job, int flags, abatis_error *err);

static int send_to_init(struct job *job, int number)
{
        siginfo_t info = { .si_signo = CHILD_PASS_SIGNAL, .si_code = SI_QUEUE };

        info.si_value.sival_int = number;
        return (int)syscall(SYS_pidfd_send_signal, job->pidfd, CHILD_PASS_SIGNAL, &info, 0);
}

/* With a PID namespace all die with init. Without one init must live to see the command's end: until its exec the
 * command uses memory that is freed after this. */
static void kill_tree(struct job *job)
{
        if (job->ground.child.namespaces)
                syscall(SYS_pidfd_send_signal, job->pidfd, SIGKILL, NULL, 0);
        else if (!job->is_launched)
                child_cancel(&job->child);
        else
                send_to_init(job, SIGKILL);
}

/* A plan that was made for less than the ground provides, or a ground that could not be laid. */
static int renew_ground(struct job *job, abatis_error *err)
{
        const abatis_host *host = job->context.resources->host;
        int r = 0;

        if (job->pidfd >= 0 && ground_fits(&job->ground, host))
                return 0;
        if (job->pidfd >= 0) {
                kill_tree(job);
                r = reap(job, 0, err);
                close(job->pidfd);
                job->pidfd = -1;
                job->is_reaped = false;
        }
        job->child = (struct child_job){ 0 };
        /* The clone copies the descriptors anew, so they are looked at anew. */
        for (int i = 0; i < 3 && !r; i++)
                if (job->stdio.ends[i] < 0)
                        r = stdio_choose(&job->stdio, i, job->stdio.fds[i], err);
        if (r < 0)
                return r;
        ground_lay_out(&job->ground, host);
        return clone_init(job, err);
}

/* When init gets the plan, everything else is known too: from there on it has the processor to itself. */
int job_launch(struct job *job, const struct job_context *context, abatis_error *err)
{
        const uint64_t *limits = context->policy->limits;
        int r = 0;

        job->context = *context;
        read_clock(&job->start);
        if (limits[LIMIT_OUTPUT] && !job->options.capture)
                return error_set(err, ABATIS_E_INVALID, "limits.output needs abatis_job_options.capture");
        for (int i = 0; i < 2; i++)
                stream_limit(&job->streams[i],
                             limits[LIMIT_OUTPUT] ? limits[LIMIT_OUTPUT] : DEFAULT_OUTPUT_LIMIT);
        r = renew_ground(job, err);
        if (!r)
                r = stdio_check(&job->stdio, context->policy, err);
        if (!r)
                r = prepare_command(job, err);
        if (!r && limits[LIMIT_TIMEOUT])
                r = set_deadline(job, limits[LIMIT_TIMEOUT], err);
        if (!r && job->epoll >= 0)
                r = watch(job, job->pidfd, EPOLLIN, SOURCE_PROCESS, err);
        stdio_close_ends(&job->stdio);
        if (r < 0)
                return r;
        job->is_launched = true;
        child_give_plan(&job->child);
        return 0;
}

/* ---- while it runs -------------------------------------------------------------------------------------- */

int job_fd(const struct job *job)
{
        return job->epoll < 0 ? job->pidfd : job->epoll;
}

static int reap(struct job *job, int flags, abatis_error *err)
{
        siginfo_t info = { 0 };
        struct timespec now;

        while (waitid((idtype_t)P_PIDFD, (id_t)job->pidfd, &info, WEXITED | __WALL | flags) < 0)
                if (errno != EINTR)
                        return error_os(err, errno, "cannot wait for the sandbox");
        if (!info.si_pid)
                return 0;
        job->is_reaped = true;
        read_clock(&now);
        job->duration_ms = (double)(now.tv_sec - job->start.tv_sec) * 1e3 +
                           (double)(now.tv_nsec - job->start.tv_nsec) / 1e6;
        return 0;
}

static bool was_killed(const struct job *job)
{
        return job->has_timed_out || !job->child.has_status || WIFSIGNALED(job->child.status);
}

/* Init is reaped after every other process of its namespace is gone, so what is in the pipes now is all there will be.
 * A reader that is slow gets it, but nobody waits for the reader of a command that was killed. */
static bool settle_stream(struct job *job, int index)
{
        struct stream *stream = &job->streams[index];

        stream_advance(stream, true);
        if (stream->state == STREAM_READS || was_killed(job))
                stream_drop(stream);
        return stream->state == STREAM_CLOSED;
}

static int advance_streams(struct job *job, bool *are_done, abatis_error *err)
{
        *are_done = true;
        for (int i = 0; i < 2; i++) {
                int r;

                if (job->is_reaped)
                        *are_done &= settle_stream(job, i);
                else if (job->streams[i].state != STREAM_CLOSED)
                        stream_advance(&job->streams[i], false);
                r = watch_stream(job, i, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* First the command is asked, so that it can clean up after itself; who does not listen is killed. */
static void meet_deadline(struct job *job)
{
        bool is_first = !job->has_timed_out;

        job->has_timed_out |= !job->is_reaped;
        if (!job->is_reaped && is_first && !send_to_init(job, SIGTERM) && !set_timer(job, GRACE_MS))
                return;
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->timer, NULL);
        if (!job->is_reaped)
                kill_tree(job);
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
        case SOURCE_DEADLINE:
                meet_deadline(job);
                return 0;
        case SOURCE_PROCESS:
                r = reap(job, WNOHANG, err);
                if (job->is_reaped)
                        epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->pidfd, NULL);
                return r;
        }
        return 0;
}

int job_advance(struct job *job, bool *is_done, abatis_error *err)
{
        struct epoll_event events[4];
        bool are_streams_done;
        int count, r = 0;

        if (job->epoll < 0) {
                r = job->is_reaped ? 0 : reap(job, WNOHANG, err);
                *is_done = job->is_reaped;
                return r;
        }
        count = epoll_wait(job->epoll, events, 4, 0);
        if (count < 0 && errno != EINTR)
                return error_os(err, errno, "cannot watch the command");
        for (int i = 0; i < count && !r; i++)
                r = handle_event(job, (enum source)events[i].data.u32, err);
        if (!r)
                r = advance_streams(job, &are_streams_done, err);
        if (!r)
                *is_done = job->is_reaped && are_streams_done;
        return r;
}

int job_signal(struct job *job, int number, abatis_error *err)
{
        if (job->is_reaped) {
                /* Only our own waiting for a slow reader is left to end. */
                stream_drop(&job->streams[0]);
                stream_drop(&job->streams[1]);
                return 0;
        }
        if (number == SIGKILL) {
                kill_tree(job);
                return 0;
        }
        if (send_to_init(job, number) < 0 && errno != ESRCH)
                return error_os(err, errno, "cannot signal the command");
        return 0;
}

/* ---- end ------------------------------------------------------------------------------------------------ */

static int report_exec(const struct child_job *child, abatis_error *err)
{
        int r = error_os(err, child->failed_errno, "cannot execute '%s'", child->program);

        switch (child->failed_errno) {
        case ENOENT:
        case ENOTDIR:
                r = ABATIS_E_NOT_FOUND;
                break;
        case EACCES:
        case EPERM:
        case ENOEXEC:
        case EISDIR:
        case E2BIG:
        case ETXTBSY:
        case ELIBBAD:
        case EINVAL:
                r = ABATIS_E_NOT_EXECUTABLE;
                break;
        }
        if (err)
                err->code = r;
        return r;
}

/* What a failed step means to somebody who knows only his command. */
static int report_failure(const struct job *job, abatis_error *err)
{
        const struct child_job *child = &job->child;
        char what[512];

        if (!child->failed_in_init && child->failed_op == COMMAND_EXEC)
                return report_exec(child, err);
        if (!child->failed_in_init && child->failed_op == COMMAND_CHDIR)
                return error_os(err, child->failed_errno,
                                "the working directory '%s' cannot be entered inside", child->cwd);
        if (child->failed_plan_op == PLAN_ENTER_ROOT && child->failed_errno == EINVAL)
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "a policy that does not read '/' needs a new root, and the kernel does not let "
                        "go of an initramfs; switch_root to another file system first");
        snprintf(what, sizeof(what), "step '%s'%s%s failed",
                 plan_op_name((enum plan_op)child->failed_plan_op), child->failed_path ? " on " : "",
                 child->failed_path ? child->failed_path : "");
        /* What a step of the command is refused has nothing to do with namespaces. */
        if (!child->failed_in_init)
                return error_os(err, child->failed_errno, "%s", what);
        return explain_refusal(child->failed_errno, what, err);
}

/* The limit that ended the command, or NULL. */
static const char *find_limit(const struct job *job)
{
        const struct child_job *child = &job->child;

        if (job->has_timed_out)
                return keys[KEY_TIMEOUT].name;
        if (child->has_status && WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGXFSZ &&
            job->context.policy->limits[LIMIT_FILE_SIZE])
                return keys[KEY_FILE_SIZE].name;
        return NULL;
}

static int settle(struct job *job, struct job_outcome *out, abatis_error *err)
{
        const struct child_job *child = &job->child;

        if (child->has_failed && !job->has_timed_out)
                return report_failure(job, err);
        if (job->streams[0].kept.text.has_failed || job->streams[1].kept.text.has_failed)
                return error_memory(err);
        if (!out)
                return 0;
        *out = (struct job_outcome){ .exit_code = -1,
                                     .has_timed_out = job->has_timed_out,
                                     .is_truncated =
                                             job->streams[0].is_truncated || job->streams[1].is_truncated,
                                     .duration_ms = job->duration_ms };
        out->limit = find_limit(job);
        if (!child->has_status)
                out->signal = SIGKILL; /* init was killed, and the whole tree with it */
        else if (WIFSIGNALED(child->status))
                out->signal = WTERMSIG(child->status);
        else
                out->exit_code = WEXITSTATUS(child->status);
        for (int i = 0; i < 2; i++) {
                out->totals[i] = job->streams[i].total;
                if (job->streams[i].copy >= 0)
                        continue; /* it was passed on */
                out->output[i] = job->streams[i].kept.text;
                job->streams[i].kept.text = (struct text){ 0 };
        }
        return 0;
}

int job_finish(struct job *job, struct job_outcome *out, abatis_error *err)
{
        int r = 0;

        if (job->pidfd >= 0 && !job->is_reaped) {
                kill_tree(job);
                r = reap(job, 0, err);
                settle_stream(job, 0);
                settle_stream(job, 1);
        }
        if (!r && job->is_launched)
                r = settle(job, out, err);
        else if (!r && out)
                r = error_set(err, ABATIS_E_INVALID, "the job was never launched");
        job_free(job);
        return r;
}
