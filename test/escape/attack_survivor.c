/* Attempts to outlive the job: each leaves a process behind whose command line carries the runner's
 * marker. */
#include "attack.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void ignore_polite_signals(void)
{
        for (int number = 1; number < NSIG; number++)
                if (number != SIGCHLD)
                        signal(number, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

static void close_everything(void)
{
        for (int fd = 0; fd < 1024; fd++)
                close(fd);
        if (chdir("/") != 0)
                _exit(1);
}

static void linger(void)
{
        /* Long enough to be found, short enough not to haunt a machine on which the sandbox failed. */
        for (int i = 0; i < 60; i++)
                sleep(1);
        _exit(0);
}

/* MARKER: stays in the foreground, and never ends by itself. */
static int survive_foreground(char **argument)
{
        (void)argument;
        ignore_polite_signals();
        linger();
        return SUCCEEDED;
}

/* MARKER: setsid, two forks, no descriptor left. The first process ends at once. */
static int survive_daemon(char **argument)
{
        (void)argument;
        if (fork() == 0) {
                setsid();
                if (fork() == 0) {
                        ignore_polite_signals();
                        close_everything();
                        linger();
                }
                _exit(0);
        }
        wait(NULL);
        return SUCCEEDED;
}

/* MARKER: the daemon, while the command itself also stays. */
static int survive_daemon_and_stay(char **argument)
{
        survive_daemon(argument);
        return survive_foreground(argument);
}

/* MARKER: the daemon, while the command itself waits and obeys every signal. */
static int survive_daemon_and_obey(char **argument)
{
        survive_daemon(argument);
        linger();
        return SUCCEEDED;
}

/* MARKER: keeps the pipes of the output open, so that whoever waits for their end waits for ever. */
static int survive_holding_output(char **argument)
{
        (void)argument;
        if (fork() == 0) {
                setsid();
                if (fork() == 0) {
                        ignore_polite_signals();
                        linger();
                }
                _exit(0);
        }
        wait(NULL);
        return SUCCEEDED;
}

/* MARKER FILE: never the same process twice, so a killer that walks a list comes too late. The file grows
 * while one lives. */
static int survive_by_forking(char **argument)
{
        int beat = open_flags(argument[1], O_WRONLY | O_CREAT | O_APPEND);
        if (beat < 0)
                return refused("open");
        setsid();
        ignore_polite_signals();
        signal(SIGCHLD, SIG_IGN);
        for (int i = 0; i < 10000; i++) {
                pid_t child = fork();
                if (child > 0)
                        _exit(0);
                usleep(2000);
                if (access(argument[1], F_OK) != 0 || write(beat, ".", 1) != 1)
                        _exit(1); /* whoever removes the file ends the chain */
        }
        return SUCCEEDED;
}

/* MARKER: a stopped process takes no signal but one. */
static int survive_stopped(char **argument)
{
        (void)argument;
        if (fork() == 0) {
                setsid();
                close_everything();
                raise(SIGSTOP);
                linger();
        }
        ignore_polite_signals();
        linger();
        return SUCCEEDED;
}

static int wait_in_vfork(void *unused)
{
        (void)unused;
        ignore_polite_signals();
        linger();
        return 0;
}

/* MARKER: a parent that waits for its vfork child cannot be interrupted by anything but SIGKILL. */
static int survive_in_vfork(char **argument)
{
        char *stack = malloc(65536);
        (void)argument;
        if (!stack)
                return untriable("no memory");
        ignore_polite_signals();
        clone(wait_in_vfork, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        return SUCCEEDED;
}

const struct attempt survivor_attempts[] = {
        { "survive_foreground", 1, survive_foreground },
        { "survive_daemon", 1, survive_daemon },
        { "survive_daemon_and_stay", 1, survive_daemon_and_stay },
        { "survive_daemon_and_obey", 1, survive_daemon_and_obey },
        { "survive_holding_output", 1, survive_holding_output },
        { "survive_by_forking", 2, survive_by_forking },
        { "survive_stopped", 1, survive_stopped },
        { "survive_in_vfork", 1, survive_in_vfork },
        { NULL, 0, NULL },
};
