/* child_guard_darwin.h: the process that stands between the host program and a command: it starts the command, and outlives both until
 * nothing is left of the job. */
#ifndef RUN_CHILD_GUARD_DARWIN_H
#define RUN_CHILD_GUARD_DARWIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum launch_step {
        LAUNCH_NONE,
        LAUNCH_START, /* the process itself */
        LAUNCH_SESSION,
        LAUNCH_STREAMS,
        LAUNCH_TERMINAL,
        LAUNCH_DIRECTORY,
        LAUNCH_LIMIT,
        LAUNCH_PROFILE,
        LAUNCH_EXEC,
        LAUNCH_SWEEP, /* of the guard: what is left cannot be found */
};

enum { LAUNCH_LIMITS = 2, LAUNCH_PARAMETERS = 7 };

/* All that is done between fork and exec, prepared; all borrowed. */
struct launch {
        pid_t host;
        const char *program;
        const char *const *argv, *const *envp;
        const char *cwd, *fallback_cwd; /* the second or NULL: where to be if the first cannot be entered */
        int stdio[3];
        bool has_terminal; /* they are one */
        struct launch_limit {
                int resource;
                uint64_t most;
        } limits[LAUNCH_LIMITS];
        int limit_count;
        const char *profile; /* applied before the exec; NULL: there is none, or the program applies it */
        const char *parameters[LAUNCH_PARAMETERS];
        const char *job; /* what processes of the job are known by; NULL: nothing */
        const char *tmp; /* a directory that is removed in the end, or NULL */
};

/* What the guard tells. */
enum guard_word { GUARD_STARTED = 1, GUARD_FAILED, GUARD_ENDED, GUARD_OVER };

struct guard_report {
        int word;
        int step, error; /* of the failure: an enum launch_step, an errno */
        int status;      /* of the end, as waitpid() tells it */
        pid_t command;   /* of the start, and told by the command itself: before anything else is done */
        char why[200];   /* of a profile that was not taken */
};

/* What it is told: the number of a signal for the command's process group, or this. */
enum { GUARD_END = 0 };

/* In a process that was forked for it, with every signal blocked. `control` is its end of a socket; when the other end is closed, or
 * its host program is gone, the job ends. */
_Noreturn void guard_run(const struct launch *launch, int control);
/* Likewise, where the guard is gone: removes the job's directory. */
_Noreturn void guard_remove_tmp(const char *path);

#endif
