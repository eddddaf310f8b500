/* trials_linux.c: runs every case outside and in the sandboxes of every backend, and judges what came out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/trials.h"

enum { INHERITED_FD = 200, MOST_BACKENDS = 8 };

/* ---- attempts ------------------------------------------------------------------------------------------- */

static void add_attempt(struct trial *trial, const struct trial_way *way, const struct trial_promise *promise,
                        bool must_work)
{
        struct attempt *attempt = &trial->attempts[trial->count];

        if (!way->name)
                return;
        *attempt = (struct attempt){ way, promise, must_work, true, "", NO_ANSWER, NO_ANSWER };
        attempt->is_possible = world_expand(trial->world, way->what, attempt->what, sizeof(attempt->what));
        trial->count++;
}

static void list_attempts(struct trial *trial)
{
        trial->count = 0;
        for (size_t i = 0; i < TRIAL_WAYS; i++)
                add_attempt(trial, &trial->what->allowed[i], NULL, true);
        for (size_t i = 0; i < TRIAL_PROMISES; i++) {
                const struct trial_promise *promise = &trial->what->promises[i];

                for (size_t j = 0; j < TRIAL_WAYS; j++)
                        add_attempt(trial, &promise->ways[j], promise, false);
                add_attempt(trial, &promise->works, promise, true);
        }
}

static void list_arguments(const struct trial *trial, const char *program, bool is_free,
                           const char *argv[2 * TRIAL_ATTEMPTS + 3])
{
        size_t count = 0;

        argv[count++] = program;
        argv[count++] = "doctor-inside";
        for (size_t i = 0; i < trial->count; i++) {
                const struct attempt *attempt = &trial->attempts[i];

                if (!attempt->is_possible)
                        continue;
                argv[count++] = attempt->way->name;
                argv[count++] = is_free && attempt->way->control ? attempt->way->control : attempt->what;
        }
        argv[count] = NULL;
}

/* A line for each, in their order; what else a way has written is no number. */
static void read_answers(struct trial *trial, const char *text, bool is_inside)
{
        for (size_t i = 0; i < trial->count; i++) {
                struct attempt *attempt = &trial->attempts[i];
                int *answer = is_inside ? &attempt->inside : &attempt->outside;

                *answer = NO_ANSWER;
                while (attempt->is_possible && *text && *answer == NO_ANSWER) {
                        if (*text >= '0' && *text <= '9')
                                *answer = (int)strtol(text, NULL, 10);
                        text += strcspn(text, "\n");
                        text += *text == '\n';
                }
        }
}

/* ---- outside -------------------------------------------------------------------------------------------- */

static void become_probe(const struct trial *trial, const char *program, const char *const *argv, int output)
{
        char workspace[TRIAL_PATH];
        int input = trial->world->terminal >= 0 ? trial->world->terminal : open("/dev/null", O_RDONLY);

        world_expand(trial->world, "{root}/ws", workspace, sizeof(workspace));
        if (chdir(workspace) < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0)
                _exit(1);
        execv(program, (char *const *)argv);
        _exit(1);
}

static int run_outside(struct trial *trial, const char *program, const char *const *argv, abatis_error *err)
{
        static char text[256 * 1024];
        size_t length = 0;
        ssize_t got;
        int output[2];
        pid_t child;

        if (pipe2(output, O_CLOEXEC) < 0 || (child = fork()) < 0) {
                *err = (abatis_error){ .code = ABATIS_E_SYSTEM,
                                       .message = "doctor --test can start no process" };
                return -1;
        }
        if (!child)
                become_probe(trial, program, argv, output[1]);
        close(output[1]);
        while ((got = read(output[0], text + length, sizeof(text) - 1 - length)) > 0)
                length += (size_t)got;
        close(output[0]);
        waitpid(child, NULL, 0);
        text[length] = '\0';
        read_answers(trial, text, false);
        return 0;
}

/* What a process says that is nobody's: so the control is of the operating system alone. */
static int try_outside(struct trial *trial, const char *program, abatis_error *err)
{
        const char *argv[2 * TRIAL_ATTEMPTS + 3];
        int r = world_renew(trial->world, err);

        list_arguments(trial, program, true, argv);
        if (!r)
                r = run_outside(trial, program, argv, err);
        if (!r && trial->what->is_twice)
                r = run_outside(trial, program, argv, err);
        trial->was_held_outside = world_is_held(trial->world, true);
        return r;
}

/* ---- inside --------------------------------------------------------------------------------------------- */

