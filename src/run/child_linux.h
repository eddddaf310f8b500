/* child_linux.h: what init and the command do between clone and exec: loops over prepared steps. */
#ifndef RUN_CHILD_LINUX_H
#define RUN_CHILD_LINUX_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/glob.h"
#include "run/landlock_linux.h"

enum init_op {
        INIT_MAP_IDS,     /* path is the map of user ids, target that of groups */
        INIT_PRIVATE,     /* no mount event comes in or goes out */
        INIT_MASKS,       /* path is the stage of another, which what is covered is covered from */
        INIT_ROOT,        /* "/" is the stage: what is made is made in the job's own directories */
        INIT_STAGE,       /* tmpfs at path; target: its options, or NULL */
        INIT_MAKE_DIR,    /* path, relative to the stage; value: mode */
        INIT_MAKE_FILE,   /* path, relative to the stage; value: mode */
        INIT_MAKE_COPY,   /* path, relative to the stage: a program of `value` bytes at target */
        INIT_MAKE_LINK,   /* path, relative to the stage, to target */
        INIT_COUNT,       /* a /proc for the supervisor, which hides no process and is mounted nowhere */
        INIT_GRAB,        /* slot: a detached copy of the tree at path; value: mount attributes to add */
        INIT_GRAB_NODE,   /* slot: the same of a device node, if the host has it */
        INIT_GRAB_STAGED, /* slot: the same of path, relative to the stage; value: likewise */
        INIT_UNSHARE,     /* value: clone flags */
        INIT_NETWORK,     /* a network of its own, and a thread that makes sockets in it */
        INIT_START,       /* the command starts its own steps beside init's */
        INIT_READ_ONLY,   /* every mount gets the attributes in value */
        INIT_PLACE,       /* what is in the slot appears at path */
        INIT_COVER,       /* target, relative to the stage, appears at path */
        INIT_BIND,        /* path appears at path again; value: mount attributes to add */
        INIT_EXPOSE,      /* path appears at path again, read-only and executable */
        INIT_TMPFS,       /* an empty directory for everybody at path; value: mount flags to add */
        INIT_TERMINALS,   /* devpts at path */
        INIT_PTMX,        /* target appears at path */
        INIT_PROC,        /* proc at path; value: mount flags to add */
        INIT_PIVOT,       /* path becomes the root */
};

/* Attributes of mounts, as mount_setattr takes them. */
#define ATTR_RDONLY 0x1u
#define ATTR_NOSUID 0x2u
#define ATTR_NODEV 0x4u
#define ATTR_NOEXEC 0x8u

struct init_step {
        enum init_op op;
        unsigned slot;
        const char *path, *target; /* borrowed */
        size_t length;             /* of a path on the stage */
        uint64_t value;
        bool is_system;   /* only root can change this path: it needs no guard against links */
        bool is_kept;     /* part of what the policy hides or protects: put back when it is lost */
        unsigned plan_op; /* of the plan's step that this is a part of; for the report */
};

enum command_op {
        COMMAND_UMASK, /* the caller's */
        COMMAND_SESSION,
        COMMAND_PRIVILEGES, /* value 1: the bounding set too, which root could draw from again */
        COMMAND_TAKE,       /* closes every descriptor and waits for a launch, which comes with 0, 1 and 2 */
        COMMAND_STDIO,      /* before anything is opened that could stand at 0, 1 or 2 */
        COMMAND_RULES,      /* Landlock's ruleset, as far as it needs nothing of init's */
        COMMAND_SECCOMP,
        COMMAND_DESCRIPTORS,
        COMMAND_PASS, /* the same, but for some that the exec leaves open */
        COMMAND_WAIT, /* until init is done */
        COMMAND_LANDLOCK,
        COMMAND_CHDIR,
        COMMAND_REOPEN,          /* files among 0, 1 and 2, through the mounts that they are seen in */
        COMMAND_LIMIT,           /* resource and value; none for the command's own preparation */
        COMMAND_SIGNALS_IGNORED, /* those that are meant for whom it starts */
        COMMAND_SIGNAL_MASK,     /* nothing blocked */
        COMMAND_CALLS,           /* the second filter */
        COMMAND_EXEC,
};

struct command_step {
        enum command_op op;
        unsigned resource;
        uint64_t value, hard; /* of a limit: the soft and the hard one */
        unsigned plan_op;
};

