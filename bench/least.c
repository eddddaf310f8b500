/* The least that a command can do that holds the default policy with namespaces:
 *
 *   least PROGRAM ARGUMENT...
 *
 * It reads no policy, asks the host nothing and writes nothing: it takes the secrets of the home to be five, makes the mounts that the plan of
 * `abatis run` has here, gives Landlock's rights, loads the filter of descriptor 9, and keeps a process that ends the others; the two do so at
 * the same time, as init and the command of `abatis run` do. It exits as the program does.
 *
 *   least -n COUNT AT_ONCE PROGRAM ARGUMENT...
 *
 * The world is made once, and the program runs COUNT times in it, each in mounts and processes of its own. Nobody is told of it and nobody can
 * ask for it: a library does both, too. Nor is there a filter, which a keeper's children would have for nothing. What `abatis run` and a prepared sandbox could reach at best: printed beside them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/syscall_linux.h"

enum {
        FILTER_FD = 9,
        FILTER_MAX = 4096,
        STACK_SIZE = 32 * 1024,
        CLONE_TREE = 1,
        EMPTY = 0x1000,
        RECURSIVE = 0x8000,
        JOBS_MAX = 64,
        NAMESPACES = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC,
};

static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const char *const secrets[] = { ".aws", ".config/gh", ".gnupg", ".netrc", ".ssh" };

static struct sock_filter code[FILTER_MAX];
static struct sock_fprog filter = { 0, code };
static const char *home;
static char workspace[4096], ids[2][32], **command_words;
static int is_ready, count, at_once;

/* Init and the command share our memory, each on a stack of its own. */
static struct job {
        char stacks[2][STACK_SIZE];
        long init;
        int status;
} __attribute__((aligned(4096))) jobs[JOBS_MAX];

/* Whoever fails ends, and the launch fails. */
static long must(long r, const char *what)
{
        if (r >= 0)
                return r;
        fprintf(stderr, "least: %s: %s\n", what, strerror((int)-r));
        for (;;)
                RAW(SYS_exit_group, 125);
}

static void write_file(const char *path, const char *bytes)
{
        long fd = must(RAW(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC), path);

        must(RAW(SYS_write, fd, bytes, strlen(bytes)), path);
        RAW(SYS_close, fd);
}

static long clone_tree(long from, const char *path, long flags)
{
        return must(RAW(SYS_open_tree, from, path, CLONE_TREE | O_CLOEXEC | flags), path);
}

static void put(long tree, long place, const char *path)
{
        must(RAW(SYS_move_mount, tree, "", place, path, *path ? 4 : 4 | 0x40), path);
}

static long find(const char *path)
{
        const struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                                      .resolve = RESOLVE_NO_SYMLINKS };

        return must(RAW(SYS_openat2, AT_FDCWD, path, &how, sizeof how), path);
}

static void set_attributes(long tree, const char *path, uint64_t attributes)
{
        const uint64_t wanted[4] = { attributes, 0, MS_PRIVATE, 0 };

        must(RAW(SYS_mount_setattr, tree, path, *path ? RECURSIVE : EMPTY | RECURSIVE, wanted, sizeof wanted),
             "attributes");
}

static void hide(long stage)
{
        char path[4200];

        for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
                snprintf(path, sizeof path, "%s/%s", home, secrets[i]);
                put(clone_tree(stage, strcmp(secrets[i], ".netrc") != 0 ? "d" : "f", 0), find(path), "");
        }
}

