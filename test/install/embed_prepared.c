/* embed_prepared.c: a host program whose jobs are begun before their sandbox is known.
 *
 *   embed_prepared SCRATCH-DIRECTORY
 *
 * Prints one line for each fact. */
#define _GNU_SOURCE
#include <abatis.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

/* NULL when that failed. What the options point to lies in the command, which must stay until the launch. */
static abatis_job *prepare(struct shell *command, const char *text)
{
        abatis_job *job = NULL;
        abatis_error err = { 0, 0, "" };

        if (abatis_job_prepare(shell(command, text), &job, &err) < 0)
                printf("# '%s' was not prepared: %s\n", text, err.message);
        return job;
}

static bool launch(abatis_job *job, abatis_sandbox *sandbox)
{
        abatis_error err = { 0, 0, "" };

        if (job && sandbox && !abatis_job_launch(job, sandbox, &err))
                return true;
        printf("# a prepared job was not launched: %s\n", err.message);
        return false;
}

/* Launched and driven to its end; NULL when one of the two failed. The job is gone in any case. */
static abatis_result *launch_and_finish(abatis_job *job, abatis_sandbox *sandbox)
{
        abatis_result *result = NULL;
        bool is_done = launch(job, sandbox) && drive(&job, 1);

        if (job)
                abatis_job_finish(job, is_done ? &result : NULL, NULL);
        return result;
}

