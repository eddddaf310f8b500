/* relay.h: what the parts of the relay have in common. */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include "net/allow.h"
#include "net/allowance.h"
#include "net/loop.h"
#include "net/rate.h"
#include "net/resolver.h"
#include "plan/relay.h"

struct datagrams;
struct names;
struct streams;
struct who;

/* Of TCP and UDP together. */
struct limits {
        size_t count; /* of what is open */
        uint64_t last_number;
        struct allowance allowance;
        struct rate rate;
};

struct relay {
        struct loop loop;
        struct relay_settings settings;
        struct allow *allow; /* owned, as what follows: until the process ends */
        struct names *names;
        struct resolver *resolver;
        struct streams *streams;
        struct datagrams *datagrams;
        struct limits limits;
        struct watch host;
        int inside;
        int spare;                     /* a descriptor to give up where there is no other left */
        char problem[RELAY_TEXT_SIZE]; /* why it cannot start, where errno does not say it all; or "" */
        bool is_heard;                 /* the host program waits for every event */
        uint64_t
                unheard; /* events that the host program had no room for, and refusals that we had none for */
        struct timer mark; /* set while one is to be answered */
        uint64_t marks;    /* that were heard */
};

/* relay.c: tells the host program, in some milliseconds; time is filled in. What it does not read in time is counted and dropped, and not waited for until
 * the job is over. */
void relay_tell(struct relay *relay, struct relay_event *event);
/* The same of somebody: what is known of him by then is told, too. NULL: nobody. */
void relay_tell_of(struct relay *relay, struct relay_event *event, struct who *who);
/* At once, as it is. */
void relay_send(struct relay *relay, const struct relay_event *event);

/* who.c: asks whose a socket in the sandbox is, which is not waited for; its number is ours. NULL if that cannot be asked. */
struct who *who_ask(struct relay *relay, const struct who_question *question);
/* One of whom all is known already, or NULL. */
struct who *who_known(uint32_t pid, const char *program);
void who_drop(struct who *who);
/* Has the timer fire when it is known, or soon in any case; false if there is nothing to wait for. Who stops waiting leaves. */
bool who_await(struct who *who, struct timer *waiter);
void who_leave(struct who *who);
/* Waits for it, some milliseconds at most, and not often: for one whose socket is gone as soon as he has his answer. */
void who_pause(struct who *who);
/* Sends the event when it is known whose it is, or in a fifth of a second; not at once, but with others that come by then. */
void who_tell(struct relay *relay, const struct relay_event *event, struct who *who);
/* What can be told now is. */
void who_hurry(struct relay *relay);
/* Now or never. */
void who_conclude(struct relay *relay);

/* limits.c: false if one more, which is counted already, is over a limit, which `out` names then. */
bool limits_begin(struct relay *relay, char out[RELAY_TEXT_SIZE]);
/* That no more may pass. */
void limits_tell_traffic(const struct relay *relay, char out[RELAY_TEXT_SIZE]);

/* An end of a stream. */
struct peer {
        struct address address;
        uint16_t port;
};

/* inside.c: whoever waits at this listener, not blocking; or a negative errno. Where there is no descriptor left he is sent away: else
 * the kernel would tell of him again and again. */
int inside_accept(struct relay *relay, int listener, struct peer *from);
/* A socket in the sandbox's network, not blocking, or a negative errno. */
int inside_socket(struct relay *relay, enum socket_purpose purpose, const struct address *address,
                  uint16_t port);

/* names.c: names that were asked for, and the addresses that stand for them in the sandbox. */
struct name {
        char text[HOST_NAME_SIZE];
        struct address addresses[2]; /* IPv4, IPv6 */
        bool has_doors;
};
int names_new(struct names **out);
/* Finds it or makes it. NULL if there are too many. */
struct name *names_give(struct names *names, const char *text);
/* Whom an address stands for, or NULL. */
struct name *names_find(const struct names *names, const struct address *address);

/* targets.c: may it lead to this address outside? `is_named` if a name does; else an entry gives the address. False says why in `out`. */
bool targets_allow(const struct relay *relay, bool is_named, const struct address *address,
                   enum transport transport, uint16_t port, char out[RELAY_TEXT_SIZE]);

/* questions.c: answers the sandbox's DNS. 0 or a negative errno. */
int questions_start(struct relay *relay);
/* Over a stream that came in. Takes the descriptor, and who sent it, who may be NULL. */
void questions_begin(struct relay *relay, int client, struct who *who);

/* callers.c: where the sandbox has no network of its own: streams that the broker has connected to the relay. 0 or a negative errno. */
int callers_start(struct relay *relay);

/* repeats.c: what is refused again and again. True if the same was told within a second: it is counted, and told later with how often it
 * was. Else the event is to be told, by repeats_tell(), which takes who it was, or NULL. */
bool repeats_count(struct relay *relay, const struct relay_event *event);
void repeats_tell(struct relay *relay, struct relay_event *event, struct who *who);
/* Tells what is left. */
void repeats_end(struct relay *relay);

/* passers.c: tells of what is sent where nobody listens. 0 or a negative errno. */
int passers_start(struct relay *relay);
/* Tells of all that have come until now, and counts what was lost of them. */
void passers_catch_up(void);

/* doors.c: listens in the sandbox's network, for names when they are asked for and for addresses from the start. 0 or a negative errno. */
int doors_open_for_name(struct relay *relay, struct name *name);
int doors_open_for_addresses(struct relay *relay, const struct strings *entries);
/* From the start, too, where it listens only for who comes. */
int doors_await_knocks(struct relay *relay);

/* cage.c: from now on it can do only what the settings let it. 0 or a negative errno. */
int cage_close(const struct relay_settings *settings);

/* published.c: listens on the host's loopback for the sandbox. 0 or a negative errno. */
int published_start(struct relay *relay);

/* streams.c: what came in at a door, or at a published port, until it ends. */
int streams_new(struct relay *relay, struct streams **out);
/* Ends them all. */
void streams_end(struct relay *relay);
/* How far those are that are open. */
void streams_tell(const struct relay *relay);
/* Takes the descriptor. `to` is where it leads: where it came in, or what the broker has said. Whose it is is taken, too; NULL: that is asked. */
void streams_begin(struct relay *relay, int client, const struct peer *from, const struct peer *to,
                   struct who *who);
/* The same of one that came from the host, for this port of the sandbox's own loopback. */
void streams_admit(struct relay *relay, int client, const struct peer *from, uint16_t port);

/* datagrams.c: what came in at a door of UDP, and what comes back. */
int datagrams_new(struct relay *relay, struct datagrams **out);
void datagrams_end(struct relay *relay);
void datagrams_tell(const struct relay *relay);
/* Takes what waits at this door; it must stay open from then on. */
void datagrams_receive(struct relay *relay, int door, uint16_t port);
/* The entry that allows UDP to there, by whom the address stands for, or NULL. */
const char *datagrams_allowed(const struct relay *relay, const struct address *address, uint16_t port);

#endif
