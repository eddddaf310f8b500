/* policy.h: the model: what may be read, written, executed, connected to, and the limits. Plain data. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/path.h"
#include "base/text.h"

enum rule_kind { RULE_READ, RULE_WRITE, RULE_EXECUTE, RULE_DENY, RULE_PROTECT };

struct rule {
        enum rule_kind kind;
        char *path;              /* owned: clean, as written */
        struct path_facts facts; /* what it was when the rule was made */
        const char *origin;      /* static: which preset or key made it */
        bool covers_later; /* holds for what appears at the path later; a preset's secrets hold for what is there */
};

enum network_mode { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_ALLOW, NETWORK_LIST };

enum limit {
        LIMIT_TIMEOUT,    /* milliseconds */
        LIMIT_OUTPUT,     /* bytes, each of stdout and stderr */
        LIMIT_OPEN_FILES, /* each process */
        LIMIT_FILE_SIZE,  /* bytes, each file */
        LIMIT_PROCESSES,  /* the tree */
        LIMIT_MEMORY,     /* bytes, the tree */
        LIMIT_CPU,        /* milliseconds, the tree */
        LIMIT_COUNT
};

struct abatis_policy {
        unsigned references;
        bool denies_control_sockets; /* policy_finish() has seen to it */
        const char *preset;          /* static */
        char *workspace;             /* owned: real */
        char *program;               /* owned: real; what the command must not replace, or NULL */
        char *homes[2];     /* owned, real: $HOME and the account's, when they differ; NULL when unknown */
        struct rule *rules; /* owned */
        size_t rule_count;
        bool reads_all, executes_all;
        bool has_private_tmp;
        bool reaches_control_sockets; /* may talk to docker, D-Bus and the like when unix sockets are allowed */
        enum network_mode network;
        struct strings connect, bind, unix_sockets; /* exceptions to the network mode, as written */
        struct strings commands;                    /* allow-list of executables; empty is all */
        struct strings environment;                 /* NAME (passed although it looks secret) or NAME=VALUE */
        uint64_t limits[LIMIT_COUNT];               /* 0 is none */
};

/* Resolves the path and adds a rule; a path that cannot be examined is an error. */
int policy_add_rule(abatis_policy *policy, enum rule_kind kind, const char *path, const char *origin,
                    abatis_error *err);
/* The same for a clean path without a link in it that the caller has just examined. */
int policy_add_examined(abatis_policy *policy, enum rule_kind kind, const char *path, enum path_kind found,
                        const char *origin, abatis_error *err);
/* Adds what follows from the whole and refuses what contradicts itself; to be called after the last change, harmless
 * to call again. */
int policy_finish(abatis_policy *policy, abatis_error *err);
abatis_policy *policy_share(abatis_policy *policy);

/* preset.c */
int preset_apply(abatis_policy *policy, const abatis_policy_options *options, abatis_error *err);
/* Denies the sockets behind which something outside would run commands for this one. */
int preset_deny_control_sockets(abatis_policy *policy, abatis_error *err);

/* git.c */
enum git_treatment { GIT_IGNORED, GIT_PROTECTED, GIT_DENIED };
int git_add_rules(abatis_policy *policy, enum git_treatment treatment, const char *origin, abatis_error *err);

/* check.c: the rule that decides an access to a resolved path; NULL means the default, *allowed says which. */
const struct rule *policy_decide(const abatis_policy *policy, abatis_access access, const char *real,
                                 bool *allowed);

/* environment.c: the environment the command gets: an owned, NULL-terminated list of borrowed strings. */
int environment_filter(const abatis_policy *policy, const char *const *envp, const char ***out,
                       abatis_error *err);
bool environment_is_secret(const char *name, size_t length);

const char *rule_kind_name(enum rule_kind kind);
const char *network_mode_name(enum network_mode mode);
const char *limit_key(enum limit limit);

#endif
