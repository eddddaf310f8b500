/* cli.h: what the verbs of the command line share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"

enum {
        EXIT_NO_RESULT = 123,
        EXIT_TIMED_OUT = 124,
        EXIT_REFUSED = 125,
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127
};

/* Which flags a verb takes besides those of the policy. */
enum verb_flags {
        TAKES_JSON = 1,
        TAKES_RESULT_FD = 2,
        TAKES_POLICY = 4,
        TAKES_BEST_EFFORT = 8,
        TAKES_STDIO = 16,
        TAKES_TEST = 32,
        TAKES_TIER = 64,
        TAKES_WRAP = 128,
        TAKES_SKILL = 256
};

struct setting {
        const char *flag, *key, *value; /* borrowed */
};

struct flags {
        abatis_policy_options policy;
        struct setting *settings; /* owned */
        size_t setting_count;
        bool has_json, is_merged, has_terminal, is_best_effort, watches_network, is_tested, wants_tiers,
                wants_help;
        bool is_agreed, is_dry, is_undone; /* of mcp-wrap */
        const char **servers;              /* owned, each is borrowed; ends with NULL, or is NULL: all */
        size_t server_count;
        bool ends_as_command; /* a signal that ended the command ends us */
        const char *tier;     /* borrowed, or NULL */
        const char *engine;   /* borrowed, or NULL */
        const char **imports; /* owned, each is borrowed; ends with NULL, or is NULL */
        size_t import_count;
        unsigned allows;     /* ABATIS_SKILL_* */
        const char *context; /* borrowed, or NULL */
        int result_fd;       /* -1: none */
        char **rest;         /* borrowed: what follows the flags */
};

/* Parses up to "--" or the first word that is no flag. Prints one line and returns EXIT_REFUSED on an error. */
int flags_parse(char **argv, unsigned takes, struct flags *out);
void flags_done(struct flags *flags);
/* The policy that the flags describe. Prints one line and returns an exit code on an error. */
int flags_make_policy(const struct flags *flags, abatis_policy **out);
/* The same without a word. */
int flags_compose(const struct flags *flags, abatis_policy **out, abatis_error *err);
/* What is said about the network on stderr. For abatis_job_options.on_connection. */
struct connection_log {
        bool is_watched; /* all of it is wanted */
        char **hints;    /* owned, never freed: what was said already */
        size_t count;
};
void connections_hear(void *log, const abatis_connection *connection);

/* The lines that every verb with a policy has in its help. */
extern const char flags_policy_help[];

/* Prints "abatis: ..." and returns the exit code that belongs to the error. */
int fail(const abatis_error *err);
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A terminal or a log must not be driven by the name of a flag or a file. */
void make_printable(char *text);
/* Writes all of it or returns EXIT_REFUSED. */
int print_text(int fd, const char *text);
int print_bytes(int fd, const char *bytes, size_t length);
/* The same on stdout, made printable. */
int print_document(char *text);

/* ---- cli_<os>.c ---- */

/* A word that may be a path in the form of this system becomes one of ours, in place. */
void read_path(char *word);

/* The file that we are, as far as the system tells it; or NULL. */
const char *own_program(void);
/* The same when a script has made us its interpreter, and the system tells the script's. */
const char *own_interpreter(void);
/* A file without a name in any directory, and the path by which a program that we become can open it. A descriptor, or -1 with
 * errno. */
enum { SCRATCH_PATH_SIZE = 32 };
int scratch_open(char path[SCRATCH_PATH_SIZE]);
/* A descriptor that is readable when one of these signals, which are blocked, has come; or -1. */
int signals_open(const sigset_t *held);
/* Takes one of them. 0 when there is none. */
int signals_take(int signals, const sigset_t *held);

/* Blocks what ends a server, each of them that is not ignored, and SIGPIPE, which is never taken. */
void serve_hold_signals(sigset_t *held);

/* Runs flags->rest, and returns the exit code. */
int run_with_flags(const struct flags *flags);
/* Runs a command whose policy is made already, in this directory, or NULL as usual. The policy is freed. */
int run_with_policy(const struct flags *flags, abatis_policy *policy, const char *const *argv,
                    const char *cwd);

/* cmd_sh.c: the policy that abatis-sh has, as the environment names it; `fallback` is a variable that may name the workspace, or NULL.
 * Prints one line and returns an exit code on an error. */
int shell_choose_policy(const char *fallback, struct flags *flags);

int cmd_run(char **argv);
int cmd_sh(char **argv);
int cmd_hook(char **argv);
int cmd_serve(char **argv);
int cmd_mcp(char **argv);
int cmd_mcp_wrap(char **argv);
int cmd_file_inside(char **argv);
int cmd_exec_request(char **argv);
int cmd_explain(char **argv);
int cmd_check(char **argv);
int cmd_doctor(char **argv);
int cmd_policy(char **argv);
int cmd_profile(char **argv);
int cmd_trust(char **argv);
int cmd_skill(char **argv);
/* The other verbs of `skill`: the word, and what follows it. */
int cmd_skill_package(const char *word, char **argv);
int cmd_audit(char **argv);

#endif
