/* network_linux.h: the relay of one job: a process outside the sandbox that connects for it. */
#ifndef RUN_NETWORK_LINUX_H
#define RUN_NETWORK_LINUX_H

#include <pthread.h>

#include "plan/relay.h"
#include "policy/policy.h"
#include "run/seen_linux.h"

struct network {
        int events;  /* socket: struct relay_event */
        int inside;  /* init's end of the socket to the relay, or -1 when it has it */
        int knocks;  /* likewise */
        int pidfd;   /* of the relay */
        char *stack; /* owned: of init's thread */
        /* Of a guest in a session: borrowed, the session's own. It has a copy of the events' socket, and what it hears is told to
         * nobody else, but what passes on a connection is added where that was heard of. */
        struct network *of;
        struct network *next; /* guest, guarded by the session's lock */
        pthread_mutex_t
                lock; /* of the session's own, and the rest: for an event to be taken and kept at once */
        struct network *guests; /* that are not over */
        uint32_t marks, marked; /* that were made by guests, and that the relay has answered */
        struct seen seen;
        uint64_t unheard; /* events that the relay could not tell */
        bool has_told;    /* it has told all */
        bool is_deaf;     /* nothing more will be told */
};

/* Who is told of each event as it comes. */
struct network_listener {
        void (*hear)(void *user, const struct relay_event *event);
        void *user;
};

/* Starts the relay, which waits for the sandbox's network; where that has none of its own, for the broker. With knocks the broker
 * says what is about to be connected to. */
int network_open(const abatis_policy *policy, bool is_own, bool has_knocks, struct network **out,
                 abatis_error *err);
/* Until it is ready; init must be running. */
int network_await(struct network *network, abatis_error *err);
/* Takes what the relay has told meanwhile; its end is told, too. */
void network_hear(struct network *network, const struct network_listener *listener);
/* For a guest of the session that has this one. */
int network_share(struct network *of, struct network **out, abatis_error *err);
/* The guest is gone: nobody adds to what it has heard. */
void network_leave(struct network *guest);
/* The job is over: takes all that is left to be told, and the relay ends. A guest's goes on. */
void network_conclude(struct network *network, const struct network_listener *listener);
/* Ends it. The stack is freed: init must be gone. */
void network_free(struct network *network);

#endif
