/* What the programs share that run their jobs through the library. */
#ifndef BENCH_JOBS_H
#define BENCH_JOBS_H

#include "abatis.h"
#include "bench.h"

enum { JOBS_AT_ONCE_MAX = 256 };

/* Jobs of one command, so many at once, in one thread on one epoll descriptor. */
struct jobs {
        abatis_sandbox *sandbox;
        const char *const *argv, *const *environment;
        const char *output; /* what each must have written; NULL: it is not captured */
        size_t at_once;
};

/* The first with the library's own number of spares and with an audit log; `log` as audit.log takes it, NULL is the usual one. */
abatis_sandbox *jobs_open_sandbox(const struct place *place);
abatis_sandbox *jobs_open_sandbox_with(const struct place *place, int spares, const char *log);
/* One whose jobs can make no socket at all; without an audit log. */
abatis_sandbox *jobs_open_sandbox_without_loopback(const struct place *place, int spares);
/* One whose jobs share a session. */
abatis_sandbox *jobs_open_session(const struct place *place);
/* Returns the microseconds that `total` of them took. Every single one must have been right. */
double jobs_run(const struct jobs *jobs, size_t total);
void jobs_watch(int epoll, abatis_job *job, uint32_t index);
/* Before it is finished: its descriptor's copies in another job's process outlive it for a moment. */
void jobs_unwatch(int epoll, const abatis_job *job);

/* Of this process: KiB by their name in /proc/self/status; open descriptors. */
long status_kib(const char *key);
unsigned count_descriptors(void);
/* A job needs five descriptors. */
void raise_descriptor_limit(void);

#endif
