/* outlet.h: bytes on their way to a reader that may be slow or gone. */
#ifndef SERVER_OUTLET_H
#define SERVER_OUTLET_H

#include "base/text.h"

struct outlet {
        struct text text; /* what is added here goes out */
        size_t done;      /* of it */
        int fd;           /* borrowed */
        bool is_socket;
        bool is_broken; /* nobody reads any more, or there was no memory for a whole reply */
        int why;        /* errno of that; 0: nobody reads any more */
};

void outlet_init(struct outlet *outlet, int fd);
size_t outlet_pending(const struct outlet *outlet);
/* Writes what the reader takes now, and never waits for it. */
void outlet_flush(struct outlet *outlet);
void outlet_done(struct outlet *outlet);

#endif
