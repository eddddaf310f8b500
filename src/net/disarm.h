/* disarm.h: takes the wish for another protocol out of a request, which then is one of HTTP/1.1 like any other.
 *
 * Clients that would like HTTP/2 say so in a request that any server may take as if they had not (RFC 9110, 7.8). */
#ifndef NET_DISARM_H
#define NET_DISARM_H

#include <stddef.h>

/* Of a head that head_read() has read to its end: its Upgrade fields go, and that word of Connection. Nothing else changes. Returns how
 * long it is now. */
size_t disarm_head(char *bytes, size_t length);

#endif
