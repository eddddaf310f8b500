/* limits.c: how many connections there may be, and how much they may pass, of TCP and of UDP together. */
#define _GNU_SOURCE
#include <stdio.h>

#include "net/relay.h"

void limits_tell_traffic(const struct relay *relay, char out[RELAY_TEXT_SIZE])
{
        snprintf(out, RELAY_TEXT_SIZE,
                 "limits.traffic: all %llu bytes have passed; to allow more: --traffic SIZE",
                 (unsigned long long)relay->settings.most_bytes);
}

bool limits_begin(struct relay *relay, char out[RELAY_TEXT_SIZE])
{
        struct limits *limits = &relay->limits;
        const struct relay_settings *settings = &relay->settings;

        if (settings->most_streams && limits->count > settings->most_streams)
                snprintf(out, RELAY_TEXT_SIZE,
                         "limits.connections: no more than %u at once; to allow more: --connections N",
                         settings->most_streams);
        else if (!allowance_of(&limits->allowance, 1))
                limits_tell_traffic(relay, out);
        else if (!rate_take(&limits->rate, loop_now(&relay->loop), settings->most_streams_a_second))
                snprintf(out, RELAY_TEXT_SIZE,
                         "limits.connections_per_second: no more than %u in a second; to allow more: "
                         "--connections-per-second N",
                         settings->most_streams_a_second);
        else
                return true;
        return false;
}
