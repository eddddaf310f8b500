/* plan.h: ordered steps, the clauses of the policy they enforce, and the check that no clause is left over. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/text.h"
#include "plan/host.h"
#include "policy/policy.h"

/* What the user was promised. Made from the policy alone, so that no backend can forget one. */
enum clause_kind {
        CLAUSE_READ,        /* only listed paths can be read */
        CLAUSE_WRITE,       /* only listed trees can be changed */
        CLAUSE_EXECUTE,     /* only listed paths can be executed */
        CLAUSE_DENY,        /* one path, neither read nor written */
        CLAUSE_PROTECT,     /* one path, not written */
        CLAUSE_TMP,         /* /tmp is private */
        CLAUSE_NETWORK,     /* the network mode */
        CLAUSE_CONNECT,     /* an entry of network.connect */
        CLAUSE_BIND,        /* of network.bind */
        CLAUSE_UNIX,        /* of network.unix */
        CLAUSE_NAMES,       /* TLS and HTTP name whom was asked for */
        CLAUSE_ABSTRACT,    /* other programs' abstract unix sockets are out of reach */
        CLAUSE_COMMANDS,    /* only listed commands run */
        CLAUSE_FORK,        /* no other process is started */
        CLAUSE_CALLS,       /* only listed system calls are made */
        CLAUSE_NEW_CODE,    /* what can be written never becomes code */
        CLAUSE_ARGUMENTS,   /* no argument names a denied path */
        CLAUSE_PRIVACY,     /* processes outside are invisible and untouchable */
        CLAUSE_LIFETIME,    /* nothing outlives the job */
        CLAUSE_IPC,         /* shared memory, queues and semaphores are private */
        CLAUSE_DEVICES,     /* only harmless devices */
        CLAUSE_TERMINAL,    /* no input can be pushed into the caller's terminal */
        CLAUSE_PRIVILEGES,  /* no capability, no way to gain one */
        CLAUSE_KERNEL,      /* system calls that no tool needs are refused */
        CLAUSE_DESCRIPTORS, /* no inherited descriptor but 0, 1 and 2 */
        CLAUSE_ENVIRONMENT, /* secrets filtered from the environment */
        CLAUSE_SHARING,     /* commands of one sandbox have /tmp and processes in common */
        CLAUSE_LIMIT,       /* one limit */
};

struct clause {
        enum clause_kind kind;
        size_t index;    /* of the rule or limit it stands for */
        char *name;      /* owned: "filesystem.deny /home/u/.ssh" */
        char *reason;    /* owned: why nothing enforces it; NULL while something does */
        bool is_covered; /* by a step */
};

