/* embed.c: a host program that uses the installed library in every way the header offers, and watches itself doing so.
 *
 *   embed SCRATCH-DIRECTORY
 *
 * Prints one line for each fact. Everything the header promises not to touch is compared before and after. */
#define _GNU_SOURCE
#include <abatis.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned passed, failed;
static char workspace[512], secret[512], outside[512];

static bool report(const char *name, bool is_right, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static bool report(const char *name, bool is_right, const char *format, ...)
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

/* ---- making things -------------------------------------------------------------------------------------- */

/* A sandbox over the workspace with these settings: keys and values in turn, ended by NULL. */
static abatis_sandbox *open_sandbox(const char *const *settings)
{
        const abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                       .preset = "dev",
                                                       .workspace = workspace };
        const abatis_sandbox_options sandbox_options = { sizeof(sandbox_options), 0 };
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

#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct shell {
        const char *argv[4];
        abatis_job_options options;
};

/* `sh -c text`, its output collected. */
static const abatis_job_options *shell(struct shell *shell, const char *text)
{
        const abatis_job_options initial = ABATIS_JOB_OPTIONS_INIT;

        shell->argv[0] = "sh";
        shell->argv[1] = "-c";
        shell->argv[2] = text;
        shell->argv[3] = NULL;
        shell->options = initial;
        shell->options.argv = shell->argv;
        shell->options.capture = 1;
        shell->options.stdin_fd = shell->options.stdout_fd = shell->options.stderr_fd = -1;
        return &shell->options;
}

static abatis_result *run(abatis_sandbox *sandbox, const char *text)
{
        abatis_result *result = NULL;
        abatis_error err = { 0, 0, "" };
        struct shell command;

        if (sandbox && abatis_run(sandbox, shell(&command, text), &result, &err) < 0)
                printf("# '%s' did not run: %s\n", text, err.message);
        return result;
}

static bool has_output(const abatis_result *result, const char *out, const char *error)
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

/* ---- one command at a time ------------------------------------------------------------------------------ */

static void test_version(void)
{
        char expected[32];

        snprintf(expected, sizeof(expected), "%d.%d.%d", ABATIS_VERSION_MAJOR, ABATIS_VERSION_MINOR,
                 ABATIS_VERSION_PATCH);
        report("library_and_header_are_of_one_version", !strcmp(abatis_version(), expected), "%s",
               abatis_version());
}

static void test_blocking_run(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        abatis_result *result = run(sandbox, "echo out; echo error >&2; exit 7");
        char *json = NULL;

        report("blocking_run_gives_the_exit_code", result && abatis_result_exit_code(result) == 7, "%d",
               result ? abatis_result_exit_code(result) : -99);
        report("blocking_run_collects_both_outputs", has_output(result, "out\n", "error\n"),
               "something else came");
        report("blocking_run_ended_by_itself",
               result && !abatis_result_signal(result) && !abatis_result_timed_out(result) &&
                       !abatis_result_truncated(result) && abatis_result_duration_ms(result) > 0,
               "signal, time or length");
        report("result_prints_as_json",
               result && !abatis_result_print(result, &json, NULL) && strstr(json, "\"exit_code\":7") &&
                       strstr(json, "\"stdout\":\"out\\n\"") && strstr(json, "\"not_enforced\":[]"),
               "%s", json ? json : "nothing");
        free(json);
        abatis_result_free(result);
        result = run(sandbox, "kill -9 $$");
        report("signal_is_reported",
               result && abatis_result_signal(result) == SIGKILL && abatis_result_exit_code(result) == -1,
               "signal %d", result ? abatis_result_signal(result) : -99);
        abatis_sandbox_free(sandbox); /* the result keeps what it needs */
        json = NULL;
        report("result_outlives_its_sandbox", result && !abatis_result_print(result, &json, NULL), "no JSON");
        free(json);
        abatis_result_free(result);
}

