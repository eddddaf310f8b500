/* relay.h: what the relay is told, what it asks of the sandbox's network, and what it tells.
 *
 * The relay is a program of its own, outside the sandbox, that the host program starts for one job. It has some descriptors: a
 * socket to the host program, one to a thread of init that lives in the sandbox's network and makes sockets there, or to the
 * broker, one through which the broker says what is about to be connected to, and a file with its settings. It ends with either of the
 * first two. */
#ifndef PLAN_RELAY_H
#define PLAN_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/host_name.h"

enum {
        RELAY_HOST = 3,
        RELAY_INSIDE = 4,
        RELAY_SETTINGS = 5,
        RELAY_RULES = 6, /* a Landlock ruleset, if the settings say so */
        RELAY_KNOCKS = 7,
        RELAY_FIRST_FREE = 8,
};

enum { RELAY_BINDS_MAX = 64, RELAY_CAGE_MAX = 254 };

/* A seccomp program, instruction by instruction. */
struct relay_cage {
        uint32_t length;
        uint64_t code[RELAY_CAGE_MAX];
};

/* The beginning of the settings; the entries of network.connect follow, each with a NUL behind it. */
struct relay_settings {
        uint32_t entry_count, entries_size;
        bool is_asked; /* there is no network of the sandbox's own: the broker asks, and connects to the relay */
        bool has_knocks; /* of TCP it listens only where somebody is about to connect: there are too many ports */
        bool checks_names;                   /* TLS on 443 and HTTP on 80 must name whom was asked for */
        uint32_t most_streams;               /* at once; 0: as many as there are descriptors for */
        uint32_t most_streams_a_second;      /* new ones; 0: no limit */
        uint64_t most_bytes;                 /* of all streams, both ways; 0: no limit */
        char hosts[256], resolver_conf[256]; /* paths; "": the system's */
        uint16_t resolver_port;              /* 0: 53 */
        uint32_t bind_count; /* of network.bind: ports that are published on the host's loopback */
        uint16_t binds[RELAY_BINDS_MAX];
        bool has_rules; /* these and the program hold from the moment that it is ready */
        struct relay_cage cage;
};

/* ---- to the thread inside ------------------------------------------------------------------------------- */

enum socket_purpose {
        SOCKET_LISTENS,  /* TCP */
        SOCKET_RECEIVES, /* UDP; tells which address it was sent to */
        SOCKET_CONNECTS, /* TCP, not waited for */
        SOCKET_SEES,     /* packets that refuse a stream, and datagrams: with the address, of all */
        SOCKET_ASKS,     /* to another thread, which answers questions; there is one such socket */
};

/* A message each way, one after the other; the answer is 0 with the socket, or a negative errno. */
struct socket_request {
        uint32_t purpose; /* enum socket_purpose */
        uint16_t port;
        struct address address;
};

enum { RELAY_TEXT_SIZE = 192 };

/* Whose is the socket there that this came from? The answers come in the order of the questions. */
struct who_question {
        uint64_t number;
        bool is_udp;
        uint16_t client_port, port;
        struct address client, address; /* its own, and where it was sent to */
};

struct who_answer {
        uint64_t number;
        uint32_t pid; /* in the sandbox; 0: nobody's, or not found */
        char program[RELAY_TEXT_SIZE];
};

/* ---- to the broker, where there is no such network ------------------------------------------------------- */

enum stream_word {
        STREAM_WANTED, /* may it be made? A struct stream_verdict is the answer */
        STREAM_MADE,   /* it comes from there; no answer */
};

/* An address and a port each, as the socket has them. */
struct stream_request {
        uint32_t word; /* enum stream_word */
        uint16_t port, from_port;
        struct address address, from;
        uint32_t pid;                  /* whose it is; 0: not known */
        char program[RELAY_TEXT_SIZE]; /* what that runs, as far as it fits; or "" */
};

struct stream_verdict {
        int32_t error;     /* 0, or a negative errno */
        uint16_t ports[2]; /* of the relay on the loopback of IPv4 and IPv6; 0: none */
};

/* ---- from the broker, where there is such a network ------------------------------------------------------ */

/* A message each way, one after the other; the answer is a byte that says nothing. What is asked for is a hint, out of memory that
 * changes: the relay listens there if the list allows it, and whoever comes is judged by where he came in. */
struct knock {
        struct address address;
        uint16_t port;
};

/* ---- to the host program -------------------------------------------------------------------------------- */

/* What the host program says, in a byte each. */
enum relay_word {
        RELAY_OVER, /* the job is: the relay tells of all that is still open, and ends */
        /* With a descriptor of the file, which has taken the place of the one that the relay may read: see RELAY_NEEDS. */
        RELAY_HOSTS,
        RELAY_SERVERS,
        RELAY_MARK, /* a command of several has ended: the relay tells how far all is that is open, and then RELAY_MARKED */
};

enum relay_event_kind {
        RELAY_READY,   /* the first: from now on the sandbox's network works */
        RELAY_FAILED,  /* the only: `problem` says what */
        RELAY_OPENED,  /* a stream to the outside, or from there to a published port */
        RELAY_CLOSED,  /* one that was opened */
        RELAY_REFUSED, /* a stream, a datagram or a name that no entry allows, or that is not what it says */
        RELAY_BROKEN,  /* allowed, and nobody there */
        RELAY_ENDED,   /* told by the host program: the relay is gone, though the job is not over */
        /* To the host program alone: */
        RELAY_NEEDS,   /* `needs` */
        RELAY_PASSING, /* how much has passed of one that was opened */
        RELAY_MARKED,  /* `count` marks have been heard */
        RELAY_TOLD,    /* the last of all */
};

enum relay_object { RELAY_NAME, RELAY_STREAM, RELAY_DATAGRAM };

struct relay_event {
        uint32_t kind, object; /* enum relay_event_kind, enum relay_object */
        uint32_t needs;        /* enum relay_word: RELAY_HOSTS or RELAY_SERVERS */
        uint64_t stream;       /* its number, from 1; 0 of a name */
        int64_t seconds;       /* since 1970 */
        uint32_t microseconds;
        uint16_t client_port, port;
        bool is_inward; /* from the host to a published port: then `address` is whose it comes from */
        bool has_address;
        struct address address;  /* that was connected to, or asked for */
        uint64_t sent, received; /* bytes, from inside and to it */
        uint64_t unheard;        /* how many events before it could not be told */
        uint64_t count;          /* how many refusals it stands for; 0: one */
        char name[HOST_NAME_SIZE];
        char rule[RELAY_TEXT_SIZE];    /* the entry that allows it, as far as it fits; or "" */
        char problem[RELAY_TEXT_SIZE]; /* in words, or "" */
        uint32_t pid;                  /* whose connection it is, in the sandbox; 0: not known */
        char program[RELAY_TEXT_SIZE]; /* what it runs, as far as it fits; or "" */
};

/* What a job has connected to, and what it wanted to: one for each stream, and one for all refusals of the same. */
struct connections {
        struct relay_event *items; /* owned */
        size_t count;
        uint64_t omitted; /* beyond what is kept */
};

#endif
