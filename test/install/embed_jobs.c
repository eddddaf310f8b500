/* embed_jobs.c: a host program that drives its jobs itself: in an event loop, and from threads.
 *
 *   embed_jobs SCRATCH-DIRECTORY
 *
 * Prints one line for each fact. */
#define _GNU_SOURCE
#include <abatis.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"

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

/* Advances until the command has said something. */
static bool wait_for_word(abatis_job *job, const bool *has_spoken)
{
        for (int turns = 0; turns < 1000 && !*has_spoken; turns++) {
                struct pollfd wait = { abatis_job_fd(job), POLLIN, 0 };
                int done = 0;

                if (poll(&wait, 1, 10000) <= 0 || abatis_job_advance(job, &done, NULL) < 0 || done)
                        return false;
        }
        return *has_spoken;
}

static void hear_word(void *user, int descriptor, const char *bytes, size_t length)
{
        (void)descriptor;
        (void)bytes;
        (void)length;
        *(bool *)user = true;
}

/* Starts the command, waits until it says that it is ready, cancels it so often, and gives its result. */
static abatis_result *cancel(abatis_sandbox *sandbox, const char *text, int times, double *ms)
{
        struct shell command;
        bool has_spoken = false;
        abatis_job *job = NULL;
        abatis_result *result = NULL;
        struct timespec before, after;

        shell(&command, text);
        command.options.on_output = hear_word;
        command.options.user = &has_spoken;
        if (abatis_job_start(sandbox, &command.options, &job, NULL) < 0)
                return NULL;
        if (wait_for_word(job, &has_spoken)) {
                clock_gettime(CLOCK_MONOTONIC, &before);
                for (int i = 0; i < times; i++)
                        abatis_job_cancel(job);
                clock_gettime(CLOCK_MONOTONIC, &after);
                *ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
                      (double)(after.tv_nsec - before.tv_nsec) / 1e6;
                if (drive(&job, 1)) {
                        abatis_job_cancel(job);
                        abatis_job_finish(job, &result, NULL);
                        return result;
                }
        }
        abatis_job_finish(job, NULL, NULL);
        return NULL;
}

static void test_cancel(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL),
                       *short_lived = open_sandbox(SETTINGS("limits.timeout", "300ms"));
        double ms = 0;
        char *json = NULL;
        abatis_result *result = cancel(
                sandbox,
                "exec 2>/dev/null; trap 'echo cleaned; exit 42' TERM; echo ready; while :; do sleep 0.05; done",
                1, &ms);

        report("cancelled_command_can_clean_up",
               has_output(result, "ready\ncleaned\n", "") && abatis_result_exit_code(result) == 42,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        report("result_says_that_it_was_cancelled",
               result && abatis_result_cancelled(result) && !abatis_result_timed_out(result) &&
                       !abatis_result_limit(result) && !abatis_result_print(result, &json, NULL) &&
                       strstr(json, "\"cancelled\":true") && strstr(json, "\"timed_out\":false"),
               "%s", json ? json : "nothing");
        free(json);
        abatis_result_free(result);
        /* A whole tree that does not listen: in the group, and in a session of its own. */
        result = cancel(sandbox,
                        "trap '' TERM; sleep 60 & setsid sh -c \"trap '' TERM; sleep 60\" & echo ready; "
                        "while :; do sleep 60; done",
                        3, &ms);
        report("who_does_not_listen_is_killed_a_second_later",
               result && abatis_result_signal(result) == SIGKILL && abatis_result_cancelled(result) &&
                       abatis_result_duration_ms(result) > 900,
               "signal %d", result ? abatis_result_signal(result) : -99);
        report("nothing_of_a_cancelled_tree_is_left", has_no_child(), "a process");
        report("cancelling_does_not_wait", ms < 500, "%.0f ms", ms);
        abatis_result_free(result);
        result = cancel(short_lived, "trap '' TERM; echo ready; while :; do sleep 60; done", 0, &ms);
        report("who_runs_out_of_time_was_not_cancelled",
               result && abatis_result_timed_out(result) && !abatis_result_cancelled(result), "it was");
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
        abatis_sandbox_free(short_lived);
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

static void test_everything(void)
{
        test_poll_loop();
        test_signal_and_abandon();
        test_cancel();
        test_threads();
}

int main(int argc, char **argv)
{
        if (!host_begin(argc, argv))
                return 2;
        host_watch(test_everything);
        host_watch_ignoring_children(test_everything);
        return host_end();
}
