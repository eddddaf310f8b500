/* endpoint.c: an address with its port, as sockets take it. */
#define _GNU_SOURCE
#include "net/endpoint.h"

#include <string.h>

socklen_t endpoint_write(const struct address *address, uint16_t port, union endpoint *out)
{
        memset(out, 0, sizeof(*out));
        if (address->is_v6) {
                out->v6.sin6_family = AF_INET6;
                out->v6.sin6_port = htons(port);
                memcpy(&out->v6.sin6_addr, address->bytes, 16);
                return sizeof(out->v6);
        }
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        memcpy(&out->v4.sin_addr, address->bytes, 4);
        return sizeof(out->v4);
}

bool endpoint_read(const union endpoint *endpoint, struct address *address, uint16_t *port)
{
        *address = (struct address){ .is_v6 = endpoint->any.sa_family == AF_INET6 };
        if (address->is_v6) {
                memcpy(address->bytes, &endpoint->v6.sin6_addr, 16);
                *port = ntohs(endpoint->v6.sin6_port);
                *address = address_unmapped(address);
        } else {
                memcpy(address->bytes, &endpoint->v4.sin_addr, 4);
                *port = ntohs(endpoint->v4.sin_port);
        }
        return endpoint->any.sa_family == AF_INET6 || endpoint->any.sa_family == AF_INET;
}
