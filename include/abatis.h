/* abatis.h: run commands in an OS sandbox; the whole public interface, in the order in which a program uses it.
 *
 *   policy -> (host) -> plan -> sandbox -> job -> result
 *
 * Every function that can fail returns 0 or a negative ABATIS_E_* and, when `err` is not NULL, fills it in.
 * Out parameters are written on success only. Strings that a caller must release are released with free().
 * The library never prints, exits, installs a signal handler, or changes the host process's signals, working
 * directory, umask, environment or limits. An open sandbox may be used by several threads; any other object
 * by one at a time.
 */
#ifndef ABATIS_H
#define ABATIS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ABATIS_API __attribute__((visibility("default")))
#else
#define ABATIS_API
#endif

#define ABATIS_VERSION_MAJOR 0
#define ABATIS_VERSION_MINOR 1
#define ABATIS_VERSION_PATCH 0

/* The version of the library in use, "0.1.0"; it may be newer than the header. */
ABATIS_API const char *abatis_version(void);

/* ---- errors ------------------------------------------------------------------------------------------ */

enum {
        ABATIS_E_INVALID = -1,        /* a policy, rule or argument is wrong */
        ABATIS_E_UNENFORCEABLE = -2,  /* a clause of the policy has no mechanism on this machine */
        ABATIS_E_SYSTEM = -3,         /* the operating system refused; os_errno says why */
        ABATIS_E_NOT_FOUND = -4,      /* the program does not exist */
        ABATIS_E_NOT_EXECUTABLE = -5, /* the program exists and cannot be executed, or not by this policy */
        ABATIS_E_MEMORY = -6,         /* out of memory */
        ABATIS_E_NO_RESULT =
                -7,            /* the command ran, and how it ended could not be found out or written down */
        ABATIS_E_BACKEND = -8, /* the backend that was asked for is not available here */
        ABATIS_E_NO_BACKEND = -9 /* none is: this machine can hold no sandbox */
};

typedef struct abatis_error {
        int code;           /* ABATIS_E_* */
        int os_errno;       /* errno, or 0 */
        char message[1024]; /* one line of printable text, never empty after a failure */
} abatis_error;

/* The candidate (the list ends with NULL) whose spelling is nearest to the word, for "did you mean"; NULL when none is
 * near enough. */
ABATIS_API const char *abatis_suggest(const char *word, const char *const *candidates);

/* ---- policy: what may be touched --------------------------------------------------------------------- */

typedef enum abatis_format { ABATIS_TEXT, ABATIS_JSON } abatis_format;
typedef struct abatis_policy abatis_policy;

typedef struct abatis_policy_options {
        size_t size; /* sizeof(abatis_policy_options) */
        const char *
                preset; /* a preset ("dev", "tool", "mcp", "strict", "guard", "skill") or a profile; NULL is what the
                                  files extend, or "dev" */
        const char *workspace; /* the directory the command works in; NULL is the working directory */
        const char *data;      /* the agent's own data directory, or NULL */
        const char *config;    /* an agent's configuration file outside the data directory, or NULL */
        const char
                *program; /* the caller's own executable, protected if it lies in a writable tree, or NULL */
        const char *file; /* a policy file, YAML, JSON (*.json) or TOML (*.toml), or NULL */
        unsigned layers;  /* which other files count: ABATIS_LAYER_*; 0 is none */
        const char *text; /* what `file` says, which is then not read, but names the format and whom messages
                             speak of; or NULL */
} abatis_policy_options;

enum {
        ABATIS_LAYER_SYSTEM = 1, /* /etc/abatis/policy.yaml, a ceiling */
        ABATIS_LAYER_USER = 2,   /* $XDG_CONFIG_HOME/abatis/policy.yaml */
        ABATIS_LAYER_PROJECT =
                4, /* the nearest .abatis.yaml of the workspace's repository; may only narrow until trusted */
        ABATIS_LAYERS_ALL = 7,
        ABATIS_MAKE_PLACES =
                8, /* make the private directories that a shipped profile keeps for what runs inside */
        ABATIS_NO_DEFAULT_LIMITS = 16, /* no limit but those that somebody sets; see abatis_policy_new() */
        ABATIS_DENY_SECRETS =
                32, /* deny keys, tokens and histories of the user's, as preset dev, whatever is extended */
        ABATIS_PROTECT_STARTERS =
                64 /* protect what programs outside run or take commands from, whether it exists yet or not: settings of agents
                      and editors in the workspace, and where the home is writable what shells and sessions start with */
};

