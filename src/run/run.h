/* run.h: what the library asks of an operating system: probe the host, open a plan, run jobs.
 *
 * This is all that a run layer has to be. There is one for each system, in src/run/NAME_<os>.c, and a program has one of them;
 * files without a system in their names are for those that share them. The backends know which clauses a layer holds: what
 * it is not asked for by any plan (shared sessions, say) it may refuse. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/sha256.h"
#include "plan/plan.h"
#include "plan/relay.h"

struct job;

/* Enough to compile this policy, which is finished, on the launch path: a few system calls. */
void host_probe_for(const abatis_policy *policy, abatis_host *host);
/* Tries everything for real, in child processes, and records findings for the doctor. */
int host_probe_fully(abatis_host *host, abatis_error *err);
/* What takes longer to find out than a launch, and is looked for only where nothing else holds a policy. False when there is nothing
 * more to find out. */
bool host_probe_more(abatis_host *host);
/* Tries what the first of these takes for granted, or asks a job that was prepared and has; NULL: there is none. True when that was
 * wrong: it is corrected, and the plan has to be made anew. */
bool host_correct(abatis_host *host, const struct job *prepared);
/* After any of them; harmless when it failed. */
void host_done(abatis_host *host);

struct resources; /* an open plan: what its jobs have in common, made once */

int resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                   struct resources **out, abatis_error *err);
/* Prepares the sandbox: what its jobs have in common is made by a process that waits for them, at once or with the second of them, and
 * `spares` are begun ahead. Where that cannot be, each is begun when it is started. */
void resources_prepare(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                       unsigned spares, bool is_at_once);
/* Jobs are commands of one session, which begins with the first of them and ends when it is closed and they have ended. */
int resources_share(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                    abatis_error *err);
void resources_close_session(struct resources *resources);
void resources_free(struct resources *resources);

/* What a job needs besides its options; all borrowed for the job's life. */
struct job_context {
        struct resources *resources;
        const struct plan *plan;
        const abatis_policy *policy;
        const char **environment; /* the command's, with room for two more; borrowed for the launch */
        bool wants_digests;       /* of the output */
};

struct job_outcome {
        bool has_run;          /* known after a failure, too: the command was started, or may have been */
        int exit_code, signal; /* as in the public result */
        bool has_timed_out, is_cancelled, is_truncated;
        const char *limit; /* static: the key of the limit that ended the command, or NULL */
        double duration_ms;
        struct text output[2];          /* stdout, stderr */
        uint64_t totals[2];             /* how many bytes each was, kept or not */
        bool are_cut[2];                /* which of them is not whole */
        struct connections connections; /* of a network mode that is a list */
        struct strings
                set_aside; /* what the command must not leave: the path, and what it is now, "" if it was removed; and so on */
        char digests[2][SHA256_TEXT_SIZE]; /* empty: it did not pass through us, or nobody wanted them */
};

/* Begins what needs no plan. What `options` point to must stay until the launch. `resources` are those of the plan
 * if there is one already, and the launch follows at once; or NULL. */
int job_prepare(const abatis_job_options *options, struct resources *resources, struct job **out,
                abatis_error *err);
/* Whether all that needs no plan is done: until then, whoever has time may use it. */
bool job_has_ground(const struct job *job);
/* A job whose launch failed can only be finished. */
int job_launch(struct job *job, const struct job_context *context, abatis_error *err);
/* True when the command may run, also if the launch failed after that. */
bool job_is_launched(const struct job *job);
int job_fd(const struct job *job);
int job_advance(struct job *job, bool *is_done, abatis_error *err);
int job_signal(struct job *job, int number, abatis_error *err);
void job_cancel(struct job *job);
void job_resize(struct job *job, unsigned rows, unsigned columns);
/* Ends the job whatever is returned; it must be freed then. The caller owns what is in *out. */
int job_end(struct job *job, struct job_outcome *out, abatis_error *err);
/* Waits until nothing is left of it. */
void job_free(struct job *job);
/* Both, for who does not care how it ended. */
void job_drop(struct job *job);

#endif
