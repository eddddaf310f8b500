/* list.c: jobs one by one: a table, one object a line, or one job with all that is known of it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "audit/jobs.h"
#include "audit/read.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/json.h"
#include "base/own.h"

enum { ID_SHOWN = 8 };

/* ---- text ----------------------------------------------------------------------------------------------- */

static void add_exit(struct text *text, const struct audit_job *job)
{
        if (!job->has_finished)
                text_add(text, "-");
        else if (job->has_signal)
                text_addf(text, "sig %d", job->signal);
        else
                text_addf(text, "%d", job->exit_code);
}

/* So many characters; "µ" is one of them. */
static void pad(struct text *text, size_t start, size_t width)
{
        size_t characters = 0;

        for (size_t i = start; i < text->length; i++)
                characters += ((unsigned char)text->data[i] & 0xc0) != 0x80;
        do
                text_add(text, " ");
        while (++characters < width);
}

static void add_row(struct text *text, const struct audit_job *job)
{
        size_t start;

        add_time(text, job->time);
        text_addf(text, "  %-8s ", verdict_name(job->verdict));
        start = text->length;
        add_exit(text, job);
        pad(text, start, 7);
        start = text->length;
        if (job->has_finished)
                add_duration(text, job->duration_ms);
        else
                text_add(text, "-");
        pad(text, start, 13);
        start = text->length;
        add_printable(text, job->id, strnlen(job->id, ID_SHOWN));
        pad(text, start, ID_SHOWN + 2);
        text_add(text, job->command ? job->command : "");
        if (job->error)
                text_addf(text, "  (%s)", job->error);
        text_add(text, "\n");
}

/* ---- JSON ----------------------------------------------------------------------------------------------- */

static void set_string(json_t *object, const char *key, const char *value)
{
        if (value)
                json_object_set_new(object, key, json_string(value));
}

static json_t *job_to_json(const struct audit_job *job)
{
        json_t *object = json_object();
        char time[RECORD_TIME_SIZE];

        record_format_time(job->time, time);
        json_object_set_new(object, "id", json_string(job->id));
        json_object_set_new(object, "time", json_string(time));
        json_object_set_new(object, "verdict", json_string(verdict_name(job->verdict)));
        if (job->has_finished) {
                json_object_set_new(object, "exit_code",
                                    job->has_signal ? json_null() : json_integer(job->exit_code));
                json_object_set_new(object, "signal",
                                    job->has_signal ? json_integer(job->signal) : json_null());
                json_object_set_new(object, "duration_ms", json_real(job->duration_ms));
                json_object_set_new(object, "timed_out", json_boolean(job->has_timed_out));
        }
        if (job->argv)
                json_object_set(object, "argv", job->argv);
        set_string(object, "cwd", job->cwd);
        set_string(object, "context", job->context);
        set_string(object, "policy", job->policy);
        set_string(object, "backend", job->backend);
        set_string(object, "limit", job->limit);
        set_string(object, "error", job->error);
        if (job->output[0] >= 0)
                json_object_set_new(object, "stdout_bytes", json_integer(job->output[0]));
        if (job->output[1] >= 0)
                json_object_set_new(object, "stderr_bytes", json_integer(job->output[1]));
        if (job->connections)
                json_object_set(object, "connections", job->connections);
        return object;
}

static int add_json_row(struct text *text, const struct audit_job *job, abatis_error *err)
{
        OWN_FREE char *line = NULL;
        int r = json_to_text(job_to_json(job), JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10),
                             &line, err);

        if (r < 0)
                return r;
        text_add(text, line);
        text_add(text, "\n");
        return 0;
}

/* ---- the list ------------------------------------------------------------------------------------------- */

int audit_list(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        OWN_JOBS struct audit_jobs jobs = { 0 };
        OWN_TEXT struct text text = { 0 };
        int r = jobs_read(query, &jobs, err);

        if (r < 0)
                return r;
        if (format == ABATIS_TEXT && jobs.count)
                text_add(&text, "TIME (UTC)           VERDICT  EXIT   DURATION     ID        COMMAND\n");
        for (size_t i = 0; !r && i < jobs.count; i++)
                if (format == ABATIS_JSON)
                        r = add_json_row(&text, &jobs.items[i], err);
                else
                        add_row(&text, &jobs.items[i]);
        if (format == ABATIS_JSON && jobs.bad_count)
                text_addf(&text, "{\"bad_lines\":%llu}\n", (unsigned long long)jobs.bad_count);
        else if (jobs.bad.length)
                text_add(&text, jobs.bad.data);
        return r ? r : text_take(&text, out, err);
}