/* Below everything that the options name lie limits.timeout 30s and limits.output 1MiB: whoever embeds this waits for
 * nobody for ever. Each layer may say another value, or "none"; ABATIS_NO_DEFAULT_LIMITS leaves them out. */
ABATIS_API int abatis_policy_new(const abatis_policy_options *options, abatis_policy **out,
                                 abatis_error *err);
ABATIS_API void abatis_policy_free(abatis_policy *policy);

/* Adds to or changes one key of the policy: "filesystem.deny", "network.mode", "limits.timeout", ...
 * The keys and values are those of the policy file; `abatis run --help` lists the flags that stand for them. A path is
 * literal. One to be denied or protected that does not exist and looks like a pattern is refused: for these there is
 * "filesystem.deny_glob". */
ABATIS_API int abatis_policy_set(abatis_policy *policy, const char *key, const char *value,
                                 abatis_error *err);

/* How a value may be said where there are types, as in JSON: as a text always; the flags below, or ABATIS_E_INVALID for what is no key. */
enum {
        ABATIS_TAKES_FLAG = 1,   /* true or false */
        ABATIS_TAKES_NUMBER = 2, /* an integer */
        ABATIS_TAKES_SEVERAL = 4 /* one abatis_policy_set() for each; without it the last one counts */
};
ABATIS_API int abatis_policy_takes(const char *key);

typedef enum abatis_access { ABATIS_READ, ABATIS_WRITE, ABATIS_EXECUTE } abatis_access;

/* Answers from the policy alone: *allowed is 1 or 0, *rule (free() it) says which rule decided and why; with a NULL
 * rule no words are made, which is faster. Symbolic links are resolved, components are compared whole, a relative
 * path is refused. A path without a link in it costs one system call, whatever the number of rules. */
ABATIS_API int abatis_policy_check(abatis_policy *policy, abatis_access access, const char *path,
                                   int *allowed, char **rule, abatis_error *err);

/* Two questions without a policy, for an agent's own file tools: 1 is blocked, 0 is open. Blocked to writing are the
 * system's directories (/bin /sbin /usr/bin /usr/sbin /usr/lib /usr/libexec /etc /boot /proc /sys /dev, and /System
 * /Library /private/etc), blocked to both are `data` and `config.toml` in the agent's data directory, to reading its
 * configuration file elsewhere. data_dir and config_path may be NULL: there is none. Links are resolved in all of
 * them, of an absent path as far as it exists, and ".." is what it means. Whatever cannot be found out is blocked: a
 * relative or empty path, a loop of links, a directory that may not be looked into, a path of more than 65535 bytes.
 * Each call looks at the file system anew; who asks often makes a policy and uses abatis_policy_check(). */
ABATIS_API int abatis_is_write_blocked(const char *path, const char *data_dir);
ABATIS_API int abatis_is_read_blocked(const char *path, const char *data_dir, const char *config_path);

/* The policy as a file of its own would say it, each line with where it came from. */
ABATIS_API int abatis_policy_print(abatis_policy *policy, abatis_format format, char **out,
                                   abatis_error *err);
/* What is wrong with a policy that is valid: one line each, with the reason; *count says how many. */
ABATIS_API int abatis_policy_lint(abatis_policy *policy, char **out, int *count, abatis_error *err);
/* The value of a limit ("limits.output", ...) in bytes, milliseconds or a number; 0 when there is none. Before
 * abatis_policy_print() or abatis_sandbox_open() the ceiling has not cut it yet. */
ABATIS_API uint64_t abatis_policy_limit(const abatis_policy *policy, const char *key);
/* A hash, 64 digits and a NUL, of all that the policy says for a sandbox, values of variables included, and of what on this
 * machine a sandbox goes by: two policies with the same one make the same sandbox. (The one in the audit log tells nothing
 * of values.) */
enum { ABATIS_DIGEST_SIZE = 65 };
ABATIS_API int abatis_policy_digest(abatis_policy *policy, char out[ABATIS_DIGEST_SIZE], abatis_error *err);
/* A policy file, of another tool too, as YAML of our own format. */
ABATIS_API int abatis_policy_convert(const char *file, char **out, abatis_error *err);
/* The JSON Schema of the policy file. */
ABATIS_API int abatis_policy_schema(char **out, abatis_error *err);

