/* job_windows.c: what run.h asks for, by windows_run(): a job runs from its launch to its end in one call.
 *
 * Windows has no descriptor that tells of both a process and a pipe, so nobody waits for anything in between; job_cancel() may be called by
 * another thread meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "base/reach.h"
#include "run/host_windows.h"
#include "run/run_windows.h"

enum { KEPT_BY_DEFAULT = 1024 * 1024 };

struct job {
        const abatis_job_options *options; /* borrowed until the launch */
        HANDLE cancel;                     /* owned */
        struct job_outcome outcome;        /* owned until it is taken */
        bool is_launched;
};

/* ---- the host ------------------------------------------------------------------------------------------- */

void host_probe_for(const abatis_policy *policy, abatis_host *host)
{
        (void)policy;
        windows_probe(host);
}

bool host_probe_more(abatis_host *host)
{
        (void)host;
        return false;
}

/* The launch fails where a container is not what it should be. */
bool host_correct(abatis_host *host, const struct job *prepared)
{
        (void)host;
        (void)prepared;
        return false;
}

void host_done(abatis_host *host)
{
        free(host->findings);
        host->findings = NULL;
        host->finding_count = 0;
}

/* ---- what its jobs have in common: nothing -------------------------------------------------------------- */

struct resources {
        char nothing;
};

int resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                   struct resources **out, abatis_error *err)
{
        struct resources *resources = calloc(1, sizeof(*resources));

        (void)plan;
        (void)policy;
        (void)host;
        if (!resources)
                return error_memory(err);
        *out = resources;
        return 0;
}

void resources_prepare(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                       unsigned spares, bool is_at_once)
{
        (void)resources;
        (void)plan;
        (void)policy;
        (void)spares;
        (void)is_at_once;
}

int resources_share(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                    abatis_error *err)
{
        (void)resources;
        (void)plan;
        (void)policy;
        return error_set(err, ABATIS_E_UNENFORCEABLE, "there are no shared sessions on Windows");
}

void resources_close_session(struct resources *resources)
{
        (void)resources;
}

void resources_free(struct resources *resources)
{
        free(resources);
}

/* ---- the program ---------------------------------------------------------------------------------------- */

/* Where the command's own PATH leads, and never the working directory by itself. A name without an ending is a program's. */
static int find_program(const char *name, const char *const *envp, char **out, abatis_error *err)
{
        OWN_FREE wchar_t *wide = wide_from_utf8(name), *search = NULL, *found = NULL;
        DWORD length;

        for (; *envp && !search; envp++)
                if (!_strnicmp(*envp, "PATH=", 5))
                        search = wide_from_utf8(*envp + 5);
        found = calloc(PATH_MAX, sizeof(*found));
        if (!wide || !found)
                return error_memory(err);
        length = strpbrk(name, "/\\:") ? GetFullPathNameW(wide, PATH_MAX, found, NULL)
                 : search              ? SearchPathW(search, wide, L".exe", PATH_MAX, found, NULL)
                                       : 0;
        *out = length && length < PATH_MAX ? wide_path_name(found) : NULL;
        return *out ? 0 : error_set(err, ABATIS_E_NOT_FOUND, "'%s' was not found in PATH", name);
}

/* ---- jobs ----------------------------------------------------------------------------------------------- */

static int refuse_options(const abatis_job_options *options, abatis_error *err)
{
        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.size is not set");
        if (!options->argv || !options->argv[0])
                return error_set(err, ABATIS_E_INVALID, "no program given");
        if (options->terminal || options->capture == ABATIS_CAPTURE_MERGED || options->stdin_data ||
            options->on_output)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "there are no terminals, merged outputs, given inputs or callbacks on Windows yet");
        return 0;
}

