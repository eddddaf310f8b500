/* abatis.c: the code behind abatis.h: ties policy, backend and run together. */
#define _GNU_SOURCE
#include "abatis.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/own.h"
#include "base/system.h"
#include "lib/compile.h"
#include "lib/recording.h"
#include "lib/result.h"
#include "plan/connection.h"
#include "run/run.h"

struct abatis_sandbox {
        unsigned references; /* the caller's, and one for each job and result */
        abatis_policy *policy;
        abatis_host host;
        struct plan *plan;
        struct resources *resources;
        struct recorder recorder;
};

struct abatis_job {
        struct job *job;
        abatis_sandbox *sandbox;
        abatis_job_options options;  /* what it points to is borrowed until the launch */
        struct strings argv;         /* for the result */
        abatis_sandbox *drafted_for; /* the next two are for its plan; NULL: they are not made */
        const char **environment;    /* an owned list; the strings are the options' */
        struct recording recording;
};

struct abatis_result {
        struct job_outcome outcome;
        abatis_sandbox *sandbox;
        struct strings argv;
        char audit_id[AUDIT_ID_SIZE];
};

#define STRING_(value) #value
#define STRING(value) STRING_(value)

const char *abatis_version(void)
{
        return STRING(ABATIS_VERSION_MAJOR) "." STRING(ABATIS_VERSION_MINOR) "." STRING(ABATIS_VERSION_PATCH);
}

/* ---- host ----------------------------------------------------------------------------------------------- */

int abatis_host_probe(abatis_host **out, abatis_error *err)
{
        abatis_host *host = calloc(1, sizeof(*host));
        int r;

        if (!host)
                return error_memory(err);
        r = host_probe_fully(host, err);
        if (r < 0) {
                abatis_host_free(host);
                return r;
        }
        *out = host;
        return 0;
}

void abatis_host_free(abatis_host *host)
{
        if (!host)
                return;
        host_done(host);
        free(host);
}

int abatis_host_print(const abatis_host *host, abatis_format format, char **out, abatis_error *err)
{
        struct host_backend backends[BACKEND_COUNT];
        size_t count = backend_examine(host, backends);

        return host_print(host, backends, count, format, out, err);
}

int abatis_host_is_ready(const abatis_host *host)
{
        return host_is_ready(host);
}

/* ---- sandbox -------------------------------------------------------------------------------------------- */

static int check_options(const abatis_sandbox_options *options, abatis_error *err)
{
        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_sandbox_options.size is not set");
        return 0;
}

static const struct job *prepared_of(const abatis_sandbox_options *options)
{
        return options->prepared ? options->prepared->job : NULL;
}

/* Before anything is made of the policy. */
static int choose_backend(abatis_policy *policy, const abatis_sandbox_options *options, abatis_error *err)
{
        return options->backend ? abatis_policy_set(policy, "backend", options->backend, err) : 0;
}

int abatis_explain(abatis_policy *policy, const abatis_host *host, const abatis_sandbox_options *options,
                   abatis_format format, char **out, abatis_error *err)
{
        abatis_host probed;
        struct plan *plan = NULL;
        int r = check_options(options, err);

        if (!r)
                r = choose_backend(policy, options, err);
        if (r < 0)
                return r;
        if (!host) {
                r = compile_probe(policy, &probed, err);
                host_correct(&probed, prepared_of(options));
        }
        if (!r && host)
                r = backend_compile(policy, host, options->best_effort, &plan, err);
        else if (!r)
                r = compile_here(policy, &probed, options->best_effort, &plan, err);
        if (r < 0)
                return r;
        host = host ? host : &probed;
        r = plan_print(plan, policy, host, format, out, err);
        plan_free(plan);
        return r;
}

static void sandbox_release(abatis_sandbox *sandbox)
{
        if (!sandbox || __atomic_sub_fetch(&sandbox->references, 1, __ATOMIC_ACQ_REL))
                return;
        resources_free(sandbox->resources);
        recorder_done(&sandbox->recorder);
        plan_free(sandbox->plan);
        abatis_policy_free(sandbox->policy);
        host_done(&sandbox->host);
        free(sandbox);
}

static int compile(abatis_sandbox *sandbox, abatis_policy *policy, bool is_best_effort, abatis_error *err)
{
        int r;

        resources_free(sandbox->resources);
        plan_free(sandbox->plan);
        sandbox->resources = NULL;
        sandbox->plan = NULL;
        r = compile_here(policy, &sandbox->host, is_best_effort, &sandbox->plan, err);
        if (!r)
                r = resources_open(sandbox->plan, policy, &sandbox->host, &sandbox->resources, err);
        return r ? r : recorder_describe(&sandbox->recorder, policy, sandbox->plan, err);
}

