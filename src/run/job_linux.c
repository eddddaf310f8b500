/* job_linux.c: one command from clone to the death of its whole tree, driven through one pollable descriptor. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "run/program.h"
#include "run/resources_linux.h"
#include "run/stream_linux.h"
#include "run/syscall_linux.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum { DEFAULT_OUTPUT_LIMIT = 1024 * 1024 };

/* What an epoll event is about. */
enum source { SOURCE_STDOUT, SOURCE_STDERR, SOURCE_PROCESS, SOURCE_DEADLINE };

struct job {
        struct child_job child;
        struct job_context context;
        char *arena; /* owned: argv, envp and their strings; the command reads them until its exec */
        char *program, *cwd, *reopen[3];
        char *stacks;
        int *slots;
        int epoll, pidfd, timer;
        struct stream streams[2];     /* stdout and stderr, if they pass through us */
        enum stream_state watched[2]; /* what epoll waits for on their behalf */
        bool has_timed_out, is_reaped;
        struct timespec start;
        double duration_ms;
};

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

static int prepare_command(struct job *job, const abatis_job_options *options, abatis_error *err)
{
        const abatis_policy *policy = job->context.policy;
        const char *const *host_envp = options->envp ? options->envp : (const char *const *)environ;
        OWN_FREE const char **envp = NULL;
        int r;

        if (!options->argv || !options->argv[0])
                return error_set(err, ABATIS_E_INVALID, "no program given");
        if (policy->limits[LIMIT_OUTPUT] && !options->capture)
                return error_set(err, ABATIS_E_INVALID, "limits.output needs abatis_job_options.capture");
        if (options->cwd && *options->cwd != '/')
                return error_set(err, ABATIS_E_INVALID, "the working directory '%s' is relative",
                                 options->cwd);
        r = environment_filter(policy, host_envp, &envp, err);
        if (!r)
                r = program_find(options->argv[0], envp, &job->program, err);
        if (!r)
                r = copy_arguments(job, options->argv, envp, err);
        if (r < 0)
                return r;
        job->cwd = options->cwd ? strdup(options->cwd) : getcwd(NULL, 0);
        job->child.program = job->program;
        job->child.cwd = job->cwd ? job->cwd : policy->workspace;
        job->child.fallback_cwd = options->cwd ? NULL : policy->workspace;
        return 0;
}

static int watch(struct job *job, int fd, enum source source, abatis_error *err)
{
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

        if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                return error_os(err, errno, "cannot watch the command");
        return 0;
}

/* A connected stream leads where its other end is; anything else can be aimed at whom the command likes. */
static bool is_harmless_socket(const struct job *job, int fd)
{
        int domain = 0, type = 0;
        socklen_t size = sizeof(domain);

        if (job->context.policy->network == NETWORK_ALLOW)
                return true;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
                return false;
        return type == SOCK_STREAM || (domain == AF_UNIX && type == SOCK_SEQPACKET);
}

/* Of a file that was opened for reading and may not be written, notes the path, so that the command can be given it
 * through mounts of its own. What the policy denies is not passed on by accident either. */
static int check_file(struct job *job, int index, int fd, abatis_error *err)
{
        char link[32], path[PATH_MAX];
        const struct rule *rule;
        bool is_allowed;
        ssize_t length;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof(path) - 1);
        if (length <= 0 || path[0] != '/' || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                return 0;
        path[length] = '\0';
        rule = policy_decide(job->context.policy, ABATIS_WRITE, path, &is_allowed);
        if (is_allowed)
                return 0;
        if (rule && rule->kind == RULE_DENY)
                return error_set(err, ABATIS_E_INVALID, "descriptor %d is '%s', which %s '%s' denies", index,
                                 path, rule->origin, rule->path);
        job->reopen[index] = strdup(path);
        job->child.reopen[index] = job->reopen[index];
        return job->reopen[index] ? 0 : error_memory(err);
}

/* A descriptor the command can have: the given one, or /dev/null. *owned must be closed after the start. */
static int choose_stdio(struct job *job, int index, int given, int *owned, abatis_error *err)
{
        static const char *const names[] = { "stdin", "stdout", "stderr" };
        struct stat status = { 0 };

        if (given < 0 || fstat(given, &status) < 0) {
                *owned = open("/dev/null", O_RDWR | O_CLOEXEC);
                if (*owned < 0)
                        return error_os(err, errno, "cannot open /dev/null");
                given = *owned;
        } else if (S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && fcntl(given, F_GETFL) & O_PATH)) {
                /* It leads into the host's mounts, where nothing is masked or read-only. */
                return error_set(err, ABATIS_E_INVALID,
                                 "%s is a directory; give the command a file, a pipe or a terminal",
                                 names[index]);
        } else if (S_ISSOCK(status.st_mode) && !is_harmless_socket(job, given)) {
                return error_set(
                        err, ABATIS_E_INVALID,
                        "%s is a socket that reaches further than --net %s allows; give the command a pipe",
                        names[index], network_mode_name(job->context.policy->network));
        }
        job->child.stdio[index] = given;
        if (S_ISREG(status.st_mode) && status.st_nlink)
                return check_file(job, index, given, err);
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
        struct epoll_event event = { .events = EPOLLOUT, .data.u32 = source_of(index) };

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
                return watch(job, stream->pipe, source_of(index), err);
        case STREAM_BLOCKED:
                if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, stream->copy, &event) < 0)
                        return error_os(err, errno, "cannot watch the output");
        }
        return 0;
}

