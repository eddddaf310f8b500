/* cmd_run.c: abatis run: a command with the caller's terminal, signals and exit code. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis run [FLAGS] [--] COMMAND [ARGUMENT...]\n"
        "Runs the command in a sandbox with your stdin, stdout and stderr.\n\n"
        "Result:\n"
        "  --json               collect the output and print one JSON object instead\n"
        "  --merge              with --json: stderr as part of stdout, in the order it was written\n"
        "  --pty                give the command a terminal of its own\n"
        "  --result-fd N        write that object, without output, to descriptor N\n"
        "  --context TEXT       what the audit log shall say about it: an agent's session, say\n"
        "  --watch-net          say on stderr what is connected to, and what is refused\n"
        "  --best-effort        run although something cannot be enforced; the object says what\n";

/* 1 in programs for tests: the command is a job of a prepared sandbox, or of one with a shared session. */
#ifndef RUN_PREPARED
#define RUN_PREPARED 0
#endif
#ifndef RUN_SHARED
#define RUN_SHARED 0
#endif
#ifndef RUN_BACKEND
#define RUN_BACKEND NULL
#endif

enum { PATIENCE_MS = 10 * 1000 /* between a SIGTERM to us and the end of a command that ignores it */ };

/* What the caller's terminal or supervisor may send; each is passed on to the command. */
static const int passed_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM };

/* What they are, and in *before what to go back to when there is no command to pass them to. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
        sigemptyset(held);
        for (size_t i = 0; i < sizeof(passed_signals) / sizeof(*passed_signals); i++)
                sigaddset(held, passed_signals[i]);
        sigaddset(held, SIGTSTP);
        sigprocmask(SIG_BLOCK, held, before);
}

/* ---- the caller's terminal ------------------------------------------------------------------------------ */

static struct termios kept_mode;
static bool has_kept_mode;

static void restore_mode(void)
{
        if (has_kept_mode)
                tcsetattr(0, TCSADRAIN, &kept_mode);
        has_kept_mode = false;
}

/* What is typed goes through as it is: the command's own terminal echoes it, and makes signals of it. */
static void pass_typing(void)
{
        struct termios raw;

        if (tcgetattr(0, &kept_mode) < 0)
                return;
        raw = kept_mode;
        cfmakeraw(&raw);
        has_kept_mode = !tcsetattr(0, TCSADRAIN, &raw);
}

static bool find_size(unsigned *rows, unsigned *columns)
{
        struct winsize size;

        if (ioctl(0, TIOCGWINSZ, &size) < 0 && ioctl(1, TIOCGWINSZ, &size) < 0)
                return false;
        *rows = size.ws_row;
        *columns = size.ws_col;
        return true;
}

/* ---- while it runs -------------------------------------------------------------------------------------- */

/* Returns the signal that was passed on, or 0. */
static int pass_signal(abatis_job *job, int signals, const sigset_t *held)
{
        unsigned rows, columns;
        int number = signals_take(signals, held);

        if (!number)
                return 0;
        if (number == SIGWINCH && find_size(&rows, &columns))
                abatis_job_resize(job, rows, columns);
        if (number != SIGTSTP) {
                abatis_job_signal(job, number, NULL);
                return number;
        }
        /* The command has a session of its own, so the terminal's stop key stops only us: stop it too. */
        abatis_job_signal(job, SIGSTOP, NULL);
        raise(SIGSTOP);
        abatis_job_signal(job, SIGCONT, NULL);
        return 0;
}

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_for(abatis_job *job, const sigset_t *held, abatis_error *err)
{
        /* Not before the command is on its way: what came meanwhile is still held. */
        int signals = signals_open(held);
        struct pollfd waits[] = { { abatis_job_fd(job), POLLIN, 0 }, { signals, POLLIN, 0 } };
        int64_t deadline = 0; /* none */
        int done = 0;

        while (!done) {
                int64_t left = deadline ? deadline - now_ms() : 0;

                /* Who terminates us wants the whole tree gone, also if the command does not care. */
                if (deadline && left <= 0)
                        abatis_job_signal(job, SIGKILL, NULL);
                if (poll(waits, 2, !deadline || left <= 0 ? -1 : (int)left) <= 0)
                        continue;
                if (waits[1].revents && pass_signal(job, signals, held) == SIGTERM && !deadline)
                        deadline = now_ms() + PATIENCE_MS;
                if (waits[0].revents && abatis_job_advance(job, &done, err) < 0)
                        return -1;
        }
        return 0;
}

static int exit_code(const abatis_result *result)
{
        if (abatis_result_timed_out(result))
                return EXIT_TIMED_OUT;
        if (abatis_result_signal(result))
                return 128 + abatis_result_signal(result);
        return abatis_result_exit_code(result);
}

static int print_piece(void *user, const char *bytes, size_t length)
{
        return print_bytes(*(const int *)user, bytes, length);
}

static int print_result(const abatis_result *result, int fd)
{
        abatis_error err;
        int r = abatis_result_write(result, print_piece, &fd, &err);

        if (!r && !print_text(fd, "\n"))
                return 0;
        return r == ABATIS_E_MEMORY ? fail(&err) : complain("cannot write the result");
}

/* Returns an exit code of ours, or 0. The policy is made if there is none, and freed. *limits_output says whether the output must pass
 * through us to be counted. */