/* From now on, until it changes, the project's .abatis.yaml counts like a file of the user's (is_trusted 0: no longer).
 * *path (free() it) is the file. `workspace` NULL is the working directory. */
ABATIS_API int abatis_trust(const char *workspace, int is_trusted, char **path, abatis_error *err);

/* Profiles: policy files by name, shipped ones and those in $XDG_CONFIG_HOME/abatis/profiles. */
ABATIS_API int abatis_profile_list(char **out, abatis_error *err);
ABATIS_API int abatis_profile_text(const char *name, char **out, abatis_error *err);

/* ---- trust: what a program gets that comes from somewhere ---------------------------------------------- */

/* A row of the one table of trust tiers; all of it is static. */
typedef struct abatis_tier {
        const char *name;          /* "local", "verified" or "untrusted" */
        const char *native;        /* the layers around a native program, from the outside in, in words */
        const char *module;        /* the same around a WebAssembly module */
        const char *file, *policy; /* a name and JSON for abatis_policy_options; NULL: as the caller says */
        unsigned layers;           /* for abatis_policy_options.layers */
        int may_connect;           /* 1: it has a network when it asks for one */
} abatis_tier;

/* A word that is no tier, and NULL, is "untrusted". */
ABATIS_API const abatis_tier *abatis_tier_find(const char *name);
/* Makes them the options of a policy for a program of this tier; refused when they name another policy than its own. */
ABATIS_API int abatis_tier_apply(const abatis_tier *tier, abatis_policy_options *options, abatis_error *err);
/* The table: Markdown, or an array of objects. */
ABATIS_API int abatis_tier_print(abatis_format format, char **out, abatis_error *err);

/* ---- host: what this machine can enforce ------------------------------------------------------------- */

typedef struct abatis_host abatis_host;

/* Tries every mechanism for real: takes a few milliseconds. */
ABATIS_API int abatis_host_probe(abatis_host **out, abatis_error *err);
ABATIS_API void abatis_host_free(abatis_host *host);
ABATIS_API int abatis_host_print(const abatis_host *host, abatis_format format, char **out,
                                 abatis_error *err);
/* 1 when this machine can hold the default policy, else 0. */
ABATIS_API int abatis_host_is_ready(const abatis_host *host);

/* ---- sandbox: a policy compiled for this machine, with its resources open ----------------------------- */

typedef struct abatis_sandbox abatis_sandbox;
typedef struct abatis_job abatis_job;

typedef struct abatis_sandbox_options {
        size_t size;     /* sizeof(abatis_sandbox_options) */
        int best_effort; /* 1: leave out what cannot be enforced here and say so in plan and result */
        /* One that abatis_job_prepare() has begun, to be launched in this sandbox: what it has found out about this machine is not
         * tried again, and what its launch needs is made while it is not ready yet. Or NULL. */
        abatis_job *prepared;
        /* Who enforces: "native", "bwrap", "seatbelt", "appcontainer", "none" or "auto", which is also "": the first of them that can, and never
         * "none". It is set as the policy's key `backend`. NULL: as the policy says. */
        const char *backend;
        /* How many jobs are begun ahead, so that the next start finds its namespaces and mounts made and costs little more
         * than a spawn. They, and a process that begins them, are children of the host process until the sandbox is freed; wait() and
         * waitpid() do not report them, unless with __WALL. 0 is one, from the second job on; -1 is none, and no such process.
         * There is neither with `prepared`. */
        int spares;
} abatis_sandbox_options;

/* Compiles without opening anything: what `abatis explain` prints. `host` may be NULL: probed as for a sandbox. */
ABATIS_API int abatis_explain(abatis_policy *policy, const abatis_host *host,
                              const abatis_sandbox_options *options, abatis_format format, char **out,
                              abatis_error *err);

/* The sandbox keeps its own hold on the policy; do not change it while one is open. */
ABATIS_API int abatis_sandbox_open(abatis_policy *policy, const abatis_sandbox_options *options,
                                   abatis_sandbox **out, abatis_error *err);
