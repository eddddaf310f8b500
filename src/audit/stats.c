/* stats.c: counts jobs: verdicts, durations, refusals, limits, programs. */
#define _GNU_SOURCE
#include "audit/stats.h"

#include <stdlib.h>
#include <string.h>

#include "audit/read.h"
#include "base/error.h"
#include "base/json.h"
#include "base/own.h"

enum { TALLIES_SHOWN = 10 };

/* ---- counting ------------------------------------------------------------------------------------------- */

static int compare_names(const void *first, const void *second)
{
        const struct tally *a = first, *b = second;

        return strcmp(a->name, b->name);
}

static int compare_counts(const void *first, const void *second)
{
        const struct tally *a = first, *b = second;

        if (a->count != b->count)
                return a->count > b->count ? -1 : 1;
        return strcmp(a->name, b->name);
}

/* A limit that was hit without a name is the timeout. */
static const char *limit_of(const struct audit_job *job)
{
        return job->limit ? job->limit : job->verdict == VERDICT_TIMEOUT ? "limits.timeout" : NULL;
}

static const char *error_of(const struct audit_job *job)
{
        return job->verdict == VERDICT_REFUSED ? job->error ? job->error : "no reason recorded" : NULL;
}

static const char *program_of(const struct audit_job *job)
{
        return job->program;
}

static int count_names(const struct audit_jobs *jobs, const char *(*name_of)(const struct audit_job *),
                       struct tally **out, size_t *out_count, abatis_error *err)
{
        struct tally *tallies = calloc(jobs->count + 1, sizeof(*tallies));
        size_t count = 0, kept = 0;

        if (!tallies)
                return error_memory(err);
        for (size_t i = 0; i < jobs->count; i++)
                if (name_of(&jobs->items[i]))
                        tallies[count++] = (struct tally){ name_of(&jobs->items[i]), 1 };
        if (count)
                qsort(tallies, count, sizeof(*tallies), compare_names);
        for (size_t i = 1; i < count; i++)
                if (!strcmp(tallies[kept].name, tallies[i].name))
                        tallies[kept].count++;
                else
                        tallies[++kept] = tallies[i];
        count = count ? kept + 1 : 0;
        if (count)
                qsort(tallies, count, sizeof(*tallies), compare_counts);
        *out = tallies;
        *out_count = count;
        return 0;
}

static int compare_durations(const void *first, const void *second)
{
        const struct audit_job *a = *(const struct audit_job *const *)first,
                               *b = *(const struct audit_job *const *)second;

        return (a->duration_ms < b->duration_ms) - (a->duration_ms > b->duration_ms);
}

/* Nearest rank, of those sorted from the longest to the shortest. */
static double percentile(const struct audit_job *const *sorted, size_t count, unsigned percent)
{
        size_t rank = (count * percent + 99) / 100;

        return sorted[count - (rank ? rank : 1)]->duration_ms;
}

static int measure(const struct audit_jobs *jobs, struct audit_stats *stats, abatis_error *err)
{
        OWN_FREE const struct audit_job **sorted = calloc(jobs->count + 1, sizeof(*sorted));
        size_t count = 0;

        if (!sorted)
                return error_memory(err);
        for (size_t i = 0; i < jobs->count; i++)
                if (jobs->items[i].has_finished)
                        sorted[count++] = &jobs->items[i];
        stats->finished = count;
        if (!count)
                return 0;
        qsort(sorted, count, sizeof(*sorted), compare_durations);
        stats->longest = sorted[0]->duration_ms;
        stats->median = percentile(sorted, count, 50);
        stats->p90 = percentile(sorted, count, 90);
        stats->p99 = percentile(sorted, count, 99);
        for (size_t i = 0; i < count && i < STATS_SLOWEST; i++)
                stats->slowest[i] = sorted[i];
        return 0;
}

int stats_make(const struct audit_jobs *jobs, struct audit_stats *out, abatis_error *err)
{
        struct audit_stats stats = { .total = jobs->count };
        int r = measure(jobs, &stats, err);

        for (size_t i = 0; i < jobs->count; i++)
                stats.by_verdict[jobs->items[i].verdict]++;
        if (!r)
                r = count_names(jobs, error_of, &stats.errors, &stats.error_count, err);
        if (!r)
                r = count_names(jobs, limit_of, &stats.limits, &stats.limit_count, err);
        if (!r)
                r = count_names(jobs, program_of, &stats.programs, &stats.program_count, err);
        if (r < 0)
                stats_done(&stats);
        else
                *out = stats;
        return r;
}

void stats_done(struct audit_stats *stats)
{
        free(stats->errors);
        free(stats->limits);
        free(stats->programs);
        *stats = (struct audit_stats){ 0 };
}

/* ---- printing ------------------------------------------------------------------------------------------- */