static int open_stream(struct job *job, int index, int copy, int *command_end, abatis_error *err)
{
        uint64_t limit = job->context.policy->limits[LIMIT_OUTPUT];
        int r = stream_open(&job->streams[index], copy, limit ? limit : DEFAULT_OUTPUT_LIMIT, command_end,
                            err);

        job->child.stdio[index + 1] = *command_end;
        return r ? r : watch_stream(job, index, err);
}

static int set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err)
{
        struct itimerspec when = { .it_value = { (time_t)(milliseconds / 1000),
                                                 (long)(milliseconds % 1000) * 1000000 } };

        job->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (job->timer < 0 || timerfd_settime(job->timer, 0, &when, NULL) < 0)
                return error_os(err, errno, "cannot set the deadline");
        return watch(job, job->timer, SOURCE_DEADLINE, err);
}

static int open_watch(struct job *job, abatis_error *err)
{
        uint64_t timeout = job->context.policy->limits[LIMIT_TIMEOUT];

        job->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (job->epoll < 0)
                return error_os(err, errno, "cannot watch the command");
        return timeout ? set_deadline(job, timeout, err) : 0;
}

/* What the kernel refused is explained by trying it all again: the reason is in a sysctl or a security module. */
static int explain_refusal(int os_errno, const char *what, abatis_error *err)
{
        abatis_host host;

        if (!host_probe_fully(&host, NULL) && host.namespaces == NAMESPACES_NONE)
                return error_set(err, ABATIS_E_UNENFORCEABLE, "%s: %s", what, host.namespaces_reason);
        return error_os(err, os_errno, "%s", what);
}

static int clone_init(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;
        struct clone3_arguments arguments = {
                .flags = resources->child.namespaces | CLONE_VM | CLONE_PIDFD | CLONE3_CLEAR_SIGHAND,
                .pidfd = (uintptr_t)&job->pidfd,
                /* No exit signal: the host program's own SIGCHLD handling never sees this child. */
                .exit_signal = 0,
                .stack_size = CHILD_STACK_SIZE,
        };
        OWN_FD int host = (int)syscall(SYS_pidfd_open, getpid(), 0);
        long pid;

        if (host < 0)
                return error_os(err, errno, "cannot watch the host process");
        job->stacks = malloc(2 * CHILD_STACK_SIZE);
        job->slots = calloc(resources->slot_count + 1, sizeof(*job->slots));
        if (!job->stacks || !job->slots)
                return error_memory(err);
        arguments.stack = (uintptr_t)job->stacks;
        job->child.command_stack = job->stacks + 2 * CHILD_STACK_SIZE;
        job->child.slots = job->slots;
        job->child.host_pidfd = host;
        pid = raw_clone(&arguments, child_init, &job->child);
        if (pid < 0)
                return explain_refusal((int)-pid, "cannot create the sandbox's namespaces", err);
        return watch(job, job->pidfd, SOURCE_PROCESS, err);
}

/* The caller's descriptors are looked at before any of ours is made: one of ours could get a number of theirs that
 * they had closed. */
static int connect_and_clone(struct job *job, const abatis_job_options *options, abatis_error *err)
{
        const int given[3] = { options->stdin_fd, options->stdout_fd, options->stderr_fd };
        OWN_FD int in = -1, out = -1, error = -1;
        int *owned[3] = { &in, &out, &error };
        int r = 0;

        for (int i = 0; i < 3 && !r; i++)
                if (!i || !options->capture)
                        r = choose_stdio(job, i, given[i], owned[i], err);
        if (!r)
                r = open_watch(job, err);
        if (!r && options->capture)
                r = open_stream(job, 0, options->stdout_fd, &out, err);
        if (!r && options->capture)
                r = open_stream(job, 1, options->stderr_fd, &error, err);
        return r ? r : clone_init(job, err);
}

static void job_free(struct job *job)
{
        const int fds[] = { job->epoll, job->pidfd, job->timer };

        for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        stream_done(&job->streams[0]);
        stream_done(&job->streams[1]);
        free(job->arena);
        free(job->program);
        for (int i = 0; i < 3; i++)
                free(job->reopen[i]);
        free(job->cwd);
        free(job->stacks);
        free(job->slots);
        free(job);
}

