/* hello.h: what a TLS client says in the clear about whom it wants to talk to: the first message of a connection.
 *
 * Nothing is decrypted and nothing kept: the reader is called with all bytes that have come so far, and again when there
 * are more, until it says anything but HELLO_NEEDS_MORE.
 *
 * What the name proves. The relay has connected to an address of a name that is allowed; that the client repeats this name
 * keeps an honest client from reaching another site at the same address. A dishonest one can name one site here and
 * another within the encryption, if the server takes that (domain fronting); nobody who does not decrypt can tell. That
 * is also why an encrypted hello inside (ECH) is told, in has_ech, and is no reason to refuse: the outer name is checked
 * like any other, the server is that name's, and what ECH could hide from us the encryption hides anyway. Browsers send an
 * empty one (GREASE) that nobody can tell from a real one, and clients that find no HTTPS record in DNS, which the sandbox
 * never gives, have no key to make a real one. Who wants to be stricter refuses what has it, and these browsers with it. */
#ifndef NET_HELLO_H
#define NET_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_name.h"

enum {
        HELLO_MAX =
                16 *
                1024 /* bytes, with the heads of records; the largest of today, with post-quantum keys, have 2 KiB */
};

enum hello_kind {
        HELLO_NEEDS_MORE,
        HELLO_NAME,
        HELLO_NO_NAME, /* a hello that names nobody */
        HELLO_MALFORMED,
        HELLO_TOO_LONG,
};

struct hello {
        enum hello_kind kind;
        char name[HOST_NAME_SIZE]; /* as host_name_read() gives it; "" unless HELLO_NAME */
        bool has_ech;
        const char *reason; /* static: what is malformed about it; else NULL */
};

/* A hello may lie in several records, of which all must hold nothing else. What follows it in later records (early data)
 * is not looked at. Refused are the form of SSL 2, a name that is no host's (an address, say), several names, and an
 * extension that is there twice: the server may take the other one. */
struct hello hello_read(const uint8_t *bytes, size_t length);

#endif
