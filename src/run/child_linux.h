/* child_linux.h: what init and the command do between clone and exec: loops over prepared steps. */
#ifndef RUN_CHILD_LINUX_H
#define RUN_CHILD_LINUX_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/landlock_linux.h"

enum child_op {
        /* init */
        CHILD_MAP_IDS,     /* value: uid map in path, gid map in target */
        CHILD_PRIVATE,     /* no mount event comes in or goes out */
        CHILD_STAGE,       /* tmpfs at path */
        CHILD_MAKE_DIR,    /* path, relative to the stage; value: mode */
        CHILD_MAKE_FILE,   /* path, relative to the stage */
        CHILD_MAKE_LINK,   /* path, relative to the stage, to target */
        CHILD_GRAB,        /* slot: a detached copy of the tree at path; value: mount attributes to add */
        CHILD_GRAB_STAGED, /* slot: the same of path, relative to the stage */
        CHILD_START,       /* the command starts its own steps beside init's */
        CHILD_READ_ONLY,   /* every mount gets the attributes in value */
        CHILD_PLACE,       /* what is in the slot appears at path */
        CHILD_COVER,       /* target, relative to the stage, appears at path */
        CHILD_BIND,        /* path appears at path again; value: mount attributes to add */
        CHILD_BIND_FILE,   /* target appears at path */
        CHILD_TERMINALS,   /* devpts at path */
        CHILD_PROC,        /* proc at path */
        CHILD_PIVOT,       /* path becomes the root */
        /* command */
        CHILD_STDIO,
        CHILD_SESSION,
        CHILD_IPC,
        CHILD_RLIMIT, /* slot: resource; value: limit */
        CHILD_PRIVILEGES,
        CHILD_LANDLOCK,
        CHILD_SECCOMP,
        CHILD_WAIT, /* until init is done */
        CHILD_CHDIR,
        CHILD_DESCRIPTORS,
        CHILD_SIGNALS,
        CHILD_EXEC,
};

struct child_step {
        enum child_op op;
        unsigned slot;
        const char *path, *target; /* borrowed */
        uint64_t value;
        size_t plan_step; /* for the report */
};

struct child_rule {
        uint64_t allowed;
        int fd;             /* opened by the parent, or -1 */
        const char *staged; /* borrowed: name on the stage when fd is -1 */
        /* With a list: not the directory gets the rights but each of its entries, those named here excepted. */
        const char *const *except; /* owned by the resources, NULL-terminated */
};

/* Prepared once for a sandbox, read-only afterwards. */
struct child_plan {
        const struct child_step *init_steps, *command_steps;
        size_t init_count, command_count;
        uint64_t namespaces; /* clone flags */
        bool keeps_masks;    /* init watches its mounts and puts back what is lost */
        struct ll_ruleset ruleset;
        size_t ruleset_size;
        const struct child_rule *rules;
        size_t rule_count;
        struct sock_fprog filter;
};

enum { CHILD_STACK_SIZE = 32 * 1024 };

enum child_phase { PHASE_SETUP, PHASE_READY, PHASE_FAILED };

/* One launch. Init and the command share the parent's memory and write their reports here. */
struct child_job {
        const struct child_plan *plan;
        const char *program, *cwd, *fallback_cwd; /* borrowed */
        const char *const *argv, *const *envp;    /* borrowed, NULL-terminated */
        int stdio[3];
        int host_pidfd;      /* readable when the host process is gone */
        char *command_stack; /* its end */
        int *slots;          /* detached mounts, by slot */
        int stage;           /* descriptor of the stage's root */
        int command;         /* the command's PID as init sees it */

        int phase;       /* enum child_phase, a futex */
        bool has_failed; /* a step failed; what follows says which */
        enum child_op failed_op;
        size_t failed_step; /* of the plan */
        const char *failed_path;
        int failed_errno;
        bool has_status; /* the command ended and status is its wait status */
        int status;
};

/* The entry of PID 1; does not return. */
void child_init(void *job);

#endif
