/* keeper_linux.c: the host program's side of a prepared sandbox. */
#define _GNU_SOURCE
#include "run/keeper_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/statx_linux.h"
#include "run/job_linux.h"
#include "run/nests_linux.h"
#include "run/self_linux.h"
#include "run/stamps_linux.h"
#include "run/syscall_linux.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum {
        MOST_SPARES = 16,
        MOST_TRIES = MOST_SPARES + 2,
        MOST_MS_TO_END = 100,
        PATIENCE_NS = 10 * 1000 * 1000,
        PATIENCE_TRIES = 20,
        MOST_FAILURES = 3, /* of the keeper in a row; then jobs are begun without it */
};

struct keeper {
        pthread_mutex_t lock;
        struct resources *resources; /* borrowed */
        pid_t owner;                 /* who forks has a copy of this, and not of the processes */
        struct steps world_steps, job_steps;
        struct child_plan world_plan, job_plan;
        struct filter_options filter_options;
        const char **
                places; /* owned: where something is mounted in the world, from its root; borrowed from the steps */
        size_t place_count;
        bool has_deadline; /* every job has one */
        bool is_wanted;    /* it was started, and may have been killed since */
        unsigned failures, wanted;
        unsigned start_count; /* of jobs, ever */
        unsigned job_count;   /* of those that run */
        /* While it runs: */
        bool is_running;
        struct filter filter; /* without a broker; with a pass of its own */
        uint64_t pass;
        struct child_keeper child;
        struct ground ground;
        char *stack;
        int *slots;
        struct nests nests;
        struct self self; /* this process, when it was started */
        int pidfd, requests;
        int host_mounts; /* readable, in poll's sense, once a mount of the host's comes or goes */
        /* From the keeper, -1 until it has sent them: readable, likewise, once one of the world's mounts is lost; its root. */
        int mounts, root;
        struct job *draft; /* the next to be begun, or NULL */
        struct job *spares[MOST_SPARES];
        unsigned spare_count;
};

/* ---- whether the world is what it was ------------------------------------------------------------------- */

/* Trees, masks, and what is bound again. */
static bool is_of_policy(const struct init_step *step)
{
        return step->is_kept || step->op == INIT_EXPOSE || (step->op == INIT_PLACE && !step->is_system);
}

static int find_places(struct keeper *keeper)
{
        const struct steps *steps = &keeper->world_steps;

        keeper->places = calloc(steps->init_count + 1, sizeof(*keeper->places));
        if (!keeper->places)
                return -1;
        for (size_t i = 0; i < steps->init_count; i++)
                if (is_of_policy(&steps->init[i]))
                        keeper->places[keeper->place_count++] = steps->init[i].path + steps->root_length + 1;
        return 0;
}

/* A mount belongs to a file or a directory, not to its name: who moves that away and puts another in its place has it out of the world,
 * and no mount is lost. */
static bool is_mounted(const struct keeper *keeper, const char *path)
{
        const uint64_t mount_root = 0x2000; /* STATX_ATTR_MOUNT_ROOT */
        struct statx_facts facts;

        return !statx_examine(keeper->root, path, &facts) && facts.attributes & mount_root;
}

/* Its first message. */
static void receive_watch(struct keeper *keeper)
{
        struct pollfd message = { keeper->requests, POLLIN, 0 };
        int fds[2];
        char byte = 0;

        if (keeper->mounts >= 0 || poll(&message, 1, 0) <= 0 || !(message.revents & POLLIN) ||
            child_receive(keeper->requests, &byte, 1, fds, 2, MSG_CMSG_CLOEXEC) < 0)
                return;
        keeper->mounts = fd_above_stdio(fds[0]);
        keeper->root = fd_above_stdio(fds[1]);
}

static bool has_mounts(const struct keeper *keeper)
{
        return host_has_mounts(keeper->resources->host);
}

static bool is_current(struct keeper *keeper, const struct job *job)
{
        struct pollfd signs[3];

        receive_watch(keeper);
        signs[0] = (struct pollfd){ keeper->pidfd, POLLIN, 0 };
        signs[1] = (struct pollfd){ keeper->host_mounts, POLLPRI, 0 };
        signs[2] = (struct pollfd){ keeper->mounts, POLLPRI, 0 };
        if (keeper->mounts < 0 || poll(signs, 3, 0) || !self_is_as_before(&keeper->self))
                return false;
        for (size_t i = 0; i < keeper->place_count; i++)
                if (!is_mounted(keeper, keeper->places[i]))
                        return false;
        return has_mounts(keeper) || stamps_are_current(&job->child, keeper->resources);
}

