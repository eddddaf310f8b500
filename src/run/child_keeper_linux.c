/* child_keeper_linux.c: the keeper of a prepared sandbox. Raw system calls over prepared data.
 *
 * It lives in a user namespace and in mounts of its own, where the world of the sandbox is laid out: all that its jobs have in
 * common. It has their filter, too, since a filter is inherited for nothing and takes a third of a program's start to load. On
 * request it starts init in a copy of its mounts and in a new PID namespace; what must be each job's own is left to that. Where the filter
 * asks init for sockets, it is a thread of the keeper's that has it and starts init: a nest, for one job at a time.
 *
 * Init is the host process's child, as if that had started it. Until its launch it ends with the keeper, and then depends on it no more. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum { HELD_COUNT = 3 };

/* 0, 1 and 2 are taken, by what is there anyway, so that nothing else stands where the command's will. */
static long close_others(const struct child_keeper *keeper)
{
        long kept[6] = { keeper->host_pidfd, keeper->requests, keeper->host_mounts,
                         keeper->host_root,  keeper->life[0],  keeper->life[1] };
        long r = child_close_others(kept, 6, 0);

        for (int i = 0; i < 3 && r >= 0; i++)
                r = RAW(SYS_dup3, keeper->host_pidfd, i, O_CLOEXEC);
        return r;
}

/* Masks that were lost while others were made, and what to notice by those that are lost later: the root, in which the mounts are,
 * and a file by which the kernel tells of every change since it was opened. */
