/* job_darwin.h: what the files of a job share: one command from fork to the death of its whole tree. */
#ifndef RUN_JOB_DARWIN_H
#define RUN_JOB_DARWIN_H

#include <limits.h>
#include <time.h>

#include "run/child_guard_darwin.h"
#include "run/pipe.h"
#include "run/run.h"
#include "run/stdio_darwin.h"
#include "run/stream.h"
#include "run/terminal.h"

/* An open plan: what its steps come to. */
struct resources {
        const char *profile; /* borrowed from the plan; NULL: nothing is enforced */
        bool has_own_tmp, is_swept;
        struct launch_limit limits[LAUNCH_LIMITS];
        int limit_count;
};

struct job {
        abatis_job_options options; /* what it points to is borrowed until the launch */
        struct job_context context;
        struct launch launch;
        char *program, *cwd; /* owned */
        const char **argv;   /* owned: where another program applies the profile, its arguments; or NULL */
        char **definitions;  /* owned, with its strings: the parameters among these */
        char name[64];       /* that its processes are known by */
        char tmp[64];        /* the job's own directory, or "" */
        char tmp_variable[80];
        char tty[64]; /* the command's terminal, or "/dev/null" */
        struct stdio stdio;
        int queue;     /* owned: the kqueue */
        int control;   /* owned: to the guard, or -1 */
        pid_t guard;   /* 0 when there is none to reap; or who removes the directory in its place */
        pid_t command; /* 0 until it has told, and when it has ended */
        struct terminal terminal;
        bool is_typing_watched, is_room_watched, is_always_readable;
        struct feed feed;
        struct stream streams[2];
        enum stream_state watched[2];
        struct guard_report failure; /* word 0: there is none */
        bool has_status, is_launched, has_timed_out, is_cancelled;
        int status;
        bool is_over;   /* nobody is left but the guard, if that */
        bool is_ending; /* the command was asked to end; when the timer is up, all are killed */
        bool is_killed; /* the guard was told that; when the timer is up, it is killed, too */
        struct timespec start;
        double duration_ms;
};

/* job_loop_darwin.c: */
int job_open_queue(struct job *job, abatis_error *err);
int job_watch_output(struct job *job, int index, int copy, abatis_error *err);
int job_watch_input(struct job *job, abatis_error *err);
/* The terminal is open, and its far end the command's three streams. */
int job_watch_terminal(struct job *job, abatis_error *err);
int job_watch_guard(struct job *job, abatis_error *err);
int job_set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err);
void job_kill_tree(struct job *job);
/* Waits until it is over. */
void job_await_end(struct job *job);
void job_settle_output(struct job *job);

/* job_darwin.c: of the job's own directory, where no guard is left to do it; by a process that is waited for in the end. */
void job_remove_tmp(struct job *job);

/* job_outcome_darwin.c: */
int job_settle(struct job *job, struct job_outcome *out, abatis_error *err);

#endif
