/* resolver_question.h: one question to the name servers, one after the other until one of them answers. */
#ifndef NET_RESOLVER_QUESTION_H
#define NET_RESOLVER_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns.h"
#include "net/loop.h"
#include "net/resolver_files.h"

struct question {
        struct watch watch;
        struct timer timer; /* when the next server is asked */
        struct loop *loop;  /* borrowed */
        struct resolver_servers servers;
        uint16_t port;
        int64_t deadline;
        size_t tries;                      /* so far, each server in its turn */
        size_t server;                     /* the one that is asked */
        bool is_out[RESOLVER_SERVERS_MAX]; /* it has said that it does not know, or cannot be reached */

        struct dns_asked asked;             /* its name is borrowed */
        bool is_stream;                     /* over TCP, since the answer was too long for a datagram */
        uint8_t message[2 + DNS_QUERY_MAX]; /* behind the length that goes before it on a stream */
        size_t length, sent;                /* of the message with that length */
        uint8_t *reply;                     /* owned: of a stream, with its length too */
        size_t received;

        void (*done)(struct question *question, const struct dns_answer *answer);
};

struct question_options {
        const char *name; /* borrowed until it is over */
        enum dns_type type;
        const struct resolver_servers *servers;
        uint16_t port;
        int64_t patience_ms;
        /* Called once, and never from within question_start(). The answer's rcode is DNS_NOERROR or DNS_NXDOMAIN; NULL if
         * nobody had an answer. The question is over by then and may be freed. */
        void (*done)(struct question *question, const struct dns_answer *answer);
};

/* 0 or -ENOMEM. */
int question_start(struct question *question, struct loop *loop, const struct question_options *options);
/* Nobody is called any more. Harmless when it is over. */
void question_stop(struct question *question);

#endif
