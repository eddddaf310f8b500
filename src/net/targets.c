/* targets.c: judges the addresses outside that streams and flows lead to. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "net/local.h"
#include "net/ranges.h"
#include "net/relay.h"

bool targets_allow(const struct relay *relay, bool is_named, const struct address *address,
                   enum transport transport, uint16_t port, char out[RELAY_TEXT_SIZE])
{
        const char *its = is_named ? "its address " : "", *end = transport == TRANSPORT_UDP ? "/udp" : "";
        char text[ADDRESS_TEXT_SIZE];
        int own;

        address_print(address, text);
        if (is_named && !allow_answer(relay->allow, address, transport, port)) {
                snprintf(out, RELAY_TEXT_SIZE, "%s%s is %s, and no entry gives it by itself", its, text,
                         range_name(address_range(address)));
                return false;
        }
        if (allow_own_address(relay->allow, address, transport, port))
                return true;
        own = local_address(address);
        if (own < 0)
                snprintf(out, RELAY_TEXT_SIZE, "whether %s%s is the host's own cannot be told: %s", its, text,
                         strerror(-own));
        else if (own)
                snprintf(out, RELAY_TEXT_SIZE,
                         "%s%s is the host's own, and no entry gives it by itself; to allow it: --connect "
                         "%s%s%s:%u%s",
                         its, text, address->is_v6 ? "[" : "", text, address->is_v6 ? "]" : "", port, end);
        return !own;
}