static int launch(struct job *job, const abatis_job_options *options, abatis_error *err)
{
        int r = prepare_command(job, options, err);

        clock_gettime(CLOCK_MONOTONIC, &job->start);
        return r ? r : connect_and_clone(job, options, err);
}

int job_start(const struct job_context *context, const abatis_job_options *options, struct job **out,
              abatis_error *err)
{
        struct job *job;
        int r;

        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.size is not set");
        job = calloc(1, sizeof(*job));
        if (!job)
                return error_memory(err);
        job->context = *context;
        job->child.plan = &context->resources->child;
        job->epoll = job->pidfd = job->timer = job->streams[0].pipe = job->streams[1].pipe = -1;
        r = launch(job, options, err);
        if (r < 0) {
                if (job->pidfd >= 0)
                        job_finish(job, NULL, NULL);
                else
                        job_free(job);
                return r;
        }
        *out = job;
        return 0;
}

/* ---- while it runs -------------------------------------------------------------------------------------- */

int job_fd(const struct job *job)
{
        return job->epoll;
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
        clock_gettime(CLOCK_MONOTONIC, &now);
        job->duration_ms = (double)(now.tv_sec - job->start.tv_sec) * 1e3 +
                           (double)(now.tv_nsec - job->start.tv_nsec) / 1e6;
        return 0;
}

static void kill_tree(struct job *job)
{
        syscall(SYS_pidfd_send_signal, job->pidfd, SIGKILL, NULL, 0);
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

int job_advance(struct job *job, bool *is_done, abatis_error *err)
{
        struct epoll_event events[4];
        int count = epoll_wait(job->epoll, events, 4, 0), r = 0;
        bool are_streams_done;

        if (count < 0 && errno != EINTR)
                return error_os(err, errno, "cannot watch the command");
        for (int i = 0; i < count && !r; i++) {
                switch ((enum source)events[i].data.u32) {
                case SOURCE_STDOUT:
                case SOURCE_STDERR:
                        break; /* both are looked at below */
                case SOURCE_DEADLINE:
                        if (!job->is_reaped)
                                kill_tree(job);
                        job->has_timed_out |= !job->is_reaped;
                        epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->timer, NULL);
                        break;
                case SOURCE_PROCESS:
                        r = reap(job, WNOHANG, err);
                        if (job->is_reaped)
                                epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->pidfd, NULL);
                        break;
                }
        }
        if (!r)
                r = advance_streams(job, &are_streams_done, err);
        if (!r)
                *is_done = job->is_reaped && are_streams_done;
        return r;
}

int job_signal(struct job *job, int number, abatis_error *err)
{
        siginfo_t info = { 0 };

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
        info.si_signo = CHILD_PASS_SIGNAL;
        info.si_code = SI_QUEUE;
        info.si_value.sival_int = number;
        if (syscall(SYS_pidfd_send_signal, job->pidfd, CHILD_PASS_SIGNAL, &info, 0) < 0 && errno != ESRCH)
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
        snprintf(what, sizeof(what), "step '%s'%s%s failed",
                 plan_op_name(job->context.plan->steps[child->failed_step].op),
                 child->failed_path ? " on " : "", child->failed_path ? child->failed_path : "");
        return explain_refusal(child->failed_errno, what, err);
}

static int settle(struct job *job, struct job_outcome *out, abatis_error *err)
{
        const struct child_job *child = &job->child;

        if (child->has_failed && !job->has_timed_out)
                return report_failure(job, err);
        if (job->streams[0].kept.has_failed || job->streams[1].kept.has_failed)
                return error_memory(err);
        if (!out)
                return 0;
        *out = (struct job_outcome){ .exit_code = -1,
                                     .has_timed_out = job->has_timed_out,
                                     .is_truncated =
                                             job->streams[0].is_truncated || job->streams[1].is_truncated,
                                     .duration_ms = job->duration_ms };
        if (!child->has_status)
                out->signal = SIGKILL; /* init was killed, and the whole tree with it */
        else if (WIFSIGNALED(child->status))
                out->signal = WTERMSIG(child->status);
        else
                out->exit_code = WEXITSTATUS(child->status);
        for (int i = 0; i < 2; i++) {
                out->output[i] = job->streams[i].kept;
                job->streams[i].kept = (struct text){ 0 };
        }
        return 0;
}

int job_finish(struct job *job, struct job_outcome *out, abatis_error *err)
{
        int r = 0;

        if (!job->is_reaped) {
                kill_tree(job);
                r = reap(job, 0, err);
                settle_stream(job, 0);
                settle_stream(job, 1);
        }
        if (!r)
                r = settle(job, out, err);
        job_free(job);
        return r;
}
