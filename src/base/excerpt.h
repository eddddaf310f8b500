/* excerpt.h: the beginning and the end of more bytes than there is room for. */
#ifndef BASE_EXCERPT_H
#define BASE_EXCERPT_H

#include "base/text.h"

struct excerpt {
        struct text text; /* the beginning, then a ring with the newest of the rest */
        size_t room;      /* how many bytes there may be in the end */
        size_t head;      /* how many of these are the beginning */
        uint64_t total;   /* how many have come */
        char before;      /* what stands before all this elsewhere, or NUL */
};

/* Memory is taken as bytes come, and never for more than `room` of them. */
void excerpt_add(struct excerpt *excerpt, const char *bytes, size_t length);
/* Puts it in order: all of it, or the beginning, "… N bytes omitted …" on a line of its own, and the end, both cut between
 * characters; the words take their room from the end, and are left out where there is too little. Nothing can be added
 * afterwards. True when something is left out. */
bool excerpt_finish(struct excerpt *excerpt);
void excerpt_done(struct excerpt *excerpt);

#endif
