/* job_linux.c: begins, launches and ends a job. */
#define _GNU_SOURCE
#include "run/job_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "policy/keys.h"
#include "run/host_linux.h"
#include "run/keeper_linux.h"
#include "run/options.h"
#include "run/session_linux.h"
#include "run/syscall_linux.h"
#include "run/wrap_linux.h"

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

int job_make_rooms(struct job *job, abatis_error *err)
{
        const struct child_broker *broker = job->context.resources->child.broker;

        if (!broker)
                return 0;
        job->child.broker_count = (int)broker->threads;
        job->child.broker_rooms = malloc((size_t)job->child.broker_count * child_broker_room_size);
        return job->child.broker_rooms ? 0 : error_memory(err);
}

/* A thread that is counted with the command's processes is there from the beginning, so that there are always as many left. */
static int choose_loopback(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;

        if (stdio_has_aimable(&job->stdio))
                return resources_close_network(resources, &job->child.closed, err);
        if (!resources->child.has_loopback || !resources->child.counts_threads)
                return 0;
        job->child.loopback_stack = malloc(CHILD_STACK_SIZE);
        return job->child.loopback_stack ? 0 : error_memory(err);
}

/* Most of it a keeper or a session has given already. */
int job_take_plan(struct job *job, abatis_error *err)
{
        struct resources *resources = job->context.resources;
        int r = job_expect_leftovers(job, err);

        if (r || job->is_ready || job->session)
                return r;
        r = resources->child.tmp_rights ? job_make_own_tmp(job, err) : 0;
        job->slots = calloc(resources->steps.slot_count + 1, sizeof(*job->slots));
        if (!job->slots)
                return error_memory(err);
        job->child.slots = job->slots;
        job->child.plan = &resources->child;
        if (!r && (resources->child.has_loopback || resources->child.has_loopback_at_once))
                r = choose_loopback(job, err);
        return r ? r : job_make_rooms(job, err);
}

static int prepare_command(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const abatis_policy *policy = job->context.policy;
        const char **envp = job->context.environment, *home = options_home(policy);
        int r = job_take_plan(job, err);

        if (!r)
                job_set_variables(job, envp);
        /* In the directory that the command works in, if somebody has said which. */
        job->cwd = path_to_enter(options->cwd);
        if (!job->cwd && options->cwd)
                return error_memory(err);
        if (!r)
                r = commands_search(policy, options->argv[0], envp, options->cwd ? job->cwd : NULL,
                                    &job->program, err);
        if (!r)
                r = commands_check(policy, job->program, err);
        if (!r)
                r = copy_arguments(job, options->argv, envp, err);
        if (r < 0)
                return r;
        job->child.program = job->program;
        /* Without mounts one that is not in view could be entered. */
        if (job->cwd && !options->cwd && strcmp(job->cwd, home) != 0 &&
            !view_shows(policy, ABATIS_READ, job->cwd)) {
                free(job->cwd);
                job->cwd = NULL;
        }
        /* Of one that was begun ahead they were not known. */
        for (int i = 0; i < 3; i++)
                job->child.files[i] = job->stdio.paths[i];
        job->child.cwd = job->cwd ? job->cwd : home;
        job->child.fallback_cwd = options->cwd ? NULL : home;
        r = arguments_check(policy, options->argv, job->child.cwd, err);
        return r || !job->wrap ? r : wrap_fill(job, err);
}

/* A stack that ends with a page touches one page less. */
char *job_stack(const struct job *job)
{
        return job->stacks + (-(uintptr_t)job->stacks & (CHILD_STACK_PAGE - 1));
}