/* Of Landlock: rights on what stands at a path. */
struct child_rule {
        uint64_t allowed;
        const char *path; /* borrowed */
        bool is_inside;   /* in a place that init makes: nothing to be found there before it is done */
        /* With a list: not the directory gets the rights but each of its entries, those named here excepted. */
        const char *const *except; /* owned by the resources; sorted, NULL-terminated */
};

/* What needs no plan: see ground_linux.h. Init does its steps, and the command, once there is a plan, begins with its own. Read-only once
 * init has begun. */
struct child_ground {
        const struct init_step *init_steps;
        const struct command_step *command_steps;
        size_t init_count, command_count;
        uint64_t namespaces; /* clone flags */
        unsigned plan_op;    /* of the namespaces, for the report */
        unsigned terminal_op;
        bool has_mounts;
        bool has_network; /* they have one of their own, with a relay to the outside */
        bool has_relay;   /* this one, or another, which the broker connects to */
        bool has_scope; /* init and the command are in a domain of Landlock's that abstract sockets are not left from */
        bool is_plain; /* as in child_plan */
        bool has_host; /* init has the descriptor of the host's root: it was there before the clone */
};

/* What the broker decides by: paths as the kernel prints them, in lists that end with NULL. */
struct child_broker {
        const char *const *open;   /* trees whose files the command may change */
        const char *const *closed; /* trees in these that it may not */
        const char *const
                *hidden; /* trees whose files it may not read and whose directories it may not list, */
        const char *const *shown; /* but these, unless they are denied; */
        const char *const *denied;
        /* Where mappings are asked about: files that can be started, what those are loaded with, and trees of libraries. */
        const char *const *programs, *const *loaders, *const *libraries;
        /* Patterns, which hold everywhere. */
        const struct glob *const *closed_globs, *const *denied_globs;
        const struct glob *const
                *fixed_globs; /* those among them that a directory's new name could lead out of */
        unsigned asks;        /* enum broker_asks */
        unsigned threads;     /* that answer */
        bool is_among_others; /* there are no namespaces: files and processes of the host are in view */
        bool has_unix_only;   /* no other socket is connected */
        bool has_streams;     /* sockets of TCP are connected to the relay, and no others */
        /* Where only listed unix sockets are connected to; else NULL: their places on the host, and what the policy calls them. */
        const char *const *sockets, *const *socket_names;
        int host; /* with these: a descriptor (O_PATH) of the host's root, and which file it is */
        uint64_t host_device, host_inode;
        bool needs_scope; /* as child_ground.has_scope; without it no abstract socket is connected to */
};

/* Prepared once for a sandbox, read-only once it is used. */
struct child_plan {
        const struct init_step *init_steps;
        const struct command_step *command_steps;
        size_t init_count, command_count;
        bool keeps_masks; /* init watches its mounts and puts back what is lost, or ends the job */
        const struct init_step *kept_steps; /* those among init's steps, or its keeper's, that are put back */
        size_t kept_count;
        size_t root_length; /* of what to leave off a path behind a new root */
        struct ll_ruleset ruleset;
        size_t ruleset_size;
        const struct child_rule *rules;
        size_t rule_count;
        struct sock_fprog filter;
        struct sock_fprog calls; /* the second one; empty: there is none */
        uint64_t tmp_rights;     /* of Landlock, on the job's own directory in /tmp; 0: it has none */
        const struct child_broker *broker; /* NULL: there is none, and the filter asks nobody */
        bool has_network, has_relay;       /* as in child_ground */
        bool is_wrapped;                   /* the command becomes bubblewrap */
        bool is_plain; /* the command keeps what it is born with: namespaces, privileges. Another program takes them, or nobody */
        bool has_loopback;         /* the filter asks for sockets on one: see child_loopback_linux.c */
        bool has_loopback_at_once; /* the command is in the network of one */
        bool counts_memory;        /* by process: what sockets hold must be little */
        bool counts_threads;       /* a thread of init's is counted with the command's processes */
};

enum {
        CHILD_STACK_SIZE = 32 * 1024,
        CHILD_STACK_PAGE = 4096,
        CHILD_STACKS_SIZE =
                2 * CHILD_STACK_SIZE + CHILD_STACK_PAGE, /* init's and the command's, to be aligned */
        CHILD_PASS_SIGNAL = 40,
        CHILD_TMP_SIZE = 256,
        CHILD_NETWORK_STACK_SIZE = 8192,
        CHILD_WHO_STACK_SIZE = 16384,
};

