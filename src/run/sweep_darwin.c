/* sweep_darwin.c: ends every process of a job, wherever it has gone. */
#include "run/sweep_darwin.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "run/kernel_darwin.h"

enum {
        PROCESSES_MOST = 16 * 1024, /* more than macOS lets there be; 64 KiB of a stack */
        PASSES_MOST = 64,
};

struct pass {
        int found;   /* processes of the job */
        int running; /* of these, those that were not stopped already */
        bool has_failed;
};

/* Sends the signal to each of them: SIGSTOP, or SIGKILL. Who was born meanwhile is found by the next pass. */
static struct pass go_through(const char *job, int number)
{
        struct pass pass = { 0 };
        pid_t processes[PROCESSES_MOST];
        int count = kernel_list_processes(processes, PROCESSES_MOST);

        pass.has_failed = count < 0 || count == PROCESSES_MOST;
        for (int i = 0; i < count; i++) {
                if (processes[i] <= 1 || processes[i] == getpid() || !kernel_is_of_job(processes[i], job))
                        continue;
                pass.found++;
                if (number == SIGSTOP && kernel_is_stopped(processes[i]))
                        continue;
                pass.running++;
                kill(processes[i], number);
        }
        return pass;
}

/* First all are stopped, since who runs may fork faster than it is found; who is stopped does not. */
bool sweep_end(const char *job)
{
        const struct timespec moment = { .tv_nsec = 1000000 };

        for (;;) {
                struct pass pass = { .running = 1 };

                for (int passes = 0; pass.running && passes < PASSES_MOST; passes++)
                        pass = go_through(job, SIGSTOP);
                if (pass.has_failed)
                        return false;
                if (!pass.found)
                        return true;
                go_through(job, SIGKILL);
                nanosleep(&moment, NULL);
        }
}
