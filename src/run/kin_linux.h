/* kin_linux.h: who of all processes of this machine belongs to a job that has no PID namespace: whoever descends from its
 * init. */
#ifndef RUN_KIN_LINUX_H
#define RUN_KIN_LINUX_H

#include <stddef.h>
#include <stdint.h>

enum kin_bond {
        KIN_UNKNOWN, /* its ancestors died while they were looked for: the next look tells */
        KIN_STRANGER,
        KIN_OURS,
        KIN_GONE, /* while we looked */
};

struct kin_entry {
        unsigned pid, parent;
        uint64_t inode; /* of its directory: a number that is used again has another */
        uint64_t start;
        enum kin_bond bond;
};

struct kin {
        unsigned init;
        uint64_t start;                 /* of init: nobody of the job is older */
        struct kin_entry *now, *before; /* owned, by pid */
        size_t count, before_count, capacity, before_capacity;
        unsigned looks;
};

/* Looks again, into an open /proc. Returns 0, or a negative errno; -ESRCH when init itself is not there. */
int kin_look(struct kin *kin, int proc);
/* What was seen of one of the job since: if that is no parent of the job's, the next look asks again. */
void kin_check(struct kin *kin, unsigned pid, unsigned parent);
void kin_done(struct kin *kin);

#endif
