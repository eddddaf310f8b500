/* job_darwin.c: begins, launches and ends a job. */
#include "run/job_darwin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/system.h"
#include "run/kernel_darwin.h"
#include "run/options.h"

/* Another one in programs for tests. */
#ifndef SANDBOX_EXEC
#define SANDBOX_EXEC "/usr/bin/sandbox-exec"
#endif

/* ---- streams -------------------------------------------------------------------------------------------- */

/* A terminal of the command's own: its far end is all three streams. */
static int open_terminal(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const char *name;
        int far, r = terminal_fill(&job->terminal, options->stdin_fd, options->stdin_data,
                                   options->stdin_length, err);

        if (r < 0)
                return r;
        job->terminal.master = fd_above_stdio(posix_openpt(O_RDWR | O_NOCTTY));
        if (job->terminal.master < 0 || fcntl(job->terminal.master, F_SETFD, FD_CLOEXEC) < 0 ||
            grantpt(job->terminal.master) < 0 || unlockpt(job->terminal.master) < 0 ||
            fcntl(job->terminal.master, F_SETFL, O_NONBLOCK) < 0)
                return error_os(err, errno, "cannot make a terminal");
        name = ptsname(job->terminal.master);
        if (!name || (size_t)snprintf(job->tty, sizeof(job->tty), "%s", name) >= sizeof(job->tty))
                return error_set(err, ABATIS_E_SYSTEM, "the terminal has no name");
        far = fd_above_stdio(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
        if (far < 0)
                return error_os(err, errno, "cannot open the terminal");
        job->stdio.ends[0] = far;
        job->stdio.fds[0] = job->stdio.fds[1] = job->stdio.fds[2] = far;
        terminal_resize(&job->terminal, options->rows, options->columns);
        return job_watch_terminal(job, err);
}

static int connect_stdio(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const int given[3] = { options->stdin_fd, options->stdout_fd, options->stderr_fd };
        bool is_merged = options->capture == ABATIS_CAPTURE_MERGED;
        int r = 0;

        if (options->terminal)
                return open_terminal(job, err);
        for (int i = 0; i < 3 && !r; i++)
                if (i ? !options->capture : !options->stdin_data)
                        r = stdio_choose(&job->stdio, i, given[i], err);
        if (!r && options->stdin_data)
                r = job_watch_input(job, err);
        for (int i = 0; options->capture && i < (is_merged ? 1 : 2) && !r; i++)
                r = job_watch_output(job, i, given[i + 1], err);
        if (!r && is_merged)
                job->stdio.fds[2] = job->stdio.fds[1];
        return r;
}

int job_prepare(const abatis_job_options *options, struct resources *resources, struct job **out,
                abatis_error *err)
{
        struct job *job;
        int r = options_check(options, err);

        (void)resources;
        if (r < 0)
                return r;
        job = calloc(1, sizeof(*job));
        if (!job)
                return error_memory(err);
        *job = (struct job){ .options = *options,
                             .stdio = STDIO_INIT,
                             .terminal = TERMINAL_INIT,
                             .tty = "/dev/null",
                             .queue = -1,
                             .control = -1,
                             .feed.pipe = -1,
                             .streams = { { .pipe = -1, .copy = -1 }, { .pipe = -1, .copy = -1 } } };
        r = job_open_queue(job, err);
        if (!r)
                r = connect_stdio(job, err);
        if (r < 0) {
                job_drop(job);
                return r;
        }
        *out = job;
        return 0;
}

/* There is no ground to lay: all is done by the command's own process. */
bool job_has_ground(const struct job *job)
{
        (void)job;
        return true;
}

/* ---- what the command needs ----------------------------------------------------------------------------- */

static int name_job(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;
        OWN_FREE char *place = NULL;
        uint64_t numbers[2];

        if (system_random(numbers, sizeof(numbers)) < 0)
                return error_os(err, errno, "cannot get random bytes");
        snprintf(job->name, sizeof(job->name), "abatis.job.%016" PRIx64, numbers[0]);
        job->launch.job = resources->is_swept ? job->name : NULL;
        if (!resources->has_own_tmp)
                return 0;
        place = path_real("/tmp");
        if (!place || (size_t)snprintf(job->tmp, sizeof(job->tmp), "%s/abatis-%016" PRIx64, place,
                                       numbers[1]) >= sizeof(job->tmp))
                *job->tmp = '\0';
        if (!*job->tmp || mkdir(job->tmp, 0700) < 0) {
                *job->tmp = '\0';
                return error_os(err, errno, "cannot make a directory in /tmp");
        }
        job->launch.tmp = job->tmp;
        return 0;
}

/* It names the job's own directory, unless it names another that the command may write. There is room for it. */
static int set_variables(struct job *job, const char **envp, abatis_error *err)
{
        OWN_FREE char *named = NULL;
        bool is_allowed = false;

        if (!*job->tmp)
                return 0;
        while (*envp && strncmp(*envp, "TMPDIR=", 7))
                envp++;
        if (*envp && (*envp)[7] == '/')
                named = path_real(*envp + 7);
        if (named)
                policy_decide(job->context.policy, ABATIS_WRITE, named, &is_allowed);
        /* The policy says that of the /tmp that everybody has, too. */
        if (is_allowed && strncmp(job->tmp, named, strlen(named)) != 0)
                return 0;
        if (!*envp)
                envp[1] = NULL;
        *envp = job->tmp_variable;
        return (size_t)snprintf(job->tmp_variable, sizeof(job->tmp_variable), "TMPDIR=%s", job->tmp) <
                               sizeof(job->tmp_variable)
                       ? 0
                       : error_set(err, ABATIS_E_SYSTEM, "the path of a directory is too long");
}

static int find_command(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const abatis_policy *policy = job->context.policy;
        const char *home = options_home(policy);
        int r;

        /* In the directory that the command works in, if somebody has said which. */
        job->cwd = path_to_enter(options->cwd);
        if (!job->cwd && options->cwd)
                return error_memory(err);
        r = commands_search(policy, options->argv[0], job->context.environment,
                            options->cwd ? job->cwd : NULL, &job->program, err);
        if (!r)
                r = commands_check(policy, job->program, err);
        if (r < 0)
                return r;
        if (job->cwd && !options->cwd && strcmp(job->cwd, home) != 0 &&
            !view_shows(policy, ABATIS_READ, job->cwd)) {
                free(job->cwd);
                job->cwd = NULL;
        }
        job->launch.cwd = job->cwd ? job->cwd : home;
        job->launch.fallback_cwd = options->cwd ? NULL : home;
        job->launch.program = job->program;
        job->launch.argv = options->argv;
        return arguments_check(policy, options->argv, job->launch.cwd, err);
}

/* Its arguments come before the command's, whose first is then the path of its program. */
static int wrap_in_sandbox_exec(struct job *job, abatis_error *err)
{
        const struct launch *launch = &job->launch;
        size_t count = 0, at = 0;

        while (job->options.argv[count])
                count++;
        job->argv = calloc(count + LAUNCH_PARAMETERS + 5, sizeof(*job->argv));
        job->definitions = calloc(LAUNCH_PARAMETERS, sizeof(*job->definitions));
        if (!job->argv || !job->definitions)
                return error_memory(err);
        job->argv[at++] = SANDBOX_EXEC;
        for (size_t i = 0; launch->parameters[i]; i += 2) {
                char *definition = text_join(launch->parameters[i], "=", launch->parameters[i + 1]);

                if (!definition)
                        return error_memory(err);
                job->definitions[i / 2] = definition;
                job->argv[at++] = "-D";
                job->argv[at++] = definition;
        }
        job->argv[at++] = "-p";
        job->argv[at++] = launch->profile;
        job->argv[at++] = job->program;
        for (size_t i = 1; i < count; i++)
                job->argv[at++] = job->options.argv[i];
        job->launch.program = SANDBOX_EXEC;
        job->launch.argv = job->argv;
        job->launch.profile = NULL;
        return 0;
}

static int choose_profile(struct job *job, abatis_error *err)
{
        struct launch *launch = &job->launch;
        size_t at = 0;

        launch->profile = job->context.resources->profile;
        if (!launch->profile)
                return 0;
        if (*job->tmp) {
                launch->parameters[at++] = PROFILE_TMP;
                launch->parameters[at++] = job->tmp;
        }
        launch->parameters[at++] = PROFILE_TTY;
        launch->parameters[at++] = job->tty;
        launch->parameters[at++] = PROFILE_JOB;
        launch->parameters[at++] = job->name;
        return kernel_can_apply_in_child() ? 0 : wrap_in_sandbox_exec(job, err);
}

static int prepare_command(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;
        int r = name_job(job, err);

        if (!r)
                r = set_variables(job, job->context.environment, err);
        if (!r)
                r = find_command(job, err);
        if (!r)
                r = choose_profile(job, err);
        job->launch.envp = job->context.environment;
        job->launch.has_terminal = job->options.terminal;
        memcpy(job->launch.stdio, job->stdio.fds, sizeof(job->launch.stdio));
        memcpy(job->launch.limits, resources->limits, sizeof(job->launch.limits));
        job->launch.limit_count = resources->limit_count;
        return r;
}

/* ---- launch and end ------------------------------------------------------------------------------------- */

/* Signals are held back: a handler of the host program must not run in a copy of it. */
static pid_t fork_with_signals_held(void)
{
        sigset_t all, before;
        pid_t pid;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = fork();
        if (pid)
                pthread_sigmask(SIG_SETMASK, &before, NULL);
        return pid;
}

static int fork_guard(struct job *job, abatis_error *err)
{
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || fds_above_stdio(ends) < 0)
                return error_os(err, errno, "cannot make a socket");
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        job->launch.host = getpid();
        job->control = ends[0];
        job->guard = fork_with_signals_held();
        if (!job->guard)
                guard_run(&job->launch, ends[1]);
        close(ends[1]);
        if (job->guard > 0)
                return 0;
        job->guard = 0;
        close(job->control);
        job->control = -1;
        return error_os(err, errno, "cannot start the sandbox");
}

