/* What every attack file shares: the shape of an attempt, its three outcomes, and small helpers. */
#ifndef ESCAPE_ATTACK_H
#define ESCAPE_ATTACK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>
#include <sys/types.h>

/* The exit status says whether the attack worked, so a refusal can never be mistaken for a success. */
enum outcome {
        SUCCEEDED = 0,
        REFUSED = 1,
        MISUSED = 2,
        UNDECIDED =
                3, /* the call went through, but only somebody outside can tell whether it had an effect */
        UNTRIABLE = 77,
};

struct attempt {
        const char *name;
        int arguments; /* how many it needs at least */
        int (*run)(char **argument);
};

/* Each table ends with a NULL name. */
extern const struct attempt read_attempts[];
extern const struct attempt write_attempts[];
extern const struct attempt tree_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt control_attempts[];
extern const struct attempt namespace_attempts[];
extern const struct attempt kernel_attempts[];
extern const struct attempt socket_attempts[];
extern const struct attempt ipc_attempts[];
extern const struct attempt terminal_attempts[];
extern const struct attempt privilege_attempts[];
extern const struct attempt survivor_attempts[];
extern const struct attempt abi_attempts[];
extern const struct attempt start_attempts[];
extern const struct attempt forged_attempts[];
extern const struct attempt calls_attempts[];
extern const struct attempt code_attempts[];

/* What a secret looks like: the runner puts it into every file that must not be read. */
#define SECRET "TOP-SECRET"

/* Prints "refused: what: ENAME" from errno. The runner demands this line: without it the attempt never
 * ran. */
int refused(const char *what);
int refused_because(const char *what, const char *why);
int untriable(const char *why);
int undecided(long result, const char *what);
int outcome_of(long result, const char *what);
/* The kernel looked at our arguments: the call itself was not filtered. Only for calls that have no
 * harmless form. */
int outcome_of_reaching(long result, const char *what, int errno_of_the_kernel);

/* Prints what it read and succeeds if the secret is in it. */
int reveal_fd(int fd);
int reveal_path(const char *path);
int reveal_bytes(const char *bytes, size_t length);

int open_flags(const char *path, int flags);
int number_of(const char *text);
mode_t mode_of(const char *text);
/* "/proc/self/fd/N" for a descriptor, in a static buffer. */
const char *magic_link(int fd);
/* Runs one attempt in a child and gives back its outcome: for calls that cannot be undone in the caller. */
int in_child(int (*run)(char **argument), char **argument);

#endif
