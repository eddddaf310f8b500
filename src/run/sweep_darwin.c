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
};

/* Whom we know not to be of the job, or to have ended. Numbers are given again only when all others were. */
struct known {
        unsigned char bits[NUMBERS / 8];
};

struct pass {
        int running, stopped; /* processes of the job */
        int gone;             /* ended before they could be asked: who knows whom they have left */
        bool has_failed;
};

static bool is_known(const struct known *known, pid_t process)
{
        return process < NUMBERS && known->bits[process / 8] >> process % 8 & 1;
}

static void remember(struct known *known, pid_t process)
{
        if (process < NUMBERS)
                known->bits[process / 8] |= (unsigned char)(1 << process % 8);
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

static struct pass go_through(const char *job, int number, struct known *known)
{
        struct pass pass = { 0 };
        pid_t processes[PROCESSES_MOST];
        int count = kernel_list_processes(processes, PROCESSES_MOST);

        pass.has_failed = count < 0 || count == PROCESSES_MOST;
        for (int i = 0; i < count; i++) {
                enum kernel_kin kin;

                if (processes[i] <= 1 || processes[i] == getpid() || is_known(known, processes[i]))
                        continue;
                kin = kernel_ask_process(processes[i], job);
                pass.running += kin == KIN_RUNS;
                pass.stopped += kin == KIN_STOPPED;
                pass.gone += kin == KIN_GONE;
                /* Of one that has ended, once: it may stay in the list, as long as its parent does not ask for it. */
                if (kin == KIN_STRANGER || kin == KIN_GONE)
                        remember(known, processes[i]);
                if (kin == KIN_RUNS || (kin == KIN_STOPPED && number == SIGKILL))
                        strike(processes[i], number);
        }
        return pass;
}

/* First all are stopped, since who runs may fork, and leave, faster than it is found. A list is of one moment: if everybody in it was
 * asked and nobody is of the job, there was nobody; if one has ended meanwhile, it may have left a child that is not in the
 * list. */
bool sweep_end(const char *job)
{
        const struct timespec moment = { .tv_nsec = 1000000 };
        struct known known;

        for (int passes = 0;; passes++) {
                struct pass pass;

                if (passes % PASSES_ONCE == 0)
                        memset(&known, 0, sizeof(known));
                pass = go_through(job, SIGSTOP, &known);
                if (pass.has_failed)
                        return false;
                if (!pass.running && !pass.stopped && !pass.gone)
                        return true;
                if (pass.running || !pass.stopped)
                        continue;
                go_through(job, SIGKILL, &known);
                nanosleep(&moment, NULL);
        }
}
