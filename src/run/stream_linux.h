/* stream_linux.h: one output of a command, through a pipe: kept up to a limit, or passed on up to it. */
#ifndef RUN_STREAM_LINUX_H
#define RUN_STREAM_LINUX_H

#include <stdbool.h>
#include <stdint.h>

#include "abatis.h"
#include "base/text.h"

enum stream_state {
        STREAM_CLOSED,
        STREAM_READS,   /* wait until `pipe` is readable */
        STREAM_BLOCKED, /* wait until `copy` is writable */
};

enum { STREAM_CHUNK = 4096 /* what a pipe that polls writable takes without blocking */ };

struct stream {
        enum stream_state state;
        int pipe;         /* owned: our end, or -1 */
        int copy;         /* borrowed: where the bytes go, or -1 when they are kept */
        struct text kept; /* owned */
        uint64_t limit, length;
        bool is_truncated;
        char *pending; /* owned, STREAM_CHUNK bytes: read, and not yet taken by `copy` */
        size_t pending_start, pending_length;
};

/* Makes the pipe; *command_end is the caller's to close. The limit is zero until the caller sets it. */
int stream_open(struct stream *stream, int copy, int *command_end, abatis_error *err);
/* Moves what can be moved without blocking: one chunk, or with `to_the_end` all there is. */
void stream_advance(struct stream *stream, bool to_the_end);
/* Forgets what nobody takes. */
void stream_drop(struct stream *stream);
void stream_done(struct stream *stream);

#endif