/* Without capture and without a time limit there is nothing else to wait for than the process. */
static void test_cancel_at_any_time(void)
{
        abatis_sandbox *sandbox = open_sandbox(SETTINGS("limits.timeout", "none", "limits.output", "none"));
        abatis_result *result = NULL;
        abatis_job *job;
        struct shell command;
        bool is_done;
        int fd = -1;

        shell(&command, "trap '' TERM; sleep 60");
        command.options.capture = 0;
        job = NULL;
        if (!abatis_job_start(sandbox, &command.options, &job, NULL)) {
                fd = abatis_job_fd(job);
                abatis_job_cancel(job);
                report("cancelled_job_keeps_its_descriptor", abatis_job_fd(job) == fd, "it does not");
                is_done = drive(&job, 1);
                abatis_job_finish(job, is_done ? &result : NULL, NULL);
        }
        report("job_can_be_cancelled_as_soon_as_it_is_launched",
               result && abatis_result_cancelled(result) && abatis_result_exit_code(result) < 0,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        result = NULL;
        job = prepare(&command, "exit 3");
        if (job)
                abatis_job_cancel(job);
        result = launch_and_finish(job, sandbox);
        report("job_cannot_be_cancelled_before_its_launch",
               result && !abatis_result_cancelled(result) && abatis_result_exit_code(result) == 3,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        result = NULL;
        if (!abatis_job_start(sandbox, shell(&command, "exit 3"), &job, NULL)) {
                const struct timespec a_while = { 0, 300 * 1000 * 1000 };

                nanosleep(&a_while, NULL); /* it has ended, and nobody has looked */
                abatis_job_cancel(job);
                is_done = drive(&job, 1);
                abatis_job_finish(job, is_done ? &result : NULL, NULL);
        }
        report("command_that_has_ended_was_not_cancelled",
               result && !abatis_result_cancelled(result) && abatis_result_exit_code(result) == 3,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

static void test_launch_after_open(void)
{
        struct shell command;
        abatis_job *job = prepare(&command, "echo out; echo error >&2; exit 6");
        abatis_sandbox *sandbox = open_sandbox(NULL);
        abatis_result *result = launch_and_finish(job, sandbox);

        report("job_prepared_before_its_sandbox_runs_in_it", has_output(result, "out\n", "error\n"),
               "something else came");
        report("prepared_job_gives_its_exit_code", result && abatis_result_exit_code(result) == 6,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

/* What was made ready for one sandbox is not used in another. */
static void test_another_sandbox_than_prepared_for(void)
{
        struct shell command;
        abatis_job *job = prepare(&command, "echo $MADE_FOR");
        abatis_sandbox *first = open_sandbox_for(job, SETTINGS("environment.set", "MADE_FOR=first")), *second;
        abatis_result *result;

        abatis_sandbox_free(first);
        second = open_sandbox(SETTINGS("environment.set", "MADE_FOR=second"));
        result = launch_and_finish(job, second);
        report("job_made_ready_for_one_sandbox_runs_in_another_as_that_says",
               first && has_output(result, "second\n", ""), "something else came");
        abatis_result_free(result);
        abatis_sandbox_free(second);
        job = prepare(&command, "echo $MADE_FOR");
        first = open_sandbox_for(job, SETTINGS("environment.set", "MADE_FOR=first"));
        result = launch_and_finish(job, first);
        report("job_runs_in_the_sandbox_it_was_made_ready_for", has_output(result, "first\n", ""),
               "something else came");
        abatis_result_free(result);
        abatis_sandbox_free(first);
}

static void test_change_of_mind(void)
{
        for (int capture = 0; capture < 2; capture++) {
                unsigned before = count_descriptors();
                struct shell command;
                abatis_job *job = NULL;

                shell(&command, "exit 0");
                command.options.capture = capture;
                if (!report("job_is_prepared_without_a_sandbox",
                            !abatis_job_prepare(&command.options, &job, NULL), "it was not"))
                        continue;
                /* Or there is nothing to be left. */
                report("prepared_job_has_begun", !has_no_child() && count_descriptors() > before,
                       "no process or no descriptor");
                report("prepared_job_can_be_finished_without_a_launch", !abatis_job_finish(job, NULL, NULL),
                       "it could not");
                report("job_that_was_never_launched_leaves_no_process", has_no_child(),
                       "a zombie or a process");
                report("job_that_was_never_launched_leaves_no_descriptor", count_descriptors() == before,
                       "%u before, %u after", before, count_descriptors());
        }
}

static bool is_in_workspace(const char *name)
{
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", workspace, name);
        return !access(path, F_OK);
}

static void test_nothing_runs_before_the_launch(void)
{
        const struct timespec a_while = { 0, 50 * 1000 * 1000 };
        abatis_sandbox *sandbox = open_sandbox(NULL);
        struct shell command;
        abatis_job *job;

        unlink("begun");
        job = prepare(&command, "echo x > begun");
        nanosleep(&a_while, NULL);
        report("nothing_of_the_command_runs_before_the_launch", job && !is_in_workspace("begun"),
               "its file is there");
        abatis_result_free(launch_and_finish(job, sandbox));
        report("command_runs_after_the_launch", is_in_workspace("begun"), "its file is missing");
        abatis_sandbox_free(sandbox);
}

static void test_second_launch(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL), *other = open_sandbox(NULL);
        struct shell command;
        abatis_job *job = prepare(&command, "sleep 0.2; echo once; exit 3");
        abatis_result *result = NULL;
        abatis_error err = { 0, 0, "" };
        bool is_launched = launch(job, sandbox);

        report("second_launch_is_refused",
               is_launched && abatis_job_launch(job, sandbox, &err) == ABATIS_E_INVALID &&
                       err.code == ABATIS_E_INVALID && *err.message,
               "%d: %s", err.code, err.message);
        report("second_launch_in_another_sandbox_is_refused",
               is_launched && abatis_job_launch(job, other, NULL) == ABATIS_E_INVALID, "it was not");
        abatis_sandbox_free(other); /* the job has no hold on it */
        if (job)
                abatis_job_finish(job, is_launched && drive(&job, 1) ? &result : NULL, NULL);
        report("job_goes_on_after_a_refused_launch",
               has_output(result, "once\n", "") && abatis_result_exit_code(result) == 3, "exit code %d",
               result ? abatis_result_exit_code(result) : -99);
        report("refused_launch_leaves_no_child", has_no_child(), "a zombie or a process");
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

/* The launch fails with this code; what is left of the job can be finished, and nothing is left of that. */
static void check_failed_launch(const char *name, const abatis_job_options *options,
                                const char *const *settings, int expected)
{
        unsigned before = count_descriptors();
        abatis_sandbox *sandbox = open_sandbox(settings);
        abatis_job *job = NULL;
        abatis_error err = { 0, 0, "" };
        int r = 0;

        if (sandbox && !abatis_job_prepare(options, &job, NULL))
                r = abatis_job_launch(job, sandbox, &err);
        report(name, r == expected && err.code == expected && *err.message, "%d: %s", r, err.message);
        if (job) {
                report("failed_launch_cannot_be_repeated",
                       abatis_job_launch(job, sandbox, NULL) == ABATIS_E_INVALID, "it could");
                abatis_job_finish(job, NULL, NULL);
        }
        abatis_sandbox_free(sandbox);
        report("failed_launch_can_be_finished", job && has_no_child() && count_descriptors() == before,
               "%u descriptors before, %u after, %s", before, count_descriptors(),
               has_no_child() ? "no child" : "a child");
}

static void test_failed_launch(void)
{
        struct shell command;

        shell(&command, "");
        command.argv[0] = "no-such-program";
        check_failed_launch("launch_of_a_program_that_does_not_exist_fails", &command.options, NULL,
                            ABATIS_E_NOT_FOUND);
        command.argv[0] = "/no/such/program";
        check_failed_launch("launch_of_a_path_that_does_not_exist_fails", &command.options, NULL,
                            ABATIS_E_NOT_FOUND);
        command.argv[0] = "/usr";
        check_failed_launch("launch_of_a_directory_fails", &command.options, NULL, ABATIS_E_NOT_EXECUTABLE);
        command.argv[0] = "sh";
        command.options.capture = 0;
        check_failed_launch("launch_that_the_policy_does_not_fit_fails", &command.options,
                            SETTINGS("limits.output", "1000B"), ABATIS_E_INVALID);
}

/* What the command gets was copied when the job was prepared, so what is judged must be that, not what the caller has
 * at the same number later. */
static void test_stdin_that_changes(void)
{
        for (int is_reused = 0; is_reused < 2; is_reused++) {
                abatis_sandbox *sandbox = NULL;
                abatis_job *job = NULL;
                struct shell command;
                int fd = open(secret, O_RDONLY | O_CLOEXEC);

                shell(&command, "cat");
                command.options.stdin_fd = fd;
                abatis_job_prepare(&command.options, &job, NULL);
                close(fd);
                if (is_reused)
                        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
                sandbox = open_sandbox(SETTINGS("filesystem.deny", secret));
                report(is_reused ? "denied_stdin_is_refused_after_its_number_was_reused"
                                 : "denied_stdin_is_refused_after_it_was_closed",
                       job && sandbox && abatis_job_launch(job, sandbox, NULL) == ABATIS_E_INVALID,
                       "it was not");
                if (job)
                        abatis_job_finish(job, NULL, NULL);
                abatis_sandbox_free(sandbox);
                if (is_reused)
                        close(fd);
        }
}

static void test_options_that_go(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        abatis_result *result = NULL;
        abatis_job *job = NULL;
        struct shell command;
        abatis_error err = { 0, 0, "" };

        shell(&command, "echo kept");
        if (!abatis_job_prepare(&command.options, &job, NULL)) {
                memset(&command.options, 0, sizeof(command.options));
                result = launch_and_finish(job, sandbox);
        }
        report("options_may_go_after_the_preparation", has_output(result, "kept\n", ""), "no output");
        abatis_result_free(result);
        result = NULL;
        job = prepare(&command, "true");
        report("job_that_was_never_launched_has_no_result",
               job && abatis_job_finish(job, &result, &err) == ABATIS_E_INVALID && !result && *err.message,
               "%d: %s", err.code, err.message);
        abatis_sandbox_free(sandbox);
}

static void test_many_prepared(void)
{
        struct shell commands[DRIVEN_MAX];
        abatis_job *jobs[DRIVEN_MAX] = { NULL };
        char texts[DRIVEN_MAX][64];
        abatis_sandbox *sandbox;
        int launched = 0, right = 0;
        bool is_driven;

        for (int i = 0; i < DRIVEN_MAX; i++) {
                snprintf(texts[i], sizeof(texts[i]), "echo out %d; echo error %d >&2; exit %d", i, i, i);
                jobs[i] = prepare(&commands[i], texts[i]);
        }
        sandbox = open_sandbox(NULL);
        for (int i = DRIVEN_MAX; i--;)
                launched += launch(jobs[i], sandbox);
        is_driven = launched == DRIVEN_MAX && drive(jobs, DRIVEN_MAX);
        for (int i = 0; i < DRIVEN_MAX; i++) {
                char out[32], error[32];
                abatis_result *result = NULL;

                snprintf(out, sizeof(out), "out %d\n", i);
                snprintf(error, sizeof(error), "error %d\n", i);
                if (jobs[i])
                        abatis_job_finish(jobs[i], is_driven ? &result : NULL, NULL);
                right += has_output(result, out, error) && abatis_result_exit_code(result) == i;
                abatis_result_free(result);
        }
        report("jobs_prepared_at_once_can_be_launched_in_any_order", is_driven, "%d were launched", launched);
        report("each_prepared_job_has_its_own_result", right == DRIVEN_MAX, "%d of %d", right, DRIVEN_MAX);
        abatis_sandbox_free(sandbox);
}

/* Its process was begun with copies of the other's pipes, and still holds them. */
static void test_prepared_beside_running(void)
{
        abatis_sandbox *sandbox = open_sandbox(NULL);
        struct shell first, second;
        abatis_job *running = prepare(&first, "echo first"), *waiting = prepare(&second, "echo second");
        abatis_result *result = launch_and_finish(running, sandbox);

        report("job_ends_while_another_is_only_prepared", has_output(result, "first\n", ""), "it did not");
        abatis_result_free(result);
        result = launch_and_finish(waiting, sandbox);
        report("prepared_job_outlasts_the_end_of_another", has_output(result, "second\n", ""), "it did not");
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
}

/* What one thread begins and another goes on with. */
struct handed_over {
        struct shell command;
        abatis_job *job;
        abatis_sandbox *sandbox;
        bool is_launched;
};

static void *prepare_in_thread(void *argument)
{
        struct handed_over *handed = argument;

        handed->job = prepare(&handed->command, "echo handed over; exit 4");
        return NULL;
}

static void *launch_in_thread(void *argument)
{
        struct handed_over *handed = argument;

        handed->is_launched = launch(handed->job, handed->sandbox);
        return NULL;
}

/* The thread has ended when this returns. */
static bool do_in_thread(void *(*work)(void *), struct handed_over *handed)
{
        pthread_t thread;

        return !pthread_create(&thread, NULL, work, handed) && !pthread_join(thread, NULL);
}

static void test_handed_over(void)
{
        struct handed_over handed = { .sandbox = open_sandbox(NULL) };
        abatis_result *result = NULL;
        bool is_done;

        is_done = do_in_thread(prepare_in_thread, &handed) && do_in_thread(launch_in_thread, &handed) &&
                  handed.is_launched && drive(&handed.job, 1);
        if (handed.job)
                abatis_job_finish(handed.job, is_done ? &result : NULL, NULL);
        report("job_outlives_the_threads_that_prepared_and_launched_it",
               has_output(result, "handed over\n", "") && abatis_result_exit_code(result) == 4,
               "exit code %d", result ? abatis_result_exit_code(result) : -99);
        abatis_result_free(result);
        abatis_sandbox_free(handed.sandbox);
}

static void check_refused(const char *name, const abatis_job_options *options)
{
        abatis_job *job = NULL;
        abatis_error err = { 0, 0, "" };
        unsigned before = count_descriptors();
        int r = abatis_job_prepare(options, &job, &err);

        report(name, r == ABATIS_E_INVALID && err.code == r && *err.message, "%d: %s", r, err.message);
        report("refused_job_leaves_nothing", !job && has_no_child() && count_descriptors() == before,
               "%u descriptors before, %u after", before, count_descriptors());
        if (job)
                abatis_job_finish(job, NULL, NULL);
}

/* test_change_of_mind() is the control: the same options are accepted without the mistake. */
static void test_bad_options(void)
{
        const char *const nothing[] = { NULL };
        struct shell command;
        int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check_refused("prepare_without_options_is_refused", NULL);
        shell(&command, "exit 0");
        command.options.argv = NULL;
        check_refused("prepare_without_arguments_is_refused", &command.options);
        command.options.argv = nothing;
        check_refused("prepare_with_an_empty_argument_list_is_refused", &command.options);
        shell(&command, "exit 0");
        command.options.size = 0;
        check_refused("prepare_with_options_of_no_size_is_refused", &command.options);
        command.options.size = sizeof(command.options) - 1;
        check_refused("prepare_with_options_too_small_is_refused", &command.options);
        shell(&command, "exit 0");
        command.options.cwd = "relative";
        check_refused("prepare_with_a_relative_directory_is_refused", &command.options);
        shell(&command, "exit 0");
        command.options.stdin_fd = directory;
        check_refused("prepare_with_a_directory_as_stdin_is_refused", &command.options);
        close(directory);
}

static void test_everything(void)
{
        test_cancel_at_any_time();
        test_launch_after_open();
        test_another_sandbox_than_prepared_for();
        test_change_of_mind();
        test_nothing_runs_before_the_launch();
        test_second_launch();
        test_failed_launch();
        test_stdin_that_changes();
        test_options_that_go();
        test_many_prepared();
        test_prepared_beside_running();
        test_handed_over();
        test_bad_options();
}

int main(int argc, char **argv)
{
        if (!host_begin(argc, argv))
                return 2;
        host_watch(test_everything);
        host_watch_ignoring_children(test_everything);
        return host_end();
}