/* Who enforces its policy: "native", "bwrap", ... or, if somebody has asked for that, "none". */
ABATIS_API const char *abatis_sandbox_backend(const abatis_sandbox *sandbox);
/* Every job of the sandbox must have been finished. A shared session ends here, with all processes in it. */
ABATIS_API void abatis_sandbox_free(abatis_sandbox *sandbox);

/* ---- job: one command --------------------------------------------------------------------------------- */

typedef struct abatis_result abatis_result;

enum {
        ABATIS_CAPTURE_NONE = 0,
        ABATIS_CAPTURE = 1, /* stdout and stderr are collected, each by itself */
        ABATIS_CAPTURE_MERGED =
                2 /* both are one, in the order in which it was written: it is collected as stdout */
};

/* With network.mode list: something that a command has connected to, or wanted to. */
typedef struct abatis_connection {
        size_t size; /* how much of what follows is filled in; of one that is asked for: sizeof(abatis_connection), set before */
        char verdict
                [8]; /* "opened", "closed", "refused" or "failed": allowed, and nobody there; "ended" of no connection:
                              the process that makes them is gone, and with it the sandbox's network */
        char transport[4]; /* "tcp" or "udp"; "" of a name that was asked for */
        double time;       /* of the verdict, in seconds since 1970 */
        uint64_t
                number; /* of the connection in its job, from 1; 0: a name that was asked for and does not exist there */
        char name[256];   /* that was asked for; "" if it was an address */
        char address[48]; /* that was connected to, outside, or of which a connection was refused; or "" */
        unsigned port;
        uint64_t sent, received; /* bytes, as the command sees it */
        char rule[192];          /* the entry of network.connect that allows it, as far as it fits; or "" */
        char problem[192];       /* why not, in words; or "" */
        char direction
                [4]; /* "out"; "in" of one from the host to a port of network.bind, whose address is then
                                    that of who has come, and whose rule is the port */
        int pid;     /* of the process in the sandbox, as that counts them; 0: not found in time */
        char program[192]; /* the file that it runs, as far as it fits; or "" */
        uint64_t
                count; /* how many it stands for: the same that is refused again and again is told together */
} abatis_connection;

typedef struct abatis_job_options {
        size_t size; /* sizeof(abatis_job_options) */
        const char *const *
                argv; /* NULL-terminated; argv[0] is searched in PATH when it has no slash, and is of cwd when it is a
                                    relative path */
        const char *const *envp; /* NULL-terminated, filtered by the policy; NULL is the host's environment */
        const char *cwd; /* absolute; NULL is the working directory if it lies in view, else the workspace */
        int capture; /* ABATIS_CAPTURE_*. Of an output larger than limits.output (1 MiB if nobody says anything)
                            the beginning and the end are kept, half and half, with "… N bytes omitted …" between
                            them; the rest is read and counted, so that the command never waits. Without capture
                            nothing is kept: the default limit then means nothing, one that was set is refused.
                            Of what is passed on nothing is kept either: it is cut by a limit that was set only */
        int stdin_fd;             /* borrowed during the call; -1 is /dev/null */
        int stdout_fd, stderr_fd; /* borrowed; without capture: the command's. With capture: -1, or where the
                                     bytes are passed on to instead of being kept: the same ones, the end when
                                     there is no more */
        const void *stdin_data;   /* what the command reads, copied; NULL: stdin_fd counts */
        size_t stdin_length;
        /* With capture: called by abatis_job_advance() and abatis_job_finish() for all bytes as they come, whatever
         * the limit; `descriptor` is 1 or 2. It must not call the library about this job. */
        void (*on_output)(void *user, int descriptor, const char *bytes, size_t length);
        void *user;
        int terminal; /* 1: the command has a terminal of its own as stdin, stdout and stderr. What comes from
                         stdin_fd, which must stay open until the end, is typed into it; what it shows is stdout,
                         and goes to stdout_fd at once or is kept with capture */
        unsigned rows, columns; /* of the terminal; 0 is not known */
        const char *context;    /* what the audit log shall say about it, an agent's session say; or NULL */
        /* Called as on_output, with the same `user`, for each verdict of network.mode list as it comes. */
        void (*on_connection)(void *user, const abatis_connection *connection);
} abatis_job_options;

