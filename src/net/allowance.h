/* allowance.h: how many bytes all streams may pass together. */
#ifndef NET_ALLOWANCE_H
#define NET_ALLOWANCE_H

#include <stddef.h>
#include <stdint.h>

struct allowance {
        uint64_t most, passed; /* most 0: no limit; else passed is never more */
};

/* Of so many bytes that are there, how many may pass. */
static inline size_t allowance_of(const struct allowance *allowance, size_t bytes)
{
        uint64_t left = allowance->most - allowance->passed;

        return allowance->most && left < bytes ? (size_t)left : bytes;
}

#endif