static void undraft(abatis_job *job)
{
        abatis_sandbox *sandbox = job->drafted_for;

        job->drafted_for = NULL;
        free(job->environment);
        job->environment = NULL;
        recording_done(&job->recording);
        sandbox_release(sandbox);
}

/* What a launch needs of the job's options. */
static int draft(abatis_job *job, abatis_sandbox *sandbox, abatis_error *err)
{
        const char *const *envp =
                job->options.envp ? job->options.envp : (const char *const *)system_environment();
        OWN_FREE const char **secrets = NULL;
        int r;

        undraft(job);
        r = environment_sort(sandbox->policy, envp, &job->environment,
                             sandbox->recorder.log ? &secrets : NULL, err);
        if (!r)
                r = recording_draft(&job->recording, &sandbox->recorder, sandbox->policy,
                                    backend_names[sandbox->plan->backend], &job->options, secrets, err);
        if (r < 0)
                return r;
        job->drafted_for = sandbox;
        __atomic_add_fetch(&sandbox->references, 1, __ATOMIC_RELAXED);
        return 0;
}

/* While there is time. Of what goes wrong here the launch will tell. */
static void draft_ahead(abatis_job *job, abatis_sandbox *sandbox)
{
        if (!job || job->sandbox)
                return;
        undraft(job); /* what was made for another plan */
        if (job_has_ground(job->job) || draft(job, sandbox, NULL) < 0)
                return;
        if (sandbox->recorder.log)
                audit_open_ahead(sandbox->recorder.log);
}

/* What the quick probe takes for granted is asked when the plan is made: a job that was prepared has laid its ground meanwhile,
 * on another processor, and until it has, there is time. */
static int compile_as_it_is(abatis_sandbox *sandbox, abatis_policy *policy,
                            const abatis_sandbox_options *options, abatis_error *err)
{
        int r = compile(sandbox, policy, options->best_effort, err);

        if (!r)
                draft_ahead(options->prepared, sandbox);
        if (r != ABATIS_E_MEMORY && !options->best_effort &&
            host_correct(&sandbox->host, prepared_of(options))) {
                r = compile(sandbox, policy, false, err);
                if (!r)
                        draft_ahead(options->prepared, sandbox);
        }
        return r;
}

int abatis_sandbox_open(abatis_policy *policy, const abatis_sandbox_options *options, abatis_sandbox **out,
                        abatis_error *err)
{
        abatis_sandbox *sandbox;
        int r = check_options(options, err);

        if (r < 0)
                return r;
        sandbox = calloc(1, sizeof(*sandbox));
        if (!sandbox)
                return error_memory(err);
        sandbox->references = 1;
        sandbox->policy = policy_share(policy);
        r = choose_backend(policy, options, err);
        /* Who accepts less wants it to run: so find out what works, instead of failing where it does not. */
        if (!r && options->best_effort)
                r = host_probe_fully(&sandbox->host, err);
        else if (!r)
                r = compile_probe(policy, &sandbox->host, err);
        if (!r)
                r = recorder_open(&sandbox->recorder, policy, err);
        if (!r)
                r = compile_as_it_is(sandbox, policy, options, err);
        /* Who has begun a job himself has one to start. */
        if (!r && !options->prepared && policy->shares_session)
                r = resources_share(sandbox->resources, sandbox->plan, policy, err);
        else if (!r && !options->prepared && options->spares >= 0)
                resources_prepare(sandbox->resources, sandbox->plan, policy,
                                  options->spares ? (unsigned)options->spares : 1, options->spares);
        if (r < 0) {
                if (options->prepared && options->prepared->drafted_for == sandbox)
                        undraft(options->prepared);
                sandbox_release(sandbox);
                return r;
        }
        *out = sandbox;
        return 0;
}

const char *abatis_sandbox_backend(const abatis_sandbox *sandbox)
{
        return backend_names[sandbox->plan->backend];
}

void abatis_sandbox_free(abatis_sandbox *sandbox)
{
        if (sandbox)
                resources_close_session(sandbox->resources);
        sandbox_release(sandbox);
}

/* ---- job ------------------------------------------------------------------------------------------------ */

static void free_job(abatis_job *job)
{
        strings_done(&job->argv);
        undraft(job);
        sandbox_release(job->sandbox);
        free(job);
}

static int prepare(const abatis_job_options *options, struct resources *resources, abatis_job **out,
                   abatis_error *err)
{
        abatis_job *job = calloc(1, sizeof(*job));
        int r;

        if (!job)
                return error_memory(err);
        r = job_prepare(options, resources, &job->job, err);
        if (r < 0) {
                free(job);
                return r;
        }
        job->options = *options;
        for (size_t i = 0; !r && options->argv[i]; i++)
                r = strings_add(&job->argv, options->argv[i], err);
        if (r < 0) {
                job_drop(job->job);
                free_job(job);
                return r;
        }
        *out = job;
        return 0;
}

