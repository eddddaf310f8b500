/* host.c: what each host program of this test does: it runs commands and watches itself doing so. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char workspace[512], secret[512], outside[512];
static unsigned passed, failed;

bool report(const char *name, bool is_right, const char *format, ...)
{
        va_list arguments;

        if (is_right) {
                printf("ok %s\n", name);
                passed++;
                return true;
        }
        printf("not ok %s - ", name);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
        failed++;
        return false;
}

/* ---- jobs ----------------------------------------------------------------------------------------------- */

abatis_sandbox *open_sandbox(const char *const *settings)
{
        return open_sandbox_for(NULL, settings);
}

abatis_sandbox *open_sandbox_for(abatis_job *prepared, const char *const *settings)
{
        const abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                       .preset = "dev",
                                                       .workspace = workspace };
        /* Whoever counts processes here counts those of jobs: test/prepared has the others. */
        const abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options),
                                                         .prepared = prepared,
                                                         .spares = -1 };
        abatis_sandbox *sandbox = NULL;
        abatis_policy *policy = NULL;
        abatis_error err = { 0, 0, "" };

        if (abatis_policy_new(&policy_options, &policy, &err) < 0) {
                printf("# no policy: %s\n", err.message);
                return NULL;
        }
        /* Whatever goes wrong, the test ends. */
        abatis_policy_set(policy, "limits.timeout", "20s", NULL);
        for (; settings && *settings; settings += 2)
                if (abatis_policy_set(policy, settings[0], settings[1], &err) < 0)
                        printf("# no setting: %s\n", err.message);
        if (abatis_sandbox_open(policy, &sandbox_options, &sandbox, &err) < 0)
                printf("# no sandbox: %s\n", err.message);
        abatis_policy_free(policy); /* the sandbox has its own hold on it */
        return sandbox;
}

const abatis_job_options *shell(struct shell *command, const char *text)
{
        const abatis_job_options initial = ABATIS_JOB_OPTIONS_INIT;

        command->argv[0] = "sh";
        command->argv[1] = "-c";
        command->argv[2] = text;
        command->argv[3] = NULL;
        command->options = initial;
        command->options.argv = command->argv;
        command->options.capture = 1;
        command->options.stdin_fd = command->options.stdout_fd = command->options.stderr_fd = -1;
        return &command->options;
}

abatis_result *run(abatis_sandbox *sandbox, const char *text)
{
        abatis_result *result = NULL;
        abatis_error err = { 0, 0, "" };
        struct shell command;

        if (sandbox && abatis_run(sandbox, shell(&command, text), &result, &err) < 0)
                printf("# '%s' did not run: %s\n", text, err.message);
        return result;
}

bool has_output(const abatis_result *result, const char *out, const char *error)
{
        size_t out_length = 99, error_length = 99;
        const char *out_bytes, *error_bytes;

        if (!result)
                return false;
        out_bytes = abatis_result_stdout(result, &out_length);
        error_bytes = abatis_result_stderr(result, &error_length);
        return out_length == strlen(out) && error_length == strlen(error) && !strcmp(out_bytes, out) &&
               !strcmp(error_bytes, error);
}

bool drive(abatis_job **jobs, size_t count)
{
        bool are_done[DRIVEN_MAX] = { false };
        size_t left = count;

        if (count > DRIVEN_MAX)
                return false;
        for (int turns = 0; left && turns < 10000; turns++) {
                struct pollfd waits[DRIVEN_MAX];

                for (size_t i = 0; i < count; i++)
                        waits[i] = (struct pollfd){ are_done[i] ? -1 : abatis_job_fd(jobs[i]), POLLIN, 0 };
                if (poll(waits, count, 30000) <= 0)
                        return false;
                for (size_t i = 0; i < count; i++) {
                        int done = 0;

                        if (!waits[i].revents)
                                continue;
                        if (abatis_job_advance(jobs[i], &done, NULL) < 0)
                                return false;
                        if (done) {
                                are_done[i] = true;
                                left--;
                        }
                }
        }
        return !left;
}