/* In the order in which they are carried out: first by the init process, then by the command, then outside. */
enum plan_op {
        PLAN_SWEEP, /* where there are no namespaces: init is told of every orphan, and ends all of them */
        PLAN_NAMESPACES,
        PLAN_MAP_IDS,
        PLAN_STAGE,           /* a small tmpfs that holds /tmp, /dev/shm and the masks */
        PLAN_READ_ONLY_WORLD, /* every mount: read-only, no setuid, no devices, private */
        PLAN_NOEXEC,          /* every mount, the writable ones too: no file is code but what follows */
        PLAN_NEW_ROOT,
        PLAN_LINK,    /* path is a link to target in the new root */
        PLAN_SHOW,    /* path, read-only; value 1: not executable */
        PLAN_DEVICES, /* a handful of device nodes */
        PLAN_TERMINALS,
        PLAN_PRIVATE_SHM,
        PLAN_PRIVATE_TMP,
        PLAN_OWN_TMP, /* where there are no mounts: a directory of the job's own in /tmp, which TMPDIR names */
        PLAN_PROC,
        PLAN_LIBRARIES, /* path, read-only: its files can be mapped as code */
        PLAN_WRITABLE,
        PLAN_START,   /* path, read-only, can be started; value 1: a copy of it */
        PLAN_LOADER,  /* path is a copy that programs are loaded with and that cannot be started */
        PLAN_PIN,     /* path cannot be renamed away, so what lies below stays where it is denied */
        PLAN_PROTECT, /* path read-only inside a writable tree */
        PLAN_HIDE,    /* path replaced by an empty mode-000 one; value is its enum path_kind */
        PLAN_CLOSED, /* on Windows: path, which no tree that is given has in it, was not opened to containers before */
        PLAN_HOSTS, /* /etc/hosts is empty, so that every name is asked for */
        PLAN_ENTER_ROOT,
        PLAN_PRIVATE_IPC,
        PLAN_NETWORK, /* a network of its own, and a relay to what the list allows; value is of enum plan_network */
        PLAN_STREAMS, /* where there is no network of its own: a relay that the broker connects the command to; likewise */
        PLAN_LOOPBACK, /* a network of its own with nothing but a loopback: init makes it, and the sockets, from the first on; */
        PLAN_LOOPBACK_AT_ONCE, /* or the command has it, and what its sockets hold is counted with it */
        PLAN_SESSION,
        PLAN_LIMIT, /* of the kernel, for each process; value is the enum limit */
        PLAN_CGROUP, /* of the kernel, for the whole tree; path is where the job gets a cgroup; value likewise */
        PLAN_COUNT, /* by the supervisor, for the whole tree; value likewise */
        PLAN_PRIVILEGES,
        PLAN_LANDLOCK,
        PLAN_SECCOMP, /* value is the enum network_mode */
        PLAN_CALLS, /* what the command may not, and whoever starts it must: loaded last; value is of enum plan_calls */
        PLAN_BROKER, /* what neither a mount nor Landlock can judge is done by the supervisor; value is enum broker_asks */
        PLAN_PROFILE, /* on macOS: target is the text that the kernel's Seatbelt is given, with the parameters below */
        PLAN_CONTAINER, /* on Windows: an AppContainer of the job's own; value is of enum plan_capabilities */
        PLAN_SUSPENDED, /* there: the command exists, and has not run */
        PLAN_JOB_OBJECT, /* there: it and all that it starts are in one object, and end with it; value is of enum plan_object */
        PLAN_RESUME, /* there: it runs, if it is found to be where it should */
        PLAN_ARGUMENTS,
        PLAN_DESCRIPTORS,
        PLAN_ENVIRONMENT,
        PLAN_PORTER, /* commands of a shared session are started by a process inside it */
        PLAN_DEADLINE,
        PLAN_OUTPUT,
};

/* Of PLAN_SWEEP: where nobody adopts orphans, the job's processes are known by the profile that all of them have. */
enum { PLAN_SWEEPS_MARKED = 1 };
/* Of PLAN_DESCRIPTORS: none is inherited that was not meant to be. */
enum { PLAN_CLOSES_AT_EXEC = 1 };

/* Of PLAN_CALLS. */
enum plan_calls {
        PLAN_NO_FORK = 1,     /* threads alone */
        PLAN_FEW_CALLS = 2,   /* those of a list, and no others; */
        PLAN_SOCKETS = 4,     /* with those of sockets */
        PLAN_NO_NEW_CODE = 8, /* no memory becomes code but files as they are */
};

/* Of PLAN_JOB_OBJECT. */
enum plan_object {
        PLAN_ALONE = 1,      /* there is one process in it */
        PLAN_NO_DESKTOP = 2, /* no clipboard, and nothing of other programs' windows */
};

/* Of PLAN_CONTAINER: what it may reach of the network. */
enum plan_capabilities {
        PLAN_INTERNET = 1,        /* internetClientServer, which has internetClient in it */
        PLAN_PRIVATE_NETWORK = 2, /* privateNetworkClientServer */
};

/* What is known only when a job begins, by the names that a profile has for it: the job's own directory for temporary files,
 * where there is one, a name that no other job's profile has, and the terminal that was made for it, or /dev/null. */
#define PROFILE_TMP "TMP"
#define PROFILE_JOB "JOB"
#define PROFILE_TTY "TTY"

/* Of PLAN_NETWORK. */
enum plan_network {
        PLAN_CHECKS_NAMES = 1,
        PLAN_HAS_DATAGRAMS = 2,
};