/* Starts with stdin, stdout and stderr of the host process and no capture. */
#define ABATIS_JOB_OPTIONS_INIT                                                                         \
        {                                                                                               \
                sizeof(abatis_job_options), NULL, NULL, NULL, 0, 0, 1, 2, NULL, 0, NULL, NULL, 0, 0, 0, \
                        NULL, NULL                                                                      \
        }

/* The job belongs to the process, not to the thread: any thread may go on with it, and the one that started it may end.
 * When the process ends, however it does, the whole tree of the job ends too, within a second. */
ABATIS_API int abatis_job_start(abatis_sandbox *sandbox, const abatis_job_options *options, abatis_job **out,
                                abatis_error *err);
/* The same in two parts, for whoever has no sandbox yet: the first begins what every sandbox needs (namespaces, private
 * directories) while the caller still puts the policy together; nothing of the command runs before the second. Until
 * then what the options point to must stay (so must the host's environment, where that is the command's), and copies of
 * all descriptors of the host process are held open. The job has the ids and umask of the time it was prepared, and the
 * mounts of a moment between that and its launch. After a failed launch, as after a change of mind, the job must be
 * finished; there is no result then. */
ABATIS_API int abatis_job_prepare(const abatis_job_options *options, abatis_job **out, abatis_error *err);
ABATIS_API int abatis_job_launch(abatis_job *job, abatis_sandbox *sandbox, abatis_error *err);
/* Readable (POLLIN) when abatis_job_advance() has something to do. Owned by the job; the same from launch to finish. Take
 * it out of an epoll set before abatis_job_finish(): closing it is not enough, since a process of another job that began
 * meanwhile may hold a copy for a moment. */
ABATIS_API int abatis_job_fd(const abatis_job *job);
/* Does what can be done without blocking; *done is 1 when the whole process tree is gone. (Of a job that was prepared its empty
 * sandbox may still be there: abatis_job_finish() waits for that, a fraction of a millisecond.) */
ABATIS_API int abatis_job_advance(abatis_job *job, int *done, abatis_error *err);
/* Sends a signal to the command's process group; SIGKILL ends the whole tree. */
ABATIS_API int abatis_job_signal(abatis_job *job, int signal_number, abatis_error *err);
/* Asks the command to end (SIGTERM), and a second later kills what is left of its tree, as at the end of limits.timeout.
 * Does not wait: go on advancing until done. The result is then that of a command which was cancelled, whatever its exit
 * code or signal. Harmless before the launch, when called again, at the end of the time, and after the command's end. */
ABATIS_API void abatis_job_cancel(abatis_job *job);
/* The terminal of the command has a new size, and the command hears of it. */
ABATIS_API void abatis_job_resize(abatis_job *job, unsigned rows, unsigned columns);
/* Kills what is still running, frees the job, gives the result. With out == NULL the result is dropped.
 * Fails with ABATIS_E_NOT_FOUND, _NOT_EXECUTABLE or _SYSTEM when the command never started, with _INVALID when it
 * was never launched, and with _NO_RESULT when it ran and its end could not be found out or written down. */
ABATIS_API int abatis_job_finish(abatis_job *job, abatis_result **out, abatis_error *err);

/* Start, advance until done, finish. */
ABATIS_API int abatis_run(abatis_sandbox *sandbox, const abatis_job_options *options, abatis_result **out,
                          abatis_error *err);

/* ---- result ------------------------------------------------------------------------------------------- */

ABATIS_API void abatis_result_free(abatis_result *result);
ABATIS_API int abatis_result_exit_code(const abatis_result *result); /* -1 when a signal ended the command */
ABATIS_API int abatis_result_signal(const abatis_result *result);    /* 0 when it exited by itself */
ABATIS_API int abatis_result_timed_out(const abatis_result *result);
/* 1 when abatis_job_cancel() came before the end, and before the end of the time. */
ABATIS_API int abatis_result_cancelled(const abatis_result *result);
/* The key of the limit that ended the command, "limits.timeout" or "limits.memory", say; NULL when none is known to have. */
ABATIS_API const char *abatis_result_limit(const abatis_result *result);
ABATIS_API int abatis_result_truncated(const abatis_result *result);
ABATIS_API double abatis_result_duration_ms(const abatis_result *result);
/* Bytes collected with capture; valid until the result is freed; a NUL follows the last byte. */
ABATIS_API const char *abatis_result_stdout(const abatis_result *result, size_t *length);
ABATIS_API const char *abatis_result_stderr(const abatis_result *result, size_t *length);
/* How many bytes there were, kept or not. */
ABATIS_API uint64_t abatis_result_stdout_bytes(const abatis_result *result);
ABATIS_API uint64_t abatis_result_stderr_bytes(const abatis_result *result);
/* The last verdict on each connection, in the order in which they began; 4096 are kept, and 2048 that were refused. 0 when there is no such one. out->size says
 * how much there is room for. */