/* ---- the host ------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t children_reported;

static void count_child(int number)
{
        (void)number;
        children_reported = children_reported + 1;
}

static void ignore_politely(int number)
{
        (void)number;
}

struct state {
        sigset_t mask;
        struct sigaction actions[65];
        char cwd[512], descriptors[4096], namespaces[2048], variables[65536];
        mode_t umask;
        struct rlimit limits[RLIM_NLIMITS];
        int dumpable, no_new_privs, seccomp, subreaper, priority;
        pid_t group, session;
        unsigned descriptor_count;
};

static void list_links(const char *directory, char *out, size_t size, unsigned *count)
{
        DIR *list = opendir(directory);
        struct dirent *entry;
        size_t used = 0;

        *out = '\0';
        while (list && (entry = readdir(list))) {
                char path[320], target[256];
                ssize_t length;

                snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
                length = readlink(path, target, sizeof(target) - 1);
                if (length < 0 || atoi(entry->d_name) == dirfd(list)) // NOLINT: a name of /proc/self/fd
                        continue;
                target[length] = '\0';
                used += (size_t)snprintf(out + used, used < size ? size - used : 0, "%s->%s ", entry->d_name,
                                         target);
                if (count)
                        (*count)++;
        }
        if (list)
                closedir(list);
}

unsigned count_descriptors(void)
{
        unsigned count = 0;
        char names[4096];

        list_links("/proc/self/fd", names, sizeof(names), &count);
        return count;
}

bool has_no_child(void)
{
        errno = 0;
        return waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD;
}

static void observe(struct state *state)
{
        extern char **environ;
        size_t used = 0;

        memset(state, 0, sizeof(*state));
        sigprocmask(SIG_BLOCK, NULL, &state->mask);
        for (int i = 1; i < 65; i++)
                sigaction(i, NULL, &state->actions[i]);
        if (!getcwd(state->cwd, sizeof(state->cwd)))
                state->cwd[0] = '\0';
        state->umask = umask(0);
        umask(state->umask);
        for (int i = 0; i < RLIM_NLIMITS; i++)
                getrlimit((__rlimit_resource_t)i, &state->limits[i]);
        state->dumpable = prctl(PR_GET_DUMPABLE);
        state->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
        state->seccomp = prctl(PR_GET_SECCOMP);
        prctl(PR_GET_CHILD_SUBREAPER, &state->subreaper);
        state->priority = getpriority(PRIO_PROCESS, 0);
        state->group = getpgrp();
        state->session = getsid(0);
        list_links("/proc/self/fd", state->descriptors, sizeof(state->descriptors), &state->descriptor_count);
        list_links("/proc/self/ns", state->namespaces, sizeof(state->namespaces), NULL);
        for (char **variable = environ; *variable && used < sizeof(state->variables); variable++)
                used += (size_t)snprintf(state->variables + used, sizeof(state->variables) - used, "%s\n",
                                         *variable);
}

static bool same_actions(const struct state *before, const struct state *after)
{
        for (int i = 1; i < 65; i++)
                if (before->actions[i].sa_handler != after->actions[i].sa_handler ||
                    before->actions[i].sa_flags != after->actions[i].sa_flags)
                        return false;
        return true;
}

static void compare(const struct state *before, const struct state *after, const char *when)
{
        char name[128];

#define SAME(what, is_same, ...)                                                  \
        do {                                                                      \
                snprintf(name, sizeof(name), "host_keeps_its_%s_%s", what, when); \
                report(name, is_same, __VA_ARGS__);                               \
        } while (0)
        SAME("signal_mask", !memcmp(&before->mask, &after->mask, sizeof(before->mask)), "changed");
        SAME("signal_handlers", same_actions(before, after), "changed");
        SAME("working_directory", !strcmp(before->cwd, after->cwd), "%s", after->cwd);
        SAME("umask", before->umask == after->umask, "%o", after->umask);
        SAME("limits", !memcmp(before->limits, after->limits, sizeof(before->limits)), "changed");
        SAME("environment", !strcmp(before->variables, after->variables), "changed");
        SAME("number_of_descriptors", before->descriptor_count == after->descriptor_count,
             "%u before, %u after: %s", before->descriptor_count, after->descriptor_count,
             after->descriptors);
        SAME("descriptors", !strcmp(before->descriptors, after->descriptors), "%s", after->descriptors);
        SAME("namespaces", !strcmp(before->namespaces, after->namespaces), "%s", after->namespaces);
        SAME("privileges",
             before->dumpable == after->dumpable && before->no_new_privs == after->no_new_privs &&
                     before->seccomp == after->seccomp && before->subreaper == after->subreaper,
             "changed");
        SAME("session",
             before->group == after->group && before->session == after->session &&
                     before->priority == after->priority,
             "changed");
#undef SAME
        snprintf(name, sizeof(name), "host_has_no_child_left_%s", when);
        report(name, has_no_child(), "a zombie or a process");
}

/* A host program with habits of its own: each would be noticed if the library disturbed it. */
static void have_habits(void)
{
        struct sigaction action = { .sa_handler = count_child, .sa_flags = SA_RESTART };
        sigset_t blocked;

        sigaction(SIGCHLD, &action, NULL);
        action.sa_handler = ignore_politely;
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGALRM, &action, NULL);
        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR2);
        sigaddset(&blocked, SIGTERM);
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        umask(027);
}

static bool make_scratch(const char *scratch)
{
        int fd;

        snprintf(workspace, sizeof(workspace), "%s/workspace", scratch);
        snprintf(secret, sizeof(secret), "%s/secret", scratch);
        snprintf(outside, sizeof(outside), "%s/outside", scratch);
        mkdir(workspace, 0755);
        fd = open(secret, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, "secret\n", 7) != 7)
                return false;
        close(fd);
        return !chdir(workspace);
}

bool host_begin(int argc, char **argv)
{
        setvbuf(stdout, NULL, _IOLBF, 0);
        if (argc != 2 || !make_scratch(argv[1])) {
                fprintf(stderr, "usage: %s SCRATCH-DIRECTORY\n", argv[0]);
                return false;
        }
        have_habits();
        return true;
}

static struct state before, after;

void host_watch(void (*test)(void))
{
        observe(&before);
        test();
        observe(&after);
        compare(&before, &after, "after_jobs");
        report("host_hears_of_no_child", !children_reported, "%d times", (int)children_reported);
}

/* Init must hear of the command's end even where nobody wants to hear of children. */
void host_watch_ignoring_children(void (*test)(void))
{
        abatis_sandbox *sandbox;
        abatis_result *result;

        signal(SIGCHLD, SIG_IGN);
        observe(&before);
        sandbox = open_sandbox(SETTINGS("limits.timeout", "8s"));
        result = run(sandbox, "exit 5");
        if (report("job_ends_when_children_are_ignored", result && abatis_result_exit_code(result) == 5,
                   "exit code %d", result ? abatis_result_exit_code(result) : -99))
                test();
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
        observe(&after);
        compare(&before, &after, "when_children_are_ignored");
}

int host_end(void)
{
        printf("%u passed, %u failed, 0 skipped\n", passed, failed);
        return failed != 0;
}
