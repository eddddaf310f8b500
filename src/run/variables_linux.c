/* variables_linux.c: variables of the command's environment that tell it of the sandbox's own ways. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "run/job_linux.h"

#define RESOLVER "RES_OPTIONS="
#define OVER_TCP "use-vc"

/* The entry of this name ("NAME="), or the end of the list. */
static const char **find(const char **envp, const char *name)
{
        while (*envp && strncmp(*envp, name, strlen(name)))
                envp++;
        return envp;
}

/* There is room for each of ours. */
static void put(const char **place, const char *entry)
{
        if (!*place)
                place[1] = NULL;
        *place = entry;
}

/* It names the job's own directory, unless it names another that the command may write. */
static void point_to_own_tmp(struct job *job, const char **envp)
{
        const char **place = find(envp, "TMPDIR=");

        if (!*place || !(*place)[7] || !strcmp(*place + 7, "/tmp"))
                put(place, job->tmp_variable);
}

/* Without UDP, names are asked for over TCP. Options that the user has set stay, as far as they fit. */
static void ask_over_tcp(struct job *job, const char **envp)
{
        const char **place = find(envp, RESOLVER), *old = *place ? *place + strlen(RESOLVER) : "";
        size_t size = sizeof(job->resolver_variable);

        if (strstr(old, OVER_TCP))
                return;
        if ((size_t)snprintf(job->resolver_variable, size, RESOLVER OVER_TCP "%s%s", *old ? " " : "", old) >=
            size)
                snprintf(job->resolver_variable, size, RESOLVER OVER_TCP);
        put(place, job->resolver_variable);
}

void job_set_variables(struct job *job, const char **envp)
{
        const struct child_plan *plan = &job->context.resources->child;

        if (*job->tmp_variable)
                point_to_own_tmp(job, envp);
        if (plan->has_relay && !plan->has_network)
                ask_over_tcp(job, envp);
}
