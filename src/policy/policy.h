/* policy.h: the model: what may be read, written, executed, connected to, and the limits. Plain data. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/glob.h"
#include "policy/keys.h"

enum rule_kind { RULE_READ, RULE_WRITE, RULE_EXECUTE, RULE_DENY, RULE_PROTECT };
enum { RULE_KINDS = RULE_PROTECT + 1 };

struct rule {
        enum rule_kind kind;
        char *path;              /* owned: clean, as written; or the pattern */
        struct path_facts facts; /* what it was when the rule was made */
        struct glob *glob;       /* owned: of a pattern, where facts.real is NULL; NULL for a path */
        const char *origin;      /* static or the policy's: which preset, file and line, or key made it */
        bool is_asked; /* by a file or a flag, not by a preset or profile: a ceiling refuses it instead of cutting it */
        bool covers_later; /* holds for what appears at the path later; a preset's secrets hold for what is there */
};

enum network_mode { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_ALLOW, NETWORK_LIST };

static inline bool network_has_unix_sockets(enum network_mode mode)
{
        return mode == NETWORK_UNIX_ONLY || mode == NETWORK_ALLOW;
}

enum limit {
        LIMIT_TIMEOUT,         /* milliseconds */
        LIMIT_OUTPUT,          /* bytes, each of stdout and stderr */
        LIMIT_OPEN_FILES,      /* each process */
        LIMIT_FILE_SIZE,       /* bytes, each file */
        LIMIT_PROCESSES,       /* the tree */
        LIMIT_MEMORY,          /* bytes, the tree */
        LIMIT_CPU,             /* milliseconds, the tree */
        LIMIT_WRITTEN,         /* bytes, the tree */
        LIMIT_CONNECTIONS,     /* at once, the tree */
        LIMIT_CONNECTION_RATE, /* new ones in a second, the tree */
        LIMIT_TRAFFIC,         /* bytes both ways, the tree */
        LIMIT_COUNT
};

/* Where it is written down what was run. */
struct audit_choice {
        bool is_off;
        bool is_synced;
        bool is_exposed;     /* the command could write where it is, so its directory is protected */
        char *log;           /* owned: absolute; NULL is the usual place, */
        char *usual;         /* owned: which is here once the policy is finished */
        uint64_t size, keep; /* of one file; of older ones; 0: the log's own */
};

/* Where a value that is no rule came from. */
struct note {
        enum key_id key;
        char *value;        /* owned: of a list's item, else NULL */
        const char *origin; /* static or the policy's */
        bool is_asked;      /* as in a rule */
};

/* Where there is a list of commands: a file that can be started, or that is needed to start one. */
enum startable_kind {
        STARTABLE_LISTED,
        STARTABLE_INTERPRETER, /* of a script that can be started; can be started too */
        STARTABLE_LOADER,      /* of a program that can be started; cannot be started by itself */
};

struct startable {
        enum startable_kind kind;
        char *path;   /* owned: real */
        char *reason; /* owned: in words */
        bool has_names; /* it was listed by another name than its own: busybox, which is all of its names, say */
        bool is_copied; /* the command gets a copy, since the file could be changed through another of its names */
};

