/* dial.h: connects to one of several addresses: the next is tried while the last does not answer (RFC 8305). */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "base/address.h"
#include "net/loop.h"
#include "net/resolver.h"

enum { DIAL_AT_ONCE = 4 };

struct dial;
struct dial_attempt {
        struct watch watch;
        struct dial *dial; /* borrowed */
        size_t address;    /* which */
};

struct dial {
        struct loop *loop; /* borrowed */
        struct address addresses[RESOLVER_ADDRESSES_MAX];
        size_t count, next;
        uint16_t port;
        struct dial_attempt attempts[DIAL_AT_ONCE];
        struct timer pace;
        int problem; /* the last negative errno */
        /* NULL: a socket of this process. Else a socket on which a connect to one of the addresses has begun, or a negative errno. */
        int (*begin)(struct dial *dial, const struct address *address);
        /* Called once: with a socket that is connected, which is then the caller's, or a negative errno. It may free the dial. */
        void (*done)(struct dial *dial, int fd, const struct address *address);
};

/* Addresses, count, port and done are set. On this machine a connection is made or refused at once: `done` may have been called when
 * this returns. */
void dial_start(struct loop *loop, struct dial *dial);
/* Nobody is called any more. Also for one that was never started, if it is all zeros. */
void dial_stop(struct dial *dial);

#endif
