/* resolver.h: the addresses of a name, as the host sees it: /etc/hosts, then the name servers of /etc/resolv.conf.
 *
 * Answers are kept as long as their records say. Nothing here judges an address: whoever asks does. */
#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include "base/address.h"
#include "net/dns.h"
#include "net/loop.h"

enum {
        RESOLVER_ADDRESSES_MAX = 2 * DNS_ADDRESSES_MAX, /* of both families */
};

enum resolver_result {
        RESOLVER_FOUND,
        RESOLVER_NO_NAME,   /* there is no such name, or it has no address */
        RESOLVER_NO_ANSWER, /* nobody answered in time, or with nonsense */
        RESOLVER_BUSY,      /* too many questions are open */
};

struct resolver;
struct lookup;

/* Called once, never before resolver_ask() has returned. The addresses are borrowed for the call, IPv6 ones first where there are. */
typedef void resolver_done_call(void *user, enum resolver_result result, const struct address *addresses,
                                size_t count);

enum resolver_file_kind { RESOLVER_HOSTS, RESOLVER_SERVERS };

struct resolver_options {
        const char *hosts, *resolv_conf; /* paths; NULL: those of the system */
        int64_t patience_ms;             /* for all servers together; 0: 10 seconds */
        size_t cache_max;                /* names; 0: 4096 */
        uint16_t port;                   /* of the name servers; 0: 53 */
        /* Called when another file has taken the place of one and may not be read, once a second at most: resolver_take() gives it. Or NULL. */
        void (*needs)(void *user, enum resolver_file_kind kind);
        void *user;
};

/* 0 or a negative errno. The loop is borrowed. */
int resolver_new(struct loop *loop, const struct resolver_options *options, struct resolver **out);
/* Nobody may be waiting any more. */
void resolver_free(struct resolver *resolver);
/* `name` as host_name_read() gives it. Names of the same question that is open share it. NULL only for want of memory. */
struct lookup *resolver_ask(struct resolver *resolver, const char *name, resolver_done_call *done,
                            void *user);
/* Takes a descriptor of the file. */
void resolver_take(struct resolver *resolver, enum resolver_file_kind kind, int fd);
/* Nobody is called then. Not after it was called. */
void resolver_cancel(struct lookup *lookup);

#endif