enum child_word { WORD_AWAITED, WORD_GIVEN, WORD_CANCELLED };
/* Of a job that was begun ahead: who has decided about it. */
enum child_claim { CLAIM_OPEN, CLAIM_STARTS, CLAIM_ENDS };
/* Likewise: what it is told before its launch. */
enum child_summons { SUMMONS_NONE, SUMMONS_SOON, SUMMONS_SENT };
enum child_phase { PHASE_NEW, PHASE_SETUP, PHASE_READY, PHASE_FAILED };

/* What one of Landlock's rules was made for: written by the command. A time of 0 is none. */
struct child_stamp {
        bool is_there;
        uint64_t device, inode;
        int64_t changed_s, changed_ns; /* of a directory whose entries got the rights, before it was listed */
};

/* What must not be there after the command. */
struct child_leftover {
        const char *directory, *name; /* borrowed; without a link, and one name */
        uint64_t known;               /* the inode that is protected there and may stay; 0: none */
};

/* What became of it. */
struct child_finding {
        bool is_moved;
        bool is_removed; /* there was no room for another name */
        uint64_t number; /* of its new name */
        int error;       /* why it is still there, or may be; 0 */
};

enum { CHILD_ASIDE_SIZE = 64 };

/* One launch. Init and the command share the parent's memory and write their reports here. */
struct child_job {
        const struct child_ground *ground;
        bool must_reopen; /* of these none that cannot be opened again */
        const char
                *files[3]; /* borrowed: where a file among stdio lies that was opened to be read, or NULL */
        /* Known when is_planned says so. */
        const struct child_plan *plan;
        const char *program, *cwd, *fallback_cwd; /* borrowed */
        const char *const *argv, *const *envp;    /* borrowed, NULL-terminated */
        int *slots;                               /* detached mounts, by slot */
        long *passed;                             /* of COMMAND_PASS: descriptors, sorted, all above 2 */
        int control; /* of a command that another program starts: signals' numbers are written here, a byte each; or 0 */
        int passed_count;

        int stdio[3];
        int host_pidfd;      /* readable when the host process is gone */
        int end_event;       /* how the parent hears that is_over, if it wants to; else 0 */
        char *command_stack; /* its end */
        uint64_t pass; /* of the filter that the children have from their keeper, if they have; else 0 */
        int life;      /* if they have: hung up when the keeper is gone */
        int claim;     /* likewise, an atomic: enum child_claim */
        int launches;  /* socket, if they have: see COMMAND_TAKE */
        int stage;     /* descriptor of the stage's root */
        int masks;     /* of the stage that has what covers are made of: this one or another */
        int proc;      /* descriptor of the supervisor's /proc, if has_proc */
        bool has_proc;
        bool runs_image;    /* not the program but the file that the command has as its 1 */
        bool is_among_many; /* of a job that a keeper has begun: nobody waits for its end alone */
        int cgroup;         /* descriptor of the command's own, if has_cgroup */
        bool has_cgroup;
        int command;     /* the command's PID as init sees it */
        int init;        /* its own PID, where there is no PID namespace, or where a keeper has started it */
        int ruleset;     /* of Landlock */
        int umask;       /* the caller's */
        bool has_umasks; /* somebody in the job has changed his: set and used by the broker */
        bool has_terminal; /* init makes one and hands it over through the socket; the command takes it */
        int terminal_socket, terminal;
        unsigned short terminal_size[4]; /* rows, columns, two that nobody uses */
        int network;                     /* socket to the relay, if the ground has one */
        int knocks;                      /* likewise, for the broker */
        int relay_lock;                  /* a futex: the relay is asked one thing after the other */
        int network_asker;               /* socket of the thread that knows whose a connection is, or 0 */
        char *network_stack;             /* of the thread that makes sockets there, and behind it of the one
                                            that knows whose they are; owned by the parent */
        char *loopback_stack; /* owned by the job: of the thread that makes sockets, if it is not to wait for the first
                                 question; else NULL */
        const struct sock_fprog
                *closed; /* owned by the job: instead of the plan's filter, without a loopback; or NULL */
        /* Of the loopback, where a broker asks for it: what is asked, a lock of the broker's threads and a futex (enum loopback_word). */
        uint64_t loopback_id;
        int loopback_lock, loopback_word;
        int loopback_socket[3]; /* domain, type, protocol */
        int questions; /* init's descriptor of the listener, where there is a loopback and no broker; from its nest, if it has one */
        int broker_sockets[2];                  /* from the command to init, where there are no namespaces */
        struct child_broker_room *broker_rooms; /* one for each of its threads */
        int broker_count;
        int names_lock;   /* a futex, of the broker's threads: names are changed one after the other */
        int threads_lock; /* likewise: threads are held still for one caller at a time */
        char own_tmp[CHILD_TMP_SIZE];           /* the job's own directory in /tmp, or "" */
        bool has_own_tmp;                       /* it was made */
        const struct child_leftover *leftovers; /* borrowed */
        struct child_finding *findings;         /* one for each; owned by the parent */
        size_t leftover_count;                  /* 0 until the launch */
        struct child_stamp
                *stamps; /* of a job that is begun ahead without mounts: one for each rule; else NULL */
        int64_t stamped_s, stamped_ns; /* the time when the first of them was taken */