static long give_watch(const struct child_keeper *keeper)
{
        const struct child_plan *plan = keeper->world.plan;
        const int watch[2] = {
                (int)RAW(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
                (int)RAW(SYS_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC),
        };
        const char byte = 0;

        if (watch[0] < 0 || watch[1] < 0)
                return watch[0] < 0 ? watch[0] : watch[1];
        for (size_t i = 0; i < plan->kept_count; i++) {
                const struct init_step *step = &plan->kept_steps[i];
                bool exists;

                if (step->is_kept && !child_is_mount_point(step->path + plan->root_length, &exists))
                        return -ESTALE;
        }
        return child_send(keeper->requests, &byte, 1, watch, 2);
}

static bool lay_world(struct child_keeper *keeper)
{
        struct child_job *world = &keeper->world;
        const struct child_ground *ground = world->ground;
        const struct child_plan *plan = world->plan;
        long r;

        if (!child_do_init_steps(world, ground->init_steps, ground->init_count) ||
            !child_do_init_steps(world, plan->init_steps, plan->init_count))
                return false;
        r = give_watch(keeper);
        if (r >= 0)
                r = RAW(SYS_chdir, "/");
        if (r >= 0)
                r = close_others(keeper);
        if (r >= 0)
                r = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (r >= 0 && keeper->filter.len && !keeper->has_nests)
                r = RAW(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, &keeper->filter);
        return r >= 0;
}

/* To take a job's mounts down takes half as long as to start a program. Whoever lets go of them last does it: that would be init,
 * in its exit, while everybody waits for it. So they are held here until later jobs have been begun, or nobody begins any. Where many run
 * every processor is busy, and to put it off only adds to it. */
static void hold_mounts(int *held, int pid)
{
        char path[32];

        if (held[HELD_COUNT - 1] >= 0)
                RAW(SYS_close, held[HELD_COUNT - 1]);
        for (int i = HELD_COUNT - 1; i; i--)
                held[i] = held[i - 1];
        text_write(text_write_number(text_write(path, "/proc/"), (unsigned)pid), "/ns/mnt");
        held[0] = (int)RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static void let_go(int *held)
{
        for (int i = 0; i < HELD_COUNT; i++) {
                if (held[i] >= 0)
                        RAW(SYS_close, held[i]);
                held[i] = -1;
        }
}

/* Who begins jobs: the keeper, or one of its nests, which ends with it. */
struct beginner {
        const struct child_keeper *keeper;
        struct pollfd waits[3]; /* the host program, its mounts, requests */
        long listener;          /* of the filter's questions; 0: it asks none; or why there is none */
};

/* Of this file, so that its address needs no table. */
static void begin(void *job)
{
        child_init_ready(job);
}

/* Returns init's number, or an error. The kernel has written it before init runs, and before we can be killed. From the last line on the
 * job may be at its end, and its memory somebody else's. */
static long start(const struct beginner *beginner, struct child_job *job)
{
        const struct child_keeper *keeper = beginner->keeper;
        const uint64_t flags = CLONE_VM | CLONE_PARENT | CLONE_PARENT_SETTID | keeper->job_namespaces;
        long pid = beginner->listener;

        job->host_pidfd = keeper->host_pidfd;
        job->umask = keeper->umask;
        job->life = keeper->life[0];
        job->questions = (int)beginner->listener;
        if (pid >= 0)
                pid = raw_clone_call(SYS_clone, (long)flags, (long)(job->command_stack - CHILD_STACK_SIZE),
                                     (long)&job->init, 0, job->pass, begin, job);
        child_set(&job->begun, pid < 0 ? (int)pid : 1);
        return pid;
}

static void open_nest(struct child_nest *nest, int requests);

static void serve(struct beginner *beginner)
{
        struct pollfd *waits = beginner->waits;
        int held[HELD_COUNT], given;
        bool is_holding = false;

        for (int i = 0; i < HELD_COUNT; i++)
                held[i] = -1;
        for (;;) {
                const struct timespec patience = { 0, 20 * 1000 * 1000 };
                struct child_order request = { 0 };
                bool is_to_be_held;
                long r = RAW(SYS_ppoll, waits, 3, is_holding ? &patience : 0, 0, 0);

                if (!r)
                        let_go(held);
                is_holding &= r != 0;
                if (r <= 0)
                        continue;
                if (waits[0].revents || waits[1].revents ||
                    child_receive(waits[2].fd, &request, sizeof(request), &given, 1, MSG_CMSG_CLOEXEC) < 0)
                        return;
                if (request.nest) {
                        open_nest(request.nest, given);
                        RAW(SYS_close, given);
                        continue;
                }
                request.job->launches = given;
                is_to_be_held = !request.job->is_among_many;
                r = start(beginner, request.job);
                RAW(SYS_close, given);
                /* Who holds nothing is not woken for it. */
                is_holding |= r > 0 && is_to_be_held;
                if (r > 0 && is_to_be_held)
                        hold_mounts(held, (int)r);
        }
}

/* What it hears of the keeper's is none of its business; and no other nest has its descriptors. */
static void serve_nest(void *argument)
{
        const struct child_nest *nest = argument;
        const struct child_keeper *keeper = nest->keeper;
        struct beginner beginner = { .keeper = keeper,
                                     .waits = { { -1, 0, 0 }, { -1, 0, 0 }, { nest->requests, POLLIN, 0 } } };
        long kept[5] = { keeper->host_pidfd, keeper->host_root, keeper->life[0], keeper->life[1],
                         nest->requests };

        child_close_others(kept, 5, 3);
        beginner.listener = child_broker_load(&keeper->filter, 0);
        serve(&beginner);
        for (;;)
                RAW(SYS_exit, 0);
}

static void open_nest(struct child_nest *nest, int requests)
{
        struct clone3_arguments arguments = { .flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD |
                                                       CLONE_CHILD_CLEARTID,
                                              .child_tid = (uintptr_t)&nest->is_there,
                                              .stack = (uintptr_t)nest->stack,
                                              .stack_size = CHILD_STACK_SIZE };

        nest->requests = requests;
        if (raw_clone(&arguments, serve_nest, nest) < 0)
                nest->is_there = 0;
}

void child_keep(void *argument)
{
        struct child_keeper *keeper = argument;
        struct beginner beginner = { .keeper = keeper };

        RAW(SYS_prctl, PR_SET_NAME, "abatis keeper", 0, 0, 0);
        child_reset_signals();
        keeper->umask = (int)RAW(SYS_umask, 0);
        if (RAW(SYS_pipe2, keeper->life, O_CLOEXEC) >= 0 && close_others(keeper) >= 0 && lay_world(keeper)) {
                beginner.waits[0] = (struct pollfd){ keeper->host_pidfd, POLLIN, 0 };
                beginner.waits[1] = (struct pollfd){ keeper->host_mounts, POLLPRI, 0 };
                beginner.waits[2] = (struct pollfd){ keeper->requests, POLLIN, 0 };
                serve(&beginner);
        }
        for (;;)
                RAW(SYS_exit_group, 0);
}
