/* run.h: what the library asks of an operating system: probe the host, open a plan, run jobs. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/sha256.h"
#include "plan/plan.h"
#include "plan/relay.h"

/* A few system calls: enough to compile a plan on the launch path. */
void host_probe_quickly(abatis_host *host);
/* Tries everything for real, in child processes, and records findings for the doctor. */
int host_probe_fully(abatis_host *host, abatis_error *err);
/* Adds, to the quick probe, what limits of a whole tree can stand on. */
void host_probe_limits(abatis_host *host);
void host_probe_broker(abatis_host *host);
/* Looks for bubblewrap and tries it, with the arguments that commands get. */
void host_probe_bwrap(abatis_host *host);
/* Corrects the quick probe, which takes namespaces for granted: the kernel refused them with this errno. */
void host_lose_namespaces(abatis_host *host, int error);
/* After either probe; harmless when it failed. */
void host_done(abatis_host *host);

struct resources; /* an open plan: filter, Landlock rules, prepared steps */

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
        struct text output[2];             /* stdout, stderr */
        uint64_t totals[2];                /* how many bytes each was, kept or not */
        bool are_cut[2];                   /* which of them is not whole */
        struct connections connections;    /* of a network mode that is a list */
        char digests[2][SHA256_TEXT_SIZE]; /* empty: it did not pass through us, or nobody wanted them */
};

struct job;

/* Begins what needs no plan. What `options` point to must stay until the launch. `resources` are those of the plan
 * if there is one already, and the launch follows at once; or NULL. */
int job_prepare(const abatis_job_options *options, struct resources *resources, struct job **out,
                abatis_error *err);
/* Of one that was prepared without resources: waits until it is clear whether it has the namespaces that it wants. Returns
 * the errno with which they were refused, or 0; when something else is wrong, the launch will tell. */
int job_await_ground(const struct job *job);
/* Whether that would not have to wait. */
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
