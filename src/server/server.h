/* server.h: abatis for programs: requests as lines of JSON (docs/SERVER.md), those of MCP (docs/MCP.md), and one request as a file. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <signal.h>
#include <stdbool.h>

#include "abatis.h"

enum { SERVER_PROTOCOL = 1, SERVER_JOBS_DEFAULT = 64, SERVER_JOBS_MAX = 1024 };

enum server_language { SERVER_LINES, SERVER_MCP };

struct server_options {
        enum server_language language;
        const char *program; /* borrowed: our own file, or NULL */
        const char *socket;  /* borrowed: where clients come to; NULL is stdin and stdout, one client */
        unsigned jobs;       /* that run at once */
        int signals;         /* borrowed: readable when one of `held` has come, which ends the server */
        const sigset_t *held;
        int (*take_signal)(int signals, const sigset_t *held);
        /* With MCP the policy is the server's own, since who asks is the one that is kept in. It is made anew for every request; to run
         * something, or only to be asked. */
        int (*make_policy)(const void *user, bool is_to_run, abatis_policy **out, abatis_error *err);
        const void *user;      /* borrowed: for make_policy */
        const char *workspace; /* borrowed: absolute; where relative paths begin */
        bool is_best_effort;
};

/* Comes back when the one client has no more to say and everything is answered, or after a signal. */
int server_run(const struct server_options *options, abatis_error *err);

/* One request from `in`, its response to `out`. Fails only if there is no response. */
int server_exec_request(const char *program, int in, int out, abatis_error *err);

/* What runs in the sandbox for MCP's tools for files; the exit code. */
int server_file_inside(char **argv);

#endif
