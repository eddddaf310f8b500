/* recording.h: what is written down of a job: planned before it starts, started when it was let go, and how it ended. */
#ifndef LIB_RECORDING_H
#define LIB_RECORDING_H

#include "audit/audit.h"
#include "run/run.h"

/* Of a sandbox; all empty where the policy has no log. */
struct recorder {
        struct audit_log *log; /* owned */
        char policy[SHA256_TEXT_SIZE];
        const char **enforced, **not_enforced; /* owned lists of borrowed names of clauses */
};

/* Before the plan is made: what the plan must protect exists then. */
int recorder_open(struct recorder *recorder, abatis_policy *policy, abatis_error *err);
/* The clauses are borrowed. Again for a plan that takes another's place. */
int recorder_describe(struct recorder *recorder, const abatis_policy *policy, const struct plan *plan,
                      abatis_error *err);
/* A command that was never planned. */
int recorder_refuse(const struct recorder *recorder, const abatis_policy *policy,
                    const abatis_job_options *options, const char *why, abatis_error *err);
void recorder_done(struct recorder *recorder);

/* Of a job. */
struct recording {
        char id[AUDIT_ID_SIZE]; /* empty: nothing is written down */
        bool is_planned;        /* that it will be is; without that, nothing else */
        struct audit_draft draft;
        struct strings secrets; /* copies: the environment may have changed by the end */
        bool hides_errors;      /* they could tell one */
};

/* What recording_plan() will write, as far as that can be done before. All is borrowed, and only for this; the secrets are those of
 * the environment, which nobody is to read in a log. Again for a plan that takes another's place. */
int recording_draft(struct recording *recording, const struct recorder *recorder, const abatis_policy *policy,
                    const char *backend, const abatis_job_options *options, const char *const *secrets,
                    abatis_error *err);
int recording_plan(struct recording *recording, const struct recorder *recorder, abatis_error *err);
int recording_start(const struct recording *recording, const struct recorder *recorder, abatis_error *err);
int recording_refuse(const struct recording *recording, const struct recorder *recorder, const char *why,
                     abatis_error *err);
/* `why` there is no result, or NULL. */
int recording_finish(const struct recording *recording, const struct recorder *recorder,
                     const struct job_outcome *outcome, const char *why, abatis_error *err);
void recording_done(struct recording *recording);

#endif
