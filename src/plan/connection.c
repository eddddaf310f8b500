/* connection.c: what the relay tells, as the public header has it. */
#include "plan/connection.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *name_verdict(uint32_t kind)
{
        switch ((enum relay_event_kind)kind) {
        case RELAY_OPENED:
                return "opened";
        case RELAY_CLOSED:
                return "closed";
        case RELAY_REFUSED:
                return "refused";
        case RELAY_ENDED:
                return "ended";
        case RELAY_READY:
        case RELAY_FAILED:
        case RELAY_BROKEN:
        case RELAY_NEEDS:
        case RELAY_PASSING:
        case RELAY_MARKED:
        case RELAY_TOLD:
                break;
        }
        return "failed";
}

void connection_describe(const struct relay_event *event, abatis_connection *out)
{
        memset(out, 0, sizeof(*out));
        out->size = sizeof(*out);
        snprintf(out->verdict, sizeof(out->verdict), "%s", name_verdict(event->kind));
        if (event->object != RELAY_NAME && event->kind != RELAY_ENDED)
                snprintf(out->transport, sizeof(out->transport), "%s",
                         event->object == RELAY_STREAM ? "tcp" : "udp");
        snprintf(out->direction, sizeof(out->direction), "%s", event->is_inward ? "in" : "out");
        out->time = (double)event->seconds + event->microseconds / 1e6;
        out->number = event->stream;
        snprintf(out->name, sizeof(out->name), "%s", event->name);
        if (event->has_address)
                address_print(&event->address, out->address);
        out->port = event->port;
        out->sent = event->sent;
        out->received = event->received;
        out->count = event->count ? event->count : 1;
        snprintf(out->rule, sizeof(out->rule), "%s", event->rule);
        snprintf(out->problem, sizeof(out->problem), "%s", event->problem);
        out->pid = event->pid > INT_MAX ? 0 : (int)event->pid;
        snprintf(out->program, sizeof(out->program), "%s", event->program);
}

/* Whoever was compiled with an older header has room for less. */
void connection_give(const struct relay_event *event, abatis_connection *out)
{
        const size_t room = out->size;
        abatis_connection whole;

        connection_describe(event, &whole);
        if (whole.size > room)
                whole.size = room;
        memcpy(out, &whole, whole.size);
}
