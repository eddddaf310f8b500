/* tree_linux.h: counts what the processes of a job use, from the /proc of their own PID namespace or the host's. */
#ifndef RUN_TREE_LINUX_H
#define RUN_TREE_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/kin_linux.h"
#include "run/unseen_linux.h"

/* One process, as the last look found it. Both numbers contain those of its children that were waited for. */
struct tree_process {
        unsigned pid;
        uint64_t start;   /* when it began: a number that is used again is another process */
        uint64_t cpu;     /* microseconds */
        uint64_t waited;  /* the part of them that is of children */
        uint64_t exact;   /* the same as cpu, where the kernel says it more exactly than in ticks */
        uint64_t written; /* bytes */
        uint64_t memory;  /* bytes */
        uint64_t size;    /* bytes of address space */
        unsigned parent, threads;
        unsigned refusals;      /* looks in a row that were not told what it writes */
        bool is_dead;           /* or about to be: it has no memory any more */
        bool has_not_executed;  /* nothing since it was forked */
        bool is_blocked;        /* it sleeps uninterruptibly, as whoever waits for a vfork does */
        bool is_twin, has_twin; /* its memory is its parent's, to whom it is counted */
};

/* What is asked for: each costs a file to be read for every process. */
struct tree_questions {
        bool cpu, memory, written;
};

struct tree_figures {
        uint64_t memory, cpu, written; /* bytes, microseconds, bytes */
        uint64_t unseen;               /* bytes that may have been written besides, by who does not tell */
        size_t processes;
};

/* What processes that nobody waits for leave behind when they vanish. */
struct tree_losses {
        uint64_t pending, lost;
};

struct tree {
        int proc;                          /* owned: /proc of the job or of the host, or -1 */
        int stage;                         /* owned: its tmpfs, or -1 */
        unsigned init;                     /* its number there */
        struct kin kin;                    /* where that is the host's: who belongs to the job */
        struct tree_process *now, *before; /* owned, by pid */
        size_t count, before_count, capacity, before_capacity;
        struct tree_losses cpu, written;
        struct unseen unseen;
};

#define TREE_INIT                       \
        {                               \
                .proc = -1, .stage = -1 \
        }

/* Descriptors of init's, by their numbers there. */
int tree_open(struct tree *tree, int init, int proc, int stage);
/* Where the job has no PID namespace. */
int tree_open_host(struct tree *tree, int init);
/* Returns 0, or a negative errno when a process cannot be counted. The command is named by its number in that /proc:
 * until its exec it has the host program's memory. */
int tree_look(struct tree *tree, unsigned command, struct tree_questions questions, struct tree_figures *out);
/* The memory of the processes of the last look, where pages that several have are counted once; slower. */
int tree_look_closely(const struct tree *tree, uint64_t *memory);
void tree_done(struct tree *tree);

/* A file of /proc/PID. Returns its length, or a negative errno; -ESRCH when the process is gone. */
ssize_t tree_read(int proc, unsigned pid, const char *name, char *out, size_t size);
/* What a file of /proc/PID says. False when it is not what it should be. */
bool tree_parse_stat(const char *text, uint64_t tick_us, struct tree_process *out);
void tree_parse_status(const char *text, struct tree_process *out);
bool tree_parse_rollup(const char *text, uint64_t *out);
bool tree_parse_io(const char *text, uint64_t *out);
/* Takes those out of the sum who share their parent's memory until they exec. */
void tree_find_twins(struct tree_process *processes, size_t count);
/* `vanished` is what those had who are gone since the last look, `grown` what others got by waiting for them. */
void tree_settle_losses(struct tree_losses *losses, uint64_t vanished, uint64_t grown);

#endif
