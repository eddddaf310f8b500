/* flow.h: one output of a command on its way into events, through a pipe of ours: while nobody reads them, the command waits. */
#ifndef SERVER_FLOW_H
#define SERVER_FLOW_H

#include <jansson.h>

#include "base/text.h"

struct flow {
        int reads, writes; /* owned; -1: closed */
        char held[3];      /* the beginning of a character whose end has not come yet */
        size_t held_length;
};

#define FLOW_NONE                         \
        {                                 \
                .reads = -1, .writes = -1 \
        }

int flow_open(struct flow *flow, abatis_error *err);
/* The command has ended: no more comes. */
void flow_close_writer(struct flow *flow);
/* Nobody wants it any more; the command notices when it writes. */
void flow_close_reader(struct flow *flow);
/* Reads once, and makes an event of it, if there was something. */
void flow_tell(struct flow *flow, const json_t *id, const char *name, struct text *out);
void flow_done(struct flow *flow);

#endif