/* ---- jobs that are begun ahead -------------------------------------------------------------------------- */

/* True if init lives; if not, errno is EMFILE where that is not known. Its number is its own as long as nobody but us waits for it; a
 * host program that waits for everybody (__WALL) may have given it to another child, which has no memory of ours. */
static bool hold_init(struct job *job)
{
        struct pollfd sign = { .events = POLLIN };

        job->init = job->child.init;
        errno = 0;
        sign.fd = job->pidfd =
                job->init > 0 ? fd_above_stdio((int)syscall(SYS_pidfd_open, job->init, 0)) : -1;
        if (job->pidfd < 0 || poll(&sign, 1, 0)) {
                errno = errno == ENFILE || errno == ENOMEM ? EMFILE : errno;
                return false;
        }
        if (syscall(SYS_kcmp, getpid(), job->init, 1 /* KCMP_VM */, 0, 0) <= 0)
                return true;
        /* Who is about to end has no memory any more either. */
        if (!poll(&sign, 1, MOST_MS_TO_END)) {
                close(job->pidfd);
                job->pidfd = -1;
                errno = 0;
        }
        return false;
}

/* The keeper has started it, or is gone. In a copy of the host process there is nothing to end. Without its socket the command ends by
 * itself, also if we may not kill it any more. */
static void discard(const struct keeper *keeper, struct job *job)
{
        if (keeper->owner == getpid()) {
                shutdown(job->launches[0], SHUT_RDWR);
                child_summon(&job->child, SUMMONS_SENT);
                /* Without a descriptor nobody can wait for it, and it has this memory until its end. */
                if (job->pidfd < 0 && !hold_init(job) && job->pidfd < 0 && errno == EMFILE)
                        return;
        } else {
                job->child.has_own_tmp = false;
        }
        job_drop(job);
}

/* Without mounts: where its directory will be, and what its rules will have been made from. */
static int prepare_rules(struct job *job)
{
        const struct child_plan *plan = &job->context.resources->child;
        const char *other = access("/tmp", W_OK) < 0 ? getenv("TMPDIR") : NULL;

        job->child.stamps = calloc(plan->rule_count + 1, sizeof(*job->child.stamps));
        if (!job->child.stamps)
                return -1;
        return plan->tmp_rights ? job_name_own_tmp(job, other && *other == '/' ? other : "/tmp") : 0;
}

/* One that can be begun. What the children will find in it is complete before the keeper hears of it. */
static struct job *draft(struct keeper *keeper)
{
        struct resources *resources = keeper->resources;
        struct job *job = job_new(resources);

        if (!job)
                return NULL;
        job->slots = calloc(keeper->job_steps.slot_count + 1, sizeof(*job->slots));
        if (!job->slots || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, job->launches) < 0 ||
            fds_above_stdio(job->launches) < 0 || job_watch_ahead(job, keeper->has_deadline, NULL) < 0 ||
            job_make_rooms(job, NULL) < 0 || (!has_mounts(keeper) && prepare_rules(job) < 0)) {
                job_drop(job);
                return NULL;
        }
        ground_lay_out_in_world(&job->ground, resources->host, &resources->child);
        job->is_ready = true;
        job->child.ground = &job->ground.child;
        job->child.plan = &keeper->job_plan;
        job->child.slots = job->slots;
        job->child.is_planned = WORD_GIVEN;
        job->child.command_stack = job_stack(job) + 2 * CHILD_STACK_SIZE;
        return job;
}

static struct job *begin(struct keeper *keeper)
{
        struct job *job = keeper->draft ? keeper->draft : draft(keeper);
        const struct child_order request = { .job = job ? &job->child : NULL };
        int requests = keeper->requests;