static int clone_init(struct job *job, abatis_error *err)
{
        char *stacks = job_stack(job);
        struct clone3_arguments arguments = {
                .flags = job->ground.child.namespaces | CLONE_VM | CLONE_PIDFD | CLONE3_CLEAR_SIGHAND,
                .pidfd = (uintptr_t)&job->pidfd,
                /* No exit signal: the host program's own SIGCHLD handling never sees this child. */
                .exit_signal = 0,
                .stack = (uintptr_t)stacks,
                .stack_size = CHILD_STACK_SIZE,
        };
        OWN_FD int host = fd_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
        const uint64_t all = ~0ull;
        uint64_t before;
        long pid;

        if (host < 0)
                return error_os(err, errno, "cannot watch the host process");
        job->child.ground = &job->ground.child;
        job->child.command_stack = stacks + 2 * CHILD_STACK_SIZE;
        job->child.host_pidfd = host;
        if (job->network) {
                job->child.network = job->network->inside;
                job->child.knocks = job->network->knocks;
                job->child.network_stack = job->network->stack;
                job->child.network_asker = 0;
        }
        job->child.end_event = job->end_event < 0 ? 0 : job->end_event;
        memcpy(job->child.stdio, job->stdio.fds, sizeof(job->child.stdio));
        for (int i = 0; i < 3; i++)
                job->child.files[i] = job->stdio.paths[i];
        job->child.has_terminal = job->options.terminal;
        job->child.terminal_socket = job->terminal.sockets[1];
        job->child.terminal_size[0] = (unsigned short)job->options.rows;
        job->child.terminal_size[1] = (unsigned short)job->options.columns;
        /* Init begins with everything blocked: what it must pass on or hear of may come before its first instruction. */
        pid = RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
        if (pid < 0)
                return error_os(err, (int)-pid, "cannot hold signals back");
        job->child.has_cgroup = job->meter.has_cgroup;
        job->child.cgroup = job->meter.cgroup.directory;
        pid = raw_clone(&arguments, child_init, &job->child);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
        job->pidfd = pid < 0 ? -1 : fd_above_stdio(job->pidfd);
        job->clone_errno = pid < 0 ? (int)-pid : 0;
        if (pid < 0) {
                if (!job->ground.child.namespaces)
                        return error_os(err, (int)-pid, "cannot start the sandbox");
                return job_explain_refusal((int)-pid, "cannot create the sandbox's namespaces", err);
        }
        job->init = (int)pid;
        return 0;
}

/* What the command will have as 0, 1 and 2, and where we read its output. The caller's descriptors are looked at before
 * any of ours is made: one of ours could get a number of theirs that they had closed. */
static int connect_stdio(struct job *job, abatis_error *err)
{
        const abatis_job_options *options = &job->options;
        const int given[3] = { options->stdin_fd, options->stdout_fd, options->stderr_fd };
        int r = 0;

        if (options->terminal) {
                for (int i = 0; i < 3 && !r; i++)
                        r = stdio_choose(&job->stdio, i, -1, err);
                return r ? r : job_watch_terminal(job, err);
        }
        for (int i = 0; i < 3 && !r; i++)
                if (i ? !options->capture : !options->stdin_data)
                        r = stdio_choose(&job->stdio, i, given[i], err);
        if (!r && options->stdin_data)
                r = job_watch_input(job, err);
        if (r || !options->capture)
                return r;
        for (int i = 0; i < (options->capture == ABATIS_CAPTURE_MERGED ? 1 : 2) && !r; i++)
                r = job_watch_output(job, i, given[i + 1], err);
        if (!r && options->capture == ABATIS_CAPTURE_MERGED)
                job->stdio.fds[2] = job->stdio.fds[1];
        return r;
}

