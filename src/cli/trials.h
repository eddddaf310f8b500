/* trials.h: doctor --test: what a policy forbids is tried, outside and in every backend's sandbox. */
#ifndef CLI_TRIALS_H
#define CLI_TRIALS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abatis.h"

/* Of the directory, for mkdtemp(). */
#define WORLD_NAME         \
        "abatis-doctor.XX" \
        "XX"               \
        "XX"

/* What is there to be reached, outside the sandbox and in it: files, servers, a process, a terminal. */
struct trial_world {
        char root[256];        /* a directory of its own, without links; in it: ws, outside, bin */
        char tmp[64], shm[64]; /* files in /tmp and /dev/shm; "" when there can be none */
        char device[64];       /* a device that can be opened; "" when there is none */
        int memory, key;       /* shared memory of System V, and by what it is found; or -1 */
        pid_t server;          /* who is connected to, signalled and traced; its parent has the next ones */
        int leash, terminal;   /* it lives while this is open; a terminal of the caller's session, or -1 */
        unsigned port, other_port;           /* where it listens, by TCP and UDP, */
        unsigned caller;                     /* where who asks it to call is called back, by TCP, */
        unsigned free_port, other_free_port; /* at ports where nobody listens, */
        char name[40]; /* and by an abstract unix socket; its others are outside/listed and outside/other */
};

/* Makes the directory, and what needs no process. What is wrong is said in one line. */
int world_make(struct trial_world *world, abatis_error *err);
/* Starts the server, and makes a terminal that is the caller's. */
int world_inhabit(struct trial_world *world, abatis_error *err);
/* Everything that an attempt may have changed is as it was. */
int world_renew(const struct trial_world *world, abatis_error *err);
void world_leave(struct trial_world *world);
/* Whatever else has happened. */
void world_remove(struct trial_world *world);
/* Whether a process has the lock of the workspace; if so, and if `ends_it`, waits for its end. */
bool world_is_held(const struct trial_world *world, bool ends_it);
/* Puts what is there for the words in braces: "{root}/ws/secret". False: there is no such thing on this machine. */
bool world_expand(const struct trial_world *world, const char *text, char *out, size_t size);

/* What two commands meet by. */
#define MEETING "{tmp}.met"

enum { TRIAL_WAYS = 10, TRIAL_PROMISES = 20, TRIAL_SETTINGS = 5, TRIAL_PATH = 512 };

struct trial_way {
        const char *name, *what;
        const char *control; /* the same in shorter, for where nothing ends it; NULL: as inside */
};

/* A clause of the plan, and by which ways it is tried. */
struct trial_promise {
        const char *label;  /* of the row */
        const char *clause; /* as the plan names it, or how that begins */
        struct trial_way ways[TRIAL_WAYS];
        struct trial_way works; /* what the clause lets through, and must work inside if it is held */
        const char *by;         /* only where something of this name holds it; NULL: always */
};

/* How a case tells that its promise is held. */
enum trial_sign {
        SIGN_REFUSAL, /* by what the ways say */
        SIGN_LIMIT,   /* the command was ended, for the clause's limit; or what the way says */
        SIGN_OUTPUT,  /* its output was cut */
        SIGN_LAUNCH,  /* it was not started */
        SIGN_LOCK,    /* nobody has the lock */
};

struct trial_case {
        const char *preset;
        const char *settings[TRIAL_SETTINGS][2];
        enum trial_sign sign;
        bool is_twice; /* by two commands, of which the second one's answers count */
        struct trial_way allowed[TRIAL_WAYS];
        struct trial_promise promises[TRIAL_PROMISES];
};

extern const struct trial_case trial_cases[];
extern const size_t trial_case_count;

enum {
        TRIAL_ATTEMPTS = TRIAL_WAYS + TRIAL_PROMISES * (TRIAL_WAYS + 1),
        NO_ANSWER = -1,
};

/* One way, outside and inside. */
struct attempt {
        const struct trial_way *way;
        const struct trial_promise *promise; /* NULL: the case allows it */
        bool must_work;
        bool is_possible; /* there is such a thing on this machine */
        char what[TRIAL_PATH];
        int outside, inside; /* an errno, 0 when it worked, or NO_ANSWER */
};

/* One case, and what is known of it. */
struct trial {
        const struct trial_world *world;
        const struct trial_case *what;
        struct attempt attempts[TRIAL_ATTEMPTS];
        size_t count;
        bool was_held_outside; /* the lock, by who stayed */
        /* In one backend: */
        const char *backend;
        json_t *clauses;      /* of the plan; borrowed */
        bool is_whole;        /* the plan holds all of them */
        bool is_refused;      /* without --best-effort */
        abatis_error refusal; /* why it did not start; code 0 when it did */
        const char *limit;    /* that ended it, or NULL */
        bool is_cut, is_held; /* the output; the lock */
};

/* Whether the plan claims it. */
bool trial_claims(const struct trial *trial, const struct trial_promise *promise);
/* A row for each promise of the case, from what is known of it now. */
void trial_judge(const struct trial *trial, json_t *rows);
void trial_is_untested(const struct trial *trial, const char *reason, json_t *rows);

/* Tries everything in all backends of the report that are available. `report` is the doctor's, as JSON; what was found out is added to it as
 * "tests". Prints one line and returns EXIT_REFUSED when that was not possible. */
int trials_run(json_t *report);
/* The rows as text, to stdout. */
int trials_print(const json_t *tests);
/* Whether every clause that a plan claims was seen to hold. */
bool trials_are_good(const json_t *tests);

/* Whether an errno is how a way is refused; otherwise it proves nothing. */
bool way_is_refused_with(const char *name, int error);
/* The verb that runs inside: tries each way of the arguments, and prints an errno for each, or 0. */
int cmd_doctor_inside(char **argv);

#endif