static void mount_proc(void)
{
        must(RAW(SYS_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=4"), "proc");
}

static void mount_terminals(void)
{
        must(RAW(SYS_mount, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666"),
             "terminals");
        put(clone_tree(AT_FDCWD, "/dev/pts/ptmx", 0), AT_FDCWD, "/dev/ptmx");
}

/* A file system whose parts are put where something is to be hidden, or is new. */
static long make_stage(void)
{
        long stage;

        must(RAW(SYS_mount, "tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, 0), "stage");
        stage = must(RAW(SYS_openat, AT_FDCWD, "/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC), "stage");
        must(RAW(SYS_mkdirat, stage, "tmp", 01777), "tmp");
        must(RAW(SYS_mkdirat, stage, "shm", 01777), "shm");
        return stage;
}

static void make_world(void)
{
        long stage = make_stage(), tmp, shm, nodes[6], writable;
        char path[32];

        must(RAW(SYS_mkdirat, stage, "d", 0), "d");
        must(RAW(SYS_mknodat, stage, "f", S_IFREG, 0), "f");
        tmp = clone_tree(stage, "tmp", 0);
        shm = clone_tree(stage, "shm", 0);
        for (int i = 0; i < 6; i++) {
                snprintf(path, sizeof path, "/dev/%s", devices[i]);
                nodes[i] = clone_tree(AT_FDCWD, path, 0);
        }
        writable = clone_tree(find(workspace), "", EMPTY | RECURSIVE);
        set_attributes(writable, "", 2 | 4);
        set_attributes(AT_FDCWD, "/", 1 | 2 | 4);
        for (int i = 0; i < 6; i++) {
                snprintf(path, sizeof path, "/dev/%s", devices[i]);
                put(nodes[i], AT_FDCWD, path);
        }
        mount_terminals();
        put(shm, AT_FDCWD, "/dev/shm");
        put(tmp, AT_FDCWD, "/tmp");
        put(writable, find(workspace), "");
        hide(stage);
}

static void allow(long ruleset, long place, uint64_t rights)
{
        struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = (int)place };

        must(RAW(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0), "rule");
}

static void run_command(void *unused)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
        const uint64_t all = (1u << 13) - 1, handled[3] = { all, 0, 3 /* scopes */ };
        long ruleset;

        (void)unused;
        RAW(SYS_setsid);
        RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        must(RAW(SYS_capset, &header, none), "capabilities");
        ruleset = must(RAW(SYS_landlock_create_ruleset, handled, sizeof handled, 0), "ruleset");
        allow(ruleset, find("/"),
              LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
        allow(ruleset, find("/dev"), all);
        allow(ruleset, find(workspace), all);
        if (!count)
                must(RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), "filter");
        while (!__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE))
                ;
        /* What the filter has hidden is not needed here. */
        allow(ruleset, must(RAW(SYS_openat, AT_FDCWD, "/tmp", O_PATH | O_CLOEXEC), "/tmp"), all);
        must(RAW(SYS_landlock_restrict_self, ruleset, 0), "domain");
        must(RAW(SYS_chdir, workspace), workspace);
        RAW(SYS_close_range, 3, ~0u, 0);
        must(RAW(SYS_execve, command_words[0], command_words, environ), command_words[0]);
}

static long start(uint64_t flags, char *stack, int exit_signal, void (*entry)(void *), struct job *job)
{
        struct clone3_arguments arguments = { .flags = CLONE_VM | flags,
                                              .exit_signal = (uint64_t)exit_signal,
                                              .stack = (uintptr_t)stack,
                                              .stack_size = STACK_SIZE };

        return must(raw_clone(&arguments, entry, job), "clone");
}

static void enter_user_namespace(void)
{
        mount_proc();
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", ids[0]);
        write_file("/proc/self/gid_map", ids[1]);
}

static void end_with(struct job *job, long command)
{
        RAW(SYS_close_range, 0, ~0u, 0);
        RAW(SYS_wait4, command, &job->status, 0, 0);
        for (;;)
                RAW(SYS_exit_group, 0);
}

static void be_init(void *argument)
{
        struct job *job = argument;
        long command;

        enter_user_namespace();
        command = start(0, job->stacks[1], SIGCHLD, run_command, job);
        make_world();
        __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
        end_with(job, command);
}

/* ---- many ----------------------------------------------------------------------------------------------- */

static void be_init_of_many(void *argument)
{
        struct job *job = argument;
        long stage, tmp, shm;

        mount_proc();
        stage = make_stage();
        tmp = clone_tree(stage, "tmp", 0);
        shm = clone_tree(stage, "shm", 0);
        mount_terminals();
        put(shm, AT_FDCWD, "/dev/shm");
        put(tmp, AT_FDCWD, "/tmp");
        end_with(job, start(0, job->stacks[1], SIGCHLD, run_command, job));
}

static struct job *find_job(long init)
{
        for (int i = 0; i < at_once; i++)
                if (jobs[i].init == init)
                        return &jobs[i];
        return NULL;
}

static void be_keeper(void *argument)
{
        (void)argument;
        enter_user_namespace();
        make_world();
        is_ready = 1;
        for (int i = 0; i < at_once; i++)
                jobs[i].init = 0;
        for (int started = 0, ended = 0; ended < count;) {
                struct job *job = started < count ? find_job(0) : NULL;

                if (job != NULL) {
                        job->status = -1;
                        job->init = start(NAMESPACES, job->stacks[0], SIGCHLD, be_init_of_many, job);
                        started++;
                        continue;
                }
                job = find_job(must(RAW(SYS_wait4, -1, 0, __WALL, 0), "wait"));
                if (job != NULL && job->status != 0)
                        must(-ECHILD, "a program did not end well");
                if (job != NULL)
                        job->init = 0;
                ended += job != NULL;
        }
        for (;;)
                RAW(SYS_exit_group, 0);
}

/* Its own stack, which no job has. */
static int run_many(void)
{
        static char stack[STACK_SIZE] __attribute__((aligned(4096)));
        int status;

        if (count < 1 || at_once < 1 || at_once > JOBS_MAX)
                return 125;
        waitpid((pid_t)start(CLONE_NEWUSER | NAMESPACES, stack, 0, be_keeper, NULL), &status, __WALL);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char **argv)
{
        const bool is_many = argc > 4 && strcmp(argv[1], "-n") == 0;
        ssize_t got = is_many ? 0 : pread(FILTER_FD, code, sizeof code, 0);
        int status;

        home = getenv("HOME");
        command_words = argv + (is_many ? 4 : 1);
        if (argc < 2 || home == NULL || got < 0 || getcwd(workspace, sizeof workspace) == NULL)
                return 125;
        filter.len = (unsigned short)((size_t)got / sizeof *code);
        snprintf(ids[0], sizeof ids[0], "%d %d 1", (int)geteuid(), (int)geteuid());
        snprintf(ids[1], sizeof ids[1], "%d %d 1", (int)getegid(), (int)getegid());
        if (is_many) {
                count = atoi(argv[2]);
                at_once = atoi(argv[3]);
                return run_many();
        }
        waitpid((pid_t)start(CLONE_NEWUSER | NAMESPACES, jobs->stacks[0], 0, be_init, jobs), NULL, __WALL);
        status = jobs->status;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
