/* client.h: one who sends requests, and what is not answered yet. */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include "server/cache.h"
#include "server/dialect.h"
#include "server/intake.h"
#include "server/outlet.h"
#include "server/task.h"

struct client {
        const struct dialect *dialect; /* borrowed */
        int in, out;
        bool owns_descriptors;   /* a socket, which is both */
        short in_said, out_said; /* poll(); of a socket, out_said is both */
        bool is_behind; /* there may be whole lines that were not answered, for want of room or time */
        bool is_gone;   /* nobody reads the replies: what runs is cancelled */
        bool is_deaf;   /* no more requests are read */
        struct intake intake;
        struct outlet outlet;
        struct task *tasks; /* owned, in the order of their arrival */
        struct client *next;
};

struct client *client_new(const struct dialect *dialect, int in, int out, bool owns_descriptors);
/* Kills what still runs. */
void client_free(struct client *client, struct cache *cache);

/* Whether there is room for the replies to more requests. */
bool client_wants_input(const struct client *client);
/* Whether there is room for events. */
bool client_wants_events(const struct client *client);
/* Something that was held back can be done now. */
bool client_has_more(const struct client *client);
/* Nothing to say, nothing to hear. */
bool client_is_finished(const struct client *client);

/* Reads, and answers what can be answered at once; the rest becomes tasks that wait. Does not take long: others wait. */
void client_hear(struct client *client, const struct server_options *options, struct cache *cache);
/* One that is not answered yet, or NULL. */
struct task *client_find_task(const struct client *client, const json_t *id);
/* A task for this line, which is a request with this id. Refused when too much waits already. */
int client_add_task(struct client *client, json_t *id, const char *session, const char *line, size_t length,
                    struct task **out, abatis_error *err);
/* Goes on with what runs, and tells what has ended, as far as there is room. */
void client_advance(struct client *client, struct cache *cache);
/* The first that waits to be started, or NULL, also when the client should read what it has first. */
struct task *client_next(const struct client *client);
/* How many of its commands run. */
unsigned client_count_running(const struct client *client);
/* When it is to be told how far something is, in milliseconds of the clock; -1: never. */
int64_t client_due(const struct client *client);
/* Nobody is there any more. */
void client_leave(struct client *client, struct cache *cache);
/* All of its tasks. */
void client_cancel(struct client *client);
void client_kill(struct client *client);

#endif
