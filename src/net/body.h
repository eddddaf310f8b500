/* body.h: where the body of an HTTP/1 request ends, so that the next head can be found.
 *
 * Chunks are taken in their plain form alone: a length in hexadecimal digits and both characters at each end of a line.
 * Extensions of chunks and fields behind the last one are refused: hardly anybody sends them, and servers have
 * disagreed about where they end. */
#ifndef NET_BODY_H
#define NET_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/head.h"

enum body_state {
        BODY_DATA,     /* `left` bytes of the whole body */
        BODY_SIZE,     /* the digits of a chunk's length */
        BODY_SIZE_END, /* the newline behind them */
        BODY_CHUNK,    /* `left` bytes of the chunk */
        BODY_CHUNK_CR, /* the two characters behind it */
        BODY_CHUNK_LF,
        BODY_LAST_CR, /* the empty line behind the last one */
        BODY_LAST_LF,
        BODY_DONE,
        BODY_MALFORMED,
};

struct body {
        enum body_state state;
        uint64_t left;
        unsigned digits;
};

/* Of a head that was read to its end. */
void body_init(struct body *body, const struct head *head);
/* Returns how many of the next bytes belong to the body: all of them, unless it is done or malformed after that. */
size_t body_walk(struct body *body, const char *bytes, size_t length);

#endif
