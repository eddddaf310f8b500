/* Attempts to act on another process: signals, limits, scheduling. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int signal_kill(char **argument)
{
        return outcome_of(kill(number_of(argument[0]), SIGUSR1), "kill");
}

static int signal_tkill(char **argument)
{
        return outcome_of(syscall(SYS_tkill, number_of(argument[0]), SIGUSR1), "tkill");
}

static int signal_tgkill(char **argument)
{
        int pid = number_of(argument[0]);
        return outcome_of(syscall(SYS_tgkill, pid, pid, SIGUSR1), "tgkill");
}

static int signal_sigqueue(char **argument)
{
        return outcome_of(sigqueue(number_of(argument[0]), SIGUSR1, (union sigval){ .sival_int = 1 }),
                          "rt_sigqueueinfo");
}

static int signal_pidfd(char **argument)
{
        int pidfd = (int)syscall(SYS_pidfd_open, number_of(argument[0]), 0);
        if (pidfd < 0)
                return refused("pidfd_open");
        return outcome_of(syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0), "pidfd_send_signal");
}

/* A descriptor of a /proc/PID directory is as good as a pidfd. */
static int signal_proc_directory(char **argument)
{
        char path[64];
        snprintf(path, sizeof(path), "/proc/%s", argument[0]);
        int directory = open_flags(path, O_RDONLY | O_DIRECTORY);
        if (directory < 0)
                return refused("open /proc/PID");
        return outcome_of(syscall(SYS_pidfd_send_signal, directory, SIGUSR1, NULL, 0), "pidfd_send_signal");
}

static void ignore_own_signal(void)
{
        signal(SIGUSR1, SIG_IGN);
}

/* The kernel reports success when nobody but us was there: the victim's log decides. */
static int signal_everybody(char **argument)
{
        (void)argument;
        ignore_own_signal();
        return undecided(kill(-1, SIGUSR1), "kill(-1)");
}

static int signal_group(char **argument)
{
        (void)argument;
        ignore_own_signal();
        return undecided(kill(0, SIGUSR1), "kill(0)");
}

static int signal_group_of(char **argument)
{
        return outcome_of(kill(-number_of(argument[0]), SIGUSR1), "kill(-pgrp)");
}

static int signal_parent(char **argument)
{
        (void)argument;
        return outcome_of(kill(getppid(), SIGUSR1), "kill(getppid())");
}

/* The kernel sends SIGIO for us: the owner is checked when it is set and again when it is sent. */
static int signal_by_owner(char **argument)
{
        int pair[2];
        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) != 0)
                return untriable("no pipe");
        /* The kernel looks at the command's lower half only. */
        if (fcntl(pair[0], F_SETOWN, number_of(argument[0])) != 0 &&
            syscall(SYS_fcntl, pair[0], 1ul << 32 | F_SETOWN, number_of(argument[0])) != 0)
                return refused("F_SETOWN");
        if (fcntl(pair[0], F_SETSIG, SIGUSR1) != 0 || fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
                return refused("O_ASYNC");
        ssize_t written = write(pair[1], "x", 1);
        /* Or the pipe's end would send another, when the next attempt has begun. */
        fcntl(pair[0], F_SETFL, O_NONBLOCK);
        return outcome_of(written, "write");
}

/* SIGSTOP of the only process that could end us would make us immortal. Checked from outside: abatis must
 * return. */
static int signal_stop_supervisor(char **argument)
{
        (void)argument;
        int stopped = kill(1, SIGSTOP);
        return undecided(kill(1, SIGKILL) & stopped, "kill(1)");
}

static int limit_prlimit(char **argument)
{
        struct rlimit limit;
        int pid = number_of(argument[0]);
        if (prlimit(pid, RLIMIT_CORE, NULL, &limit) != 0)
                return refused("prlimit get");
        limit.rlim_cur = limit.rlim_max == 4096 ? 0 : limit.rlim_max > 4096 ? 4096 : 0;
        return outcome_of(prlimit(pid, RLIMIT_CORE, &limit, NULL), "prlimit set");
}

static int schedule_affinity(char **argument)
{
        cpu_set_t cpus;
        int pid = number_of(argument[0]);
        if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
                return refused("sched_getaffinity");
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&cpus) > 1; cpu++)
                CPU_CLR(cpu, &cpus);
        return outcome_of(sched_setaffinity(pid, sizeof(cpus), &cpus), "sched_setaffinity");
}

