/* rate.c: counts what begins, and forgets it a second later. */
#include "net/rate.h"

static void forget(struct rate *rate, int64_t part)
{
        if (part - rate->part > RATE_PARTS)
                rate->part = part - RATE_PARTS;
        while (rate->part < part)
                rate->begun[++rate->part % RATE_PARTS] = 0;
}

bool rate_take(struct rate *rate, int64_t now, uint32_t most)
{
        uint64_t all = 0;

        forget(rate, now / RATE_PART_MS);
        for (int i = 0; i < RATE_PARTS; i++)
                all += rate->begun[i];
        if (most && all >= most)
                return false;
        rate->begun[rate->part % RATE_PARTS]++;
        return true;
}
