/* seen_linux.c: keeps what the relay tells of a job's connections. */
#define _GNU_SOURCE
#include "run/seen_linux.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(SEEN_MAX + SEEN_REFUSED_MAX + 1 < SEEN_PLACES, "there is always a free place");

static bool is_same(const struct relay_event *first, const struct relay_event *second)
{
        return first->object == second->object && first->port == second->port &&
               first->has_address == second->has_address && first->is_inward == second->is_inward &&
               first->pid == second->pid && address_equals(&first->address, &second->address) &&
               !strcmp(first->name, second->name) && !strcmp(first->rule, second->rule) &&
               !strcmp(first->problem, second->problem) && !strcmp(first->program, second->program);
}

static uint32_t add_bytes(uint32_t sum, const void *bytes, size_t size)
{
        const unsigned char *at = bytes;

        for (size_t i = 0; i < size; i++)
                sum = (sum ^ at[i]) * 16777619u;
        return sum;
}

/* Where it is, or where it would be. */
static uint16_t *find_stream(struct seen *seen, uint64_t stream)
{
        size_t at = stream % SEEN_PLACES;

        while (seen->streams[at] && seen->list.items[seen->streams[at] - 1].stream != stream)
                at = (at + 1) % SEEN_PLACES;
        return &seen->streams[at];
}

/* Likewise. Whoever makes many fall together makes no more of them than are kept. */
static uint16_t *find_refusal(struct seen *seen, const struct relay_event *event)
{
        uint32_t sum = add_bytes(2166136261u, event->address.bytes, sizeof(event->address.bytes));
        size_t at;

        sum = add_bytes(sum, &event->port, sizeof(event->port));
        sum = add_bytes(sum, &event->pid, sizeof(event->pid));
        sum = add_bytes(sum, event->name, strlen(event->name));
        at = (sum ^ sum >> 16) % SEEN_PLACES;
        while (seen->refusals[at] && !is_same(&seen->list.items[seen->refusals[at] - 1], event))
                at = (at + 1) % SEEN_PLACES;
        return &seen->refusals[at];
}

static bool has_room(const struct seen *seen, const struct relay_event *event)
{
        if (event->kind == RELAY_REFUSED)
                return seen->refused_count < SEEN_REFUSED_MAX;
        /* There is always room for the end. */
        return seen->list.count - seen->refused_count < SEEN_MAX + (size_t)(event->kind == RELAY_ENDED);
}

void seen_add(struct seen *seen, const struct relay_event *event)
{
        struct connections *list = &seen->list;
        const bool is_refusal = event->kind == RELAY_REFUSED && !event->sent && !event->received;
        uint16_t *stream = event->stream ? find_stream(seen, event->stream) : NULL;
        uint16_t *refusal = NULL;
        struct relay_event *items;

        if (stream && *stream) {
                const uint64_t count = list->items[*stream - 1].count;

                list->items[*stream - 1] = *event;
                list->items[*stream - 1].count = count;
                return;
        }
        if (is_refusal)
                refusal = find_refusal(seen, event);
        if (refusal && *refusal) {
                list->items[*refusal - 1].count += event->count;
                return;
        }
        items = has_room(seen, event) ? realloc(list->items, (list->count + 1) * sizeof(*items)) : NULL;
        if (!items) {
                list->omitted += event->kind == RELAY_CLOSED ? 0 : event->count;
                return;
        }
        list->items = items;
        items[list->count++] = *event;
        seen->refused_count += event->kind == RELAY_REFUSED;
        if (refusal)
                *refusal = (uint16_t)list->count;
        else if (stream)
                *stream = (uint16_t)list->count;
}

bool seen_has(struct seen *seen, const struct relay_event *event)
{
        return event->stream && *find_stream(seen, event->stream);
}

void seen_update(struct seen *seen, const struct relay_event *event)
{
        struct relay_event *item;

        if (!seen_has(seen, event))
                return;
        item = &seen->list.items[*find_stream(seen, event->stream) - 1];
        item->sent = event->sent;
        item->received = event->received;
}

void seen_done(struct seen *seen)
{
        free(seen->list.items);
        seen->list.items = NULL;
}
