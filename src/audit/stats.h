/* stats.h: what many jobs have in common. */
#ifndef AUDIT_STATS_H
#define AUDIT_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "audit/jobs.h"

/* How often something was said. */
struct tally {
        const char *name; /* borrowed from the jobs */
        uint64_t count;
};

enum { STATS_SLOWEST = 10 };

struct audit_stats {
        uint64_t by_verdict[VERDICT_COUNT];
        uint64_t total, finished;
        double median, p90, p99, longest;               /* of those that ended, milliseconds */
        const struct audit_job *slowest[STATS_SLOWEST]; /* borrowed; then NULL */
        struct tally *errors, *limits, *programs;       /* owned; the most frequent first */
        size_t error_count, limit_count, program_count;
};

/* The jobs must stay as long as the stats are used. */
int stats_make(const struct audit_jobs *jobs, struct audit_stats *out, abatis_error *err);
void stats_done(struct audit_stats *stats);
#define OWN_STATS __attribute__((cleanup(stats_done)))

#endif
