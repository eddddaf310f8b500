/* sweep_darwin.c: ends every process of a job, wherever it has gone. */
#include "run/sweep_darwin.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/kernel_darwin.h"

enum {
        PROCESSES_MOST = 16 * 1024, /* more than macOS lets there be; 64 KiB of a stack */
        NUMBERS = 100 * 1000,       /* of processes, on macOS */
        PASSES_ONCE = 64,
        UNKNOWN_PASSES = 200, /* in which the kernel does not say who somebody is */
};

struct numbers {
        unsigned char bits[NUMBERS / 8];
};

/* Whom we know not to be of the job, and who has ended. Numbers are given again only when all others were. */
struct known {
        struct numbers strangers, ended;
};

struct pass {
        int running, stopped; /* processes of the job */
        int gone;             /* ended before they could be asked: who knows whom they have left */
        int unknown;          /* not told */
        bool has_failed;
};

static bool has(const struct numbers *numbers, pid_t process)
{
        return process < NUMBERS && numbers->bits[process / 8] >> process % 8 & 1;
}

static void add(struct numbers *numbers, pid_t process)
{
        if (process < NUMBERS)
                numbers->bits[process / 8] |= (unsigned char)(1 << process % 8);
}

/* To its process group at once, where who is born belongs to it from the beginning. The command had a session of its own, so
 * nobody else is in any of them. */
static void strike(pid_t process, int number)
{
        pid_t group = getpgid(process);

        if (group > 1 && group != getpgrp())
                kill(-group, number);
        kill(process, number);
}

static void meet(pid_t process, const char *job, int number, struct known *known, struct pass *pass)
{
        const enum kernel_kin kin = kernel_ask_process(process, job);

        switch (kin) {
        case KIN_STRANGER:
                add(&known->strangers, process);
                return;
        case KIN_GONE:
                /* Once: it may stay in the list, as long as its parent does not ask for it. */
                pass->gone += !has(&known->ended, process);
                add(&known->ended, process);
                return;
        case KIN_UNKNOWN:
                pass->unknown++;
                return;
        case KIN_STOPPED:
                pass->stopped++;
                if (number == SIGKILL)
                        strike(process, number);
                return;
        case KIN_RUNS:
                pass->running++;
                strike(process, number);
                return;
        }
}

static struct pass go_through(const char *job, int number, struct known *known)
{
        struct pass pass = { 0 };
        pid_t processes[PROCESSES_MOST];
        int count = kernel_list_processes(processes, PROCESSES_MOST);

        pass.has_failed = count < 0 || count == PROCESSES_MOST;
        for (int i = 0; i < count; i++)
                if (processes[i] > 1 && processes[i] != getpid() && !has(&known->strangers, processes[i]))
                        meet(processes[i], job, number, known, &pass);
        return pass;
}

/* First all are stopped, since who runs may fork, and leave, faster than it is found. A list is of one moment: if everybody in it was
 * asked and nobody is of the job, there was nobody; if one has ended meanwhile, it may have left a child that is not in the
 * list. In the last pass really everybody is asked: a number may be another's by now. */
bool sweep_end(const char *job)
{
        const struct timespec moment = { .tv_nsec = 1000000 };
        int unknown_passes = 0;
        struct known known;

        memset(&known, 0, sizeof(known));
        for (int passes = 0, since_cleared = 0;; passes++, since_cleared++) {
                struct pass pass = go_through(job, SIGSTOP, &known);
                const bool is_clean = !pass.running && !pass.stopped && !pass.gone && !pass.unknown;

                unknown_passes += pass.unknown > 0;
                if (pass.has_failed || unknown_passes > UNKNOWN_PASSES) {
                        /* Not everybody is found; who is has been stopped, and is not left so. */
                        go_through(job, SIGKILL, &known);
                        return false;
                }
                if (is_clean && !since_cleared)
                        return true;
                if (is_clean || passes % PASSES_ONCE == PASSES_ONCE - 1) {
                        memset(&known.strangers, 0, sizeof(known.strangers));
                        since_cleared = -1;
                }
                if (is_clean || pass.running || (!pass.stopped && !pass.unknown))
                        continue;
                go_through(job, SIGKILL, &known);
                nanosleep(&moment, NULL);
        }
}
