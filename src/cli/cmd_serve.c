/* cmd_serve.c: abatis serve and abatis exec-request: requests of programs, as JSON. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "server/server.h"

static const char serve_help[] =
        "Usage: abatis serve [--socket PATH] [--jobs N]\n"
        "Answers requests, one line of JSON each, until there are no more: run, cancel, check, explain, probe, skill.\n"
        "docs/SERVER.md has the protocol.\n\n"
        "  --socket PATH        listen at a unix socket of this user's instead of stdin and stdout\n"
        "  --jobs N             how many commands run at once (64)\n";

static const char exec_help[] =
        "Usage: abatis exec-request < REQUEST > RESPONSE\n"
        "Runs one program as a JSON object says: program, args, read, write, network, tier, limits, input.\n"
        "Writes another: success, output, error, duration_ms, enforced. docs/SERVER.md has both.\n";

static int parse_jobs(const char *value, unsigned *out)
{
        char *end;
        unsigned long number = strtoul(value, &end, 10);

        if (*value < '1' || *value > '9' || *end || number > SERVER_JOBS_MAX)
                return complain("--jobs: '%s' is not a number from 1 to %d", value, SERVER_JOBS_MAX);
        *out = (unsigned)number;
        return 0;
}

static int parse_serve(char **argv, struct server_options *options, bool *wants_help)
{
        static const char *const names[] = { "--socket", "--jobs", "--help", NULL };

        for (; *argv; argv++) {
                size_t length = strcspn(*argv, "=");
                bool is_socket = length == 8 && !strncmp(*argv, "--socket", 8),
                     is_jobs = length == 6 && !strncmp(*argv, "--jobs", 6);
                const char *value = (*argv)[length] ? *argv + length + 1 : argv[1];
                const char *nearest;
                int r = 0;

                if (!strcmp(*argv, "--help")) {
                        *wants_help = true;
                        continue;
                }
                if (!is_socket && !is_jobs) {
                        nearest = abatis_suggest(*argv, names);
                        if (nearest)
                                return complain("unknown flag '%s'; did you mean '%s'?", *argv, nearest);
                        return complain("unknown flag '%s'; 'abatis serve --help' lists them", *argv);
                }
                if (!value)
                        return complain("%s needs a value", *argv);
                if (is_jobs)
                        r = parse_jobs(value, &options->jobs);
                else
                        options->socket = value;
                if (r)
                        return r;
                argv += !(*argv)[length];
        }
        return 0;
}

/* SIGPIPE is blocked and never taken: a reader that is gone is an error of the write. None of this is the commands': they start with no
 * signal blocked. */
static void hold_signals(sigset_t *held)
{
        sigset_t blocked;

        sigemptyset(held);
        sigaddset(held, SIGTERM);
        sigaddset(held, SIGINT);
        sigaddset(held, SIGHUP);
        blocked = *held;
        sigaddset(&blocked, SIGPIPE);
        sigprocmask(SIG_BLOCK, &blocked, NULL);
}

int cmd_serve(char **argv)
{
        struct server_options options = { .program = own_program(),
                                          .jobs = SERVER_JOBS_DEFAULT,
                                          .take_signal = signals_take };
        bool wants_help = false;
        int r = parse_serve(argv, &options, &wants_help);
        abatis_error err;
        sigset_t held;

        if (!r && wants_help)
                printf("%s", serve_help);
        if (r || wants_help)
                return r;
        hold_signals(&held);
        options.held = &held;
        options.signals = signals_open(&held);
        return server_run(&options, &err) < 0 ? fail(&err) : 0;
}

int cmd_exec_request(char **argv)
{
        abatis_error err;

        if (*argv && !strcmp(*argv, "--help"))
                printf("%s", exec_help);
        else if (*argv)
                return complain("'%s': exec-request takes no argument, but a request on stdin", *argv);
        else if (server_exec_request(own_program(), 0, 1, &err) < 0)
                return fail(&err);
        return 0;
}