void job_remove_tmp(struct job *job)
{
        const pid_t pid = fork_with_signals_held();

        if (!pid)
                guard_remove_tmp(job->launch.tmp);
        job->guard = pid > 0 ? pid : 0;
}

int job_launch(struct job *job, const struct job_context *context, abatis_error *err)
{
        const uint64_t timeout = context->policy->limits[LIMIT_TIMEOUT];
        int r;

        job->context = *context;
        clock_gettime(CLOCK_MONOTONIC, &job->start);
        for (int i = 0; i < 2 && context->wants_digests; i++)
                stream_digest(&job->streams[i]);
        r = options_limit_output(&job->options, context->policy, job->streams, err);
        if (!r)
                r = stdio_check(&job->stdio, context->policy, err);
        if (!r)
                r = prepare_command(job, err);
        if (!r && timeout)
                r = job_set_deadline(job, timeout, err);
        if (!r)
                r = fork_guard(job, err);
        stdio_close_ends(&job->stdio);
        if (r < 0)
                return r;
        job->is_launched = true;
        return job_watch_guard(job, err);
}

bool job_is_launched(const struct job *job)
{
        return job->is_launched;
}

int job_end(struct job *job, struct job_outcome *out, abatis_error *err)
{
        if (out)
                *out = (struct job_outcome){ .has_run = job->is_launched, .exit_code = -1 };
        if (job->control >= 0) {
                job_kill_tree(job);
                job_await_end(job);
                job_settle_output(job);
        }
        if (job->is_launched)
                return job_settle(job, out, err);
        return out ? error_set(err, ABATIS_E_INVALID, "the job was never launched") : 0;
}

/* What was made for a job that was never launched. */
static void remove_unused_tmp(const struct job *job)
{
        if (*job->tmp && !job->is_launched)
                rmdir(job->tmp);
}

void job_free(struct job *job)
{
        /* The guard removes the directory; a host program that waits for all of its children may have heard of its end. */
        while (job->guard && waitpid(job->guard, NULL, 0) < 0 && errno == EINTR)
                ;
        remove_unused_tmp(job);
        if (job->queue >= 0)
                close(job->queue);
        stdio_done(&job->stdio);
        terminal_done(&job->terminal);
        feed_done(&job->feed);
        stream_done(&job->streams[0]);
        stream_done(&job->streams[1]);
        free(job->program);
        free(job->cwd);
        for (size_t i = 0; job->definitions && i < LAUNCH_PARAMETERS; i++)
                free(job->definitions[i]);
        free(job->definitions);
        free(job->argv);
        free(job);
}

void job_drop(struct job *job)
{
        job_end(job, NULL, NULL);
        job_free(job);
}