static int schedule_policy(char **argument)
{
        const struct sched_param parameter = { .sched_priority = 0 };
        return outcome_of(sched_setscheduler(number_of(argument[0]), SCHED_BATCH, &parameter),
                          "sched_setscheduler");
}

static int schedule_attributes(char **argument)
{
        struct {
                unsigned int size, policy;
                unsigned long long flags;
                int nice;
                unsigned int priority;
                unsigned long long runtime, deadline, period;
        } attributes = { .size = sizeof(attributes), .policy = SCHED_BATCH, .nice = 19 };
        return outcome_of(syscall(SYS_sched_setattr, number_of(argument[0]), &attributes, 0),
                          "sched_setattr");
}

static int schedule_nice(char **argument)
{
        return outcome_of(setpriority(PRIO_PROCESS, (id_t)number_of(argument[0]), 19), "setpriority");
}

/* All processes of the user: our child shows that it works, the victim shows how far. */
static int schedule_nice_user(char **argument)
{
        (void)argument;
        pid_t child = fork();
        if (child == 0)
                for (;;)
                        pause();
        int result = setpriority(PRIO_USER, getuid(), 19);
        /* The call fails when it may not touch one of them, and has still reached the others. */
        bool reached = getpriority(PRIO_PROCESS, (id_t)child) == 19;
        kill(child, SIGKILL);
        return undecided(reached ? 0 : result ? result : -1, "setpriority PRIO_USER");
}

static int schedule_ioprio(char **argument)
{
        return outcome_of(syscall(SYS_ioprio_set, 1, number_of(argument[0]), (3 << 13)), "ioprio_set");
}

/* RESOURCE NUMBER: raises a hard limit that the policy set. */
static int limit_raise(char **argument)
{
        struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
        int resource = number_of(argument[0]);
        limit.rlim_cur = limit.rlim_max = (rlim_t)number_of(argument[1]);
        return outcome_of(setrlimit((__rlimit_resource_t)resource, &limit), "setrlimit");
}

/* COUNT: that many children at once. */
static int limit_fork(char **argument)
{
        int wanted = number_of(argument[0]);
        pid_t children[1024];
        int made = 0;
        for (; made < wanted && made < 1024; made++) {
                children[made] = fork();
                if (children[made] < 0)
                        break;
                if (children[made] == 0)
                        for (;;)
                                pause();
        }
        int error = errno;
        for (int i = 0; i < made; i++)
                kill(children[i], SIGKILL);
        errno = error;
        return made == wanted ? SUCCEEDED : refused("fork");
}

/* FILE SIZE */
static int limit_write(char **argument)
{
        int fd = open_flags(argument[0], O_WRONLY | O_CREAT);
        signal(SIGXFSZ, SIG_IGN);
        return fd < 0 ? refused("open") : outcome_of(ftruncate(fd, number_of(argument[1])), "ftruncate");
}

const struct attempt control_attempts[] = {
        { "signal_kill", 1, signal_kill },
        { "signal_tkill", 1, signal_tkill },
        { "signal_tgkill", 1, signal_tgkill },
        { "signal_sigqueue", 1, signal_sigqueue },
        { "signal_pidfd", 1, signal_pidfd },
        { "signal_proc_directory", 1, signal_proc_directory },
        { "signal_everybody", 0, signal_everybody },
        { "signal_group", 0, signal_group },
        { "signal_group_of", 1, signal_group_of },
        { "signal_parent", 0, signal_parent },
        { "signal_by_owner", 1, signal_by_owner },
        { "signal_stop_supervisor", 0, signal_stop_supervisor },
        { "limit_prlimit", 1, limit_prlimit },
        { "schedule_affinity", 1, schedule_affinity },
        { "schedule_policy", 1, schedule_policy },
        { "schedule_attributes", 1, schedule_attributes },
        { "schedule_nice", 1, schedule_nice },
        { "schedule_nice_user", 0, schedule_nice_user },
        { "schedule_ioprio", 1, schedule_ioprio },
        { "limit_raise", 2, limit_raise },
        { "limit_fork", 1, limit_fork },
        { "limit_write", 2, limit_write },
        { NULL, 0, NULL },
};