        keeper->draft = NULL;
        if (!job)
                return NULL;
        job->child.pass = keeper->pass; /* of this keeper, which may be a later one than the draft */
        job->child.is_among_many = keeper->job_count > keeper->wanted;
        if (keeper->child.has_nests)
                requests = nests_take(&keeper->nests, &keeper->child, keeper->requests, &job->nest);
        if (requests < 0 || child_send(requests, &request, sizeof(request), &job->launches[1], 1) < 0) {
                nests_give_back(&keeper->nests, &job->nest, MOST_SPARES);
                job_drop(job);
                return NULL;
        }
        close(job->launches[1]);
        job->launches[1] = -1;
        return job;
}

/* Until init has been started, or will not be. A keeper that somebody has stopped is not waited for. */
static bool has_begun(const struct keeper *keeper, struct job *job)
{
        const struct timespec patience = { 0, PATIENCE_NS };
        /* One that the keeper has no thread for is hung up. */
        struct pollfd signs[2] = { { keeper->pidfd, POLLIN, 0 }, { nests_socket(&job->nest), 0, 0 } };
        int *begun = &job->child.begun;

        for (int tries = 0; tries < PATIENCE_TRIES && !__atomic_load_n(begun, __ATOMIC_ACQUIRE); tries++)
                if (syscall(SYS_futex, begun, FUTEX_WAIT, 0, &patience, NULL, 0) < 0 && errno == ETIMEDOUT &&
                    poll(signs, 2, 0))
                        break;
        return job->child.init > 0;
}

/* Until init has done its part, with a broker also the command: then the rules are made. Where the world is in the mounts, that need not be
 * waited for. */
static bool is_ready(const struct keeper *keeper, struct job *job)
{
        const struct timespec patience = { 0, PATIENCE_NS };
        int *phase = &job->child.phase, now = PHASE_READY;

        for (int tries = 0; !has_mounts(keeper) && tries < PATIENCE_TRIES; tries++) {
                now = __atomic_load_n(phase, __ATOMIC_ACQUIRE);
                if (now == PHASE_READY || now == PHASE_FAILED)
                        break;
                syscall(SYS_futex, phase, FUTEX_WAIT, now, &patience, NULL, 0);
        }
        return now == PHASE_READY;
}

