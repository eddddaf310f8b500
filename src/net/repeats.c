/* repeats.c: tells once what is refused again and again, and afterwards how often it was.
 *
 * A program that goes on sending where it may not, as one that logs does, is no reason to miss what else is refused. */
#define _GNU_SOURCE
#include <string.h>

#include "net/relay.h"

enum { PLACES = 64, PAUSE_MS = 1000 };

struct repeat {
        struct relay_event event; /* as it was told last */
        struct who *who;          /* owned; or NULL */
        int64_t until;            /* it is only counted; 0: nobody is here */
        uint64_t count;           /* since then */
};

/* Of one relay, which lasts as long as its process. */
static struct repeat repeats[PLACES];

/* A datagram has its sender's port, which tells one from another; each stream has a port of its own. */
static uint16_t sender_of(const struct relay_event *event)
{
        return event->object == RELAY_DATAGRAM ? event->client_port : 0;
}

static bool is_same(const struct relay_event *first, const struct relay_event *second)
{
        return first->object == second->object && first->port == second->port && first->pid == second->pid &&
               sender_of(first) == sender_of(second) && address_equals(&first->address, &second->address) &&
               !strcmp(first->problem, second->problem);
}

static struct repeat *find(const struct relay_event *event)
{
        uint32_t sum = 2166136261u ^ event->port ^ (uint32_t)sender_of(event) << 16 ^ event->pid;

        for (size_t i = 0; i < sizeof(event->address.bytes); i++)
                sum = (sum ^ event->address.bytes[i]) * 16777619u;
        return &repeats[(sum ^ sum >> 16) % PLACES];
}

static void tell_rest(struct relay *relay, struct repeat *repeat)
{
        struct relay_event event = repeat->event;

        event.count = repeat->count;
        if (repeat->count)
                relay_tell_of(relay, &event, repeat->who);
        who_drop(repeat->who);
        *repeat = (struct repeat){ .until = 0 };
}

bool repeats_count(struct relay *relay, const struct relay_event *event)
{
        struct repeat *repeat = find(event);

        if (!repeat->until || !is_same(&repeat->event, event) || loop_now(&relay->loop) >= repeat->until)
                return false;
        repeat->count++;
        return true;
}

void repeats_tell(struct relay *relay, struct relay_event *event, struct who *who)
{
        struct repeat *repeat = find(event);

        tell_rest(relay, repeat);
        relay_tell_of(relay, event, who);
        *repeat = (struct repeat){ .event = *event, .who = who, .until = loop_now(&relay->loop) + PAUSE_MS };
}

void repeats_end(struct relay *relay)
{
        for (size_t i = 0; i < PLACES; i++)
                tell_rest(relay, &repeats[i]);
}