static void add_tallies(struct text *text, const char *title, const struct tally *tallies, size_t count)
{
        if (!count)
                return;
        text_addf(text, "\n%s\n", title);
        for (size_t i = 0; i < count && i < TALLIES_SHOWN; i++)
                text_addf(text, "%7llu  %s\n", (unsigned long long)tallies[i].count, tallies[i].name);
        if (count > TALLIES_SHOWN)
                text_addf(text, "         and %zu more\n", count - TALLIES_SHOWN);
}

static void add_durations(struct text *text, const struct audit_stats *stats)
{
        static const char *const names[] = { "p50", "p90", "p99", "longest" };
        const double values[] = { stats->median, stats->p90, stats->p99, stats->longest };

        if (!stats->finished)
                return;
        text_add(text, "\nduration ");
        for (int i = 0; i < 4; i++) {
                text_addf(text, "%s%s ", i ? ", " : "", names[i]);
                add_duration(text, values[i]);
        }
        text_add(text, "\n\nslowest\n");
        for (int i = 0; i < STATS_SLOWEST && stats->slowest[i]; i++) {
                const struct audit_job *job = stats->slowest[i];

                text_add(text, "  ");
                add_duration(text, job->duration_ms);
                text_addf(text, "  %s\n", job->command ? job->command : job->id);
        }
}

static int print_text(const struct audit_stats *stats, const struct audit_jobs *jobs, char **out,
                      abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };

        text_addf(&text, "%llu job%s", (unsigned long long)stats->total, stats->total == 1 ? "" : "s");
        for (int i = 0; i < VERDICT_COUNT; i++)
                if (stats->by_verdict[i])
                        text_addf(&text, ", %llu %s", (unsigned long long)stats->by_verdict[i],
                                  verdict_name((enum audit_verdict)i));
        text_add(&text, "\n");
        add_durations(&text, stats);
        add_tallies(&text, "refused because", stats->errors, stats->error_count);
        add_tallies(&text, "limits hit", stats->limits, stats->limit_count);
        add_tallies(&text, "programs", stats->programs, stats->program_count);
        if (jobs->bad.length)
                text_addf(&text, "\n%s", jobs->bad.data);
        return text_take(&text, out, err);
}

static json_t *tallies_to_json(const struct tally *tallies, size_t count)
{
        json_t *array = json_array();

        for (size_t i = 0; i < count; i++)
                json_array_append_new(array, json_pack("{s:s, s:I}", "name", tallies[i].name, "count",
                                                       (json_int_t)tallies[i].count));
        return array;
}

static int print_json(const struct audit_stats *stats, const struct audit_jobs *jobs, char **out,
                      abatis_error *err)
{
        json_t *root = json_object(), *verdicts = json_object(), *slowest = json_array();
        OWN_FREE char *line = NULL;
        int r;

        for (int i = 0; i < VERDICT_COUNT; i++)
                json_object_set_new(verdicts, verdict_name((enum audit_verdict)i),
                                    json_integer((json_int_t)stats->by_verdict[i]));
        for (int i = 0; i < STATS_SLOWEST && stats->slowest[i]; i++)
                json_array_append_new(slowest,
                                      json_pack("{s:s, s:f, s:s}", "id", stats->slowest[i]->id, "duration_ms",
                                                stats->slowest[i]->duration_ms, "command",
                                                stats->slowest[i]->command ? stats->slowest[i]->command
                                                                           : ""));
        json_object_set_new(root, "jobs", json_integer((json_int_t)stats->total));
        json_object_set_new(root, "verdicts", verdicts);
        json_object_set_new(root, "duration_ms",
                            stats->finished
                                    ? json_pack("{s:f, s:f, s:f, s:f}", "p50", stats->median, "p90",
                                                stats->p90, "p99", stats->p99, "longest", stats->longest)
                                    : json_null());
        json_object_set_new(root, "slowest", slowest);
        json_object_set_new(root, "refused_because", tallies_to_json(stats->errors, stats->error_count));
        json_object_set_new(root, "limits_hit", tallies_to_json(stats->limits, stats->limit_count));
        json_object_set_new(root, "programs", tallies_to_json(stats->programs, stats->program_count));
        json_object_set_new(root, "bad_lines", json_integer((json_int_t)jobs->bad_count));
        r = json_to_text(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10), &line, err);
        if (r < 0)
                return r;
        *out = text_join(line, "\n", "");
        return *out ? 0 : error_memory(err);
}

int audit_stats(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        OWN_JOBS struct audit_jobs jobs = { 0 };
        OWN_STATS struct audit_stats stats = { 0 };
        int r = jobs_read(query, &jobs, err);

        if (!r)
                r = stats_make(&jobs, &stats, err);
        if (r < 0)
                return r;
        return format == ABATIS_JSON ? print_json(&stats, &jobs, out, err)
                                     : print_text(&stats, &jobs, out, err);
}
