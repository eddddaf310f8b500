/* result.h: the result object, as JSON. */
#ifndef LIB_RESULT_H
#define LIB_RESULT_H

#include "run/run.h"

/* All borrowed. */
struct result_parts {
        const struct job_outcome *outcome;
        const struct strings *argv;
        const struct plan *plan;
        const char *audit_id; /* NULL: it was not written down */
};

/* Who gets it, piece by piece; anything but 0 ends it. */
struct result_sink {
        int (*write)(void *user, const char *bytes, size_t length);
        void *user;
};

/* One line, without a newline. */
int result_write(const struct result_parts *parts, const struct result_sink *sink, abatis_error *err);
int result_print(const struct result_parts *parts, char **out, abatis_error *err);

#endif