int job_prepare(const abatis_job_options *options, struct resources *resources, struct job **out,
                abatis_error *err)
{
        struct job *job;
        int r = refuse_options(options, err);

        (void)resources;
        if (r < 0)
                return r;
        job = calloc(1, sizeof(*job));
        if (!job)
                return error_memory(err);
        job->options = options;
        job->cancel = CreateEventW(NULL, TRUE, FALSE, NULL);
        if (!job->cancel) {
                free(job);
                return error_windows(err, GetLastError(), "make an event");
        }
        *out = job;
        return 0;
}

bool job_has_ground(const struct job *job)
{
        (void)job;
        return true;
}

/* -2 is a stream that nothing is attached to. As handles both numbers mean this process or its thread, which nobody is to inherit. */
static int find_handle(int fd, HANDLE *out, abatis_error *err)
{
        intptr_t handle = fd < 0 ? -2 : _get_osfhandle(fd);

        if (handle == -1)
                return error_set(err, ABATIS_E_INVALID, "the descriptor %d is not open", fd);
        *out = handle == -2 ? NULL : (HANDLE)handle;
        return 0;
}

static uint64_t find_most(const abatis_job_options *options, const abatis_policy *policy)
{
        uint64_t limit = policy->limits[LIMIT_OUTPUT];

        if (policy_says_limit(policy, LIMIT_OUTPUT))
                return limit;
        return !options->capture ? 0 : limit ? limit : KEPT_BY_DEFAULT;
}

static int check_command(const abatis_policy *policy, const abatis_job_options *options, const char *program,
                         const char *directory, abatis_error *err)
{
        int r = commands_check(policy, program, err);

        return r < 0 ? r : arguments_check(policy, options->argv, directory, err);
}

int job_launch(struct job *job, const struct job_context *context, abatis_error *err)
{
        const abatis_job_options *options = job->options;
        const abatis_policy *policy = context->policy;
        OWN_FREE char *program = NULL, *directory = NULL;
        struct windows_command command = { .argv = options->argv,
                                           .environment = context->environment,
                                           .most = find_most(options, policy),
                                           .cancel = job->cancel };
        int r = find_handle(options->stdin_fd, &command.input, err);

        if (!r)
                r = find_handle(options->stdout_fd, &command.output[0], err);
        if (!r)
                r = find_handle(options->stderr_fd, &command.output[1], err);
        if (!r)
                r = find_program(options->argv[0], context->environment, &program, err);
        if (r < 0)
                return r;
        directory = options->cwd ? strdup(options->cwd) : reach_working_directory();
        if (!directory)
                return error_memory(err);
        r = check_command(policy, options, program, directory, err);
        if (r < 0)
                return r;
        command.program = program;
        command.directory = directory;
        r = windows_run(context->plan, policy->limits, &command, &job->outcome, NULL, err);
        job->is_launched = !r || r == ABATIS_E_NO_RESULT;
        return r;
}

bool job_is_launched(const struct job *job)
{
        return job->is_launched;
}

int job_fd(const struct job *job)
{
        (void)job;
        return -1;
}

int job_advance(struct job *job, bool *is_done, abatis_error *err)
{
        (void)job;
        (void)err;
        *is_done = true;
        return 0;
}

int job_signal(struct job *job, int number, abatis_error *err)
{
        (void)number;
        (void)err;
        job_cancel(job);
        return 0;
}

void job_cancel(struct job *job)
{
        SetEvent(job->cancel);
}

void job_resize(struct job *job, unsigned rows, unsigned columns)
{
        (void)job;
        (void)rows;
        (void)columns;
}

int job_end(struct job *job, struct job_outcome *out, abatis_error *err)
{
        (void)err;
        if (out) {
                *out = job->outcome;
                job->outcome = (struct job_outcome){ 0 };
        }
        return 0;
}

void job_free(struct job *job)
{
        text_done(&job->outcome.output[0]);
        text_done(&job->outcome.output[1]);
        own_handle_close(&job->cancel);
        free(job);
}

void job_drop(struct job *job)
{
        job_free(job);
}
