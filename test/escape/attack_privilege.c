/* Attempts to gain rights, or to find in one's own process what should not have come along: variables,
 * descriptors. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static unsigned long long effective_capabilities(void)
{
        unsigned long long set = 0;
        char line[256];
        FILE *status = fopen("/proc/self/status", "re");
        while (status && fgets(line, sizeof(line), status))
                if (sscanf(line, "CapEff: %llx", &set) == 1)
                        break;
        if (status)
                fclose(status);
        return set;
}

static int privilege_has_capabilities(char **argument)
{
        (void)argument;
        return effective_capabilities() ? SUCCEEDED : refused_because("CapEff", "empty");
}

static int privilege_is_root(char **argument)
{
        (void)argument;
        return geteuid() == 0 ? SUCCEEDED : refused_because("geteuid", "not root");
}

/* PROGRAM ATTEMPT: the program is a copy of this one with a setuid bit or file capabilities. */
static int privilege_exec(char **argument)
{
        char *const arguments[] = { argument[0], argument[1], NULL };
        execv(argument[0], arguments);
        return refused("execve");
}

static int privilege_capset(char **argument)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = { { .effective = 1 << CAP_CHOWN,
                                                    .permitted = 1 << CAP_CHOWN } };
        (void)argument;
        return outcome_of(syscall(SYS_capset, &header, data), "capset");
}

static int privilege_setuid(char **argument)
{
        return outcome_of(setresuid((uid_t)-1, (uid_t)number_of(argument[0]), (uid_t)-1), "setresuid");
}

static int privilege_setgroups(char **argument)
{
        const gid_t groups[1] = { (gid_t)number_of(argument[0]) };
        return outcome_of(setgroups(1, groups), "setgroups");
}

static int privilege_no_new_privs(char **argument)
{
        (void)argument;
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
                return SUCCEEDED;
        return refused_because("no_new_privs", "set");
}

static int privilege_no_seccomp(char **argument)
{
        (void)argument;
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 ? SUCCEEDED
                                                      : refused_because("seccomp", "a filter is there");
}

/* NAME */
static int environment_has(char **argument)
{
        const char *text = getenv(argument[0]);
        if (!text)
                return refused_because(argument[0], "not set");
        puts(text);
        return SUCCEEDED;
}

/* Any secret under any name, and in what the kernel keeps of the environment at exec. */
static int environment_has_secret(char **argument)
{
        (void)argument;
        for (char **variable = environ; *variable; variable++)
                if (strstr(*variable, SECRET))
                        return reveal_bytes(*variable, strlen(*variable));
        return reveal_path("/proc/self/environ");
}

/* FD */
static int descriptor_open(char **argument)
{
        return outcome_of(fcntl(number_of(argument[0]), F_GETFD), "F_GETFD");
}

/* Anything beside the three standard streams. */
static int descriptor_any(char **argument)
{
        (void)argument;
        for (int fd = 3; fd < 4096; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        return fprintf(stderr, "descriptor %d is open\n", fd) > 0 ? SUCCEEDED : REFUSED;
        return refused_because("descriptors", "only the standard streams");
}

/* A mask or a handler that came along would let a command survive a SIGTERM, or die of nothing. */
static int signals_inherited(char **argument)
{
        sigset_t mask;
        (void)argument;
        sigprocmask(SIG_BLOCK, NULL, &mask);
        for (int number = 1; number < 32; number++) {
                struct sigaction action;
                if (number == SIGKILL || number == SIGSTOP)
                        continue;
                sigaction(number, NULL, &action);
                if (sigismember(&mask, number) == 1 || action.sa_handler == SIG_IGN)
                        return fprintf(stderr, "signal %d is blocked or ignored\n", number) > 0 ? SUCCEEDED
                                                                                                : REFUSED;
        }
        return refused_because("signals", "all at their default");
}

const struct attempt privilege_attempts[] = {
        { "privilege_has_capabilities", 0, privilege_has_capabilities },
        { "privilege_is_root", 0, privilege_is_root },
        { "privilege_exec", 2, privilege_exec },
        { "privilege_capset", 0, privilege_capset },
        { "privilege_setuid", 1, privilege_setuid },
        { "privilege_setgroups", 1, privilege_setgroups },
        { "privilege_no_new_privs", 0, privilege_no_new_privs },
        { "privilege_no_seccomp", 0, privilege_no_seccomp },
        { "environment_has", 1, environment_has },
        { "environment_has_secret", 0, environment_has_secret },
        { "descriptor_open", 1, descriptor_open },
        { "descriptor_any", 0, descriptor_any },
        { "signals_inherited", 0, signals_inherited },
        { NULL, 0, NULL },
};