void job_free(struct job *job)
{
        const int fds[] = { job->epoll,       job->pidfd,       job->timer,  job->end_event,
                            job->launches[0], job->launches[1], job->control };

        if (job->is_over && !job->is_reaped)
                job_reap(job, 0, NULL);
        if (job->session)
                session_leave(job);
        if (job->is_reaped && job->context.resources)
                keeper_vacate(job->context.resources->keeper, job);
        /* Init has done it, if it came to that. */
        child_tmp_remove(&job->child);

        for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        meter_done(&job->meter);
        stdio_done(&job->stdio);
        terminal_done(&job->terminal);
        feed_done(&job->feed);
        stream_done(&job->streams[0]);
        stream_done(&job->streams[1]);
        free(job->arena);
        free(job->program);
        free(job->cwd);
        stacks_return(job->context.resources ? &job->context.resources->stacks : NULL, job->stacks);
        free(job->slots);
        free(job->child.broker_rooms);
        free(job->child.stamps);
        free(job->child.findings);
        free((void *)job->child.closed);
        free(job->child.loopback_stack);
        network_free(job->network);
        wrap_free(job->wrap);
        free(job);
}

/* A kernel may lack them, a sysctl limit them to none; a security module or a masked /proc lets one have them, and no mounts
 * in them. */
static bool is_refusal(int error)
{
        return error == EPERM || error == EACCES;
}

static bool is_refusal_of_clone(int error)
{
        return is_refusal(error) || error == ENOSPC || error == EUSERS || error == ENOSYS || error == EINVAL;
}

static bool is_refusal_of_ground(const struct child_job *child)
{
        bool is_of_namespace =
                child->failed_plan_op == PLAN_NAMESPACES || child->failed_plan_op == PLAN_PRIVATE_IPC;

        return is_refusal(child->failed_errno) ||
               (is_of_namespace && (child->failed_errno == ENOSPC || child->failed_errno == ENOSYS));
}

/* Where the kernel gives no namespaces, the plan will be one without, if there can be one. */
static void begin_without_namespaces(struct job *job, abatis_host *host)
{
        int refusal = job->clone_errno;

        host->namespaces = NAMESPACES_NONE;
        ground_lay_out_early(&job->ground, host);
        clone_init(job, NULL);
        job->clone_errno = refusal;
}

/* Without a plan there is no telling yet which refusal matters: a ground that cannot be laid now is tried again at the
 * launch, which reports it. */
void job_begin_ground(struct job *job)
{
        const struct resources *resources = job->context.resources;
        const abatis_host *known = resources ? resources->host : NULL;
        abatis_host host;

        /* The relay must be there first, and needs the policy; so does what bubblewrap is given. */
        if (known && (resources->child.has_relay || resources->child.is_wrapped))
                return;
        if (known) {
                ground_lay_out(&job->ground, known, &resources->child);
        } else {
                host_probe_quickly(&host);
                ground_lay_out_early(&job->ground, &host);
        }
        if (clone_init(job, NULL) < 0 && !known && is_refusal_of_clone(job->clone_errno))
                begin_without_namespaces(job, &host);
}

int job_await_ground(const struct job *job)
{
        struct pollfd end = { job->pidfd, POLLIN, 0 };

        if (job->clone_errno || job->pidfd < 0)
                return is_refusal_of_clone(job->clone_errno) ? job->clone_errno : 0;
        while (child_look_at_ground(&job->child) == PHASE_NEW)
                if (poll(&end, 1, 0))
                        return 0; /* init was killed */
        if (child_look_at_ground(&job->child) == PHASE_READY || !is_refusal_of_ground(&job->child))
                return 0;
        return job->child.failed_errno;
}

bool job_has_ground(const struct job *job)
{
        return job->pidfd < 0 || __atomic_load_n(&job->child.ground_phase, __ATOMIC_ACQUIRE) != PHASE_NEW;
}

struct job *job_new(struct resources *resources)
{
        struct job *job = calloc(1, sizeof(*job));

        if (!job)
                return NULL;
        job->epoll = job->pidfd = job->timer = job->end_event = job->launches[0] = job->launches[1] =
                job->control = job->feed.pipe = job->streams[0].pipe = job->streams[1].pipe = -1;
        job->stdio = (struct stdio)STDIO_INIT;
        job->terminal = (struct terminal)TERMINAL_INIT;
        job->meter = (struct meter)METER_INIT;
        job->context.resources = resources;
        job->stacks = stacks_take(resources ? &resources->stacks : NULL);
        if (job->stacks)
                return job;
        job_free(job);
        return NULL;
}

