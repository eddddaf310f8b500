/* server.h: abatis for programs: requests as lines of JSON, and one request as a file of JSON. docs/SERVER.md has the protocol. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <signal.h>

#include "abatis.h"

enum { SERVER_PROTOCOL = 1, SERVER_JOBS_DEFAULT = 64, SERVER_JOBS_MAX = 1024 };

struct server_options {
        const char *program; /* borrowed: our own file, or NULL */
        const char *socket;  /* borrowed: where clients come to; NULL is stdin and stdout, one client */
        unsigned jobs;       /* that run at once */
        int signals;         /* borrowed: readable when one of `held` has come, which ends the server */
        const sigset_t *held;
        int (*take_signal)(int signals, const sigset_t *held);
};

/* Comes back when the one client has no more to say and everything is answered, or after a signal. */
int server_run(const struct server_options *options, abatis_error *err);

/* One request from `in`, its response to `out`. Fails only if there is no response. */
int server_exec_request(const char *program, int in, int out, abatis_error *err);

#endif
