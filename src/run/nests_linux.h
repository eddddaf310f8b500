/* nests_linux.h: the nests of a keeper, from the host program's side: see struct child_nest.
 *
 * There are as many as there are jobs at once, and some more. One is given back when nobody is left of its job: until then a thread of the
 * old init could take what the new one is asked. */
#ifndef RUN_NESTS_LINUX_H
#define RUN_NESTS_LINUX_H

#include <pthread.h>

#include "run/child_linux.h"

struct nest;

struct nests {
        pthread_mutex_t lock; /* a job is freed whoever else holds the keeper */
        struct nest *all, *free;
        unsigned free_count;
        int64_t looked_at;        /* when those that nobody wants were looked for, in seconds */
        unsigned long generation; /* of the keeper that they are in */
};

/* What a job knows of its own. */
struct nest_lease {
        struct nest *nest; /* borrowed; NULL: none */
        unsigned long generation;
};

void nests_init(struct nests *nests);
/* The socket to ask it through, or -1. If none is free, the keeper is asked for another, which will hear what comes before it is there. */
int nests_take(struct nests *nests, const struct child_keeper *keeper, int keeper_requests,
               struct nest_lease *out);
/* The same socket of a job's, or -1. */
int nests_socket(const struct nest_lease *lease);
/* Of more than `most` that are free, those end that nobody has wanted for some seconds. Of an earlier keeper's there is nothing left. */
void nests_give_back(struct nests *nests, const struct nest_lease *lease, unsigned most);
/* The keeper is gone. */
void nests_clear(struct nests *nests);
/* In a copy of the host program somebody may hold the lock who is not there. */
void nests_forget(struct nests *nests);
void nests_done(struct nests *nests);

#endif
