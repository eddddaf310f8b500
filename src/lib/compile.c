/* compile.c: probes this machine as far as a policy needs it, and compiles. */
#include "lib/compile.h"

#include "run/run.h"

/* Rules for what is not there yet. */
static bool has_rules_for_later(const abatis_policy *policy)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->glob || (rule->facts.kind == PATH_ABSENT &&
                                   (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)))
                        return true;
        }
        return false;
}

/* What is enough to compile this policy: only limits of a whole tree need files to be read. */
int compile_probe(abatis_policy *policy, abatis_host *host, abatis_error *err)
{
        static const enum limit of_trees[] = { LIMIT_PROCESSES, LIMIT_MEMORY, LIMIT_CPU, LIMIT_WRITTEN };
        int r = policy_finish(policy, err); /* the ceiling may add some */

        host_probe_quickly(host);
        for (size_t i = 0; i < sizeof(of_trees) / sizeof(*of_trees); i++)
                if (policy->limits[of_trees[i]]) {
                        host_probe_limits(host);
                        break;
                }
        if (policy->backend == BACKEND_BWRAP)
                host_probe_bwrap(host);
        /* A list may have more ports than there can be listeners for; a loopback is asked for. */
        if (has_rules_for_later(policy) || policy->socket_places.count || policy->network == NETWORK_LIST ||
            policy->network == NETWORK_DENY ||
            (host->landlock_abi < LANDLOCK_WITH_SCOPES && network_has_unix_sockets(policy->network)))
                host_probe_broker(host);
        return r;
}

/* Begins a job and leaves it: that is how one finds out. */
static int try_ground(void)
{
        static const char *const argv[] = { "", NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        struct job *job;
        int error;

        options.argv = argv;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        if (job_prepare(&options, NULL, &job, NULL) < 0)
                return 0; /* the launch will tell why */
        error = job_await_ground(job);
        job_drop(job);
        return error;
}

/* Where they are forbidden, the plan is another; when the machine is short of something else, the launch fails. */
bool compile_without_namespaces(abatis_host *host, const struct job *prepared)
{
        /* This process: then it is not tried again, and if they were taken away since, the launch fails. */
        static bool has_seen_them;
        int error = 0;

        if (prepared)
                error = job_await_ground(prepared);
        else if (!__atomic_load_n(&has_seen_them, __ATOMIC_RELAXED))
                error = try_ground();
        if (error)
                host_lose_namespaces(host, error);
        else
                __atomic_store_n(&has_seen_them, true, __ATOMIC_RELAXED);
        return error;
}

/* Nobody looks for bubblewrap before it is needed: to try it takes longer than a launch. */
int compile_here(abatis_policy *policy, abatis_host *host, bool is_best_effort, struct plan **out,
                 abatis_error *err)
{
        int r = backend_compile(policy, host, is_best_effort, out, err);

        if ((r != ABATIS_E_UNENFORCEABLE && r != ABATIS_E_NO_BACKEND) || policy->backend != BACKEND_AUTO ||
            host->bwrap.is_probed)
                return r;
        host_probe_bwrap(host);
        /* Or to say why not. */
        if (host->bwrap.is_available || r == ABATIS_E_NO_BACKEND)
                r = backend_compile(policy, host, is_best_effort, out, err);
        return r;
}
