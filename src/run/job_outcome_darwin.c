/* job_outcome_darwin.c: what a job came to: a result, or why the command never ran. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "policy/keys.h"
#include "run/job_darwin.h"

static int report_exec(const struct job *job, abatis_error *err)
{
        const int error = job->failure.error;
        int r = error_os(err, error, "cannot execute '%s'", job->program);

        if (error == ENOENT || error == ENOTDIR)
                r = ABATIS_E_NOT_FOUND;
        else if (error != ENOMEM && error != EAGAIN && error != EIO)
                r = ABATIS_E_NOT_EXECUTABLE;
        if (err)
                err->code = r;
        return r;
}

static int report_failure(const struct job *job, abatis_error *err)
{
        const struct guard_report *failure = &job->failure;

        switch ((enum launch_step)failure->step) {
        case LAUNCH_EXEC:
                return report_exec(job, err);
        case LAUNCH_DIRECTORY:
                return error_os(err, failure->error, "the working directory '%s' cannot be entered",
                                job->launch.cwd);
        case LAUNCH_PROFILE:
                return error_set(err, ABATIS_E_UNENFORCEABLE, "macOS does not take the profile: %s",
                                 failure->why);
        case LAUNCH_SWEEP:
                return error_set(err, ABATIS_E_NO_RESULT,
                                 "macOS does not list its processes, so some of the command's may be left");
        case LAUNCH_LIMIT:
                return error_os(err, failure->error, "cannot set a limit");
        case LAUNCH_STREAMS:
                return error_os(err, failure->error, "cannot give the command its streams");
        case LAUNCH_TERMINAL:
                return error_os(err, failure->error, "cannot give the command a terminal");
        case LAUNCH_SESSION:
        case LAUNCH_START:
        case LAUNCH_NONE:
                return error_os(err, failure->error, "cannot start the command");
        }
        return ABATIS_E_SYSTEM;
}

static bool was_ended_by(const struct job *job, int number)
{
        return job->has_status && WIFSIGNALED(job->status) && WTERMSIG(job->status) == number;
}

/* The limit that ended the command, or NULL: only what is known for certain. */
static const char *find_limit(const struct job *job)
{
        if (job->has_timed_out)
                return keys[KEY_TIMEOUT].name;
        if (was_ended_by(job, SIGXFSZ) && job->context.policy->limits[LIMIT_FILE_SIZE])
                return keys[KEY_FILE_SIZE].name;
        return NULL;
}

int job_settle(struct job *job, struct job_outcome *out, abatis_error *err)
{
        bool has_failed = job->failure.word, never_ran = has_failed && job->failure.step != LAUNCH_SWEEP;

        if (out)
                *out = (struct job_outcome){ .has_run = !never_ran,
                                             .exit_code = -1,
                                             .has_timed_out = job->has_timed_out,
                                             .is_cancelled = job->is_cancelled,
                                             .is_truncated = job->streams[0].is_truncated ||
                                                             job->streams[1].is_truncated,
                                             .limit = find_limit(job),
                                             .duration_ms = job->duration_ms };
        if (out && !job->has_status)
                out->signal = SIGKILL; /* the guard was killed, and then the whole tree */
        else if (out && WIFSIGNALED(job->status))
                out->signal = WTERMSIG(job->status);
        else if (out)
                out->exit_code = WEXITSTATUS(job->status);
        if (has_failed && (job->failure.step == LAUNCH_SWEEP || (!job->has_timed_out && !job->is_cancelled)))
                return report_failure(job, err);
        if (job->streams[0].kept.text.has_failed || job->streams[1].kept.text.has_failed)
                return error_memory(err);
        for (int i = 0; i < 2 && out; i++)
                stream_take_output(&job->streams[i], i, out);
        return 0;
}
