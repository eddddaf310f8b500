/* dns.h: messages of DNS, for who answers the sandbox's questions and for who asks a real resolver.
 *
 * Everything here is bytes in and bytes out. A message is the payload of a datagram, or what follows the two bytes of
 * length on a TCP connection. */
#ifndef NET_DNS_H
#define NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/host_name.h"

enum dns_type {
        DNS_A = 1,
        DNS_CNAME = 5,
        DNS_TXT = 16,
        DNS_AAAA = 28,
        DNS_OPT = 41,
        DNS_HTTPS = 65,
};

enum { DNS_INTERNET = 1 /* the only class that anybody uses */ };

enum dns_rcode {
        DNS_NOERROR = 0,
        DNS_FORMERR = 1,
        DNS_SERVFAIL = 2,
        DNS_NXDOMAIN = 3,
        DNS_NOTIMP = 4,
        DNS_REFUSED = 5,
        DNS_BADVERS = 16, /* of EDNS; half of it lies in the OPT record */
};

enum {
        DNS_MESSAGE_MAX = 65535,           /* over TCP */
        DNS_PAYLOAD_MIN = 512,             /* of a datagram, when nothing else was said */
        DNS_PAYLOAD_MAX = 1232,            /* what every path carries in one piece */
        DNS_QUERY_MAX = 12 + 255 + 4 + 11, /* of what dns_write_query() makes */
        DNS_ADDRESSES_MAX = 16,            /* of one answer; what there is beyond is not needed to connect */
        DNS_ALIASES_MAX = 12,  /* from the name that was asked for to the one that has addresses */
        DNS_RECORDS_MAX = 512, /* of one answer; so that nobody is kept busy by one */
};

/* ---- answering ------------------------------------------------------------------------------------------ */

struct dns_query {
        uint16_t id;
        uint16_t flags;            /* as they came */
        enum dns_rcode fault;      /* DNS_NOERROR, or what the query has to be answered with */
        char name[HOST_NAME_SIZE]; /* as host_name_read() gives it; "" if no host can have such a name */
        uint16_t type, class;
        bool has_opt;
        uint16_t
                payload; /* the longest datagram that may answer it: what the client said, within our bounds */

        uint8_t question[255 + 4]; /* as it came: clients compare its capitals with those that they sent */
        size_t question_length;    /* 0 if it could not be read */
        bool wants_dnssec;         /* its OPT said so; the answer's must repeat it */
};

/* False for what must not be answered at all: less than a header, or itself an answer, so that two servers never talk to
 * each other. Else *out can be given to dns_write_reply().
 *
 * Taken is one question of opcode 0 in class IN, and one OPT record behind it at most. Anything more is a fault: other
 * records, a pointer in a name (there is nothing before it to point to), bytes behind the end. Two readers of such a
 * message may see two names in it. A name with a dot, a space or any other stranger within a label is no fault: it is read
 * as "", which no list allows. */
bool dns_read_query(const uint8_t *bytes, size_t length, struct dns_query *out);

/* What to say. No addresses of the question's type is NODATA: the name exists, and has nothing of that kind. */
struct dns_reply {
        enum dns_rcode rcode;
        const struct address *addresses; /* borrowed; of both families, those that were asked for are said */
        size_t count;
        uint32_t ttl;
};

/* Returns the length, or 0 if `size` is too small for the question alone. `size` is at most query->payload for a datagram,
 * DNS_MESSAGE_MAX for TCP. Addresses that do not fit are left out, all of them, with the mark that makes the client ask
 * again over TCP. */
size_t dns_write_reply(const struct dns_query *query, const struct dns_reply *reply, uint8_t *out,
                       size_t size);

/* ---- asking --------------------------------------------------------------------------------------------- */

struct dns_asked {
        uint16_t id; /* random: who is not on the way must not guess it */
        const char *name;
        enum dns_type type; /* DNS_A or DNS_AAAA */
};

/* Returns the length, or 0 if the name is none or `size` is below DNS_QUERY_MAX. */
size_t dns_write_query(const struct dns_asked *asked, uint8_t *out, size_t size);

enum dns_response {
        DNS_RESPONSE,  /* *out says what it says */
        DNS_NOT_OURS,  /* another id or question, or no answer at all: wait on for ours */
        DNS_MALFORMED, /* ours, and nonsense */
};

struct dns_answer {
        enum dns_rcode rcode;
        bool is_truncated; /* ask again over TCP; there are no addresses then */
        struct address addresses[DNS_ADDRESSES_MAX];
        size_t count;
        uint32_t ttl; /* seconds: the lowest on the way to the addresses, aliases included; 0 without any */
};

/* Aliases are followed in the answer section alone, in whatever order they lie there; what other names have, and what
 * the sections behind it say, is not looked at. */
enum dns_response dns_read_response(const uint8_t *bytes, size_t length, const struct dns_asked *asked,
                                    struct dns_answer *out);

#endif
