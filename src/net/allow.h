/* allow.h: the list of network.connect, ready to be asked: which names exist, and what may be connected to.
 *
 * Every question about a place is answered with the text of the entry that allows it, as it was written, or NULL; the text
 * is the list's. Names may be given in any spelling that host_name_read() takes; what it does not take is not allowed.
 *
 * How a relay asks:
 * - a DNS question: allow_name(), and allow_ports() for what to listen on;
 * - a connection by name: allow_name_port(), then allow_answer() for each address that the real resolver gives;
 * - a connection to an address that no name was asked for: allow_address();
 * - before either is made: allow_own_address(), if the address is the host's own. */
#ifndef NET_ALLOW_H
#define NET_ALLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/address.h"
#include "base/text.h"
#include "policy/place.h"

enum transport { TRANSPORT_TCP, TRANSPORT_UDP };

struct allow;

/* From the entries as the policy has them. */
int allow_new(const struct strings *entries, struct allow **out, abatis_error *err);
void allow_free(struct allow *allow);
static inline void own_allow_free(struct allow **allow)
{
        allow_free(*allow);
}
#define OWN_ALLOW __attribute__((cleanup(own_allow_free)))

/* May this name be resolved at all? */
const char *allow_name(const struct allow *allow, const char *name);
/* May this port of it be connected to? */
const char *allow_name_port(const struct allow *allow, const char *name, enum transport transport,
                            uint16_t port);
/* Which ports of a name are allowed: writes the first `most` ranges, ascending with gaps between, and returns how many
 * there are. */
size_t allow_ports(const struct allow *allow, const char *name, enum transport transport,
                   struct port_range *out, size_t most);

/* May this address be connected to without a name? What is not public must be named by an entry that is of the same kind
 * from its first address to its last: 0.0.0.0/0 gives no 127.0.0.1, and 169.254.0.0/16 no 169.254.169.254. */
const char *allow_address(const struct allow *allow, const struct address *address, enum transport transport,
                          uint16_t port);
/* May an allowed name lead to this address? To public ones; to any other only if an entry gives it by itself, so that
 * whoever answers for a name cannot lead into the machine or the network round it. */
bool allow_answer(const struct allow *allow, const struct address *address, enum transport transport,
                  uint16_t port);
/* May this address be connected to though it is one of the host's own? Whoever writes 0.0.0.0/0 or ::/0 does not mean it. */
const char *allow_own_address(const struct allow *allow, const struct address *address,
                              enum transport transport, uint16_t port);

#endif
