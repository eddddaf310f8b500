/* recording_windows.c: what is written down of a job on Windows: nothing yet. A policy that asks for a log is refused. */
#include "base/error.h"
#include "lib/recording.h"

static bool is_wanted(const abatis_policy *policy)
{
        return policy && !policy->audit.is_off && (policy->has[KEY_AUDIT_LOG] || policy->audit.log);
}

int recorder_open(struct recorder *recorder, abatis_policy *policy, abatis_error *err)
{
        (void)recorder;
        if (is_wanted(policy) || is_wanted(policy->ceiling))
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "audit.log: there is no audit log on Windows yet; fix: audit.log: off");
        return 0;
}

int abatis_audit_refused(abatis_policy *policy, const abatis_job_options *options, const abatis_error *why,
                         abatis_error *err)
{
        (void)policy;
        (void)options;
        (void)why;
        (void)err;
        return 0;
}

void audit_open_ahead(struct audit_log *log)
{
        (void)log;
}

int recorder_describe(struct recorder *recorder, const abatis_policy *policy, const struct plan *plan,
                      abatis_error *err)
{
        (void)recorder;
        (void)policy;
        (void)plan;
        (void)err;
        return 0;
}

int recorder_refuse(const struct recorder *recorder, const abatis_policy *policy,
                    const abatis_job_options *options, const char *why, abatis_error *err)
{
        (void)recorder;
        (void)policy;
        (void)options;
        (void)why;
        (void)err;
        return 0;
}

void recorder_done(struct recorder *recorder)
{
        (void)recorder;
}

int recording_draft(struct recording *recording, const struct recorder *recorder, const abatis_policy *policy,
                    const char *backend, const abatis_job_options *options, const char *const *secrets,
                    abatis_error *err)
{
        (void)recording;
        (void)recorder;
        (void)policy;
        (void)backend;
        (void)options;
        (void)secrets;
        (void)err;
        return 0;
}

int recording_plan(struct recording *recording, const struct recorder *recorder, abatis_error *err)
{
        (void)recording;
        (void)recorder;
        (void)err;
        return 0;
}

int recording_start(const struct recording *recording, const struct recorder *recorder, abatis_error *err)
{
        (void)recording;
        (void)recorder;
        (void)err;
        return 0;
}

int recording_refuse(const struct recording *recording, const struct recorder *recorder, const char *why,
                     abatis_error *err)
{
        (void)recording;
        (void)recorder;
        (void)why;
        (void)err;
        return 0;
}

int recording_finish(const struct recording *recording, const struct recorder *recorder,
                     const struct job_outcome *outcome, const char *why, abatis_error *err)
{
        (void)recording;
        (void)recorder;
        (void)outcome;
        (void)why;
        (void)err;
        return 0;
}

void recording_done(struct recording *recording)
{
        (void)recording;
}