static int make_policy(const struct trial *trial, abatis_policy **out, abatis_error *err)
{
        char workspace[TRIAL_PATH], value[TRIAL_PATH];
        abatis_policy_options options = { .size = sizeof(options),
                                          .preset = trial->what->preset,
                                          .workspace = workspace };
        abatis_policy *policy;
        int r;

        world_expand(trial->world, "{root}/ws", workspace, sizeof(workspace));
        r = abatis_policy_new(&options, &policy, err);
        if (r < 0)
                return r;
        r = abatis_policy_set(policy, "audit.log", "off", err);
        if (!r)
                r = abatis_policy_set(policy, "limits.timeout", "15s", err); /* of a sandbox that hangs */
        if (!r)
                r = abatis_policy_set(policy, "backend", trial->backend, err);
        for (size_t i = 0; !r && i < TRIAL_SETTINGS && trial->what->settings[i][0]; i++) {
                world_expand(trial->world, trial->what->settings[i][1], value, sizeof(value));
                r = abatis_policy_set(policy, trial->what->settings[i][0], value, err);
        }
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

/* What the plan claims, as `explain --best-effort` tells it. Returns the plan, or NULL. */
static json_t *explain(struct trial *trial, abatis_policy *policy, abatis_error *err)
{
        abatis_sandbox_options options = { .size = sizeof(options), .best_effort = 1 };
        json_t *plan;
        char *text;
        size_t i;
        json_t *clause;

        if (abatis_explain(policy, NULL, &options, ABATIS_JSON, &text, err) < 0)
                return NULL;
        plan = json_loads(text, 0, NULL);
        free(text);
        trial->clauses = json_object_get(plan, "clauses");
        trial->is_whole = json_is_array(trial->clauses);
        json_array_foreach(trial->clauses, i, clause) if (!json_is_true(json_object_get(clause, "enforced")))
                trial->is_whole = false;
        return plan;
}

/* Of the case's promises; else there is nothing to see. */
static bool claims_something(const struct trial *trial)
{
        for (size_t i = 0; i < TRIAL_PROMISES && trial->what->promises[i].label; i++)
                if (trial_claims(trial, &trial->what->promises[i]))
                        return true;
        return !strcmp(trial->backend, "none");
}

static void run_job(struct trial *trial, abatis_sandbox *sandbox, const char *program)
{
        const char *argv[2 * TRIAL_ATTEMPTS + 3];
        abatis_job_options job = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result;
        char workspace[TRIAL_PATH];

        list_arguments(trial, program, !strcmp(trial->backend, "none"), argv);
        world_expand(trial->world, "{root}/ws", workspace, sizeof(workspace));
        job.argv = argv;
        job.cwd = workspace;
        job.capture = ABATIS_CAPTURE;
        job.stdin_fd = trial->world->terminal;
        job.stdout_fd = job.stderr_fd = -1;
        if (abatis_run(sandbox, &job, &result, &trial->refusal) < 0)
                return;
        trial->refusal.code = 0;
        read_answers(trial, abatis_result_stdout(result, NULL), true);
        trial->limit = abatis_result_limit(result);
        trial->is_cut = abatis_result_truncated(result);
        trial->is_held = world_is_held(trial->world, true);
        abatis_result_free(result);
}

/* First as somebody would who accepts nothing less; what is refused then is said, and the rest tried with less. */
static int run_in_sandbox(struct trial *trial, abatis_policy *policy, const char *program, abatis_error *err)
{
        abatis_sandbox_options options = { .size = sizeof(options), .spares = -1 };
        abatis_sandbox *sandbox;
        int r = abatis_sandbox_open(policy, &options, &sandbox, err);

        trial->is_refused = r == ABATIS_E_UNENFORCEABLE;
        if (trial->is_refused && !claims_something(trial))
                return 0;
        if (trial->is_refused) {
                options.best_effort = 1;
                r = abatis_sandbox_open(policy, &options, &sandbox, err);
        }
        if (r < 0)
                return r;
        run_job(trial, sandbox, program);
        if (trial->what->is_twice && !trial->refusal.code)
                run_job(trial, sandbox, program);
        abatis_sandbox_free(sandbox);
        return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static void try_in_backend(struct trial *trial, const char *program, json_t *rows)
{
        abatis_policy *policy = NULL;
        json_t *plan = NULL;
        abatis_error err = { 0 };
        int r;

        trial->clauses = NULL;
        trial->is_whole = trial->is_refused = trial->is_cut = trial->is_held = false;
        trial->limit = NULL;
        trial->refusal = (abatis_error){ .code = ABATIS_E_NO_RESULT, .message = "it did not run" };
        read_answers(trial, "", true);
        r = world_renew(trial->world, &err);
        if (!r)
                r = make_policy(trial, &policy, &err);
        if (!r)
                plan = explain(trial, policy, &err);
        if (plan)
                r = run_in_sandbox(trial, policy, program, &err);
        if (plan && !r)
                trial_judge(trial, rows);
        else
                trial_is_untested(trial, err.message, rows);
        json_decref(plan);
        abatis_policy_free(policy);
}

static int try_all(const struct trial_world *world, const char *const *backends, json_t *rows,
                   abatis_error *err)
{
        static struct trial trial;
        char program[TRIAL_PATH];

        world_expand(world, "{root}/bin/probe", program, sizeof(program));
        for (size_t i = 0; i < trial_case_count; i++) {
                trial = (struct trial){ .world = world, .what = &trial_cases[i] };
                list_attempts(&trial);
                if (try_outside(&trial, program, err) < 0)
                        return -1;
                for (size_t j = 0; backends[j]; j++) {
                        trial.backend = backends[j];
                        try_in_backend(&trial, program, rows);
                }
        }
        return 0;
}

static int send_text(int fd, const char *text)
{
        return print_bytes(fd, text, strlen(text));
}

/* A process of its own, which may have a terminal of its own, be killed, and leave whoever cleans up alone. */
static void run_trials(struct trial_world *world, const char *const *backends, int output)
{
        json_t *rows = json_array();
        abatis_error err = { 0 };
        int null = open("/dev/null", O_RDONLY);
        char *text;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (world_inhabit(world, &err) < 0 || dup2(null, INHERITED_FD) < 0 ||
            setenv("ABATIS_DOCTOR_API_KEY", "secret", 1) < 0 || try_all(world, backends, rows, &err) < 0) {
                send_text(output, *err.message ? err.message : "doctor --test failed");
                _exit(1);
        }
        world_leave(world);
        text = json_dumps(rows, JSON_COMPACT);
        _exit(text && !send_text(output, text) ? 0 : 1);
}

static size_t list_backends(const json_t *report, const char *out[MOST_BACKENDS + 1])
{
        json_t *backend;
        size_t i, count = 0;

        json_array_foreach(json_object_get(report, "backends"), i,
                           backend) if (json_is_true(json_object_get(backend, "available")) &&
                                        count < MOST_BACKENDS) out[count++] =
                json_string_value(json_object_get(backend, "name"));
        out[count] = NULL;
        return count;
}

/* Everything that it says until it ends; or, if somebody ends us first, the signal. */
static int hear(int fd, int signals, char **text)
{
        struct pollfd polled[] = { { fd, POLLIN, 0 }, { signals, POLLIN, 0 } };
        size_t length = 0, capacity = 64 * 1024;
        struct signalfd_siginfo info;
        ssize_t got = 1;

        *text = malloc(capacity + 1);
        while (*text && got) {
                char *grown;

                if (poll(polled, 2, -1) < 0)
                        continue;
                if (polled[1].revents && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
                        return (int)info.ssi_signo;
                if (!polled[0].revents)
                        continue;
                got = read(fd, *text + length, capacity - length);
                if (got < 0)
                        continue;
                length += (size_t)got;
                (*text)[length] = '\0';
                if (length < capacity)
                        continue;
                grown = realloc(*text, 2 * capacity + 1);
                if (!grown)
                        break;
                *text = grown;
                capacity *= 2;
        }
        return 0;
}

/* Takes the world away when everybody else was killed: then nobody has the other end of its pipe, not even a job's init. Returns that end,
 * or -1; a byte tells it that all is done. */
static int start_janitor(struct trial_world *world, pid_t *janitor)
{
        int ends[2];
        char byte;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -1;
        *janitor = fork();
        if (*janitor) {
                close(ends[0]);
                return *janitor < 0 ? -1 : ends[1];
        }
        close(ends[1]);
        setsid();
        if (!read(ends[0], &byte, 1))
                world_remove(world);
        _exit(0);
}

int trials_run(json_t *report)
{
        const char *backends[MOST_BACKENDS + 1];
        struct trial_world world;
        abatis_error err;
        sigset_t held, before;
        int output[2], signals, status = -1, caught, done;
        char *text = NULL;
        json_t *rows;
        pid_t runner, janitor;

        sigemptyset(&held);
        for (size_t i = 0; i < 4; i++)
                sigaddset(&held, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT }[i]);
        list_backends(report, backends);
        sigprocmask(SIG_BLOCK, &held, &before);
        signals = signalfd(-1, &held, SFD_CLOEXEC);
        if (world_make(&world, &err) < 0)
                return fail(&err);
        done = start_janitor(&world, &janitor);
        if (done < 0 || pipe2(output, O_CLOEXEC) < 0 || (runner = fork()) < 0) {
                world_remove(&world);
                return complain("doctor --test can start no process");
        }
        if (!runner) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                run_trials(&world, backends, output[1]);
        }
        close(output[1]);
        caught = hear(output[0], signals, &text);
        if (caught)
                kill(runner, SIGKILL);
        waitpid(runner, &status, 0);
        /* Who was killed may have left somebody who is still about to make a file: then the janitor is the last. */
        if (!caught) {
                world_remove(&world);
                (void)!write(done, "", 1);
        }
        close(done);
        waitpid(janitor, NULL, 0);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (caught)
                raise(caught);
        rows = status || !text ? NULL : json_loads(text, 0, NULL);
        if (!rows)
                return complain("%s",
                                status && text && *text ? text : "doctor --test did not come to its end");
        free(text);
        json_object_set_new(report, "tests", rows);
        return 0;
}