/* Whether a job that was begun before these were known will do. */
static bool suits_all(const abatis_job_options *options)
{
        return !options->terminal && (options->stdin_data || !stdio_is_particular(options->stdin_fd)) &&
               (options->capture ||
                (!stdio_is_particular(options->stdout_fd) && !stdio_is_particular(options->stderr_fd)));
}

int job_prepare(const abatis_job_options *options, struct resources *resources, struct job **out,
                abatis_error *err)
{
        struct job *job = NULL;
        int r = options_check(options, err);

        if (r < 0)
                return r;
        if (resources && resources->keeper && suits_all(options))
                job = keeper_take(resources->keeper);
        if (!job)
                job = job_new(resources);
        if (!job)
                return error_memory(err);
        job->options = *options;
        r = connect_stdio(job, err);
        if (r < 0) {
                job_drop(job);
                return r;
        }
        /* Who starts one job has nothing else to do until it is gone. Without the event it takes a little longer. */
        if (!resources)
                job->end_event = fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (resources && resources->session)
                r = session_enter(resources->session, job, err);
        else if (!job->is_ready)
                job_begin_ground(job);
        if (r < 0) {
                job_drop(job);
                return r;
        }
        *out = job;
        return 0;
}

/* The sandbox's own network works before anybody is in it. */
static int begin_with_relay(struct job *job, abatis_error *err)
{
        int r;

        network_free(job->network);
        job->network = NULL;
        r = network_open(job->context.policy, job->ground.child.has_network,
                         plan_broker_asks(job->context.plan) & BROKER_DOORS, &job->network, err);
        if (!r)
                r = clone_init(job, err);
        return r ? r : network_await(job->network, err);
}

/* A plan that was made for less than the ground provides, a ground that could not be laid, or a domain or a cgroup that the
 * command has to be born in: moved there, it would take its children along only from then on. */
int job_renew_ground(struct job *job, abatis_error *err)
{
        const abatis_host *host = job->context.resources->host;
        const struct child_plan *plan = &job->context.resources->child;
        int r = 0;

        if (job->is_ready || job->session)
                return 0;
        if (job->pidfd >= 0 && ground_fits(&job->ground, host, plan) && !job->meter.has_cgroup && !job->wrap)
                return 0;
        if (job->pidfd >= 0) {
                job_kill_tree(job);
                r = job_reap(job, 0, err);
                close(job->pidfd);
                job->pidfd = -1;
                job->is_reaped = job->is_over = false;
        }
        job->child = (struct child_job){ 0 };
        /* The clone copies the descriptors anew, so they are looked at anew. */
        for (int i = 0; i < 3 && !r; i++)
                if (job->stdio.ends[i] < 0)
                        r = stdio_choose(&job->stdio, i, job->stdio.fds[i], err);
        if (r < 0)
                return r;
        ground_lay_out(&job->ground, host, plan);
        return plan->has_relay ? begin_with_relay(job, err) : clone_init(job, err);
}

/* Somebody has killed what was prepared. Nothing of the command has run. */
static int begin_again(struct job *job, abatis_error *err)
{
        void *const held[] = { job->arena,         job->program,      job->cwd,
                               job->slots,         job->child.stamps, job->child.broker_rooms,
                               job->child.findings };
        int r;

        job_kill_tree(job);
        r = job_reap(job, 0, err);
        close(job->pidfd);
        job->pidfd = -1;
        job->is_reaped = job->is_over = job->is_ready = false;
        child_tmp_remove(&job->child);
        for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
                free(held[i]);
        job->arena = job->program = job->cwd = NULL;
        job->slots = NULL;
        job->child.broker_rooms = NULL;
        job->child.stamps = NULL;
        job->child.findings = NULL;
        job->child.leftover_count = 0;
        if (!r)
                r = job_renew_ground(job, err);
        return r ? r : prepare_command(job, err);
}

