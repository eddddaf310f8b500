/* body.h: where the body of an HTTP/1 request ends, so that the next head can be found.
 *
 * Chunks have a length in hexadecimal digits and both characters at each end of a line. Extensions of chunks, and fields behind the
 * last one, are taken where all servers must read the same: each begins right where it may, no line is folded, none has a control
 * character, and no field is one that tells how a request is read, since some servers join them with those of the head. */
#ifndef NET_BODY_H
#define NET_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/head.h"

enum body_state {
        BODY_DATA,      /* `left` bytes of the whole body */
        BODY_SIZE,      /* the digits of a chunk's length */
        BODY_EXTENSION, /* what is between them and the end of the line */
        BODY_SIZE_END,  /* the newline behind them */
        BODY_CHUNK,     /* `left` bytes of the chunk */
        BODY_CHUNK_CR,  /* the two characters behind it */
        BODY_CHUNK_LF,
        BODY_FIELD, /* the name of a field behind the last one, or the empty line */
        BODY_VALUE, /* the field's value */
        BODY_VALUE_LF,
        BODY_LAST_LF,
        BODY_DONE,
        BODY_MALFORMED,
};

enum { BODY_NAME_SIZE = 24 /* all that matter fit */ };

struct body {
        enum body_state state;
        uint64_t left;
        unsigned digits;
        unsigned extra; /* bytes of extensions and fields so far */
        unsigned name_length;
        char name[BODY_NAME_SIZE]; /* of the present field, as far as it fits */
};

/* Of a head that was read to its end. */
void body_init(struct body *body, const struct head *head);
/* Returns how many of the next bytes belong to the body: all of them, unless it is done or malformed after that. */
size_t body_walk(struct body *body, const char *bytes, size_t length);

#endif