        /* Futexes. */
        int begun;      /* by the keeper, if there is one: 1 when it has started init, or a negative errno */
        int is_planned; /* by the parent: enum child_word */
        int summons;    /* by the parent, of a job that was begun ahead: enum child_summons */
        int phase;      /* of init: enum child_phase */
        int ground_phase;   /* of init, which lays the ground: enum child_phase */
        int has_files;      /* of the command: what was opened outside to be read is opened again */
        int listener;       /* of the command, once its filter asks the broker: the descriptor */
        bool is_called_off; /* by the parent, who sends a signal with it; an atomic, and no futex */
        bool is_over;       /* by init, an atomic: it is the last, and does nothing more but end */
        bool has_failed;    /* a step failed; what follows says which */
        bool failed_in_init;
        enum command_op failed_op; /* of the command */
        unsigned failed_plan_op;
        const char *failed_path;
        int failed_errno;
        bool has_status; /* the command ended and status is its wait status */
        int status;
};

/* What the relay is started with; no descriptor is below RELAY_FIRST_FREE. */
struct child_relay {
        int image, host, inside, knocks, settings, null;
        int rules; /* or -1 */
};

/* A process that has a sandbox's mounts and filter ready and starts jobs in copies of them: see child_keeper_linux.c. */
struct child_keeper {
        struct child_job world;   /* the steps are done for it, and it has the report; nothing of it runs */
        struct sock_fprog filter; /* empty: each job loads its own, for its own broker */
        bool has_nests; /* the filter asks for sockets on a loopback: nests load it, and begin the jobs */
        uint64_t job_namespaces; /* clone flags */
        int host_pidfd;          /* readable when the host process is gone */
        int host_root;           /* child_broker.host, or another one twice where there is none */
        int host_mounts; /* readable, in poll's sense, when the host's mounts change: then the keeper ends, and lets go of all */
        int life[2]; /* pipe: whoever waits for a launch ends with the keeper */
        int requests; /* socket: struct child_order. The keeper's first message is two descriptors: see keeper_linux.c */
        int umask; /* the host's when it was started */
};

/* A thread of the keeper's that has loaded the filter itself, and hears what it asks. A job that is begun there has the filter from it, and
 * init the listener. One job at a time: so whose a question is needs no answer. */
struct child_nest {
        const struct child_keeper *keeper;
        int requests; /* socket: struct child_order, of jobs; hung up, it ends */
        char *stack;  /* owned by the host program, */
        int is_there; /* as long as this says so; the kernel's to take back */
};

/* One of the two, with a descriptor: the socket that the job's launch will come through, or the nest's own socket. */
struct child_order {
        struct child_job *job;
        struct child_nest *nest;
};

/* The keeper's entry; does not return. */
void child_keep(void *keeper);

/* How much memory each thread of a broker wants. */
extern const size_t child_broker_room_size;

/* For the parent. */
void child_give_plan(struct child_job *job);
void child_summon(struct child_job *job, enum child_summons word);
/* The ground's phase; if it is still being laid, after 10 ms at most. */
int child_look_at_ground(const struct child_job *job);
/* Whether it waits for the plan or runs, it ends. */
void child_cancel(struct child_job *job);