struct abatis_policy {
        const char *preset; /* static; NULL when there is none below what files say */
        char *workspace;    /* owned: real */
        char *program;      /* owned: real; what the command must not replace, or NULL */
        char *called;       /* owned: the absolute path by which that was called, or NULL */
        char *homes[2];     /* owned, real: $HOME and the account's, when they differ; NULL when unknown */
        char *data;         /* owned: real, or NULL */
        struct rule *rules; /* owned; whoever changes them calls policy_changed() */
        size_t rule_count, rule_capacity;
        struct rule_index *index; /* owned: made when the first question is asked, NULL after a change */
        struct strings connect, bind, unix_sockets; /* exceptions to the network mode, as written */
        struct strings socket_names,
                socket_places;        /* of unix_sockets, once the policy is finished: clean, and real */
        struct strings commands;      /* allow-list of executables; empty is all */
        struct startable *startables; /* owned: what the list means, once the policy is finished */
        size_t startable_count;
        struct strings
                leftovers; /* what leads git to other programs, and could be made by the command: it must not be there
                                       after it, unless it was protected; paths */
        struct strings libraries;   /* with a list: directories whose files can be mapped as code; real */
        struct strings environment; /* NAME (passed although it looks secret) or NAME=VALUE */
        struct strings
                environment_plain; /* names that are passed unless they look secret, where not all are */
        struct strings environment_denied; /* names, with * for any characters, that are never passed */
        uint64_t limits[LIMIT_COUNT];      /* 0 is none */
        struct audit_choice audit;
        struct strings origins; /* what rules and notes call their origins */
        struct note *notes;     /* owned */
        size_t note_count;
        struct strings sources;        /* the files that it was made from, as they were called */
        struct abatis_policy *ceiling; /* owned: what this policy must stay below, or NULL */
        unsigned references;
        enum backend_kind backend;
        enum network_mode network;
        enum { CHECK_WITH_LIST, CHECK_NEVER, CHECK_ALWAYS } argument_check;
        bool has[KEY_COUNT]; /* which keys something was said of; matters in a ceiling and in what is extended */
        bool reads_all, executes_all;
        bool has_private_tmp;
        bool reaches_control_sockets; /* may talk to docker, D-Bus and the like when unix sockets are allowed */
        bool passes_named_only;       /* of the environment, nothing but what the two lists name */
        bool passes_any_name;         /* in a list: what TLS and HTTP name need not be who was asked for */
        bool has_no_loopback;         /* where the network is denied: then there are no sockets but pairs */
        bool forbids_forks;
        bool has_few_calls;          /* no system calls but those of a list */
        bool forbids_new_code;       /* what can be written is never executed */
        bool protects_starters;      /* what programs outside run, or take commands from */
        bool shares_session;         /* commands of one sandbox have /tmp and processes in common */
        bool is_finished;            /* policy_finish() has seen to everything since the last change */
        bool denies_control_sockets; /* it has seen to that */
        bool is_resolved;            /* the list of commands, and nothing was said since */
};

/* Resolves the path and adds a rule; a path that cannot be examined is an error. */
int policy_add_rule(abatis_policy *policy, enum rule_kind kind, const char *path, const char *origin,
                    abatis_error *err);
/* The same for a clean path without a link in it that the caller has just examined. */
int policy_add_examined(abatis_policy *policy, enum rule_kind kind, const char *path, enum path_kind found,
                        const char *origin, abatis_error *err);
/* The same for a pattern, which can only deny or protect. Links in what comes before its first magic character are
 * followed now, as those of a path are. */
int policy_add_glob(abatis_policy *policy, enum rule_kind kind, const char *pattern, const char *origin,
                    abatis_error *err);
/* True when the rule speaks of this resolved path. */
bool rule_holds_for(const struct rule *rule, const char *real);
/* Adds what follows from the whole and refuses what contradicts itself; to be called after the last change, harmless
 * to call again. */
int policy_finish(abatis_policy *policy, abatis_error *err);
/* A policy that allows nothing, for this workspace and user. */
int policy_new_empty(const abatis_policy_options *options, abatis_policy **out, abatis_error *err);
void rule_done(struct rule *rule);
/* The same rule of another policy. */
int policy_add_copy(abatis_policy *policy, const struct rule *rule, const char *origin, abatis_error *err);
/* A link on the way to the rule's path, out of the workspace, that an earlier command or whoever wrote the code may have
 * planted; or NULL. */
const char *policy_find_planted(const abatis_policy *policy, const struct rule *rule);
/* Takes off those of the rules from this one on that add nothing to a rule before them. */
void policy_drop_repeated(abatis_policy *policy, size_t first);
/* Takes the last rule off again. */
void policy_drop_last_rule(abatis_policy *policy);
/* A copy of the text that lives as long as the policy, or NULL. */
const char *policy_intern(abatis_policy *policy, const char *text);
int policy_note(abatis_policy *policy, enum key_id key, const char *value, const char *origin, bool is_asked,
                abatis_error *err);
