/* job_linux.h: what the files of a job share: one command from clone to the death of its whole tree. */
#ifndef RUN_JOB_LINUX_H
#define RUN_JOB_LINUX_H

#include <time.h>

#include "run/ground_linux.h"
#include "run/meter_linux.h"
#include "run/nests_linux.h"
#include "run/network_linux.h"
#include "run/pipe.h"
#include "run/resources_linux.h"
#include "run/stdio_linux.h"
#include "run/stream.h"
#include "run/terminal.h"

struct job {
        struct child_job child;
        struct ground ground;
        abatis_job_options options; /* what it points to is borrowed until the launch */
        struct job_context context;
        char *arena; /* owned: argv, envp and their strings; the command reads them until its exec */
        char *program, *cwd;
        char tmp_variable[CHILD_TMP_SIZE + 8]; /* "TMPDIR=..." */
        char resolver_variable[256];           /* "RES_OPTIONS=..." */
        char *stacks;                          /* owned: init's and the command's */
        int *slots;
        struct stdio stdio;
        int epoll; /* -1 until there is something to wait for */
        int pidfd, timer;
        int end_event;           /* readable when is_over; -1: that is found out when init can be reaped */
        int init;                /* its PID, as long as it is not reaped */
        int clone_errno;         /* why there is none, where the kernel refused to make it */
        struct network *network; /* owned: the relay, if it has one */
        struct wrap *wrap;       /* owned: what bubblewrap is given, if that carries it out */
        struct meter meter;
        struct terminal terminal;     /* if the command has one; stdout is then what it shows */
        bool is_typing_watched;       /* epoll waits for something to type, */
        bool is_room_watched;         /* for the room to type it; */
        bool is_always_readable;      /* or cannot wait for the former: it is a file */
        struct feed feed;             /* stdin, if it comes from memory */
        struct stream streams[2];     /* stdout and stderr, if they pass through us */
        enum stream_state watched[2]; /* what epoll waits for on their behalf */
        bool is_ready;           /* a keeper has begun it: what it lacks comes with the launch, through: */
        struct nest_lease nest;  /* where in the keeper it was begun */
        int launches[2];         /* sockets, or -1: ours, and the command's until the keeper has it */
        struct session *session; /* that it is a guest of, or NULL: then init is not its own, but there is: */
        int control;             /* a socket to its usher, or -1 */
        int usher;               /* the usher's number in the session, once it is known */
        bool is_told_to_end;     /* the usher, and init to see to it */
        bool is_launched, has_timed_out, is_cancelled;
        bool is_over;   /* nobody but init is left, if that; the rest is known */
        bool is_reaped; /* nor is init */
        bool is_ending; /* for one of the two reasons the command was asked to end; when the timer is up, it is killed */
        struct timespec start;
        double duration_ms;
};

/* job_linux.c, for the keeper: a job of which nothing has begun, or NULL; memory for its broker,
 * if it has one; its stacks, init's first. */
struct job *job_new(struct resources *resources);
int job_make_rooms(struct job *job, abatis_error *err);
char *job_stack(const struct job *job);
/* For a session, whose init is as any other: starts it, if the kernel lets us; again, if it did not; what it needs besides. */
void job_begin_ground(struct job *job);
int job_renew_ground(struct job *job, abatis_error *err);
int job_take_plan(struct job *job, abatis_error *err);
/* Of one that was prepared without resources: waits until it is clear whether it has the namespaces that it wants. Returns
 * the errno with which they were refused, or 0; when something else is wrong, the launch will tell. */
int job_await_ground(const struct job *job);

/* job_tmp_linux.c: */
int job_make_own_tmp(struct job *job, abatis_error *err);
/* The job's own directory, which init makes if it is begun ahead. 0 or -1. */
int job_name_own_tmp(struct job *job, const char *place);
/* In such a directory, which the command is not told of: a file and a directory of these names that nobody can read. */
int job_make_masks(struct job *job, const char *file, const char *directory, abatis_error *err);
/* One that the command is told of. */
void job_name_tmp(struct job *job, const char *path);

/* variables_linux.c: in the environment of the command, which has room for them. */
void job_set_variables(struct job *job, const char **envp);

/* job_loop_linux.c: what is waited for, and what is done about it. */
int job_watch_output(struct job *job, int index, int copy, abatis_error *err);
int job_watch_input(struct job *job, abatis_error *err);
int job_watch_terminal(struct job *job, abatis_error *err);
int job_watch_end(struct job *job, abatis_error *err);
/* Makes what will be waited with. */
int job_watch_ahead(struct job *job, bool has_deadline, abatis_error *err);
int job_watch_meter(struct job *job, abatis_error *err);
int job_watch_network(struct job *job, abatis_error *err);
/* What the relay has told; at the end of the job also what it has left to tell. */
void job_hear_network(struct job *job, bool is_over);
int job_set_deadline(struct job *job, uint64_t milliseconds, abatis_error *err);
void job_read_clock(struct timespec *now);
void job_kill_tree(struct job *job);
/* A message for init; 0 or -1. */
int job_send_to_init(struct job *job, int number);
/* `flags` as waitid() takes them. */
int job_reap(struct job *job, int flags, abatis_error *err);
/* Takes what is in the pipes after the end, as far as somebody takes it from us. */
void job_settle_output(struct job *job);

/* leftovers_linux.c: before the command can run; and when nobody of its tree is left: what it must not leave is moved aside and
 * told in *out, which may be NULL. */
int job_expect_leftovers(struct job *job, abatis_error *err);
int job_clear_leftovers(struct job *job, struct job_outcome *out, abatis_error *err);

/* job_outcome_linux.c: what it came to. */
int job_settle(struct job *job, struct job_outcome *out, abatis_error *err);
/* What the kernel refused is explained by trying it all again: the reason is in a sysctl or a security module. */
int job_explain_refusal(int os_errno, const char *what, abatis_error *err);

#endif
