/* seen_linux.h: what the relay has told of a job's connections, within bounds. */
#ifndef RUN_SEEN_LINUX_H
#define RUN_SEEN_LINUX_H

#include "plan/relay.h"

enum {
        SEEN_MAX = 4096,         /* of what was opened, or was to be */
        SEEN_REFUSED_MAX = 2048, /* beside them: whoever makes many of the one kind hides none of the other */
        SEEN_PLACES = 16384,
};

struct seen {
        struct connections list;
        size_t refused_count;
        uint16_t streams[SEEN_PLACES];  /* by their number: the index in the list, and 1 */
        uint16_t refusals[SEEN_PLACES]; /* likewise by all that is the same in them */
};

/* One that was opened and then closed is one. So are those that are refused in the same way, of the same process. */
void seen_add(struct seen *seen, const struct relay_event *event);
bool seen_has(struct seen *seen, const struct relay_event *event);
/* How much has passed is as the event says, if it is kept here. */
void seen_update(struct seen *seen, const struct relay_event *event);
void seen_done(struct seen *seen);

#endif
