/* local.h: which addresses are the host's own.
 *
 * A server on the host that listens on all addresses takes whoever comes by one of these for somebody on the host. Clouds give machines
 * public ones, and whoever answers for a name can let it lead there. */
#ifndef NET_LOCAL_H
#define NET_LOCAL_H

#include "base/address.h"

/* 1, 0, or a negative errno if there is no way to tell. Sends nothing. */
int local_address(const struct address *address);

#endif