/* ---- one job -------------------------------------------------------------------------------------------- */

static void add_line(struct text *text, const char *name, const char *value)
{
        if (value && *value)
                text_addf(text, "%-10s %s\n", name, value);
}

/* Without anything that drives a terminal; what is no text is in the record below. */
static void add_member(struct text *text, const char *before, const json_t *object, const char *key)
{
        const json_t *value = json_object_get(object, key);
        const char *string = json_string_value(value);

        if (!string)
                return;
        text_add(text, before);
        add_printable(text, string, strlen(string));
}

static void add_connection(struct text *text, const json_t *connection)
{
        const json_t *port = json_object_get(connection, "port");
        const json_t *count = json_object_get(connection, "count");
        const bool has_name = json_object_get(connection, "name");

        text_addf(text, "%-10s", "network");
        add_member(text, " ", connection, "verdict");
        add_member(text, " ", connection, has_name ? "name" : "address");
        if (json_is_integer(port))
                text_addf(text, " port %lld", (long long)json_integer_value(port));
        if (has_name)
                add_member(text, " at ", connection, "address");
        text_addf(text, ", %lld bytes out, %lld in",
                  (long long)json_integer_value(json_object_get(connection, "sent")),
                  (long long)json_integer_value(json_object_get(connection, "received")));
        if (json_integer_value(count) > 1)
                text_addf(text, ", %lld times", (long long)json_integer_value(count));
        add_member(text, ", by ", connection, "program");
        add_member(text, ": ", connection, "problem");
        text_add(text, "\n");
}

static void add_summary(struct text *text, const struct audit_job *job)
{
        const json_t *connection;
        size_t i;

        text_addf(text, "%-10s ", "id");
        add_printable(text, job->id, strlen(job->id));
        text_addf(text, "\n%-10s ", "time");
        add_time(text, job->time);
        text_add(text, " UTC\n");
        add_line(text, "command", job->command);
        add_line(text, "verdict", verdict_name(job->verdict));
        if (job->has_finished) {
                text_addf(text, "%-10s ", job->has_signal ? "signal" : "exit code");
                text_addf(text, "%d\n%-10s ", job->has_signal ? job->signal : job->exit_code, "duration");
                add_duration(text, job->duration_ms);
                text_add(text, "\n");
        }
        add_line(text, "error", job->error);
        add_line(text, "limit", job->limit);
        add_line(text, "directory", job->cwd);
        add_line(text, "context", job->context);
        add_line(text, "policy", job->policy);
        add_line(text, "backend", job->backend);
        if (job->output[0] >= 0)
                text_addf(text, "%-10s %lld bytes\n", "stdout", (long long)job->output[0]);
        if (job->output[1] >= 0)
                text_addf(text, "%-10s %lld bytes\n", "stderr", (long long)job->output[1]);
        json_array_foreach(job->connections, i, connection)
        {
                add_connection(text, connection);
        }
}

/* Each record laid out for reading. */
static int add_records(struct text *text, const struct text *raw, abatis_error *err)
{
        for (const char *at = raw->data, *end; at && *at; at = end + 1) {
                OWN_FREE char *pretty = NULL;
                int r;

                end = at + strcspn(at, "\n");
                r = json_to_text(json_loadb(at, (size_t)(end - at), 0, NULL),
                                 JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10), &pretty, err);
                if (r < 0)
                        return r;
                text_addf(text, "\n%s\n", pretty);
                if (!*end)
                        break;
        }
        return 0;
}

int audit_show(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        OWN_JOBS struct audit_jobs jobs = { .wants_raw = true };
        OWN_TEXT struct text text = { 0 };
        int r = query->id && *query->id ? 0 : error_set(err, ABATIS_E_INVALID, "no id was given");

        if (!r)
                r = jobs_read(query, &jobs, err);
        if (r < 0)
                return r;
        if (!jobs.count)
                return error_set(err, ABATIS_E_INVALID, "the audit log has no job '%s'", query->id);
        if (jobs.count > 1)
                return error_set(err, ABATIS_E_INVALID, "%zu jobs of the audit log begin with '%s'",
                                 jobs.count, query->id);
        if (format == ABATIS_JSON)
                return text_take(&jobs.raw, out, err);
        add_summary(&text, &jobs.items[0]);
        r = add_records(&text, &jobs.raw, err);
        return r ? r : text_take(&text, out, err);
}