ABATIS_API int abatis_result_connection(const abatis_result *result, size_t index, abatis_connection *out);
/* What the command left and must not, by index: 0 when there is none. It was at `path` and is now at `kept_as`, or, when that is
 * NULL, was removed. Both are the result's. */
ABATIS_API int abatis_result_set_aside(const abatis_result *result, size_t index, const char **path,
                                       const char **kept_as);
/* The result object as one line of JSON. */
ABATIS_API int abatis_result_print(const abatis_result *result, char **out, abatis_error *err);
/* The same in pieces, so that it is never in memory as a whole: `write` gets one after the other and returns 0, or
 * anything else to end this, which then fails with ABATIS_E_SYSTEM. */
ABATIS_API int abatis_result_write(const abatis_result *result,
                                   int (*write)(void *user, const char *bytes, size_t length), void *user,
                                   abatis_error *err);

/* ---- skill: a WebAssembly module as a command --------------------------------------------------------- */

typedef struct abatis_skill abatis_skill;

/* What a module may ask for only where this is said. */
enum { ABATIS_SKILL_64_BIT = 1, ABATIS_SKILL_SHARED = 2, ABATIS_SKILL_MEMORIES = 4 /* more than one */ };

typedef struct abatis_skill_options {
        size_t size; /* sizeof(abatis_skill_options) */
        const char *
                file; /* a module; else an installed skill ("hello"), or, if it is no such name, a package's directory ("./hello") */
        const char *
                tier; /* as for abatis_tier_find(); of an installed skill NULL is what it was installed as, and less can be said */
        const char *
                engine; /* "native", "wazero", "wasmtime", "wazero-interpreter", "iwasm", "wasmedge" or "node"; NULL and "auto" are the best that
                                  is in PATH */
        const char *const *
                imports; /* what it may import besides WASI's functions, "MODULE.NAME" or "MODULE.*"; NULL-terminated, or NULL */
        unsigned allows; /* ABATIS_SKILL_* */
        int compiles; /* 1: an engine that can compiles it before its first run, in a sandbox of its own, which may take seconds; 0: only
                            what was compiled before is used */
} abatis_skill_options;

/* Reads the module. One that is damaged, imports what is not allowed, or is no command is ABATIS_E_INVALID. */
ABATIS_API int abatis_skill_open(const abatis_skill_options *options, abatis_skill **out, abatis_error *err);
ABATIS_API void abatis_skill_free(abatis_skill *skill);
/* Makes them the options of its policy: of its tier, and the preset "skill", with what an installed one asks for, where they name none. What they point to then is the
 * skill's, until that is freed. */
ABATIS_API int abatis_skill_apply(abatis_skill *skill, abatis_policy_options *options, abatis_error *err);
/* The command that runs it in a sandbox of the policy, with "/" as its working directory. What the policy lets be read and written
 * are the directories that the module has, by the same names, and the workspace, where it lies in one of them, is "." to it. Its
 * variables are those that the policy passes of `envp` (NULL: the host's). Its memory has at most what limits.memory leaves beside the engine. What the engine needs is added to the policy, which must
 * not be changed after that. `arguments`, NULL-terminated or NULL, do not have the module's name. *argv is the skill's, until that is freed; there is one command in a skill. */
ABATIS_API int abatis_skill_command(abatis_skill *skill, abatis_policy *policy, const char *const *arguments,
                                    const char *const *envp, const char *const **argv, abatis_error *err);
/* The same and abatis_run(): options->argv are the module's arguments, or NULL. */
ABATIS_API int abatis_skill_run(abatis_skill *skill, abatis_policy *policy, const abatis_job_options *options,
                                abatis_result **out, abatis_error *err);
/* The engines: name, file or why there is none, and what executable memory it needs. */
ABATIS_API int abatis_skill_engines(abatis_format format, char **out, abatis_error *err);

