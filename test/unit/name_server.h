/* name_server.h: two DNS servers on 127.0.0.1 and 127.0.0.2, which behave as the name that is asked for says.
 *
 * Labels of the name, in any order; those with a digit are about one server only, the first being 0:
 *   v4, v6      it has an address of this family: 127.1.2.3, 2001:db8::1
 *   many        it has 16 of each family that it has
 *   nx          there is no such name
 *   ttl0, ttl1  instead of 60 seconds
 *   fail0, refuse0, garbage0, silent0     what this server says instead
 *   silent      nobody says anything
 *   forged      five answers that are none come before the true one
 *   long        too long for a datagram; over TCP it comes byte by byte
 *   cut0        over TCP, the connection ends in the middle
 *   late6, mute6                          IPv6 is answered after LATE_MS, or never */
#ifndef UNIT_NAME_SERVER_H
#define UNIT_NAME_SERVER_H

#include <stdint.h>

enum { LATE_MS = 600 };

void name_server_start(void);
void name_server_stop(void);
/* Of both servers. */
uint16_t name_server_port(void);
/* How many questions have come, over both transports. */
unsigned name_server_asked(unsigned server);
unsigned name_server_asked_by_stream(unsigned server);

#endif
