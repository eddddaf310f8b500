/* options.h: what a job's options mean on every system. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "policy/policy.h"
#include "run/stream.h"

int options_check(const abatis_job_options *options, abatis_error *err);
/* What is kept of each output, or passed on. */
int options_limit_output(const abatis_job_options *options, const abatis_policy *policy,
                         struct stream streams[2], abatis_error *err);
/* Where a command is that nobody gave a directory which it can enter: the workspace, or, where that is not in view, the root. */
const char *options_home(const abatis_policy *policy);

#endif