/* The last note on a key, and for a list on this item of it; NULL when nobody said anything. */
const struct note *policy_find_note(const abatis_policy *policy, enum key_id key, const char *value);
/* To be called with every change to rules or to what policy_finish() derives some from. */
void policy_changed(abatis_policy *policy);
abatis_policy *policy_share(abatis_policy *policy);
/* The lowest layer, under all that somebody says: limits for whoever thought of none. */
int policy_set_default_limits(abatis_policy *policy, abatis_error *err);
/* True when somebody said what this limit is, or that there is none. */
bool policy_says_limit(const abatis_policy *policy, enum limit limit);
/* What the last note says, or who speaks where there is none: the preset. */
const char *policy_origin(const abatis_policy *policy, enum key_id key, const char *value);

/* set.c: one value of one key. */
struct setting {
        enum key_id key;
        const char *value;  /* borrowed */
        const char *origin; /* static or the policy's */
        bool is_asked;
        bool skips_absent; /* a path to be opened that does not exist is left out */
        bool is_for_now;   /* a hole holds for what exists, and one that does not exist is left out */
};
int policy_apply(abatis_policy *policy, const struct setting *setting, abatis_error *err);
/* Forgets what a key has so far, so that a list can be replaced. */
void policy_clear(abatis_policy *policy, enum key_id key);
/* Everything that may be read, or executed. */
int policy_open_all(abatis_policy *policy, enum key_id key, const char *origin, bool is_asked,
                    abatis_error *err);
struct strings *policy_list(abatis_policy *policy, enum key_id key); /* NULL when the key has none */
enum rule_kind key_rule_kind(enum key_id key);
enum limit key_limit(enum key_id key);
bool network_mode_find(const char *name, enum network_mode *out);
/* True when everything that `mode` opens is open in `most` too; a list and unix sockets have nothing in common. */
bool network_is_within(enum network_mode mode, enum network_mode most);

/* secrets.c: denies what a home has of keys, tokens and histories. */
int secrets_deny(abatis_policy *policy, const char *home, const char *origin, abatis_error *err);

/* preset.c */
bool preset_exists(const char *name);
const char *preset_origin(const char *name); /* "preset dev" */
extern const char *const preset_names[];
int preset_apply(abatis_policy *policy, const char *name, const abatis_policy_options *options,
                 abatis_error *err);
/* What programs need to start, as far as a host has it; ends with NULL. */
extern const char *const preset_system_trees[];
/* Denies what the homes, and as root the system, have of keys, tokens and histories. */
int preset_deny_secrets(abatis_policy *policy, const char *origin, abatis_error *err);
/* Opens it for reading or for executing. */
int preset_open_system(abatis_policy *policy, enum rule_kind kind, const char *origin, abatis_error *err);
/* The workspace, the homes and the caller's program, which everything else refers to. */
int preset_find_places(abatis_policy *policy, const abatis_policy_options *options, abatis_error *err);
/* The home that /etc/passwd has for this user, owned by the caller, or NULL in *out. */
int account_home(char **out, abatis_error *err);
/* Denies the sockets behind which something outside would run commands for this one. */
int preset_deny_control_sockets(abatis_policy *policy, abatis_error *err);
/* Once it is known whether /tmp is private. */
int preset_give_cache(abatis_policy *policy, abatis_error *err);

/* git.c */
enum git_treatment { GIT_IGNORED, GIT_PROTECTED, GIT_DENIED };
/* Of policy->leftovers: whether the whole policy lets the command make it. */
bool git_leftover_is_possible(const abatis_policy *policy, const char *path);
int git_add_rules(abatis_policy *policy, enum git_treatment treatment, const char *origin, abatis_error *err);

