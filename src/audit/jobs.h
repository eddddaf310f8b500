/* jobs.h: the records of a log, joined to jobs. */
#ifndef AUDIT_JOBS_H
#define AUDIT_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/text.h"

enum audit_verdict {
        VERDICT_OK,
        VERDICT_FAILED,
        VERDICT_REFUSED,
        VERDICT_TIMEOUT,
        VERDICT_LIMIT,
        VERDICT_RUNNING, /* no end is recorded: it runs, or its supervisor was killed */
        VERDICT_COUNT
};

const char *verdict_name(enum audit_verdict verdict);

struct audit_job {
        char *id; /* owned, as all strings here; NULL: not said */
        uint64_t seq;
        int64_t time; /* of its first record, microseconds since 1970 */
        json_t *argv; /* owned, as the connections: as in the record */
        json_t *connections;
        char *command; /* argv as a shell would take it, printable: no control in it, no newline */
        char *program; /* the last part of argv[0], printable */
        char *cwd, *context, *policy, *backend, *limit, *error; /* printable */
        bool has_refused, has_finished, has_timed_out, has_signal;
        int exit_code, signal;
        double duration_ms;
        int64_t output[2]; /* bytes; -1: not said */
        enum audit_verdict verdict;
};

struct audit_jobs {
        struct audit_job *items; /* owned; the first begun first */
        size_t count, capacity;
        uint64_t bad_count; /* lines that are no records, */
        struct text bad;    /* and where the first of them stand, one line each */
        struct text raw;    /* the records as they stand in the log, if they were asked for */
        bool wants_raw;     /* set before reading */
        const char *wanted; /* borrowed from the query: how the id begins; NULL: any */
};

/* Reads all files, joins, and selects what the query asks for. */
int jobs_read(const abatis_audit_query *query, struct audit_jobs *jobs, abatis_error *err);
void jobs_done(struct audit_jobs *jobs);
#define OWN_JOBS __attribute__((cleanup(jobs_done)))

/* query.c: drops what the query does not ask for. */
int jobs_select(struct audit_jobs *jobs, const abatis_audit_query *query, abatis_error *err);
void job_done(struct audit_job *job);
/* RFC 3339, or a date alone, which is its midnight; all in UTC unless it says otherwise. */
bool time_parse(const char *text, int64_t *out);

/* Text without anything that drives a terminal: a "?" for each. */
void add_printable(struct text *text, const char *bytes, size_t length);
/* "850 µs", "12.3 ms", "4.5 s", "3 min 20 s" */
void add_duration(struct text *text, double milliseconds);
/* "2026-11-15 11:42:58" */
void add_time(struct text *text, int64_t microseconds);

#endif
