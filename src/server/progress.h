/* progress.h: how long a command has run, and what it said last, for who has asked to be told meanwhile. */
#ifndef SERVER_PROGRESS_H
#define SERVER_PROGRESS_H

#include <jansson.h>
#include <stdint.h>

#include "base/text.h"

enum { PROGRESS_MS = 1000, PROGRESS_TAIL_SIZE = 256 };

struct progress {
        json_t *token;                 /* owned: what it is told by; NULL: nobody has asked */
        int64_t began;                 /* milliseconds */
        int64_t due;                   /* when it is told the next time */
        uint64_t limit;                /* milliseconds that it may take; 0: no limit */
        char tail[PROGRESS_TAIL_SIZE]; /* the end of its output */
        size_t length;
};

void progress_begin(struct progress *progress, uint64_t limit);
/* For abatis_job_options.on_output; `progress` is one. */
void progress_hear(void *progress, int descriptor, const char *bytes, size_t length);
/* The last line that is not empty, as people can read it; nothing if there is none. */
void progress_add_line(const struct progress *progress, struct text *out);

#endif
