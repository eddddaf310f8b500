/* meter_linux.c: looks at a job again and again, and says when it is over a limit. */
#define _GNU_SOURCE
#include "run/meter_linux.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

enum {
        BUSY_MS = 20,
        IDLE_MS = 100,     /* between looks at a tree that does nothing */
        IDLE_LOOKS = 5,    /* after which it does nothing */
        LEAST_MS = 5,      /* when little processor time is left */
        COST_FACTOR = 4,   /* of the time a look takes, the next one is so far away */
        MOST_FAILURES = 20 /* for want of memory or descriptors of our own */
};

void meter_choose(struct meter *meter, const struct plan *plan, const abatis_policy *policy)
{
        meter->limits = policy->limits;
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
                meter->is_grouped[limit] = plan_limits_by(plan, PLAN_CGROUP, limit);
                meter->is_counted[limit] = plan_limits_by(plan, PLAN_COUNT, limit);
                meter->has_cgroup |= meter->is_grouped[limit];
                meter->has_tree |= meter->is_counted[limit];
        }
        meter->is_timed = meter->has_tree || meter->is_grouped[LIMIT_CPU];
}

static uint64_t limit_of(const struct meter *meter, enum limit limit)
{
        return meter->is_grouped[limit] ? meter->limits[limit] : 0;
}

static int set_timer(const struct meter *meter, uint64_t microseconds)
{
        struct itimerspec when = { .it_value = { (time_t)(microseconds / 1000000),
                                                 (long)(microseconds % 1000000) * 1000 } };

        return timerfd_settime(meter->timer, 0, &when, NULL);
}

int meter_open(struct meter *meter, const struct host_cgroup *place, abatis_error *err)
{
        int r = 0;

        if (meter->has_cgroup)
                r = cgroup_open(&meter->cgroup, place, limit_of(meter, LIMIT_MEMORY),
                                limit_of(meter, LIMIT_PROCESSES), err);
        if (r < 0 || !meter->is_timed)
                return r;
        meter->processors = sysconf(_SC_NPROCESSORS_ONLN);
        meter->timer = fd_above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        if (meter->timer < 0 || set_timer(meter, LEAST_MS * 1000) < 0)
                return error_os(err, errno, "cannot watch the limits");
        return 0;
}