/* Packages: a module with a manifest, installed for the user. */

/* Where a skill is named, this is an installed one ("hello"), or, if it is no such name, the directory of a package ("./hello"). */

/* The installed ones: a line each, or an array of objects with "name", "version", "description", "tier", "state" ("ok" or "changed") and the
 * schemas "input" and "output". */
ABATIS_API int abatis_skill_list(abatis_format format, char **out, abatis_error *err);
/* What it says of itself (a directory's "state" is "not installed"), what its module imports and how much memory that may have, and which policy it asks for. */
ABATIS_API int abatis_skill_show(const char *skill, abatis_format format, char **out, abatis_error *err);
/* What is wrong with a package's directory, or with a module: one line each; *count says how many. */
ABATIS_API int abatis_skill_lint(const char *path, char **out, int *count, abatis_error *err);

typedef struct abatis_skill_package_options {
        size_t size;           /* sizeof(abatis_skill_package_options) */
        const char *directory; /* of the package */
        const char *
                tier; /* what it gets: "local" or "untrusted"; NULL: as it asks, where that is untrusted, or verified and signed */
        int is_forced;       /* 1: another one of its name is replaced */
        const char *program; /* the caller's own executable, beside which abatis-verify may lie, or NULL */
} abatis_skill_package_options;

/* *out says in one line what was done. */
ABATIS_API int abatis_skill_install(const abatis_skill_package_options *options, char **out,
                                    abatis_error *err);
ABATIS_API int abatis_skill_remove(const char *name, abatis_error *err);

/* ---- audit: what was run -------------------------------------------------------------------------------- */

/* Every launch of a job is written down, unless the policy says `audit: off`: before the command starts, or it does not;
 * when it was let go; when it ended or could not be started after all. abatis_job_launch() and abatis_job_finish() fail
 * when that cannot be done. docs/AUDIT.md has the format. */

/* Writes down a command that was not run, because abatis_sandbox_open() or the caller himself refused it. Of the options,
 * argv, envp, cwd and context count. Does nothing where the policy has no log. */
ABATIS_API int abatis_audit_refused(abatis_policy *policy, const abatis_job_options *options,
                                    const abatis_error *why, abatis_error *err);

typedef struct abatis_audit_query {
        size_t size; /* sizeof(abatis_audit_query) */
        const char *
                file; /* NULL is the usual one, $XDG_STATE_HOME/abatis/audit.jsonl; older parts of it (FILE.1, ...) are read too */
        const char *id; /* one job: its id, or as much of it as no other begins with; NULL is all */
        const char *
                since; /* "2h", "7d": so long ago; or a time, "2026-11-15T10:00:00Z" or "2026-11-15"; NULL is ever */
        const char *until; /* the same; NULL is now */
        const char *
                command; /* a pattern with * and ? for the program, with or without its path, or for the whole line */
        const char *
                verdict; /* "ok", "failed", "refused", "timeout", "limit" or "running" (that is: no end is recorded) */
        uint64_t limit; /* no more than the last so many jobs; 0 is all */
} abatis_audit_query;

/* Whether the log is as it was written. *out says, one line each, what is wrong and where, and then what there is; *faults
 * is how many of the lines say that something was edited, removed or moved. `file` as in the query. */
ABATIS_API int abatis_audit_verify(const char *file, char **out, int *faults, abatis_error *err);
/* One line for each job; as JSON, one object a line. Lines of the log that are no records are named at the end. */
ABATIS_API int abatis_audit_list(const abatis_audit_query *query, abatis_format format, char **out,
                                 abatis_error *err);
/* The job of query->id with all of its records; as JSON, the records as they stand in the log. */
ABATIS_API int abatis_audit_show(const abatis_audit_query *query, abatis_format format, char **out,
                                 abatis_error *err);
ABATIS_API int abatis_audit_stats(const abatis_audit_query *query, abatis_format format, char **out,
                                  abatis_error *err);
/* A page of HTML for people: charts and tables, nothing outside of it is needed. */
ABATIS_API int abatis_audit_report(const abatis_audit_query *query, char **out, abatis_error *err);
/* Statements for SQLite that make the tables `jobs` and `events`. */
ABATIS_API int abatis_audit_sql(const abatis_audit_query *query, char **out, abatis_error *err);

#ifdef __cplusplus
}
#endif

#endif
