/* cmd_run_windows.c: abatis run on Windows: a command with the caller's streams and exit code. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis run [FLAGS] [--] COMMAND [ARGUMENT...]\n"
        "Runs the command in a sandbox with your stdin, stdout and stderr. Nothing is written to an audit log on Windows.\n\n"
        "Result:\n"
        "  --json               collect the output and print one JSON object instead\n"
        "  --best-effort        run although something cannot be enforced; the object says what\n";

/* For the thread that Windows starts when somebody presses Ctrl+C or closes the window. */
static SRWLOCK lock = SRWLOCK_INIT;
static abatis_job *running; /* NULL: there is nothing to cancel */
static HANDLE over;         /* an event: all of it is undone */

static void set_running(abatis_job *job)
{
        AcquireSRWLockExclusive(&lock);
        running = job;
        ReleaseSRWLockExclusive(&lock);
}

/* After a window's end Windows ends us as soon as this returns. */
static BOOL WINAPI cancel(DWORD kind)
{
        bool has_job;

        AcquireSRWLockExclusive(&lock);
        has_job = running;
        if (has_job)
                abatis_job_cancel(running);
        ReleaseSRWLockExclusive(&lock);
        if (has_job && kind != CTRL_C_EVENT && kind != CTRL_BREAK_EVENT)
                WaitForSingleObject(over, INFINITE);
        return has_job;
}

static int print_piece(void *user, const char *bytes, size_t length)
{
        return print_bytes(*(const int *)user, bytes, length);
}

static int report(const struct flags *flags, const abatis_result *result)
{
        abatis_error err;
        int fd = 1;

        if (flags->has_json &&
            (abatis_result_write(result, print_piece, &fd, &err) < 0 || print_text(1, "\n")))
                return complain("cannot write the result");
        return abatis_result_timed_out(result) ? EXIT_TIMED_OUT : abatis_result_exit_code(result);
}

/* Returns an exit code of ours, or 0. */
static int open_sandbox(const struct flags *flags, abatis_sandbox **out)
{
        abatis_sandbox_options options = { .size = sizeof(options), .best_effort = flags->is_best_effort };
        abatis_policy *policy;
        abatis_error err;
        int r = flags_make_policy(flags, &policy);

        if (r)
                return r;
        if (abatis_sandbox_open(policy, &options, out, &err) < 0)
                r = fail(&err);
        else if (!strcmp(abatis_sandbox_backend(*out), "none"))
                print_text(2, "abatis: warning: the backend is none: nothing is enforced\n");
        abatis_policy_free(policy);
        return r;
}

/* Who has said that he wants none is not told. */
static void say_that_there_is_no_log(const struct flags *flags)
{
        for (size_t i = 0; i < flags->setting_count; i++)
                if (!strcmp(flags->settings[i].key, "audit.log"))
                        return;
        print_text(
                2,
                "abatis: warning: nothing is written down: there is no audit log on Windows yet (--no-audit)\n");
}

int run_with_flags(const struct flags *flags)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_sandbox *sandbox = NULL;
        abatis_result *result = NULL;
        abatis_job *job = NULL;
        abatis_error err;
        int r;

        if (!*flags->rest)
                return complain("no program given; usage: abatis run [FLAGS] [--] COMMAND [ARGUMENT...]");
        if (flags->is_merged || flags->has_terminal || flags->watches_network || flags->result_fd >= 0 ||
            flags->context)
                return complain(
                        "--merge, --pty, --watch-net, --result-fd and --context are not for Windows yet");
        options.argv = (const char *const *)flags->rest;
        if (flags->has_json) {
                options.capture = ABATIS_CAPTURE;
                options.stdout_fd = options.stderr_fd = -1;
        }
        r = open_sandbox(flags, &sandbox);
        if (r)
                return r;
        say_that_there_is_no_log(flags);
        over = CreateEventW(NULL, TRUE, FALSE, NULL);
        if (!over || !SetConsoleCtrlHandler(cancel, TRUE))
                r = complain("cannot listen for Ctrl+C");
        else if (abatis_job_prepare(&options, &job, &err) < 0)
                r = fail(&err);
        set_running(job);
        if (job && abatis_job_launch(job, sandbox, &err) < 0)
                r = fail(&err);
        set_running(NULL);
        if (job && r)
                abatis_job_finish(job, NULL, NULL);
        else if (job)
                r = abatis_job_finish(job, &result, &err) < 0 ? fail(&err) : report(flags, result);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
        if (over)
                SetEvent(over);
        return r;
}

int cmd_run(char **argv)
{
        struct flags flags;
        int r = flags_parse(argv,
                            TAKES_POLICY | TAKES_BEST_EFFORT | TAKES_JSON | TAKES_STDIO | TAKES_RESULT_FD,
                            &flags);

        if (!r && flags.wants_help)
                printf("%s%s", help, flags_policy_help);
        else if (!r) {
                flags.policy.layers |= ABATIS_MAKE_PLACES;
                r = run_with_flags(&flags);
        }
        flags_done(&flags);
        return r;
}
