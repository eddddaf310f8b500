/* options.c: what a job's options mean on every system. */
#include "run/options.h"

#include "base/error.h"

enum { DEFAULT_OUTPUT_LIMIT = 1024 * 1024 };

int options_check(const abatis_job_options *options, abatis_error *err)
{
        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.size is not set");
        if (!options->argv || !options->argv[0])
                return error_set(err, ABATIS_E_INVALID, "no program given");
        if (options->capture < ABATIS_CAPTURE_NONE || options->capture > ABATIS_CAPTURE_MERGED)
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.capture is %d", options->capture);
        if (options->cwd && *options->cwd != '/')
                return error_set(err, ABATIS_E_INVALID, "the working directory '%s' is relative",
                                 options->cwd);
        return 0;
}

/* A limit that nobody set is for what we keep, lest it fill the memory; one that somebody set needs the output to come through
 * us. */
int options_limit_output(const abatis_job_options *options, const abatis_policy *policy,
                         struct stream streams[2], abatis_error *err)
{
        const int passed_to[2] = { options->stdout_fd, options->stderr_fd };
        bool is_said = policy_says_limit(policy, LIMIT_OUTPUT);
        uint64_t said = policy->limits[LIMIT_OUTPUT];

        if (said && is_said && !options->capture && !options->terminal)
                return error_set(err, ABATIS_E_INVALID, "limits.output needs abatis_job_options.capture");
        for (int i = 0; i < 2; i++) {
                bool is_kept = options->capture && (options->terminal || passed_to[i] < 0);
                uint64_t limit = said;

                if (!is_said && is_kept && !limit)
                        limit = DEFAULT_OUTPUT_LIMIT;
                if (!limit || (!is_said && !is_kept))
                        limit = UINT64_MAX;
                stream_limit(&streams[i], limit);
        }
        return 0;
}

const char *options_home(const abatis_policy *policy)
{
        return view_shows(policy, ABATIS_READ, policy->workspace) ? policy->workspace : "/";
}
