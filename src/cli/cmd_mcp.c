/* cmd_mcp.c: abatis mcp: tools for an agent, over MCP on stdin and stdout, with one policy for all of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "server/server.h"

static const char help[] =
        "Usage: abatis mcp [FLAGS]\n"
        "A server of the Model Context Protocol on stdin and stdout: run_command, run_script, read_file, write_file,\n"
        "list_directory, check_path and explain_policy, each in the sandbox of this policy, which no request changes.\n"
        "docs/MCP.md says how clients start it.\n\n"
        "  --best-effort        run although something cannot be enforced; results say what\n\n";

/* For every request, so that what the files say now counts. */
static int make_policy(const void *user, bool is_to_run, abatis_policy **out, abatis_error *err)
{
        struct flags flags = *(const struct flags *)user;

        flags.policy.layers &= ~(unsigned)ABATIS_NO_DEFAULT_LIMITS;
        flags.policy.layers |= ABATIS_PROTECT_STARTERS; /* whoever asks is an agent, as with abatis-sh */
        if (is_to_run)
                flags.policy.layers |= ABATIS_MAKE_PLACES;
        return flags_compose(&flags, out, err);
}

/* The tools for files run it in another directory than ours. Owned by the caller, or NULL if nobody knows. */
static char *find_program(void)
{
        const char *program = own_program();

        return program ? realpath(program, NULL) : NULL;
}

static int serve(struct flags *flags, const char *workspace)
{
        char *program = find_program();
        struct server_options options = { .language = SERVER_MCP,
                                          .program = program,
                                          .workspace = workspace,
                                          .jobs = SERVER_JOBS_DEFAULT,
                                          .take_signal = signals_take,
                                          .make_policy = make_policy,
                                          .user = flags,
                                          .is_best_effort = flags->is_best_effort };
        abatis_error err;
        sigset_t held;
        int r;

        flags->policy.workspace = workspace;
        serve_hold_signals(&held);
        options.held = &held;
        options.signals = signals_open(&held);
        r = server_run(&options, &err) < 0 ? fail(&err) : 0;
        free(program);
        return r;
}

static int serve_workspace(struct flags *flags)
{
        const char *named = flags->policy.workspace ? flags->policy.workspace : ".";
        char *workspace = realpath(named, NULL);
        int r = workspace ? serve(flags, workspace)
                          : complain("--workspace '%s': %s", named, strerror(errno));

        free(workspace);
        return r;
}

int cmd_mcp(char **argv)
{
        struct flags flags;
        int r = flags_parse(argv, TAKES_POLICY | TAKES_BEST_EFFORT, &flags);

        if (!r && flags.wants_help)
                printf("%s%s", help, flags_policy_help);
        else if (!r && *flags.rest)
                r = complain("'%s': mcp takes flags only", *flags.rest);
        else if (!r)
                r = serve_workspace(&flags);
        flags_done(&flags);
        return r;
}

int cmd_file_inside(char **argv)
{
        return server_file_inside(argv);
}