int abatis_job_prepare(const abatis_job_options *options, abatis_job **out, abatis_error *err)
{
        return prepare(options, NULL, out, err);
}

/* Why the command did not run, also if that could not be written down: the log lacks its end then, and does not lie. */
static int refuse(abatis_job *job, const abatis_error *why, abatis_error *err)
{
        if (job->recording.is_planned)
                recording_refuse(&job->recording, &job->sandbox->recorder, why->message, NULL);
        job->recording.is_planned = false;
        if (err)
                *err = *why;
        return why->code;
}

int abatis_job_launch(abatis_job *job, abatis_sandbox *sandbox, abatis_error *err)
{
        struct job_context context = { .resources = sandbox->resources,
                                       .plan = sandbox->plan,
                                       .policy = sandbox->policy,
                                       .wants_digests = sandbox->recorder.log };
        abatis_error below;
        int r;

        if (job->sandbox)
                return error_set(err, ABATIS_E_INVALID, "the job was launched before");
        job->sandbox = sandbox;
        __atomic_add_fetch(&sandbox->references, 1, __ATOMIC_RELAXED);
        r = job->drafted_for == sandbox ? 0 : draft(job, sandbox, err);
        if (!r)
                r = recording_plan(&job->recording, &sandbox->recorder, err);
        if (r < 0)
                return r;
        context.environment = job->environment;
        r = job_launch(job->job, &context, &below);
        free(job->environment);
        job->environment = NULL;
        if (r < 0 && !job_is_launched(job->job))
                return refuse(job, &below, err);
        if (r < 0) {
                /* It will be ended, and that is written down. */
                if (err)
                        *err = below;
                return r;
        }
        return recording_start(&job->recording, &sandbox->recorder, err);
}

int abatis_job_start(abatis_sandbox *sandbox, const abatis_job_options *options, abatis_job **out,
                     abatis_error *err)
{
        abatis_job *job = NULL;
        int r = prepare(options, sandbox->resources, &job, err);

        if (r < 0 || !job)
                return r;
        r = abatis_job_launch(job, sandbox, err);
        if (r < 0)
                abatis_job_finish(job, NULL, NULL);
        else
                *out = job;
        return r;
}

int abatis_job_fd(const abatis_job *job)
{
        return job_fd(job->job);
}

int abatis_job_advance(abatis_job *job, int *done, abatis_error *err)
{
        bool is_done = false;
        int r = job_advance(job->job, &is_done, err);

        if (!r)
                *done = is_done;
        return r;
}

int abatis_job_signal(abatis_job *job, int signal_number, abatis_error *err)
{
        return job_signal(job->job, signal_number, err);
}

void abatis_job_cancel(abatis_job *job)
{
        job_cancel(job->job);
}

void abatis_job_resize(abatis_job *job, unsigned rows, unsigned columns)
{
        job_resize(job->job, rows, columns);
}

/* What nobody can look up later is no result: the caller is told, and with it how the command ended. */
static int record_end(const abatis_job *job, const struct job_outcome *outcome, const char *why,
                      abatis_error *err)
{
        abatis_error below;
        int r = recording_finish(&job->recording, &job->sandbox->recorder, outcome, why, &below);

        if (!r)
                return 0;
        r = error_set(err, ABATIS_E_NO_RESULT,
                      "the command ended with %s %d, and that was not written down: %s",
                      outcome->signal ? "signal" : "exit code",
                      outcome->signal ? outcome->signal : outcome->exit_code, below.message);
        if (err)
                err->os_errno = below.os_errno;
        return r;
}

int abatis_job_finish(abatis_job *job, abatis_result **out, abatis_error *err)
{
        abatis_result *result = out ? calloc(1, sizeof(*result)) : NULL;
        struct job_outcome outcome = { 0 };
        abatis_error below;
        bool is_recorded = job->recording.is_planned;
        int r = job_end(job->job, out || is_recorded ? &outcome : NULL, &below);

        if (r < 0 && is_recorded && outcome.has_run) {
                record_end(job, &outcome, below.message, NULL);
                if (err)
                        *err = below;
        } else if (r < 0)
                refuse(job, &below, err);
        else if (is_recorded && !outcome.has_run)
                recording_refuse(&job->recording, &job->sandbox->recorder,
                                 "it was ended before the command could start", NULL);
        else if (is_recorded)
                r = record_end(job, &outcome, NULL, err);
        job_free(job->job);
        if (!r && out && !result)
                r = error_memory(err);
        if (!r && result) {
                result->outcome = outcome;
                outcome = (struct job_outcome){ 0 };
                result->sandbox = job->sandbox;
                __atomic_add_fetch(&job->sandbox->references, 1, __ATOMIC_RELAXED);
                result->argv = job->argv;
                memcpy(result->audit_id, job->recording.id, sizeof(result->audit_id));
                memset(&job->argv, 0, sizeof(job->argv));
                *out = result;
        } else {
                free(result);
        }
        free(outcome.connections.items);
        strings_done(&outcome.set_aside);
        text_done(&outcome.output[0]);
        text_done(&outcome.output[1]);
        free_job(job);
        return r;
}

