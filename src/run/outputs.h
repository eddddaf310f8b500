/* outputs.h: both outputs of a job, while it runs and when it is over. */
#ifndef RUN_OUTPUTS_H
#define RUN_OUTPUTS_H

#include "run/stream.h"

/* All borrowed. */
struct outputs {
        struct stream *streams; /* stdout and stderr */
        bool is_over;           /* nobody is left who could write, or nobody who is listened to */
        bool was_killed;        /* the command */
        struct job *job;        /* for these: */
        /* Lets the loop wait for what the stream waits for. */
        int (*watch)(struct job *job, int index, abatis_error *err);
        /* Moves all there is; NULL: as stream_advance() does. */
        void (*drain)(struct job *job, struct stream *stream);
};

/* What can be moved now; `are_done` when it is over and nothing is left to be moved. */
int outputs_advance(const struct outputs *outputs, bool *are_done, abatis_error *err);
/* It is over, and the loop is, too. */
void outputs_settle(const struct outputs *outputs);

#endif
