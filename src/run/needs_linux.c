/* needs_linux.c: which of the probes a policy needs. */
#include "run/host_linux.h"
#include "run/job_linux.h"

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

/* Only limits of a whole tree need files to be read. */
void host_probe_for(const abatis_policy *policy, abatis_host *host)
{
        static const enum limit of_trees[] = { LIMIT_PROCESSES, LIMIT_MEMORY, LIMIT_CPU, LIMIT_WRITTEN };

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
}

/* Nobody looks for bubblewrap before it is needed: to try it takes longer than a launch. */
bool host_probe_more(abatis_host *host)
{
        if (host->bwrap.is_probed)
                return false;
        host_probe_bwrap(host);
        return true;
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

/* Where namespaces are forbidden, the plan is another; when the machine is short of something else, the launch fails. */
bool host_correct(abatis_host *host, const struct job *prepared)
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
