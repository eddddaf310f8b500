/* passage.h: what goes one way through a stream.
 *
 * Where much comes it goes through a pipe. Nothing is looked at, unless a request must be: see request.h. */
#ifndef NET_PASSAGE_H
#define NET_PASSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allowance;
struct request;

struct passage {
        int from, to; /* borrowed */
        int pipe[2];  /* only while something is in it */
        bool has_pipe;
        size_t in_pipe;
        bool is_wide; /* much came the last time */
        uint64_t passed;
        bool is_at_end;  /* nothing more comes */
        bool has_ended;  /* and whoever listens was told */
        bool wants_read; /* what it waits for */
        bool wants_write;
        struct request *request;     /* borrowed: looks at all that passes; else NULL */
        struct allowance *allowance; /* borrowed */
};

void passage_init(struct passage *passage, int from, int to, struct request *request,
                  struct allowance *allowance);
void passage_done(struct passage *passage);
/* As far as it goes now, or until others should have their turn. 0, -EACCES if the request was refused, -EDQUOT if something is there that may not pass any more, or another
 * negative errno. */
int passage_pump(struct passage *passage);

#endif
