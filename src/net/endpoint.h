/* endpoint.h: an address with its port, as sockets take it. */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/address.h"

union endpoint {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/* Returns its size. */
socklen_t endpoint_write(const struct address *address, uint16_t port, union endpoint *out);
/* False if it is of another family. An IPv4 address in the clothes of IPv6 is read as what it is. */
bool endpoint_read(const union endpoint *endpoint, struct address *address, uint16_t *port);

#endif
