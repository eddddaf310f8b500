/* embed.c: a host program that runs one command after the other, in every way the header offers for that.
 *
 *   embed SCRATCH-DIRECTORY
 *
 * Prints one line for each fact. */
#define _GNU_SOURCE
#include <abatis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

/* ---- commands ------------------------------------------------------------------------------------------- */

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
               result && abatis_result_truncated(result) && abatis_result_stdout_bytes(result) == 3300 &&
                       strstr(abatis_result_stdout(result, NULL), "\n… 2328 bytes omitted …\n"),
               "%zu bytes", result ? strlen(abatis_result_stdout(result, NULL)) : 0);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

static uint64_t limit_of(unsigned layers, const char *key)
{
        const abatis_policy_options options = {
                .size = sizeof(options), .preset = "dev", .workspace = workspace, .layers = layers
        };
        abatis_policy *policy = NULL;
        uint64_t limit = 99;

        if (!abatis_policy_new(&options, &policy, NULL))
                limit = abatis_policy_limit(policy, key);
        abatis_policy_free(policy);
        return limit;
}

/* What the command writes to a file of ours is not kept, and so not cut. */
static off_t size_of_own_output(abatis_sandbox *sandbox, const char *script)
{
        const char *const argv[] = { "sh", "-c", script, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result = NULL;
        FILE *file = tmpfile();
        abatis_error err;
        off_t size = -1;

        if (!file)
                return size;
        options.argv = argv;
        options.stdin_fd = -1;
        options.stdout_fd = fileno(file);
        if (abatis_run(sandbox, &options, &result, &err) < 0)
                printf("# %s\n", err.message);
        else
                size = lseek(fileno(file), 0, SEEK_END);
        abatis_result_free(result);
        fclose(file);
        return size;
}

static void test_default_limits(void)
{
        static const char large[] = "head -c 3000000 /dev/zero";
        abatis_sandbox *limited = open_sandbox(NULL),
                       *unlimited = open_sandbox(SETTINGS("limits.output", "none")),
                       *asked = open_sandbox(SETTINGS("limits.output", "1MiB"));
        abatis_result *result;

        report("library_limits_time_and_output_by_itself",
               limit_of(0, "limits.timeout") == 30000 && limit_of(0, "limits.output") == 1 << 20 &&
                       limit_of(0, "limits.memory") == 0,
               "%d ms, %d bytes", (int)limit_of(0, "limits.timeout"), (int)limit_of(0, "limits.output"));
        report("library_has_no_limit_where_none_is_wanted",
               limit_of(ABATIS_NO_DEFAULT_LIMITS, "limits.timeout") == 0 &&
                       limit_of(ABATIS_NO_DEFAULT_LIMITS, "limits.output") == 0,
               "it has");
        result = run(limited, large);
        report("output_is_cut_by_default",
               result && abatis_result_truncated(result) && abatis_result_stdout_bytes(result) == 3000000,
               "it was not");
        abatis_result_free(result);
        result = run(unlimited, large);
        report("output_without_a_limit_is_whole",
               result && !abatis_result_truncated(result) && abatis_result_stdout_bytes(result) == 3000000,
               "it was cut");
        abatis_result_free(result);
        report("default_limit_is_not_for_the_caller_s_own_descriptors",
               size_of_own_output(limited, large) == 3000000, "it is");
        report("no_limit_is_not_for_them_either", size_of_own_output(unlimited, large) == 3000000, "it is");
        report("limit_that_was_set_is_not_left_unheeded_there", size_of_own_output(asked, large) < 0,
               "it was");
        abatis_sandbox_free(limited);
        abatis_sandbox_free(unlimited);
        abatis_sandbox_free(asked);
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

struct heard {
        char bytes[2][64];
        size_t count;
};

static void hear(void *user, int descriptor, const char *bytes, size_t length)
{
        struct heard *heard = user;

        heard->count += length;
        strncat(heard->bytes[descriptor - 1], bytes, length < 20 ? length : 20);
}

static abatis_result *run_with(abatis_sandbox *sandbox, abatis_job_options *options, const char *script)
{
        const char *const argv[] = { "sh", "-c", script, NULL };
        abatis_result *result = NULL;
        abatis_error err;

        options->argv = argv;
        options->cwd = workspace;
        options->stdin_fd = options->stdout_fd = options->stderr_fd = -1;
        if (abatis_run(sandbox, options, &result, &err) < 0)
                printf("# %s\n", err.message);
        return result;
}

static void test_output_as_it_comes(void)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        struct heard heard = { 0 };
        abatis_sandbox *sandbox = open_sandbox(SETTINGS("limits.output", "10B"));
        abatis_result *result;

        options.capture = ABATIS_CAPTURE;
        options.on_output = hear;
        options.user = &heard;
        result = run_with(sandbox, &options, "echo one; echo two >&2");
        report("output_is_heard_as_it_comes",
               result && !strcmp(heard.bytes[0], "one\n") && !strcmp(heard.bytes[1], "two\n"), "%s and %s",
               heard.bytes[0], heard.bytes[1]);
        abatis_result_free(result);
        heard.count = 0;
        result = run_with(sandbox, &options, "head -c 1000000 /dev/zero");
        report("all_of_it_is_heard_whatever_is_kept",
               result && heard.count == 1000000 && abatis_result_truncated(result), "%zu bytes", heard.count);
        abatis_result_free(result);
        options.capture = ABATIS_CAPTURE_MERGED;
        result = run_with(sandbox, &options, "echo a; echo b >&2; echo c");
        report("merged_output_is_in_order", has_output(result, "a\nb\nc\n", ""), "something else came");
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

static void test_input_from_memory(void)
{
        enum { LARGE = 3000000 };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_sandbox *sandbox = open_sandbox(SETTINGS("limits.timeout", "60s"));
        char *large = malloc(LARGE);
        abatis_result *result;

        if (!large)
                return;
        memset(large, 'x', LARGE);
        options.capture = ABATIS_CAPTURE;
        options.stdin_data = "typed\n";
        options.stdin_length = 6;
        result = run_with(sandbox, &options, "cat");
        report("input_comes_from_memory", has_output(result, "typed\n", ""), "something else came");
        abatis_result_free(result);
        options.stdin_length = 0;
        result = run_with(sandbox, &options, "wc -c");
        report("input_may_be_empty", has_output(result, "0\n", ""), "something else came");
        abatis_result_free(result);
        options.stdin_data = large;
        options.stdin_length = LARGE;
        result = run_with(sandbox, &options, "wc -c");
        report("input_larger_than_a_pipe_comes_whole", has_output(result, "3000000\n", ""),
               "something else came");
        abatis_result_free(result);
        result = run_with(sandbox, &options, "head -c 1; exec <&-; sleep 0.1; echo end");
        report("input_that_nobody_reads_harms_nobody", has_output(result, "xend\n", ""),
               "something else came");
        abatis_result_free(result);
        result = run_with(sandbox, &options, "echo unread");
        report("input_left_over_ends_with_the_command", has_output(result, "unread\n", ""),
               "something else came");
        abatis_result_free(result);
        free(large);
        abatis_sandbox_free(sandbox);
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
        const abatis_sandbox_options options = { .size = sizeof(options), .spares = -1 }, no_size = { 0 };
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
        abatis_policy_set(policy, "network.mode", "unix-only", NULL);
        abatis_policy_set(policy, "network.unix", "/run/some.sock", NULL);
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

static void test_probe(void)
{
        abatis_host *host = NULL;
        char *text = NULL, *json = NULL;
        struct sigaction now;
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
        sigaction(SIGCHLD, NULL, &now);
        report("ignored_children_stay_ignored", now.sa_handler == SIG_IGN, "they do not");
}

static void test_everything(void)
{
        test_version();
        test_blocking_run();
        test_denied_read();
        test_limits();
        test_default_limits();
        test_own_descriptors();
        test_output_as_it_comes();
        test_input_from_memory();
        test_failures_without_error_struct();
}

int main(int argc, char **argv)
{
        if (!host_begin(argc, argv))
                return 2;
        host_watch(test_everything);
        test_probe();
        host_watch_ignoring_children(test_everything);
        return host_end();
}
