/* probe_linux.h: children of a probe, which the host program's own waiting does not see. */
#ifndef RUN_PROBE_LINUX_H
#define RUN_PROBE_LINUX_H

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A fork whose end is no SIGCHLD: a host program that ignores that signal, or waits for all of its children, does not take the
 * result away. */
static inline pid_t probe_fork(void)
{
        return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static inline int probe_wait(pid_t pid, int *status)
{
        while (waitpid(pid, status, __WALL) < 0)
                if (errno != EINTR)
                        return -1;
        return 0;
}

#endif
