/* head.h: the head of a plain HTTP/1 request: which host it is for, and where it ends.
 *
 * Nothing is kept: the reader is called with all bytes that have come so far, and again when there are more, until it says
 * anything but HEAD_NEEDS_MORE. What proxies and servers could read in two ways is malformed, whatever the standard lets
 * pass: two Host fields, a folded line, a space before a colon, a line that ends in one character instead of two, a target
 * that names another host than Host does, two lengths of one body.
 *
 * What a relay must do about later requests. This function sees one head. A client that keeps its connection may name
 * another host in its next request, and the server, which has many, may serve it. So a relay that checks Host either
 * - follows every request: head.length bytes, then its body as head.body says (body.h), then the next head, with the same
 *   checks, never passing on a byte of a head that it has not read to its end; or
 * - passes on this head and its body, and nothing that the client sends after.
 * From the end of a head with wants_upgrade on, what is sent depends on an answer that the relay does not read (a WebSocket,
 * or HTTP/2, which has hosts of its own), and it can follow no longer: it passes the head on without that wish (disarm.h), or
 * lets the rest of the connection pass unchecked and says so. A CONNECT (is_connect) asks the server to connect to others for the
 * client: refuse it, unless this server is meant to be a proxy.
 *
 * As with TLS, this keeps honest clients from the wrong site, and dishonest ones from naming it in the open. */
#ifndef NET_HEAD_H
#define NET_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/host_name.h"

enum { HEAD_MAX = 32 * 1024 /* bytes; what the most patient of the common servers take */ };

enum head_kind {
        HEAD_NEEDS_MORE,
        HEAD_HOST,
        HEAD_NO_HOST, /* a request for whomever it reaches */
        HEAD_MALFORMED,
        HEAD_TOO_LONG,
        HEAD_NOT_HTTP, /* not of HTTP/1: TLS, HTTP/2, whatever does not begin with a word */
};

enum head_body {
        HEAD_BODY_NONE,
        HEAD_BODY_LENGTH,
        HEAD_BODY_CHUNKED,
};

struct head {
        enum head_kind kind;
        char host[HOST_NAME_SIZE]; /* as host_name_read() gives it; "" unless HEAD_HOST, and for an address */
        bool is_address;           /* the host is this: */
        struct address address;
        uint16_t port; /* 0 when none was given */
        bool is_connect, wants_upgrade;
        enum head_body body;
        uint64_t body_length; /* of HEAD_BODY_LENGTH */
        size_t length;        /* of the head, its empty line included; 0 unless HEAD_HOST or HEAD_NO_HOST */
        const char *reason;   /* static: what is malformed about it; else NULL */
};

struct head head_read(const char *bytes, size_t length);
/* What names of fields and methods are made of. */
bool head_is_token_character(char character);

#endif