/* check.c: the rule that decides an access to a resolved path; NULL means the default, *allowed says which. */
const struct rule *policy_decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool *allowed);
/* The same as if there were no patterns, for whoever must not rely on what may turn out to be unenforceable. */
const struct rule *policy_decide_by_paths(const abatis_policy *policy, abatis_access access, const char *real,
                                          bool *allowed);
/* Whether the rules let a file be executed, as if there were no list of commands. */
bool policy_executes(const abatis_policy *policy, const char *real);

/* itself.c: keeps the command from changing what the next run depends on. */
int itself_protect(abatis_policy *policy, abatis_error *err);
/* The path, which is real, or something in it may be written. */
bool policy_may_write(const abatis_policy *policy, const char *real);
/* starters.c: what programs outside run, or take commands from, whether it exists yet or not. */
int starters_protect(abatis_policy *policy, abatis_error *err);
/* Finds the places of network.unix, and keeps the command from putting anything else there. For policy_finish(). */
int sockets_resolve(abatis_policy *policy, abatis_error *err);

/* commands.c: finds out what the list of commands means and adds what follows from it; harmless to call again. */
int commands_resolve(abatis_policy *policy, abatis_error *err);
void commands_done(abatis_policy *policy);
/* The path, owned by the caller, of the program that a command names: program_find() for this policy. */
int commands_search(const abatis_policy *policy, const char *name, const char *const *envp,
                    const char *directory, char **out, abatis_error *err);
/* The absolute path, owned by the caller, of a program that is listed by name or by path. */
int commands_locate(const abatis_policy *policy, const char *name, char **out, abatis_error *err);
/* What a resolved path can be started as, or NULL: only where there is a list. */
const struct startable *commands_find(const abatis_policy *policy, const char *real);
/* Refuses a program that is not on the list, if there is one, with ABATIS_E_NOT_EXECUTABLE. */
int commands_check(const abatis_policy *policy, const char *program, abatis_error *err);

/* arguments.c: refuses a command line that names a denied path, where the policy asks for it. */
bool arguments_are_checked(const abatis_policy *policy);
int arguments_check(const abatis_policy *policy, const char *const *argv, const char *cwd, abatis_error *err);

/* Finishes the policy and makes its index, for whoever asks more than once. */
int policy_make_index(abatis_policy *policy, abatis_error *err);

/* view.c: a path is resolved on the host. Inside, the way ends at the first link that is not there: *out is that link,
 * or the path that all of them lead to; borrowed from the facts. */
int view_find_way(const abatis_policy *policy, const struct path_facts *facts, const char **out,
                  abatis_error *err);
/* Whether the command sees what the host has there: below a private /tmp only what a rule has put there. */
bool view_shows(const abatis_policy *policy, abatis_access access, const char *real);
/* True when a new root or a private /tmp has the link that the rule was given as. */
bool view_has_link_of(const abatis_policy *policy, const struct rule *rule);
/* True when a new root has a link at the path, whatever the host has there. */
bool view_has_link_at(const abatis_policy *policy, const char *path);
/* Files of /proc that root's commands do not see; NULL-terminated. */
extern const char *const view_root_proc_files[];
/* True when this user is root and the path is one of them. */
bool view_hides_from_root(const char *path);

/* environment.c: the environment the command gets, with room for two more, and, unless NULL, the values that it does not get
 * and that nobody else should see. Owned, NULL-terminated lists of borrowed strings. */
int environment_sort(const abatis_policy *policy, const char *const *envp, const char ***passed,
                     const char ***secrets, abatis_error *err);
bool environment_is_secret(const char *name, size_t length);

/* digest.c: a hash of what the policy allows and asks for, wherever it came from; of a finished one. */
void policy_digest(const abatis_policy *policy, char out[SHA256_TEXT_SIZE]);

const char *rule_kind_name(enum rule_kind kind);
const char *network_mode_name(enum network_mode mode);
/* "" is auto. A word that is none of them is an error that lists them. */
int backend_kind_find(const char *name, enum backend_kind *out, abatis_error *err);
enum key_id limit_key_id(enum limit limit);
const char *limit_key(enum limit limit);

#endif
