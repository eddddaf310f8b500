/* cmd_serve.c: abatis serve and abatis exec-request: requests of programs, as JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "server/server.h"

static const char serve_help[] =
        "Usage: abatis serve [--socket PATH] [--jobs N]\n"
        "Answers requests, one line of JSON each, until there are no more: run, cancel, check, explain, probe, skill.\n"
        "docs/SERVER.md has the protocol.\n\n"
        "  --socket PATH        listen at a unix socket of this user's instead of stdin and stdout;\n"
        "                       nobody in a sandbox is served there\n"
        "  --jobs N             how many commands run at once (64)\n";

static const char exec_help[] =
        "Usage: abatis exec-request < REQUEST > RESPONSE\n"
        "Runs one program as a JSON object says: program, args, read, write, network, tier, limits, input.\n"
        "Writes another: success, output, error, duration_ms, enforced. docs/SERVER.md has both.\n";

static int take_jobs(const char *value, struct server_options *options)
{
        char *end;
        unsigned long number = strtoul(value, &end, 10);

        if (*value < '1' || *value > '9' || *end || number > SERVER_JOBS_MAX)
                return complain("--jobs: '%s' is not a number from 1 to %d", value, SERVER_JOBS_MAX);
        options->jobs = (unsigned)number;
        return 0;
}

static int take_socket(const char *value, struct server_options *options)
{
        options->socket = value;
        return 0;
}

static const struct serve_flag {
        const char *name;
        int (*take)(const char *value, struct server_options *options);
} serve_flags[] = {
        { "--socket", take_socket },
        { "--jobs", take_jobs },
};
enum { SERVE_FLAGS = sizeof(serve_flags) / sizeof(*serve_flags) };

/* NULL when it is none of ours. */
static const struct serve_flag *find_flag(const char *word, size_t length)
{
        for (size_t i = 0; i < SERVE_FLAGS; i++)
                if (strlen(serve_flags[i].name) == length && !memcmp(serve_flags[i].name, word, length))
                        return &serve_flags[i];
        return NULL;
}

static int complain_unknown(const char *word)
{
        const char *names[SERVE_FLAGS + 1] = { NULL }, *nearest;

        for (size_t i = 0; i < SERVE_FLAGS; i++)
                names[i] = serve_flags[i].name;
        nearest = abatis_suggest(word, names);
        if (nearest)
                return complain("unknown flag '%s'; did you mean '%s'?", word, nearest);
        return complain("unknown flag '%s'; 'abatis serve --help' lists them", word);
}

static int parse_serve(char **argv, struct server_options *options)
{
        for (; *argv; argv++) {
                size_t length = strcspn(*argv, "=");
                bool is_joined = (*argv)[length];
                const struct serve_flag *flag = find_flag(*argv, length);
                const char *value = is_joined ? *argv + length + 1 : argv[1];
                int r;

                if (!flag)
                        return complain_unknown(*argv);
                if (!value)
                        return complain("%s needs a value", flag->name);
                r = flag->take(value, options);
                if (r)
                        return r;
                argv += !is_joined;
        }
        return 0;
}

/* SIGPIPE is blocked and never taken: a reader that is gone is an error of the write. None of this is the commands': they start with no
 * signal blocked. */
void serve_hold_signals(sigset_t *held)
{
        static const int endings[] = { SIGTERM, SIGINT, SIGHUP };
        struct sigaction action;
        sigset_t blocked;

        sigemptyset(held);
        /* Who has us ignore one, nohup say, means it. */
        for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
                if (!sigaction(endings[i], NULL, &action) && action.sa_handler != SIG_IGN)
                        sigaddset(held, endings[i]);
        blocked = *held;
        sigaddset(&blocked, SIGPIPE);
        sigprocmask(SIG_BLOCK, &blocked, NULL);
}

int cmd_serve(char **argv)
{
        struct server_options options = { .program = own_program(),
                                          .jobs = SERVER_JOBS_DEFAULT,
                                          .take_signal = signals_take };
        abatis_error err;
        sigset_t held;
        int r;

        if (*argv && !strcmp(*argv, "--help")) {
                printf("%s", serve_help);
                return 0;
        }
        r = parse_serve(argv, &options);
        if (r)
                return r;
        serve_hold_signals(&held);
        options.held = &held;
        options.signals = signals_open(&held);
        if (options.signals < 0)
                return complain("cannot listen for signals: %s", strerror(errno));
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
