/* Measures what a launch is made of, one mechanism at a time: where the next microsecond is to be found. No bars. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 300, FILTER_LENGTH = 129 /* of the default policy's, on x86_64 */ };

/* The same on every architecture. */
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, MOUNT_SETATTR = 442, LANDLOCK = 444 };

/* A part of a launch: a process that is started so and does this. */
struct mechanism {
        const char *name;
        int flags;                    /* of clone */
        int (*work)(const char *bin); /* what is timed, in the process; NULL: its start and end are */
};

static int mount_proc(const char *bin)
{
        (void)bin;
        return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=4");
}

static int mount_tmpfs(const char *bin)
{
        (void)bin;
        return mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

static int mount_terminals(const char *bin)
{
        (void)bin;
        return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666");
}

static int cover(const char *bin)
{
        long tree = syscall(OPEN_TREE, AT_FDCWD, bin, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
        return tree < 0 ? -1
                        : (int)syscall(MOVE_MOUNT, tree, "", AT_FDCWD, "/tmp", 4 /* from the descriptor */);
}

static int restrict_world(const char *bin)
{
        const uint64_t change[4] = { 1 | 2 | 4 /* read-only, nosuid, nodev */, 0, MS_PRIVATE, 0 };
        (void)bin;
        return (int)syscall(MOUNT_SETATTR, AT_FDCWD, "/", 0x8000 /* AT_RECURSIVE */, change, sizeof change);
}

static int restrict_by_landlock(const char *bin)
{
        const uint64_t handled = 0x1fff; /* what ABI 1 knows of */
        long ruleset = syscall(LANDLOCK, &handled, sizeof handled, 0);
        const char *const paths[] = { "/", "/tmp", "/dev/null" };
        (void)bin;
        if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        for (int i = 0; i < 3; i++) {
                struct {
                        uint64_t allowed;
                        int fd;
                } __attribute__((packed)) rule = { 0xd | 2, open(paths[i], O_PATH | O_CLOEXEC) };
                if (i == 2)
                        rule.allowed = 6;
                if (syscall(LANDLOCK + 1, ruleset, 1 /* of a path */, &rule, 0) < 0)
                        return -1;
        }
        return (int)syscall(LANDLOCK + 2, ruleset, 0);
}

/* As long as ours, and as deep: seven comparisons lead to an answer, and every number gets one. */
static int load_filter(const char *bin)
{
        struct sock_filter code[FILTER_LENGTH];
        struct sock_fprog filter = { FILTER_LENGTH, code };
        (void)bin;
        code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
        for (int i = 1; i < FILTER_LENGTH - 1; i++)
                code[i] = (struct sock_filter)
                        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1000, 0,
                                 (unsigned char)(i < 8 || i > 126 ? 0 : FILTER_LENGTH - 2 - i));
        code[FILTER_LENGTH - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0x7fff0000 /* allow */);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int)syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, &filter);
}

static int new_session(const char *bin)
{
        (void)bin;
        return setsid() < 0 ? -1 : 0;
}

static const struct mechanism mechanisms[] = {
        { "a process, to its end", 0, NULL },
        { "in a user namespace", CLONE_NEWUSER, NULL },
        { "and a PID namespace", CLONE_NEWUSER | CLONE_NEWPID, NULL },
        { "and a mount namespace", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, NULL },
        { "and an IPC namespace", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, NULL },
        { "and a network namespace", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET,
          NULL },
        { "mount /proc", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, mount_proc },
        { "mount a tmpfs", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, mount_tmpfs },
        { "mount terminals", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, mount_terminals },
        { "cover a path", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, cover },
        { "make the world read-only", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, restrict_world },
        { "Landlock, three rules", 0, restrict_by_landlock },
        { "load a filter", 0, load_filter },
        { "a session", 0, new_session },
};

struct errand {
        const struct mechanism *mechanism;
        const char *bin;
        double us;
        int error;
};

static int run_errand(void *argument)
{
        struct errand *errand = argument;
        double start = now_us();
        if (errand->mechanism->work != NULL && errand->mechanism->work(errand->bin) < 0)
                errand->error = errno;
        errand->us = now_us() - start;
        return 0;
}

/* In our own memory, as abatis starts its children; we sleep until it has ended. */
static bool measure_once(const struct mechanism *mechanism, const char *bin, double *us)
{
        static char stack[64 * 1024] __attribute__((aligned(16)));
        struct errand errand = { mechanism, bin, 0, 0 };
        double start = now_us();
        pid_t pid = clone(run_errand, stack + sizeof stack,
                          mechanism->flags | CLONE_VM | CLONE_VFORK | SIGCHLD, &errand);
        int status;
        if (pid < 0)
                return false;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        die("cannot wait: %s", strerror(errno));
        *us = mechanism->work != NULL ? errand.us : now_us() - start;
        errno = errand.error;
        return errand.error == 0 && status == 0;
}

int main(int argc, char **argv)
{
        enum { COUNT = sizeof mechanisms / sizeof *mechanisms };
        static double samples[COUNT][ROUNDS];
        static struct place place;
        char bin[PATH_SIZE + 8];
        bool works[COUNT];
        size_t order[COUNT];
        uint64_t state = 0x9e3779b97f4a7c15u;
        if (argc != 2)
                die("usage: mechanisms DIR");
        place_init(&place, argv[1]);
        snprintf(bin, sizeof bin, "%s/bin", place.dir);
        for (size_t i = 0; i < COUNT; i++) {
                order[i] = i;
                works[i] = measure_once(&mechanisms[i], bin, &samples[i][0]);
                if (!works[i])
                        printf("%-28s does not work here: %s\n", mechanisms[i].name, strerror(errno));
        }
        for (size_t round = 0; round < ROUNDS; round++) {
                shuffle(order, COUNT, &state);
                for (size_t i = 0; i < COUNT; i++)
                        if (works[order[i]] &&
                            !measure_once(&mechanisms[order[i]], bin, &samples[order[i]][round]))
                                die("%s failed: %s", mechanisms[order[i]].name, strerror(errno));
        }
        printf("%-28s %10s %10s\n", "microseconds", "median", "p90");
        for (size_t i = 0; i < COUNT; i++) {
                double median, p90;
                if (!works[i])
                        continue;
                median = quantile(samples[i], ROUNDS, 0.5);
                p90 = quantile(samples[i], ROUNDS, 0.9);
                printf("%-28s %10.1f %10.1f\n", mechanisms[i].name, median, p90);
                figure_write(&place, "mechanisms", mechanisms[i].name, "median_us", median, "p90_us", p90,
                             NULL);
        }
        return 0;
}