/* When init gets the plan, everything else is known too: from there on it has the processor to itself. */
int job_launch(struct job *job, const struct job_context *context, abatis_error *err)
{
        const uint64_t *limits = context->policy->limits;
        const struct child_plan *plan = &context->resources->child;
        bool is_begun = (plan->has_loopback || plan->has_loopback_at_once) && (job->is_ready || job->session);
        int r = 0;

        job->context = *context;
        if (context->resources->session && !job->session)
                return error_set(err, ABATIS_E_INVALID,
                                 "a job that was prepared alone cannot be launched in a shared session");
        job_read_clock(&job->start);
        for (int i = 0; i < 2 && context->wants_digests; i++)
                stream_digest(&job->streams[i]);
        r = options_limit_output(&job->options, context->policy, job->streams, err);
        meter_choose(&job->meter, context->plan, context->policy);
        if (!r)
                r = meter_open(&job->meter, &context->resources->host->cgroup, err);
        if (!r && plan->is_wrapped)
                r = wrap_open(job, err);
        if (!r)
                r = job_renew_ground(job, err);
        if (!r)
                r = stdio_check(&job->stdio, context->policy,
                                plan_broker_asks(context->plan) & (BROKER_CONNECTS | BROKER_SOCKETS),
                                is_begun, err);
        if (!r)
                r = prepare_command(job, err);
        if (!r && limits[LIMIT_TIMEOUT])
                r = job_set_deadline(job, limits[LIMIT_TIMEOUT], err);
        if (!r)
                r = job_watch_meter(job, err);
        if (!r)
                r = job_watch_network(job, err);
        if (!r && job->is_ready && keeper_launch(job) < 0)
                r = begin_again(job, err);
        if (!r && job->session)
                r = session_launch(job, err);
        stdio_close_ends(&job->stdio);
        if (job->wrap)
                wrap_close_ends(job->wrap);
        if (job->terminal.sockets[1] >= 0)
                close(job->terminal.sockets[1]);
        job->terminal.sockets[1] = -1;
        if (r < 0)
                return r;
        job->is_launched = true;
        if (!job->is_ready && !job->session)
                child_give_plan(&job->child);
        /* The children work now, so this costs nobody's time. Nor does the other: whose mounts init copies was prepared long ago. */
        r = job_watch_end(job, err);
        if (!job->is_ready && !job->session && job->ground.child.has_mounts &&
            !(job->ground.child.namespaces & CLONE_NEWNS))
                job_await_ground(job);
        keeper_note_start(context->resources->keeper);
        return r;
}

bool job_is_launched(const struct job *job)
{
        return job->is_launched;
}

int job_end(struct job *job, struct job_outcome *out, abatis_error *err)
{
        abatis_error below;
        int r = 0;

        if (out)
                *out = (struct job_outcome){ .has_run = job->is_launched, .exit_code = -1 };

        if ((job->pidfd >= 0 || job->control >= 0) && !job->is_over) {
                job_kill_tree(job);
                r = job_reap(job, 0, err);
                job_settle_output(job);
        }
        if (job->is_launched) {
                meter_conclude(&job->meter);
                keeper_note_end(job->context.resources->keeper);
        }
        if (!r && job->is_launched)
                r = job_settle(job, out, err);
        else if (!r && out)
                r = error_set(err, ABATIS_E_INVALID, "the job was never launched");
        /* What is still there is worse than any other failure. */
        if (job_clear_leftovers(job, out, &below) < 0) {
                r = below.code;
                if (err)
                        *err = below;
        }
        return r;
}

void job_drop(struct job *job)
{
        job_end(job, NULL, NULL);
        job_free(job);
}
