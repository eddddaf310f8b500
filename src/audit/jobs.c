/* jobs.c: reads the records of a log and joins them to jobs. */
#define _GNU_SOURCE
#include "audit/jobs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "audit/reader.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/own.h"

enum { BAD_SAID = 20 };

const char *verdict_name(enum audit_verdict verdict)
{
        static const char *const names[] = { "ok", "failed", "refused", "timeout", "limit", "running" };

        return (unsigned)verdict < VERDICT_COUNT ? names[verdict] : "unknown";
}

void job_done(struct audit_job *job)
{
        json_decref(job->argv);
        json_decref(job->connections);
        free(job->id);
        free(job->command);
        free(job->program);
        free(job->cwd);
        free(job->context);
        free(job->policy);
        free(job->backend);
        free(job->limit);
        free(job->error);
}

void jobs_done(struct audit_jobs *jobs)
{
        for (size_t i = 0; i < jobs->count; i++)
                job_done(&jobs->items[i]);
        free(jobs->items);
        text_done(&jobs->bad);
        text_done(&jobs->raw);
        *jobs = (struct audit_jobs){ 0 };
}

/* ---- what a record says --------------------------------------------------------------------------------- */

/* Text, or {"base64": ...} for what is none; anything else is not said. */
static void add_value(struct text *text, const json_t *value)
{
        const char *encoded = json_string_value(json_object_get(value, "base64"));

        if (json_is_string(value)) {
                add_printable(text, json_string_value(value), json_string_length(value));
        } else if (encoded) {
                text_add(text, "base64:");
                add_printable(text, encoded, strlen(encoded));
        }
}

static char *value_of(const json_t *record, const char *key, bool *has_failed)
{
        const json_t *value = json_object_get(record, key);
        struct text text = { 0 };
        char *out = NULL;

        if (!value || json_is_null(value))
                return NULL;
        add_value(&text, value);
        if (text_take(&text, &out, NULL) < 0)
                *has_failed = true;
        return out;
}

/* As it could be typed again, but for what no terminal shows. */
static void add_word(struct text *text, const json_t *word)
{
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
        struct text shown = { 0 };

        add_value(&shown, word);
        if (shown.length && strspn(shown.data, plain) == shown.length) {
                text_add(text, shown.data);
        } else {
                text_add(text, "'");
                for (size_t i = 0; i < shown.length; i++)
                        if (shown.data[i] == '\'')
                                text_add(text, "'\\''");
                        else
                                text_add_bytes(text, shown.data + i, 1);
                text_add(text, "'");
        }
        text->has_failed |= shown.has_failed;
        text_done(&shown);
}

static void take_command(struct audit_job *job, json_t *record, bool *has_failed)
{
        json_t *argv = json_object_get(record, "argv"), *word;
        struct text command = { 0 }, program = { 0 };
        const char *slash;
        size_t i;

        if (!json_is_array(argv))
                return;
        json_array_foreach(argv, i, word)
        {
                if (i)
                        text_add(&command, " ");
                add_word(&command, word);
        }
        if (json_object_get(record, "argv_cut"))
                text_add(&command, " ...");
        add_value(&program, json_array_get(argv, 0));
        slash = json_is_string(json_array_get(argv, 0)) && program.data ? strrchr(program.data, '/') : NULL;
        job->argv = json_incref(argv);
        job->program = strdup(slash ? slash + 1 : program.data ? program.data : "");
        *has_failed |= !job->program || program.has_failed || text_take(&command, &job->command, NULL) < 0;
        text_done(&program);
        text_done(&command);
}

static int clamp(json_int_t number)
{
        return number < INT_MIN ? INT_MIN : number > INT_MAX ? INT_MAX : (int)number;
}

static int64_t bytes_of(const json_t *record, const char *key)
{
        const json_t *bytes = json_object_get(json_object_get(record, key), "bytes");

        return json_is_integer(bytes) && json_integer_value(bytes) >= 0 ? json_integer_value(bytes) : -1;
}