static int open_sandbox(const struct flags *flags, abatis_policy *policy, const abatis_job_options *job,
                        abatis_job *prepared, abatis_sandbox **out, bool *limits_output)
{
        abatis_sandbox_options options = { .size = sizeof(options),
                                           .best_effort = flags->is_best_effort,
                                           .prepared = prepared,
                                           .backend = RUN_BACKEND,
                                           .spares = RUN_PREPARED };
        abatis_error err;
        int r = policy ? 0 : flags_make_policy(flags, &policy);

        if (r)
                return r;
        *limits_output = abatis_policy_limit(policy, "limits.output");
        if ((RUN_SHARED && abatis_policy_set(policy, "session", "shared", &err) < 0) ||
            abatis_sandbox_open(policy, &options, out, &err) < 0) {
                /* If that cannot be written down either, it is still refused. */
                abatis_audit_refused(policy, job, &err, NULL);
                r = fail(&err);
        } else if (!strcmp(abatis_sandbox_backend(*out), "none")) {
                print_text(2, "abatis: warning: the backend is none: nothing is enforced\n");
        }
        abatis_policy_free(policy);
        return r;
}

static void warn_of_leftovers(const abatis_result *result)
{
        const char *path, *kept_as;

        for (size_t i = 0; abatis_result_set_aside(result, i, &path, &kept_as); i++)
                complain("warning: git would take its configuration from the new '%s'; it %s%s%s", path,
                         kept_as ? "is '" : "was removed", kept_as ? kept_as : "", kept_as ? "' now" : "");
}

static int report(const struct flags *flags, const abatis_result *result)
{
        int r = exit_code(result);

        warn_of_leftovers(result);
        if (flags->has_json && print_result(result, 1))
                r = EXIT_REFUSED;
        if (flags->result_fd >= 0 && print_result(result, flags->result_fd))
                r = EXIT_REFUSED;
        return r;
}

/* Whoever waits for us sees how the command ended, and finds no core file that it did not leave. */
static void end_by_signal(int number)
{
        const struct sigaction usual = { .sa_handler = SIG_DFL };
        const struct rlimit no_core = { 0, 0 };
        sigset_t only;

        sigemptyset(&only);
        sigaddset(&only, number);
        setrlimit(RLIMIT_CORE, &no_core);
        sigaction(number, &usual, NULL);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
        raise(number);
}

/* The job is prepared first: what needs no policy is done while the policy is read, if it is not there yet. */
int run_with_policy(const struct flags *flags, abatis_policy *policy, const char *const *argv,
                    const char *cwd)
{
        /* Never freed: the process ends with the command, and the caller waits for that. */
        static abatis_sandbox *sandbox;
        static abatis_result *result;
        static struct connection_log log;
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_error err;
        abatis_job *job = NULL;
        bool limits_output = false;
        sigset_t held, before;
        int r;

        if (flags->is_merged && !flags->has_json) {
                abatis_policy_free(policy);
                return complain("--merge needs --json; without it, 2>&1 does the same");
        }
        hold_signals(&held, &before);
        options.argv = argv;
        options.cwd = cwd;
        options.context = flags->context;
        log.is_watched = flags->watches_network;
        options.user = &log;
        /* Who takes the object finds it there. */
        if (log.is_watched || (!flags->has_json && flags->result_fd < 0))
                options.on_connection = connections_hear;
        if (flags->has_json)
                options.capture = flags->is_merged ? ABATIS_CAPTURE_MERGED : ABATIS_CAPTURE;
        if (flags->has_json)
                options.stdout_fd = options.stderr_fd = -1;
        if (flags->has_terminal) {
                options.terminal = 1;
                find_size(&options.rows, &options.columns);
        }
        if (!RUN_PREPARED && abatis_job_prepare(&options, &job, &err) < 0)
                return fail(&err);
        r = open_sandbox(flags, policy, &options, job, &sandbox, &limits_output);
        limits_output &= !options.capture && !options.terminal;
        if (job && (r || limits_output))
                abatis_job_finish(job, NULL, NULL);
        if (r)
                return r;
        if (limits_output) {
                /* Only the policy could tell: begin again, this time with pipes. */
                options.capture = ABATIS_CAPTURE;
                if (!RUN_PREPARED && abatis_job_prepare(&options, &job, &err) < 0)
                        return fail(&err);
        }
        /* Before it can show anything: whoever sees it may type at once. */
        if (flags->has_terminal)
                pass_typing();
        r = RUN_PREPARED ? abatis_job_start(sandbox, &options, &job, &err)
                         : abatis_job_launch(job, sandbox, &err);
        if (!r)
                r = wait_for(job, &held, &err);
        restore_mode();
        if (r < 0 && job)
                abatis_job_finish(job, NULL, NULL);
        else if (!r)
                r = abatis_job_finish(job, &result, &err);
        /* What is left may wait for a slow reader; with nothing left, the end of the process does this too. */
        if (r < 0 || flags->has_json || flags->result_fd >= 0)
                sigprocmask(SIG_SETMASK, &before, NULL);
        r = r < 0 ? fail(&err) : report(flags, result);
        if (flags->ends_as_command && result && r == 128 + abatis_result_signal(result))
                end_by_signal(r - 128);
        /* Jobs that were begun ahead look like ours, and end a little after us. */
        if (RUN_PREPARED) {
                abatis_result_free(result);
                abatis_sandbox_free(sandbox);
        }
        return r;
}

int run_with_flags(const struct flags *flags)
{
        if (!*flags->rest)
                return complain("no program given; usage: abatis run [FLAGS] [--] COMMAND [ARGUMENT...]");
        return run_with_policy(flags, NULL, (const char *const *)flags->rest, NULL);
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