int abatis_run(abatis_sandbox *sandbox, const abatis_job_options *options, abatis_result **out,
               abatis_error *err)
{
        abatis_job *job = NULL;
        int done = 0, r = abatis_job_start(sandbox, options, &job, err);

        if (r < 0 || !job)
                return r;
        while (!r && !done) {
                struct pollfd wait = { abatis_job_fd(job), POLLIN, 0 };

                if (poll(&wait, 1, -1) < 0 && errno != EINTR)
                        r = error_os(err, errno, "cannot wait for the command");
                else
                        r = abatis_job_advance(job, &done, err);
        }
        if (r < 0) {
                abatis_job_finish(job, NULL, NULL);
                return r;
        }
        return abatis_job_finish(job, out, err);
}

/* ---- result --------------------------------------------------------------------------------------------- */

void abatis_result_free(abatis_result *result)
{
        if (!result)
                return;
        free(result->outcome.connections.items);
        strings_done(&result->outcome.set_aside);
        text_done(&result->outcome.output[0]);
        text_done(&result->outcome.output[1]);
        strings_done(&result->argv);
        sandbox_release(result->sandbox);
        free(result);
}

int abatis_result_exit_code(const abatis_result *result)
{
        return result->outcome.exit_code;
}

int abatis_result_signal(const abatis_result *result)
{
        return result->outcome.signal;
}

int abatis_result_timed_out(const abatis_result *result)
{
        return result->outcome.has_timed_out;
}

int abatis_result_cancelled(const abatis_result *result)
{
        return result->outcome.is_cancelled;
}

const char *abatis_result_limit(const abatis_result *result)
{
        return result->outcome.limit;
}

int abatis_result_truncated(const abatis_result *result)
{
        return result->outcome.is_truncated;
}

double abatis_result_duration_ms(const abatis_result *result)
{
        return result->outcome.duration_ms;
}

static const char *output_bytes(const struct text *text, size_t *length)
{
        if (length)
                *length = text->length;
        return text->data ? text->data : "";
}

const char *abatis_result_stdout(const abatis_result *result, size_t *length)
{
        return output_bytes(&result->outcome.output[0], length);
}

const char *abatis_result_stderr(const abatis_result *result, size_t *length)
{
        return output_bytes(&result->outcome.output[1], length);
}

int abatis_result_connection(const abatis_result *result, size_t index, abatis_connection *out)
{
        const struct connections *seen = &result->outcome.connections;

        if (index >= seen->count)
                return 0;
        connection_give(&seen->items[index], out);
        return 1;
}

int abatis_result_set_aside(const abatis_result *result, size_t index, const char **path,
                            const char **kept_as)
{
        const struct strings *set_aside = &result->outcome.set_aside;

        if (index >= set_aside->count / 2)
                return 0;
        *path = set_aside->items[2 * index];
        *kept_as = set_aside->items[2 * index + 1];
        if (!**kept_as)
                *kept_as = NULL;
        return 1;
}

uint64_t abatis_result_stdout_bytes(const abatis_result *result)
{
        return result->outcome.totals[0];
}

uint64_t abatis_result_stderr_bytes(const abatis_result *result)
{
        return result->outcome.totals[1];
}

static struct result_parts parts_of(const abatis_result *result)
{
        return (struct result_parts){ .outcome = &result->outcome,
                                      .argv = &result->argv,
                                      .plan = result->sandbox->plan,
                                      .audit_id = *result->audit_id ? result->audit_id : NULL };
}

int abatis_result_print(const abatis_result *result, char **out, abatis_error *err)
{
        const struct result_parts parts = parts_of(result);

        return result_print(&parts, out, err);
}

int abatis_result_write(const abatis_result *result,
                        int (*write)(void *user, const char *bytes, size_t length), void *user,
                        abatis_error *err)
{
        const struct result_parts parts = parts_of(result);
        const struct result_sink sink = { write, user };

        return result_write(&parts, &sink, err);
}