/* The entry of PID 1; does not return. */
void child_init(void *job);

/* Between the files of the child only. Each returns 0 or a negative errno. */
long child_mounts_do(struct child_job *job, const struct init_step *step);
long child_command_start(struct child_job *job);
long child_terminal_make(struct child_job *job);
long child_terminal_take(const struct child_job *job);
/* "/dev/pts/NUMBER", 20 bytes at most. */
void child_terminal_path(char *path, unsigned number);
/* Where there is no PID namespace: init is told of every orphan of the job; the command dies with init; init ends all of
 * them and returns when none is left. */
long child_sweep_prepare(struct child_job *job);
long child_sweep_die_with_init(const struct child_job *job);
void child_sweep(struct child_job *job);
/* In a shared session: ends whoever is below this process of it. */
void child_sweep_below(struct child_job *job, int pid);
/* The broker of a plan that has one: init prepares before it starts the command; the command loads its filter and gives;
 * init takes the descriptor that questions come through, and starts threads that answer them. */
long child_broker_prepare(struct child_job *job);
long child_broker_give(struct child_job *job);
/* Loads a filter that asks; returns the descriptor that its questions come through, or an error. */
long child_broker_load(const struct sock_fprog *filter, uint64_t pass);
long child_broker_take(struct child_job *job);
long child_broker_start(struct child_job *job, long listener);
/* Before the command is started: see child_connect_linux.c. */
long child_broker_scope(void);
long child_broker_mark(void);
/* Init's own network; and, for the parent, the entry of a process that becomes the relay. */
long child_network_open(struct child_job *job);
/* Starts the thread that answers struct who_question: gives the socket to ask it through. */
long child_who_start(struct child_job *job);
/* Tells the relay that this, an address of a socket's, is about to be connected to, and waits until it listens there, if it may. */
void child_network_knock(const struct child_job *job, const void *bytes, long size);
void child_network_run_relay(void *relay);
/* A thread that answers questions for sockets; the caller, who saw the first, closes its listener then. */
long child_loopback_start(struct child_job *job);
/* Answers the next question, without a socket. */
void child_loopback_refuse(const struct child_job *job);
/* Raises the loopback of the network that this thread is in. */
long child_network_raise(uint64_t pass);
/* Whether the filter sends it questions, for the broker or the loopback. */
bool child_asks_init(const struct child_job *job);
long child_send_descriptor(long socket, long fd);
/* Also for the parent: a message with so many descriptors, five at most; it is sent at once or not. */
long child_send(long socket, const void *bytes, size_t size, const int *fds, size_t count);
long child_receive_descriptor(long socket);
/* A message of exactly so many bytes and descriptors; anything else is -EPIPE. `flags` as recvmsg takes them. */
long child_receive(long socket, void *bytes, size_t size, int *fds, size_t count, int flags);
/* Every descriptor from `first` on, except those; the list is sorted. */
long child_close_others(long *kept, int count, long first);
void child_reset_signals(void);
/* The entry of PID 1 in a job that a keeper has begun; does not return. */
void child_init_ready(void *job);
/* Whether something is mounted at exactly this path. */
bool child_is_mount_point(const char *path, bool *exists);
/* Also for the parent, when nobody of the tree is left: moves leftovers aside; and what one is called then, or would be. */
void child_leftovers_clear(struct child_job *job);
void child_leftover_name(const char *name, uint64_t number, char out[CHILD_ASIDE_SIZE]);
/* Also for the parent. */
void child_tmp_remove(const struct child_job *job);
bool child_do_init_steps(struct child_job *job, const struct init_step *steps, size_t count);
/* A descriptor (O_PATH) of what stands at an absolute path of any length. Follows no link, also where there is no
 * openat2. */
long child_walk(const char *path);
/* The same of the directory that a path, counted from the directory `from`, ends in; the path's end is *last. May be
 * `from` itself. */
long child_walk_to_last(long from, const char *path, const char **last);
/* A futex: sets the word and wakes whoever waits; waits until the word is another, and returns it. */
void child_set(int *word, int value);
int child_wait(struct child_job *job, int *word, int value, bool is_init);
/* True for the first to ask: it fills in what failed. */
bool child_claim_report(struct child_job *job);

#endif
