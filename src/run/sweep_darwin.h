/* sweep_darwin.h: ends every process of a job, wherever it has gone. */
#ifndef RUN_SWEEP_DARWIN_H
#define RUN_SWEEP_DARWIN_H

#include <stdbool.h>

/* Nobody adopts orphans on macOS, so they are looked for among all processes by what no descendant can lose: the profile. Comes
 * back when none is left, or with false when that cannot be found out. Async-signal-safe as far as the kernel's lists are. */
bool sweep_end(const char *job);

#endif
