/* compile.c: probes this machine as far as a policy needs it, and compiles. */
#include "lib/compile.h"

#include "run/run.h"

int compile_probe(abatis_policy *policy, abatis_host *host, abatis_error *err)
{
        int r = policy_finish(policy, err); /* the ceiling may add limits, which have to be held */

        host_probe_for(policy, host);
        return r;
}

int compile_here(abatis_policy *policy, abatis_host *host, bool is_best_effort, struct plan **out,
                 abatis_error *err)
{
        int r = backend_compile(policy, host, is_best_effort, out, err);

        if ((r != ABATIS_E_UNENFORCEABLE && r != ABATIS_E_NO_BACKEND) || policy->backend != BACKEND_AUTO ||
            !host_probe_more(host))
                return r;
        /* If that has found nothing, then to say so. */
        return backend_compile(policy, host, is_best_effort, out, err);
}
