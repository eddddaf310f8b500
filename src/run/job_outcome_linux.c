/* job_outcome_linux.c: what a job came to: a result, or why the command never ran. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "policy/keys.h"
#include "run/job_linux.h"
#include "run/wrap_linux.h"

int job_explain_refusal(int os_errno, const char *what, abatis_error *err)
{
        abatis_host host;
        int r;

        if (!err)
                return ABATIS_E_SYSTEM;
        /* A shortage is no refusal, and what looks for one needs what is short. */
        if (os_errno == ENOMEM || os_errno == EAGAIN || os_errno == EMFILE || os_errno == ENFILE)
                return error_os(err, os_errno, "%s", what);
        if (!host_probe_fully(&host, NULL) && host.namespaces == NAMESPACES_NONE)
                r = error_set(err, ABATIS_E_UNENFORCEABLE, "%s: %s", what, host.namespaces_reason);
        else
                r = error_os(err, os_errno, "%s", what);
        host_done(&host);
        return r;
}

static int report_exec(const struct child_job *child, abatis_error *err)
{
        int r = error_os(err, child->failed_errno, "cannot execute '%s'", child->program);

        switch (child->failed_errno) {
        case ENOENT:
        case ENOTDIR:
                r = ABATIS_E_NOT_FOUND;
                break;
        case EACCES:
        case EPERM:
        case ENOEXEC:
        case EISDIR:
        case E2BIG:
        case ETXTBSY:
        case ELIBBAD:
        case EINVAL:
                r = ABATIS_E_NOT_EXECUTABLE;
                break;
        }
        if (err)
                err->code = r;
        return r;
}

/* What a failed step means to somebody who knows only his command. */
static int report_failure(const struct job *job, abatis_error *err)
{
        const struct child_job *child = &job->child;
        abatis_error below;
        const char *what = below.message;

        if (!child->failed_in_init && child->failed_op == COMMAND_EXEC)
                return report_exec(child, err);
        if (!child->failed_in_init && child->failed_op == COMMAND_CHDIR)
                return error_os(err, child->failed_errno,
                                "the working directory '%s' cannot be entered inside", child->cwd);
        if (!child->failed_in_init && child->failed_op == COMMAND_REOPEN)
                return error_os(
                        err, child->failed_errno,
                        "a file that the command was given to read is not in its view; give it a pipe");
        if (!child->failed_in_init && child->failed_op == COMMAND_SECCOMP &&
            (child->failed_errno == EBUSY || child->failed_errno == EPERM))
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "a sandbox around this one has a broker, or a loopback, and the kernel lets no process have two; "
                        "fix: start that one with --no-loopback");
        if (child->failed_plan_op == PLAN_ENTER_ROOT && child->failed_errno == EINVAL)
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "a policy that does not read '/' needs a new root, and the kernel does not let "
                        "go of an initramfs; switch_root to another file system first");
        error_set(&below, ABATIS_E_SYSTEM, "step '%s'%s%s failed",
                  plan_op_name((enum plan_op)child->failed_plan_op), child->failed_path ? " on " : "",
                  child->failed_path ? child->failed_path : "");
        /* What a step of the command is refused has nothing to do with namespaces, nor where there are none. */
        if (!child->failed_in_init || !job->ground.child.namespaces)
                return error_os(err, child->failed_errno, "%s", what);
        return job_explain_refusal(child->failed_errno, what, err);
}

static bool was_ended_by(const struct job *job, int number)
{
        const struct child_job *child = &job->child;

        return child->has_status && WIFSIGNALED(child->status) && WTERMSIG(child->status) == number;
}

static bool has_succeeded(const struct job *job)
{
        const struct child_job *child = &job->child;

        return child->has_status && WIFEXITED(child->status) && !WEXITSTATUS(child->status);
}

/* The limit that ended the command, or NULL: only what is known for certain. */
static const char *find_limit(const struct job *job)
{
        const struct meter *meter = &job->meter;
        const uint64_t *limits = job->context.policy->limits;
        bool has_exited = job->child.has_status && WIFEXITED(job->child.status);

        if (job->has_timed_out)
                return keys[KEY_TIMEOUT].name;
        /* It may have come to its end by itself, just before it was killed. */
        if (meter->hit != LIMIT_COUNT && !has_exited)
                return limit_key(meter->hit);
        if (was_ended_by(job, SIGXFSZ) && limits[LIMIT_FILE_SIZE])
                return keys[KEY_FILE_SIZE].name;
        if (was_ended_by(job, SIGXCPU) && limits[LIMIT_CPU])
                return keys[KEY_CPU].name;
        if (has_succeeded(job))
                return NULL;
        if (meter->was_out_of_memory)
                return keys[KEY_MEMORY].name;
        return meter->was_refused_processes ? keys[KEY_PROCESSES].name : NULL;
}

/* What init finds wrong after it was ready, a mask that is lost say, ends a command that has begun. */
static bool has_never_run(const struct job *job)
{
        const struct child_job *child = &job->child;

        return child->has_failed && (!child->failed_in_init || child->phase != PHASE_READY);
}

static void describe_end(const struct job *job, struct job_outcome *out)
{
        const struct child_job *child = &job->child;

        *out = (struct job_outcome){ .has_run = !has_never_run(job),
                                     .exit_code = -1,
                                     .has_timed_out = job->has_timed_out,
                                     .is_cancelled = job->is_cancelled,
                                     .is_truncated =
                                             job->streams[0].is_truncated || job->streams[1].is_truncated,
                                     .duration_ms = job->duration_ms };
        out->limit = find_limit(job);
        if (!child->has_status)
                out->signal = SIGKILL; /* init was killed, and the whole tree with it */
        else if (WIFSIGNALED(child->status))
                out->signal = WTERMSIG(child->status);
        else
                out->exit_code = WEXITSTATUS(child->status);
}

int job_settle(struct job *job, struct job_outcome *out, abatis_error *err)
{
        if (job->wrap)
                wrap_conclude(job);
        if (out)
                describe_end(job, out);
        job_hear_network(job, true);
        if (out && job->network) {
                out->connections = job->network->seen.list;
                job->network->seen.list = (struct connections){ 0 };
        }
        if (job->child.has_failed && !job->has_timed_out && !job->is_cancelled)
                return report_failure(job, err);
        if (job->wrap && !job->has_timed_out && !job->is_cancelled && wrap_report(job, err) < 0)
                return ABATIS_E_SYSTEM;
        if (job->meter.error) {
                error_os(err, job->meter.error,
                         "a process of the command could not be counted, so all were ended");
                if (err)
                        err->code = ABATIS_E_NO_RESULT;
                return ABATIS_E_NO_RESULT;
        }
        if (job->streams[0].kept.text.has_failed || job->streams[1].kept.text.has_failed)
                return error_memory(err);
        for (int i = 0; i < 2 && out; i++)
                stream_take_output(&job->streams[i], i, out);
        return 0;
}