/* False when memory is short. */
static bool take_record(struct audit_job *job, json_t *record, const char *event)
{
        const json_t *seq = json_object_get(record, "seq"), *signal = json_object_get(record, "signal");
        bool has_failed = false;
        double duration = json_number_value(json_object_get(record, "duration_ms"));

        job->id = strdup(json_string_value(json_object_get(record, "id")));
        job->seq = json_integer_value(seq) > 0 ? (uint64_t)json_integer_value(seq) : 0;
        job->has_refused = !strcmp(event, "refused");
        job->has_finished = !strcmp(event, "finished");
        take_command(job, record, &has_failed);
        job->cwd = value_of(record, "cwd", &has_failed);
        job->context = value_of(record, "context", &has_failed);
        job->policy = value_of(record, "policy", &has_failed);
        job->backend = value_of(record, "backend", &has_failed);
        job->limit = value_of(record, "limit", &has_failed);
        job->error = value_of(record, "error", &has_failed);
        job->has_timed_out = json_is_true(json_object_get(record, "timed_out"));
        job->has_signal = json_is_integer(signal);
        job->signal = clamp(json_integer_value(signal));
        job->exit_code = clamp(json_integer_value(json_object_get(record, "exit_code")));
        job->duration_ms = duration > 0 && duration < 1e15 ? duration : 0;
        if (json_is_array(json_object_get(record, "connections")))
                job->connections = json_incref(json_object_get(record, "connections"));
        job->output[0] = bytes_of(record, "stdout");
        job->output[1] = bytes_of(record, "stderr");
        return job->id && !has_failed;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static struct audit_job *add_job(struct audit_jobs *jobs)
{
        struct audit_job *items;

        if (jobs->count == jobs->capacity) {
                size_t capacity = jobs->capacity ? jobs->capacity * 2 : 64;

                items = realloc(jobs->items, capacity * sizeof(*items));
                if (!items)
                        return NULL;
                jobs->items = items;
                jobs->capacity = capacity;
        }
        jobs->items[jobs->count] = (struct audit_job){ 0 };
        return &jobs->items[jobs->count++];
}

/* 1: a record of a job was taken; 0: one of another kind; -1: no record; -2: memory is short. */
static int take_line(struct audit_jobs *jobs, const struct line *line)
{
        json_t *record = NULL;
        const char *event, *id, *time;
        struct audit_job *job;
        int64_t microseconds;
        int r = -1;

        if (line->full_length == line->length)
                record = json_loadb(line->bytes, line->length, JSON_REJECT_DUPLICATES, NULL);
        event = json_string_value(json_object_get(record, "event"));
        id = json_string_value(json_object_get(record, "id"));
        time = json_string_value(json_object_get(record, "time"));
        if (event && time && time_parse(time, &microseconds))
                r = 0;
        if (!r && id && (!jobs->wanted || !strncmp(id, jobs->wanted, strlen(jobs->wanted)))) {
                job = add_job(jobs);
                r = job && take_record(job, record, event) ? 1 : -2;
                if (job)
                        job->time = microseconds;
        }
        json_decref(record);
        return r;
}

static int read_part(struct audit_jobs *jobs, const struct part *part, abatis_error *err)
{
        OWN_READER struct reader reader = { 0 };
        struct line line;
        uint64_t number = 0;
        int r, taken;

        reader_init(&reader, part->fd, 0, part->size);
        while ((r = reader_next(&reader, &line, err)) > 0) {
                number++;
                taken = take_line(jobs, &line);
                if (taken == -2)
                        return error_memory(err);
                if (taken == -1 && jobs->bad_count++ < BAD_SAID)
                        text_addf(&jobs->bad, "line %llu of %s is no record\n", (unsigned long long)number,
                                  part->name);
                if (jobs->wants_raw && taken >= 0 && (taken || !jobs->wanted)) {
                        text_add_bytes(&jobs->raw, line.bytes, line.length);
                        text_add(&jobs->raw, "\n");
                }
                if (jobs->bad.has_failed || jobs->raw.has_failed)
                        return error_memory(err);
        }
        return r;
}

/* ---- joining -------------------------------------------------------------------------------------------- */

/* The records of one job beside each other; those of a log that was put together from several may not be in order. */
static int compare_ids(const void *first, const void *second)
{
        const struct audit_job *a = first, *b = second;
        int order = strcmp(a->id, b->id);

        if (order)
                return order;
        if (a->seq != b->seq)
                return a->seq < b->seq ? -1 : 1;
        return (a->time > b->time) - (a->time < b->time);
}

static int compare_beginnings(const void *first, const void *second)
{
        const struct audit_job *a = first, *b = second;

        if (a->time != b->time)
                return a->time < b->time ? -1 : 1;
        if (a->seq != b->seq)
                return a->seq < b->seq ? -1 : 1;
        return strcmp(a->id, b->id);
}

static void move_string(char **to, char **from)
{
        if (!*to)
                *to = take_pointer(*from);
}

/* What a later record says in addition. */
static void join(struct audit_job *job, struct audit_job *more)
{
        if (!job->argv) {
                job->argv = take_pointer(more->argv);
                move_string(&job->command, &more->command);
                move_string(&job->program, &more->program);
        }
        if (!job->connections)
                job->connections = take_pointer(more->connections);
        move_string(&job->cwd, &more->cwd);
        move_string(&job->context, &more->context);
        move_string(&job->policy, &more->policy);
        move_string(&job->backend, &more->backend);
        move_string(&job->limit, &more->limit);
        move_string(&job->error, &more->error);
        job->has_refused |= more->has_refused;
        if (more->has_finished) {
                job->has_finished = true;
                job->has_timed_out = more->has_timed_out;
                job->has_signal = more->has_signal;
                job->signal = more->signal;
                job->exit_code = more->exit_code;
                job->duration_ms = more->duration_ms;
                memcpy(job->output, more->output, sizeof(job->output));
        }
        job_done(more);
}

static enum audit_verdict judge(const struct audit_job *job)
{
        if (job->has_refused)
                return VERDICT_REFUSED;
        if (!job->has_finished)
                return VERDICT_RUNNING;
        if (job->has_timed_out)
                return VERDICT_TIMEOUT;
        if (job->limit)
                return VERDICT_LIMIT;
        return job->has_signal || job->exit_code ? VERDICT_FAILED : VERDICT_OK;
}

/* Sorting costs little and needs no table of hashes, which ids that somebody chose could make slow. */
static void join_all(struct audit_jobs *jobs)
{
        size_t kept = 0;

        if (!jobs->count)
                return;
        qsort(jobs->items, jobs->count, sizeof(*jobs->items), compare_ids);
        for (size_t i = 1; i < jobs->count; i++)
                if (!strcmp(jobs->items[kept].id, jobs->items[i].id))
                        join(&jobs->items[kept], &jobs->items[i]);
                else
                        jobs->items[++kept] = jobs->items[i];
        jobs->count = kept + 1;
        for (size_t i = 0; i < jobs->count; i++)
                jobs->items[i].verdict = judge(&jobs->items[i]);
        qsort(jobs->items, jobs->count, sizeof(*jobs->items), compare_beginnings);
}

int jobs_read(const abatis_audit_query *query, struct audit_jobs *jobs, abatis_error *err)
{
        OWN_SNAPSHOT struct snapshot snapshot = { 0 };
        int r = snapshot_open(query->file, &snapshot, err);

        jobs->wanted = query->id;
        for (size_t i = 0; !r && i < snapshot.count; i++)
                r = read_part(jobs, &snapshot.parts[i], err);
        if (r < 0)
                return r;
        if (jobs->bad_count > BAD_SAID)
                text_addf(&jobs->bad, "and %llu more\n", (unsigned long long)(jobs->bad_count - BAD_SAID));
        join_all(jobs);
        return jobs_select(jobs, query, err);
}