/* Init ends with its keeper, unless we are first. */
static bool can_start(struct job *job)
{
        int nobody = CLAIM_OPEN;

        return hold_init(job) && __atomic_compare_exchange_n(&job->child.claim, &nobody, CLAIM_STARTS, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ---- the process ---------------------------------------------------------------------------------------- */

/* Who has given up his user may not kill it: then it hears that nobody will ask it again. */
static void end_process(const struct keeper *keeper)
{
        siginfo_t info;

        shutdown(keeper->requests, SHUT_RDWR);
        syscall(SYS_pidfd_send_signal, keeper->pidfd, SIGKILL, NULL, 0);
        while (waitid((idtype_t)P_PIDFD, (id_t)keeper->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
                ;
}

static void release(struct keeper *keeper)
{
        const int fds[] = { keeper->pidfd, keeper->requests, keeper->host_mounts, keeper->mounts,
                            keeper->root };

        keeper->is_running = false;
        for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        nests_clear(&keeper->nests);
        free(keeper->stack);
        free(keeper->slots);
        keeper->stack = NULL;
        keeper->slots = NULL;
}

static void stop(struct keeper *keeper)
{
        if (!keeper->is_running)
                return;
        if (keeper->owner == getpid())
                end_process(keeper);
        for (unsigned i = 0; i < keeper->spare_count; i++)
                discard(keeper, keeper->spares[i]);
        keeper->spare_count = 0;
        release(keeper);
}

static long clone_keeper(struct keeper *keeper, int requests, int host_mounts)
{
        struct clone3_arguments arguments = {
                .flags = keeper->ground.child.namespaces | CLONE_VM | CLONE_PIDFD | CLONE3_CLEAR_SIGHAND,
                .pidfd = (uintptr_t)&keeper->pidfd,
                .exit_signal = 0, /* as of init, which has the same from it */
                .stack = (uintptr_t)keeper->stack,
                .stack_size = CHILD_STACK_SIZE,
        };
        const struct child_broker *broker = keeper->resources->child.broker;
        OWN_FD int host = fd_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
        const uint64_t all = ~0ull;
        uint64_t before;
        long pid;

        if (host < 0)
                return -errno;
        keeper->child =
                (struct child_keeper){ .world = { .ground = &keeper->ground.child,
                                                  .plan = &keeper->world_plan,
                                                  .slots = keeper->slots },
                                       .filter = { (unsigned short)keeper->filter.length,
                                                   keeper->filter.code },
                                       .has_nests = keeper->world_plan.has_loopback && !broker,
                                       .job_namespaces = ground_namespaces_in_world(keeper->resources->host),
                                       .host_pidfd = host,
                                       .host_root = broker && broker->sockets ? broker->host : host,
                                       .host_mounts = host_mounts,
                                       .requests = requests };
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
        pid = raw_clone(&arguments, child_keep, &keeper->child);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
        if (pid > 0)
                keeper->pidfd = fd_above_stdio(keeper->pidfd);
        return pid;
}

/* Each has its own: to be told of a change is to have heard of it. */
static int open_mounts(void)
{
        return fd_above_stdio(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
}

static int draw_filter(struct keeper *keeper)
{
        struct filter_options filter = keeper->filter_options;

        while (!filter.pass)
                if (getrandom(&filter.pass, sizeof(filter.pass), 0) != sizeof(filter.pass))
                        return -1;
        keeper->pass = filter.pass;
        return filter_build(&filter, &keeper->filter, NULL);
}

static bool start(struct keeper *keeper)
{
        OWN_FD int host_mounts = -1, requests = -1;
        int ends[2];

        if (keeper->failures >= MOST_FAILURES || keeper->owner != getpid())
                return false;
        keeper->failures++; /* until a job has come of it */
        keeper->is_wanted = true;
        if ((!keeper->resources->child.broker && draw_filter(keeper) < 0) ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || fds_above_stdio(ends) < 0)
                return false;
        requests = ends[1];
        host_mounts = open_mounts();
        keeper->requests = ends[0];
        keeper->host_mounts = open_mounts();
        keeper->pidfd = keeper->mounts = keeper->root = -1;
        keeper->stack = malloc(CHILD_STACK_SIZE);
        keeper->slots = calloc(keeper->world_steps.slot_count + 1, sizeof(*keeper->slots));
        self_look(&keeper->self);
        ground_lay_out_world(&keeper->ground, keeper->resources->host);
        keeper->is_running = true;
        if (requests < 0 || host_mounts < 0 || keeper->host_mounts < 0 || !keeper->stack || !keeper->slots ||
            clone_keeper(keeper, requests, host_mounts) < 0)
                release(keeper);
        return keeper->is_running;
}

static void refill(struct keeper *keeper)
{
        while (keeper->is_running && keeper->spare_count < keeper->wanted) {
                struct job *job = begin(keeper);

                if (!job)
                        return;
                keeper->spares[keeper->spare_count++] = job;
        }
}

/* The oldest: it has had the most time. */
static struct job *next(struct keeper *keeper)
{
        struct job *job = keeper->spares[0];

        if (!keeper->spare_count)
                return begin(keeper);
        keeper->spare_count--;
        memmove(keeper->spares, keeper->spares + 1, keeper->spare_count * sizeof(*keeper->spares));
        return job;
}

/* One that waits for its launch, in a world that is what it was a moment ago. If there is none, the keeper is started anew, and this job is
 * begun without it: that takes no longer. */
static struct job *take(struct keeper *keeper)
{
        struct job *job = NULL;

        if (!keeper->is_running)
                return NULL;
        for (int tries = 0; tries < MOST_TRIES; tries++) {
                job = next(keeper);
                if (!job || !has_begun(keeper, job) || !is_ready(keeper, job))
                        break;
                /* Where nothing else runs there is a processor for it, beside ours. */
                if (!keeper->job_count)
                        child_summon(&job->child, SUMMONS_SOON);
                if (can_start(job)) {
                        keeper->failures = 0;
                        if (is_current(keeper, job))
                                return job;
                        break;
                }
                discard(keeper, job); /* somebody has killed it, or it could not be made */
                job = NULL;
        }
        stop(keeper); /* first: it could still begin the job */
        if (job)
                discard(keeper, job);
        return NULL;
}

struct job *keeper_take(struct keeper *keeper)
{
        struct job *job;

        if (!keeper || keeper->owner != getpid())
                return NULL;
        pthread_mutex_lock(&keeper->lock);
        job = take(keeper);
        if (!job && keeper->is_wanted && !keeper->is_running)
                start(keeper);
        pthread_mutex_unlock(&keeper->lock);
        return job;
}

/* Who starts a second command will start a third. A single one has the machine to itself until it ends; where there are several,
 * the next will not wait for that. */
static void note(struct keeper *keeper, bool is_start)
{
        if (!keeper || keeper->owner != getpid())
                return;
        pthread_mutex_lock(&keeper->lock);
        if (is_start) {
                keeper->job_count++;
                keeper->start_count++;
        } else {
                keeper->job_count--;
        }
        if (is_start && keeper->start_count == 2 && !keeper->is_running)
                start(keeper);
        if (!is_start || keeper->job_count > 1)
                refill(keeper);
        else if (keeper->is_running && !keeper->draft)
                keeper->draft = draft(keeper);
        pthread_mutex_unlock(&keeper->lock);
}

void keeper_note_start(struct keeper *keeper)
{
        note(keeper, true);
}

void keeper_note_end(struct keeper *keeper)
{
        note(keeper, false);
}

void keeper_vacate(struct keeper *keeper, const struct job *job)
{
        if (keeper && keeper->owner == getpid())
                nests_give_back(&keeper->nests, &job->nest, MOST_SPARES);
}

int keeper_launch(struct job *job)
{
        const char byte = 0;
        int r = (int)child_send(job->launches[0], &byte, 1, job->stdio.fds, 3);

        child_summon(&job->child, SUMMONS_SENT);
        return r;
}

static void share_plan(struct child_plan *plan, const struct resources *resources, const struct steps *steps,
                       const struct steps *world_steps)
{
        *plan = resources->child;
        plan->init_steps = steps->init;
        plan->init_count = steps->init_count;
        plan->command_steps = steps->command;
        plan->command_count = steps->command_count;
        plan->kept_steps = world_steps->init;
        plan->kept_count = world_steps->init_count;
}

static int make(struct keeper *keeper, const struct plan *plan, const abatis_policy *policy)
{
        struct resources *resources = keeper->resources;
        int r = steps_make(STEPS_WORLD, plan, policy, resources->host, &resources->copies,
                           &resources->strings, &keeper->world_steps, NULL);

        if (!r)
                r = steps_make(STEPS_JOB, plan, policy, resources->host, &resources->copies,
                               &resources->strings, &keeper->job_steps, NULL);
        if (!r)
                r = find_places(keeper);
        resources_describe_filter(plan, policy, &keeper->filter_options);
        share_plan(&keeper->world_plan, resources, &keeper->world_steps, &keeper->world_steps);
        share_plan(&keeper->job_plan, resources, &keeper->job_steps, &keeper->world_steps);
        return r;
}

void resources_prepare(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                       unsigned spares, bool is_at_once)
{
        struct keeper *keeper;

        /* A relay is of one job, and so is the network that it leads out of. */
        if (resources->child.has_relay || !steps_can_be_parted(plan, policy, resources->host))
                return;
        keeper = calloc(1, sizeof(*keeper));
        if (!keeper)
                return;
        pthread_mutex_init(&keeper->lock, NULL);
        nests_init(&keeper->nests);
        keeper->resources = resources;
        keeper->owner = getpid();
        keeper->has_deadline = policy->limits[LIMIT_TIMEOUT];
        keeper->wanted = spares < MOST_SPARES ? spares : MOST_SPARES;
        if (make(keeper, plan, policy) < 0 || (is_at_once && !start(keeper))) {
                keeper_free(keeper);
                return;
        }
        refill(keeper);
        resources->keeper = keeper;
}

void keeper_free(struct keeper *keeper)
{
        if (!keeper)
                return;
        if (keeper->owner != getpid())
                nests_forget(&keeper->nests);
        stop(keeper);
        if (keeper->draft)
                job_drop(keeper->draft);
        steps_done(&keeper->world_steps);
        steps_done(&keeper->job_steps);
        free(keeper->places);
        nests_done(&keeper->nests);
        pthread_mutex_destroy(&keeper->lock);
        free(keeper);
}