static void test_denied_read(void)
{
        abatis_sandbox *open = open_sandbox(NULL),
                       *closed = open_sandbox(SETTINGS("filesystem.deny", secret));
        char command[700];
        abatis_result *control, *denied;

        snprintf(command, sizeof(command), "cat '%s'", secret);
        control = run(open, command);
        denied = run(closed, command);
        if (report("denied_file_can_be_read_without_the_rule", has_output(control, "secret\n", ""),
                   "control failed"))
                report("denied_file_cannot_be_read",
                       denied && abatis_result_exit_code(denied) == 1 &&
                               !strlen(abatis_result_stdout(denied, NULL)),
                       "it came out");
        abatis_result_free(control);
        abatis_result_free(denied);
        snprintf(command, sizeof(command), "echo x > ./written && echo y > '%s'", outside);
        control = run(open, command);
        report("workspace_is_writable_and_nothing_else",
               control && abatis_result_exit_code(control) != 0 && !access("written", F_OK) &&
                       access(outside, F_OK) < 0,
               "wrong file");
        abatis_result_free(control);
        abatis_sandbox_free(open);
        abatis_sandbox_free(closed);
}

static void test_limits(void)
{
        abatis_sandbox *sandbox = open_sandbox(SETTINGS("limits.timeout", "700ms", "limits.output", "1000B"));
        abatis_result *result = run(sandbox, "sleep 60 & sleep 60");

        report("timeout_is_reported", result && abatis_result_timed_out(result), "it was not");
        abatis_result_free(result);
        result = run(sandbox, "i=0; while [ $i -lt 300 ]; do echo 0123456789; i=$((i + 1)); done");
        report("output_over_the_limit_is_dropped",
               result && abatis_result_truncated(result) &&
                       strlen(abatis_result_stdout(result, NULL)) == 1000,
               "%zu bytes", result ? strlen(abatis_result_stdout(result, NULL)) : 0);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

static void test_own_descriptors(void)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        const char *const argv[] = { "cat", NULL }, *const envp[] = { "PATH=/usr/bin:/bin", NULL };
        abatis_sandbox *sandbox = open_sandbox(NULL);
        abatis_result *result = NULL;
        char got[64] = "";
        int in[2], out[2], r;

        if (pipe(in) < 0 || pipe(out) < 0)
                return;
        options.argv = argv;
        options.envp = envp;
        options.cwd = workspace;
        options.stdin_fd = in[0];
        options.stdout_fd = out[1];
        options.stderr_fd = out[1];
        r = (int)write(in[1], "through\n", 8);
        close(in[1]);
        r = abatis_run(sandbox, &options, &result, NULL);
        close(out[1]);
        report("command_gets_the_host_s_descriptors",
               !r && read(out[0], got, sizeof(got) - 1) == 8 && !strcmp(got, "through\n"), "%s", got);
        close(in[0]);
        close(out[0]);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

/* ---- many at once --------------------------------------------------------------------------------------- */

/* Drives jobs until all are done, as an event loop would; false when that takes longer than half a minute. */
static bool drive(abatis_job **jobs, int count)
{
        bool are_done[4] = { false };
        int left = count;

        for (int turns = 0; left && turns < 10000; turns++) {
                struct pollfd waits[4];

                for (int i = 0; i < count; i++)
                        waits[i] = (struct pollfd){ are_done[i] ? -1 : abatis_job_fd(jobs[i]), POLLIN, 0 };
                if (poll(waits, (nfds_t)count, 30000) <= 0)
                        return false;
                for (int i = 0; i < count; i++) {
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

static void test_poll_loop(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        struct shell commands[2];
        abatis_job *jobs[2] = { NULL, NULL };
        abatis_result *results[2] = { NULL, NULL };
        bool is_driven = false;

        if (sandbox &&
            !abatis_job_start(sandbox, shell(&commands[0], "sleep 0.3; echo first; exit 1"), &jobs[0],
                              NULL) &&
            !abatis_job_start(sandbox, shell(&commands[1], "echo second; sleep 0.6; exit 2"), &jobs[1],
                              NULL)) {
                report("two_jobs_have_two_descriptors", abatis_job_fd(jobs[0]) != abatis_job_fd(jobs[1]),
                       "one");
                is_driven = drive(jobs, 2);
        }
        report("poll_loop_drives_two_jobs_at_once", is_driven, "they did not end");
        for (int i = 0; i < 2; i++)
                if (jobs[i])
                        abatis_job_finish(jobs[i], &results[i], NULL);
        report("each_job_has_its_own_result",
               has_output(results[0], "first\n", "") && has_output(results[1], "second\n", "") &&
                       abatis_result_exit_code(results[0]) == 1 && abatis_result_exit_code(results[1]) == 2,
               "mixed up");
        abatis_result_free(results[0]);
        abatis_result_free(results[1]);
        abatis_sandbox_free(sandbox);
}

static void test_signal_and_abandon(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        struct shell command;
        abatis_job *job = NULL;
        abatis_result *result = NULL;
        int r;

        /* The trap is in place once the word is out. */
        r = abatis_job_start(sandbox,
                             shell(&command, "trap 'exit 42' TERM; echo ready; while :; do sleep 0.1; done"),
                             &job, NULL);
        for (int turns = 0; !r && turns < 1000; turns++) {
                struct pollfd wait = { abatis_job_fd(job), POLLIN, 0 };
                int done;

                if (poll(&wait, 1, 10000) <= 0 || abatis_job_advance(job, &done, NULL) < 0 || done ||
                    turns == 0)
                        break;
        }
        if (!r)
                r = abatis_job_signal(job, SIGTERM, NULL);
        if (!r && drive(&job, 1))
                r = abatis_job_finish(job, &result, NULL);
        report("signal_reaches_the_command", result && abatis_result_exit_code(result) == 42, "exit code %d",
               result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        r = abatis_job_start(sandbox, shell(&command, "sleep 60 & sleep 60"), &job, NULL);
        report("running_job_can_be_dropped", !r && !abatis_job_finish(job, NULL, NULL), "it could not");
        abatis_sandbox_free(sandbox);
}

static void *run_in_thread(void *argument)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        const char *text = argument;

        for (int i = 0; sandbox && i < 5; i++) {
                abatis_result *result = run(sandbox, text);
                bool is_right = result && abatis_result_exit_code(result) == text[5] - '0';

                abatis_result_free(result);
                if (!is_right) {
                        argument = NULL;
                        break;
                }
        }
        abatis_sandbox_free(sandbox);
        return sandbox ? argument : NULL;
}

static void test_threads(void)
{
        static char texts[3][8] = { "exit 1", "exit 2", "exit 3" };
        pthread_t threads[3];
        int right = 0;

        for (int i = 0; i < 3; i++)
                if (pthread_create(&threads[i], NULL, run_in_thread, texts[i]) != 0)
                        threads[i] = pthread_self();
        for (int i = 0; i < 3; i++) {
                void *answer = NULL;

                if (!pthread_equal(threads[i], pthread_self()))
                        pthread_join(threads[i], &answer);
                right += answer == texts[i];
        }
        report("threads_run_their_own_sandboxes_at_once", right == 3, "%d of 3", right);
}

/* ---- mistakes ------------------------------------------------------------------------------------------- */

/* Everything that can fail, made to fail without an error struct; the codes say what the structs would have. */
static void test_failures_without_error_struct(void)
{
        const abatis_policy_options bad_preset = { .size = sizeof(bad_preset),
                                                   .preset = "nope",
                                                   .workspace = workspace };
        const abatis_policy_options bad_workspace = { .size = sizeof(bad_workspace),
                                                      .workspace = "/no/such/place" };
        const abatis_policy_options good = { .size = sizeof(good), .workspace = workspace };
        const abatis_sandbox_options options = { sizeof(options), 0 }, no_size = { 0, 0 };
        const char *const nothing[] = { NULL }, *const missing[] = { "no-such-program", NULL },
                          *const directory[] = { "/usr", NULL };
        abatis_job_options job = ABATIS_JOB_OPTIONS_INIT;
        abatis_policy *policy = NULL;
        abatis_sandbox *sandbox = NULL;
        abatis_result *result = NULL;
        char *text = NULL;
        int allowed = 9, codes[12], n = 0;
        static const int expected[] = { ABATIS_E_INVALID,   ABATIS_E_SYSTEM,         ABATIS_E_INVALID,
                                        ABATIS_E_INVALID,   ABATIS_E_INVALID,        ABATIS_E_INVALID,
                                        ABATIS_E_NOT_FOUND, ABATIS_E_NOT_EXECUTABLE, ABATIS_E_INVALID,
                                        ABATIS_E_INVALID,   ABATIS_E_UNENFORCEABLE };

        codes[n++] = abatis_policy_new(&bad_preset, &policy, NULL);
        codes[n++] = abatis_policy_new(&bad_workspace, &policy, NULL);
        if (abatis_policy_new(&good, &policy, NULL) < 0)
                return;
        codes[n++] = abatis_policy_set(policy, "no.such.key", "x", NULL);
        codes[n++] = abatis_policy_set(policy, "limits.timeout", "soon", NULL);
        codes[n++] = abatis_sandbox_open(policy, &no_size, &sandbox, NULL);
        if (abatis_sandbox_open(policy, &options, &sandbox, NULL) < 0)
                return;
        job.argv = nothing;
        codes[n++] = abatis_run(sandbox, &job, &result, NULL);
        job.argv = missing;
        codes[n++] = abatis_run(sandbox, &job, &result, NULL);
        job.argv = directory;
        codes[n++] = abatis_run(sandbox, &job, &result, NULL);
        job.argv = missing;
        job.cwd = "relative";
        codes[n++] = abatis_run(sandbox, &job, &result, NULL);
        codes[n++] = abatis_run(sandbox, NULL, &result, NULL);
        abatis_sandbox_free(sandbox);
        abatis_policy_set(policy, "limits.memory", "1GiB", NULL);
        codes[n++] = abatis_explain(policy, NULL, &options, ABATIS_TEXT, &text, NULL);
        for (int i = 0; i < n; i++)
                report("failure_has_its_code_without_error_struct", codes[i] == expected[i],
                       "case %d: %d instead of %d", i, codes[i], expected[i]);
        report("failure_leaves_the_out_parameters", !result && !text, "something was written");
        report("question_is_answered_without_error_struct",
               !abatis_policy_check(policy, ABATIS_READ, "/usr/bin/env", &allowed, &text, NULL) &&
                       allowed == 1,
               "%d", allowed);
        free(text);
        abatis_policy_free(policy);
        abatis_policy_free(NULL);
        abatis_sandbox_free(NULL);
        abatis_result_free(NULL);
        abatis_host_free(NULL);
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
        errno = 0;
        snprintf(name, sizeof(name), "host_has_no_child_left_%s", when);
        report(name, waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD, "a zombie or a process");
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

static void test_probe(void)
{
        abatis_host *host = NULL;
        char *text = NULL, *json = NULL;
        int is_ready;

        report("host_is_probed", !abatis_host_probe(&host, NULL), "it was not");
        is_ready = host ? abatis_host_is_ready(host) : -1;
        report("probe_is_printed_both_ways",
               host && !abatis_host_print(host, ABATIS_TEXT, &text, NULL) &&
                       !abatis_host_print(host, ABATIS_JSON, &json, NULL) && *text && *json == '{',
               "not printed");
        free(text);
        free(json);
        abatis_host_free(host);
        host = NULL;
        /* A daemon that does not care about its children is still told the truth. */
        signal(SIGCHLD, SIG_IGN);
        report("probe_finds_the_same_when_children_are_ignored",
               !abatis_host_probe(&host, NULL) && abatis_host_is_ready(host) == is_ready, "it does not");
        abatis_host_free(host);
}

static void test_everything(void)
{
        test_version();
        test_blocking_run();
        test_denied_read();
        test_limits();
        test_own_descriptors();
        test_poll_loop();
        test_signal_and_abandon();
        test_threads();
        test_failures_without_error_struct();
}

/* Init must hear of the command's end even where nobody wants to hear of children. */
static void test_ignored_children(void)
{
        abatis_sandbox *sandbox = open_sandbox(SETTINGS("limits.timeout", "8s"));
        abatis_result *result = run(sandbox, "exit 5");

        if (report("job_ends_when_children_are_ignored", result && abatis_result_exit_code(result) == 5,
                   "exit code %d", result ? abatis_result_exit_code(result) : -99))
                test_everything();
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

static bool prepare(const char *scratch)
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

int main(int argc, char **argv)
{
        static struct state before, after;
        struct sigaction now;

        setvbuf(stdout, NULL, _IOLBF, 0);
        if (argc != 2 || !prepare(argv[1])) {
                fprintf(stderr, "usage: embed SCRATCH-DIRECTORY\n");
                return 2;
        }
        have_habits();
        observe(&before);
        test_everything();
        observe(&after);
        compare(&before, &after, "after_jobs");
        report("host_hears_of_no_child", !children_reported, "%d times", (int)children_reported);
        test_probe();
        sigaction(SIGCHLD, NULL, &now);
        report("ignored_children_stay_ignored", now.sa_handler == SIG_IGN, "they do not");
        observe(&before);
        test_ignored_children();
        observe(&after);
        compare(&before, &after, "when_children_are_ignored");
        printf("%u passed, %u failed, 0 skipped\n", passed, failed);
        return failed != 0;
}
