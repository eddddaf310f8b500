/* sql.c: the log as statements for SQLite, for questions that nobody has thought of. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "audit/jobs.h"
#include "audit/read.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/json.h"
#include "base/own.h"

static const char tables[] =
        "BEGIN;\n"
        "CREATE TABLE jobs(id TEXT PRIMARY KEY, time TEXT, verdict TEXT, exit_code INTEGER, signal INTEGER, duration_ms REAL,\n"
        "  program TEXT, command TEXT, argv TEXT, cwd TEXT, context TEXT, policy TEXT, backend TEXT, limit_hit TEXT,\n"
        "  stdout_bytes INTEGER, stderr_bytes INTEGER, error TEXT);\n"
        "CREATE TABLE connections(id TEXT, time TEXT, verdict TEXT, direction TEXT, transport TEXT, name TEXT,\n"
        "  address TEXT, port INTEGER, sent INTEGER, received INTEGER, pid INTEGER, program TEXT, rule TEXT, problem TEXT,\n"
        "  count INTEGER);\n"
        "CREATE TABLE events(seq INTEGER, time TEXT, event TEXT, id TEXT, record TEXT);\n";

/* In digits: whatever the text holds, no shell of SQLite takes it for anything but a text. */
static void add_text(struct text *text, const char *string, size_t length)
{
        static const char digits[] = "0123456789abcdef";

        text_add(text, "CAST(x'");
        for (size_t i = 0; i < length; i++) {
                char pair[2] = { digits[(unsigned char)string[i] >> 4], digits[string[i] & 15] };

                text_add_bytes(text, pair, sizeof(pair));
        }
        text_add(text, "' AS TEXT)");
}

static void add_value(struct text *text, const char *string)
{
        text_add(text, ",");
        if (string)
                add_text(text, string, strlen(string));
        else
                text_add(text, "NULL");
}

static void add_integer(struct text *text, bool is_said, int64_t number)
{
        if (is_said)
                text_addf(text, ",%lld", (long long)number);
        else
                text_add(text, ",NULL");
}

static void add_connection(struct text *text, const char *id, const json_t *connection)
{
        static const char *const numbers[] = { "port", "sent", "received", "pid" };
        static const char *const before[] = {
                "time", "verdict", "direction", "transport", "name", "address"
        };
        static const char *const after[] = { "program", "rule", "problem" };
        const json_t *count = json_object_get(connection, "count");

        text_add(text, "INSERT INTO connections VALUES(");
        add_text(text, id, strlen(id));
        for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
                add_value(text, json_string_value(json_object_get(connection, before[i])));
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
                const json_t *number = json_object_get(connection, numbers[i]);

                add_integer(text, json_is_integer(number), json_integer_value(number));
        }
        for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++)
                add_value(text, json_string_value(json_object_get(connection, after[i])));
        add_integer(text, true, count ? json_integer_value(count) : 1);
        text_add(text, ");\n");
}

static int add_job(struct text *text, const struct audit_job *job, abatis_error *err)
{
        OWN_FREE char *argv = NULL;
        char time[RECORD_TIME_SIZE];
        const json_t *connection;
        size_t i;
        int r = job->argv ? json_to_text(json_incref(job->argv), JSON_COMPACT | JSON_ENSURE_ASCII, &argv, err)
                          : 0;

        if (r < 0)
                return r;
        record_format_time(job->time, time);
        text_add(text, "INSERT INTO jobs VALUES(");
        add_text(text, job->id, strlen(job->id));
        add_value(text, time);
        add_value(text, verdict_name(job->verdict));
        add_integer(text, job->has_finished && !job->has_signal, job->exit_code);
        add_integer(text, job->has_finished && job->has_signal, job->signal);
        if (job->has_finished)
                text_addf(text, ",%.3f", job->duration_ms);
        else
                text_add(text, ",NULL");
        add_value(text, job->program);
        add_value(text, job->command);
        add_value(text, argv);
        add_value(text, job->cwd);
        add_value(text, job->context);
        add_value(text, job->policy);
        add_value(text, job->backend);
        add_value(text, job->limit);
        add_integer(text, job->output[0] >= 0, job->output[0]);
        add_integer(text, job->output[1] >= 0, job->output[1]);
        add_value(text, job->error);
        text_add(text, ");\n");
        json_array_foreach(job->connections, i, connection)
        {
                add_connection(text, job->id, connection);
        }
        return 0;
}

static int add_event(struct text *text, const char *line, size_t length, abatis_error *err)
{
        json_t *record = json_loadb(line, length, 0, NULL);
        OWN_FREE char *shown = NULL;
        int r;

        text_addf(text, "INSERT INTO events VALUES(%lld",
                  (long long)json_integer_value(json_object_get(record, "seq")));
        add_value(text, json_string_value(json_object_get(record, "time")));
        add_value(text, json_string_value(json_object_get(record, "event")));
        add_value(text, json_string_value(json_object_get(record, "id")));
        r = json_to_text(record, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10), &shown, err);
        if (r < 0)
                return r;
        add_value(text, shown);
        text_add(text, ");\n");
        return 0;
}

int audit_sql(const abatis_audit_query *query, char **out, abatis_error *err)
{
        OWN_JOBS struct audit_jobs jobs = { .wants_raw = true };
        OWN_TEXT struct text text = { 0 };
        int r = jobs_read(query, &jobs, err);

        text_add(&text, tables);
        for (size_t i = 0; !r && i < jobs.count; i++)
                r = add_job(&text, &jobs.items[i], err);
        for (const char *at = jobs.raw.data, *end; !r && at && *at; at = *end ? end + 1 : end) {
                end = at + strcspn(at, "\n");
                r = add_event(&text, at, (size_t)(end - at), err);
        }
        text_add(&text, "COMMIT;\n");
        return r ? r : text_take(&text, out, err);
}
