/* stream.h: one output of a command, through a pipe: kept or passed on, of much the beginning and the end. */
#ifndef RUN_STREAM_H
#define RUN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "abatis.h"
#include "base/excerpt.h"
#include "base/sha256.h"
#include "run/run.h"

enum stream_state {
        STREAM_CLOSED,
        STREAM_READS,   /* wait until `pipe` is readable */
        STREAM_BLOCKED, /* wait until `copy` is writable */
};

/* Who hears of every byte as it comes, or nobody. */
struct listener {
        void (*hear)(void *user, int descriptor, const char *bytes, size_t length);
        void *user;
};

struct stream {
        enum stream_state state;
        int descriptor;               /* the command's; 0: nothing was opened */
        int pipe;                     /* owned: our end, or -1 */
        int copy;                     /* borrowed: where the bytes go, or -1 when they are kept */
        struct excerpt kept;          /* all of it, or what comes after the part that is passed on at once */
        uint64_t limit, ahead, total; /* in the end; of these passed on at once; how much has come */
        int completion;               /* how many bytes more, if a character would else be cut */
        bool is_finished, is_truncated;
        bool is_ended; /* others may still write, and after so many bytes nobody reads that: */
        size_t rest;
        int left; /* owned: the pipe, from there on; 0: none */
        struct listener listener;
        bool is_digested; /* all that comes is hashed */
        struct sha256 digest;
        char *chunk;         /* owned: what was read last, while it is needed; or NULL */
        const char *pending; /* in the chunk or in `kept`: not yet taken by `copy` */
        size_t pending_length;
};

/* Makes the pipe; *command_end is the caller's to close. Nothing is kept or passed on before the limit is set. */
int stream_open(struct stream *stream, int descriptor, int copy, int *command_end, abatis_error *err);
/* The same with the near end of a terminal, which becomes the stream's. */
int stream_adopt(struct stream *stream, int fd, int descriptor, int copy, abatis_error *err);
void stream_limit(struct stream *stream, uint64_t limit);
/* From here on. */
void stream_digest(struct stream *stream);
/* Moves what can be moved without blocking: some chunks, or with `to_the_end` all there is. */
void stream_advance(struct stream *stream, bool to_the_end);
/* What is in the pipe now is all that is wanted. */
void stream_end_here(struct stream *stream);
/* Forgets what nobody takes. */
void stream_drop(struct stream *stream);
void stream_done(struct stream *stream);
/* What is to be told of stdout (0) or stderr (1); what was kept is moved there. */
void stream_take_output(struct stream *stream, int index, struct job_outcome *out);

#endif