static uint64_t read_clock(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The tree cannot use up what is left sooner than with all processors. A little chance in it: nobody can count on when
 * he is looked at. */
static uint64_t next_look(const struct meter *meter, uint64_t cpu, uint64_t cost)
{
        uint64_t pause = (meter->idle >= IDLE_LOOKS || !meter->has_tree ? IDLE_MS : BUSY_MS) * 1000;
        const uint64_t limit = meter->limits[LIMIT_CPU] * 1000;

        if (limit) {
                uint64_t left =
                        limit > cpu
                                ? (limit - cpu) / (uint64_t)(meter->processors > 0 ? meter->processors : 1)
                                : 0;

                if (left < LEAST_MS * 1000)
                        left = LEAST_MS * 1000;
                if (left < pause)
                        pause = left;
        }
        if (pause < cost * COST_FACTOR)
                pause = cost * COST_FACTOR;
        return pause - read_clock() % (pause / 4 + 1);
}

static bool is_over(const struct meter *meter, enum limit limit, uint64_t used)
{
        return meter->is_counted[limit] && used > meter->limits[limit];
}

static enum limit find_excess(const struct meter *meter, const struct tree_figures *figures)
{
        if (is_over(meter, LIMIT_CPU, figures->cpu / 1000))
                return LIMIT_CPU;
        if (is_over(meter, LIMIT_WRITTEN, figures->written))
                return LIMIT_WRITTEN;
        return is_over(meter, LIMIT_MEMORY, figures->memory) ? LIMIT_MEMORY : LIMIT_COUNT;
}

static int look_at_tree(struct meter *meter, const struct child_job *child, int init, uint64_t *cpu)
{
        const struct tree_questions questions = { .cpu = meter->is_counted[LIMIT_CPU],
                                                  .memory = meter->is_counted[LIMIT_MEMORY],
                                                  .written = meter->is_counted[LIMIT_WRITTEN] };
        struct tree_figures figures = { 0 };
        enum limit over;
        int r = 0;

        if (meter->tree.proc < 0)
                r = child->ground->namespaces ? tree_open(&meter->tree, init, child->proc, child->stage)
                                              : tree_open_host(&meter->tree, init);
        if (!r)
                r = tree_look(&meter->tree, (unsigned)child->command, questions, &figures);
        if (r < 0)
                return r;
        over = find_excess(meter, &figures);
        /* A process that was waited for between two files counts twice, so what is over is looked at again. */
        if (over != LIMIT_COUNT) {
                r = tree_look(&meter->tree, (unsigned)child->command, questions, &figures);
                over = r < 0 ? LIMIT_COUNT : find_excess(meter, &figures);
        }
        /* Until here, what several processes have in common counts for each of them. */
        if (over == LIMIT_MEMORY) {
                r = tree_look_closely(&meter->tree, &figures.memory);
                over = r < 0 ? LIMIT_COUNT : find_excess(meter, &figures);
        }
        /* Nothing is certain of what it hides, so it is no limit that was reached. */
        if (!r && over == LIMIT_COUNT && is_over(meter, LIMIT_WRITTEN, figures.written + figures.unseen))
                r = -EACCES;
        if (r < 0)
                return r;
        meter->hit = over;
        *cpu = figures.cpu;
        return 0;
}

/* Nobody would look again: so the tree ends now. */
static bool look_later(struct meter *meter, uint64_t microseconds)
{
        if (set_timer(meter, microseconds) < 0)
                meter->error = errno;
        return meter->error;
}

static bool is_gone(int pidfd)
{
        struct pollfd wait = { pidfd, POLLIN, 0 };

        return poll(&wait, 1, 0) > 0;
}

bool meter_look(struct meter *meter, const struct child_job *child, int init, int init_pidfd)
{
        uint64_t start = read_clock(), cpu = 0, expirations;
        int r = 0;

        if (read(meter->timer, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
                return false;
        if (meter->hit != LIMIT_COUNT || meter->error)
                return false;
        /* Before that there is nothing to look into, and nothing runs. */
        if (__atomic_load_n(&child->phase, __ATOMIC_ACQUIRE) != PHASE_READY)
                return look_later(meter, LEAST_MS * 1000);
        if (meter->has_tree)
                r = look_at_tree(meter, child, init, &cpu);
        if (!r && meter->is_grouped[LIMIT_CPU]) {
                r = cgroup_read_cpu(&meter->cgroup, &cpu) ? 0 : -EIO;
                if (!r && cpu / 1000 > meter->limits[LIMIT_CPU])
                        meter->hit = LIMIT_CPU;
        }
        /* Nobody may look into a process that is about to end: not init's, and the command has ended before it. */
        if (r < 0 && (is_gone(init_pidfd) || __atomic_load_n(&child->has_status, __ATOMIC_ACQUIRE) ||
                      __atomic_load_n(&child->has_failed, __ATOMIC_ACQUIRE)))
                return false;
        meter->failures = r < 0 ? meter->failures + 1 : 0;
        /* A process that hides from us is not waited for. */
        if (r == -EACCES || r == -EPERM || meter->failures > MOST_FAILURES)
                meter->error = -r;
        if (meter->hit != LIMIT_COUNT || meter->error)
                return true;
        meter->idle = cpu == meter->last_cpu ? meter->idle + 1 : 0;
        meter->last_cpu = cpu;
        return look_later(meter, next_look(meter, cpu, read_clock() - start));
}

void meter_conclude(struct meter *meter)
{
        cgroup_kill(&meter->cgroup);
        meter->was_out_of_memory = meter->is_grouped[LIMIT_MEMORY] && cgroup_read_kills(&meter->cgroup);
        meter->was_refused_processes =
                meter->is_grouped[LIMIT_PROCESSES] && cgroup_read_refusals(&meter->cgroup);
}

void meter_done(struct meter *meter)
{
        tree_done(&meter->tree);
        cgroup_done(&meter->cgroup);
        if (meter->timer >= 0)
                close(meter->timer);
        meter->timer = -1;
}