/* About what the command asks the broker, beside changes of attributes. */
enum broker_asks {
        BROKER_WRITES = 1, /* everything that makes, opens to write, moves or removes a file */
        BROKER_READS = 2,  /* every file that is opened to be read, and every directory to be listed */
        BROKER_CONNECTS =
                4, /* every connection: a unix socket is a file, and nothing else judges who connects to it */
        BROKER_SIGNALS = 8,     /* every signal to another process */
        BROKER_TRUNCATION = 16, /* every file that is cut off, by its name or when it is opened */
        BROKER_MAPPINGS = 32,   /* every file that is mapped as code */
        BROKER_SOCKETS = 64,    /* every connection: of unix sockets only those of network.unix are reached */
        BROKER_STREAMS = 128,   /* every connection over TCP, which is made to the relay */
        BROKER_DOORS = 256, /* every connection: so that the relay listens where it goes, before it is made */
};

struct step {
        enum plan_op op;
        char *path, *target; /* owned, may be NULL */
        size_t length;       /* of the path: those of a deep tree differ at their ends only */
        uint64_t value;
};

/* Landlock allows; what is not granted is refused. */
enum grant_rights { GRANT_READ = 1, GRANT_WRITE = 2, GRANT_EXECUTE = 4, GRANT_DEVICE = 8 };

struct grant {
        char *path; /* owned */
        unsigned rights;
        bool is_inside; /* the path as the command sees it: what stands there is made for this job */
};

struct plan {
        enum backend_kind backend;
        struct clause *clauses;
        struct step *steps;
        struct grant *grants;
        struct strings
                avoided; /* denied paths that no grant may reach, even if they appear or are replaced later */
        struct strings
                visible; /* what the clauses do not promise to hide, and other plans hide all the same */
        struct strings
                closed; /* what the policy opens and the plan leaves closed, since the system cannot open it */
        struct cover {
                size_t step, clause;
        } * covers;
        size_t first_of_rules, end_of_rules; /* where the clauses of rules begin and end */
        size_t clause_count, step_count, grant_count, cover_count;
        bool has_failed; /* an allocation failed: builders are sticky */
};

struct plan *plan_new(const abatis_policy *policy, enum backend_kind backend);
void plan_free(struct plan *plan);

/* Each returns the new step's index. Strings are copied. */
size_t plan_step(struct plan *plan, enum plan_op op, const char *path, uint64_t value);
void plan_target(struct plan *plan, size_t step, const char *target);
/* Takes one out again, and with it what it covers; those behind it move up. */
void plan_drop_step(struct plan *plan, size_t step);
void plan_cover(struct plan *plan, size_t step, enum clause_kind kind, size_t index);
void plan_cover_all(struct plan *plan, size_t step, enum clause_kind kind);
void plan_leave_visible(struct plan *plan, const char *what);
void plan_leave_closed(struct plan *plan, const char *what);
void plan_grant(struct plan *plan, const char *path, unsigned rights, bool is_inside);
/* Says why a clause cannot be held; steps that cover it in part stay. */
void plan_miss(struct plan *plan, enum clause_kind kind, size_t index, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
enum { PLAN_NO_INDEX = 0 };

/* The heart of the promise: a clause without a step, or with a reason, is an error unless the user asked otherwise. */
int plan_check(const struct plan *plan, bool is_best_effort, abatis_error *err);
bool plan_is_held(const struct plan *plan, size_t clause);

/* print.c */
int plan_print(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
               abatis_format format, char **out, abatis_error *err);
int host_print(const abatis_host *host, const struct host_backend *backends, size_t count,
               abatis_format format, char **out, abatis_error *err);
/* True when this machine can hold the default policy; wants the full probe. */
bool host_is_ready(const abatis_host *host);
const char *plan_op_name(enum plan_op op);
bool plan_has(const struct plan *plan, enum plan_op op);
/* One of the two. */
bool plan_has_loopback(const struct plan *plan);
/* Of enum broker_asks; 0 also where there is no broker. */
unsigned plan_broker_asks(const struct plan *plan);
/* Of enum plan_calls; 0 also where there is no second filter. */
unsigned plan_calls(const struct plan *plan);
/* Whether the plan holds this limit by this op. */
bool plan_limits_by(const struct plan *plan, enum plan_op op, enum limit limit);

/* print_commands.c: what a list of commands means, file by file; nothing, or NULL, where there is no list. */
void plan_add_commands_text(struct text *text, const struct plan *plan, const abatis_policy *policy);
struct json_t *plan_commands_to_json(const struct plan *plan, const abatis_policy *policy);

#endif
