/* rate.h: how many have begun within the last second. */
#ifndef NET_RATE_H
#define NET_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A second is counted in parts, and the one that has just begun besides: so no second has more than it may, wherever it begins. */
enum { RATE_PART_MS = 100, RATE_PARTS = 1000 / RATE_PART_MS + 1 };

struct rate {
        int64_t part; /* the present one */
        uint32_t begun[RATE_PARTS];
};

/* One more at this time, in milliseconds that never go back. False if there are as many already; then it does not count. 0 is as many
 * as there are. */
bool rate_take(struct rate *rate, int64_t now, uint32_t most);

#endif
