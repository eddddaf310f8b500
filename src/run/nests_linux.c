/* nests_linux.c: the nests of a keeper. */
#define _GNU_SOURCE
#include "run/nests_linux.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

enum { IDLE_S = 10 };

struct nest {
        struct child_nest child;
        int requests;     /* our end; -1: it is to end */
        int64_t freed_at; /* in seconds */
        struct nest *next, *next_free;
};

void nests_init(struct nests *nests)
{
        *nests = (struct nests){ 0 };
        pthread_mutex_init(&nests->lock, NULL);
}

void nests_forget(struct nests *nests)
{
        pthread_mutex_init(&nests->lock, NULL);
}

static void drop(struct nest *nest)
{
        if (nest->requests >= 0)
                close(nest->requests);
        free(nest->child.stack);
        free(nest);
}

/* Those that were told to end, and have. */
static void drop_ended(struct nests *nests)
{
        for (struct nest **at = &nests->all; *at;) {
                struct nest *nest = *at;

                if (nest->requests >= 0 || __atomic_load_n(&nest->child.is_there, __ATOMIC_ACQUIRE)) {
                        at = &nest->next;
                        continue;
                }
                *at = nest->next;
                drop(nest);
        }
}

static struct nest *open_nest(const struct child_keeper *keeper, int keeper_requests)
{
        struct nest *nest = calloc(1, sizeof(*nest));
        int ends[2] = { -1, -1 };
        long r = -1;

        if (!nest)
                return NULL;
        nest->child.keeper = keeper;
        nest->child.is_there = 1;
        nest->child.stack = malloc(CHILD_STACK_SIZE);
        if (nest->child.stack && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) &&
            fds_above_stdio(ends) >= 0) {
                const struct child_order order = { .nest = &nest->child };

                r = child_send(keeper_requests, &order, sizeof(order), &ends[1], 1);
        }
        if (ends[1] >= 0)
                close(ends[1]);
        nest->requests = ends[0];
        if (r >= 0)
                return nest;
        drop(nest);
        return NULL;
}

/* With the lock. */
static struct nest *find(struct nests *nests, const struct child_keeper *keeper, int keeper_requests)
{
        struct nest *nest = nests->free;

        if (nest) {
                nests->free = nest->next_free;
                nests->free_count--;
                return nest;
        }
        drop_ended(nests);
        nest = open_nest(keeper, keeper_requests);
        if (nest) {
                nest->next = nests->all;
                nests->all = nest;
        }
        return nest;
}

int nests_take(struct nests *nests, const struct child_keeper *keeper, int keeper_requests,
               struct nest_lease *out)
{
        pthread_mutex_lock(&nests->lock);
        *out = (struct nest_lease){ find(nests, keeper, keeper_requests), nests->generation };
        pthread_mutex_unlock(&nests->lock);
        return nests_socket(out);
}

int nests_socket(const struct nest_lease *lease)
{
        return lease->nest ? lease->nest->requests : -1;
}

/* With the lock. Those that nobody has wanted for a while, but `most`: they come last in the list. To make one anew takes as long as to begin a
 * job. */
static void end_idle(struct nests *nests, unsigned most, int64_t now)
{
        struct nest **at = &nests->free;

        for (unsigned i = 0; i < most && *at; i++)
                at = &(*at)->next_free;
        while (*at && (*at)->freed_at > now - IDLE_S)
                at = &(*at)->next_free;
        while (*at) {
                struct nest *nest = *at;

                *at = nest->next_free;
                nests->free_count--;
                close(nest->requests);
                nest->requests = -1;
        }
        drop_ended(nests);
}

/* With the lock. */
static void put_back(struct nests *nests, struct nest *nest, unsigned most)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        nest->freed_at = now.tv_sec;
        nest->next_free = nests->free;
        nests->free = nest;
        nests->free_count++;
        if (nests->free_count > most && nests->looked_at != now.tv_sec) {
                nests->looked_at = now.tv_sec;
                end_idle(nests, most, now.tv_sec);
        }
}

void nests_give_back(struct nests *nests, const struct nest_lease *lease, unsigned most)
{
        if (!lease->nest)
                return;
        pthread_mutex_lock(&nests->lock);
        if (lease->generation == nests->generation)
                put_back(nests, lease->nest, most);
        pthread_mutex_unlock(&nests->lock);
}

void nests_clear(struct nests *nests)
{
        struct nest *next;

        pthread_mutex_lock(&nests->lock);
        for (struct nest *nest = nests->all; nest; nest = next) {
                next = nest->next;
                drop(nest);
        }
        nests->all = nests->free = NULL;
        nests->free_count = 0;
        nests->generation++;
        pthread_mutex_unlock(&nests->lock);
}

void nests_done(struct nests *nests)
{
        nests_clear(nests);
        pthread_mutex_destroy(&nests->lock);
}
