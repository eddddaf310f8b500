/* task.h: one request to run a command, from its arrival to its reply. */
#ifndef SERVER_TASK_H
#define SERVER_TASK_H

#include "server/cache.h"
#include "server/dialect.h"
#include "server/flow.h"
#include "server/progress.h"

enum task_state {
        TASK_WAITS,  /* to be started */
        TASK_RUNS,   /* it has a job */
        TASK_DRAINS, /* its job is over, and its events are not all told */
        TASK_DONE,   /* it can be answered */
};

struct task {
        json_t *id;    /* owned */
        char *session; /* owned: its name, or NULL */
        char *line; /* owned: the request, until it is started or will not be; as text, which is many times smaller than what a
                          parser makes of it */
        size_t length;
        enum task_state state;
        abatis_job *job;       /* owned while it runs */
        struct warm *warm;     /* held while it runs */
        abatis_result *result; /* owned; NULL of one that is done: `err` says why */
        abatis_error err;
        unsigned style;  /* the dialect's own: how it is to be answered */
        bool is_unheard; /* nobody waits for a reply */
        struct progress progress;
        struct flow flows[2];          /* stdout and stderr, with "stream" */
        short job_said, flows_said[2]; /* poll() */
        struct task *next;
};

/* Of a line that is a request with this id, in a session, if one is named; NULL without memory. */
struct task *task_new(json_t *id, const char *session, const char *line, size_t length);
/* A job of a warm sandbox, or one that is done with an error. */
void task_start(struct task *task, const struct dialect *dialect, const struct server_options *options,
                const void *client, struct cache *cache);
/* What can be done now without waiting. Events are told only if there is a place for them. */
void task_advance(struct task *task, struct cache *cache, struct text *events);
/* One that waits is done, one that runs will be soon. */
void task_cancel(struct task *task);
/* The same when nobody waits for the reply: no events either. */
void task_abandon(struct task *task);
/* Not even asked. */
void task_kill(struct task *task);
/* The result object of one that has a result. */
void task_add_result(const struct task *task, struct text *out);
/* Of one that does not run. */
void task_free(struct task *task);
/* Of any: what runs is killed, and waited for. */
void task_end(struct task *task, struct cache *cache);

#endif
