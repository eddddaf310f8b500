/* result.c: the result object as JSON, in pieces: what a command has written may be large, and is held once. */
#include "lib/result.h"

#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "plan/connection.h"

enum { PIECE = 12 * 1024 /* a multiple of three: base64 goes on without a gap */ };

struct writer {
        struct text text; /* what was not passed on yet */
        const struct result_sink *sink;
        bool is_refused;
};

static void flush(struct writer *writer)
{
        if (!writer->is_refused && !writer->text.has_failed && writer->text.length)
                writer->is_refused =
                        writer->sink->write(writer->sink->user, writer->text.data, writer->text.length);
        writer->text.length = 0;
}

static void add_key(struct writer *writer, const char *key)
{
        text_add(&writer->text, ",\"");
        text_add(&writer->text, key);
        text_add(&writer->text, "\":");
}

static void add_flag(struct writer *writer, const char *key, bool is_true)
{
        add_key(writer, key);
        text_add(&writer->text, is_true ? "true" : "false");
}

static void add_string(struct writer *writer, const char *key, const char *string)
{
        add_key(writer, key);
        if (string)
                json_text_string(&writer->text, string, strlen(string));
        else
                text_add(&writer->text, "null");
}

static void add_number(struct writer *writer, const char *key, bool is_known, uint64_t number)
{
        add_key(writer, key);
        if (is_known)
                json_text_number(&writer->text, number);
        else
                text_add(&writer->text, "null");
}

/* How much of the text is one piece: no character is divided. */
static size_t cut(const char *bytes, size_t length)
{
        size_t piece = PIECE;

        if (length <= PIECE)
                return length;
        while (((unsigned char)bytes[piece] & 0xc0) == 0x80)
                piece--;
        return piece;
}

/* Text goes in under `key`; what JSON cannot hold goes in under `key`_base64, so that no byte is lost. */
static void add_output(struct writer *writer, const char *key, const struct text *output)
{
        const char *bytes = output->data ? output->data : "";
        bool is_plain = text_is_plain(bytes, output->length);
        size_t piece;

        text_add(&writer->text, ",\"");
        text_add(&writer->text, key);
        text_add(&writer->text, is_plain ? "\":\"" : "_base64\":\"");
        for (size_t left = output->length; left && !writer->is_refused; left -= piece, bytes += piece) {
                if (is_plain) {
                        piece = cut(bytes, left);
                        json_text_characters(&writer->text, bytes, piece);
                } else {
                        piece = left < PIECE ? left : PIECE;
                        text_add_base64(&writer->text, bytes, piece);
                }
                flush(writer);
        }
        text_add(&writer->text, "\"");
}

static void add_item(struct writer *writer, const char *string, bool *is_first)
{
        text_add(&writer->text, *is_first ? "" : ",");
        json_text_string(&writer->text, string, strlen(string));
        *is_first = false;
        if (writer->text.length >= PIECE)
                flush(writer);
}

static void add_argv(struct writer *writer, const struct strings *argv)
{
        bool is_first = true;

        text_add(&writer->text, "\"argv\":[");
        for (size_t i = 0; i < argv->count; i++)
                add_item(writer, argv->items[i], &is_first);
        text_add(&writer->text, "]");
}

static void add_clauses(struct writer *writer, const char *key, const struct plan *plan, bool are_held)
{
        bool is_first = true;

        add_key(writer, key);
        text_add(&writer->text, "[");
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan_is_held(plan, i) == are_held)
                        add_item(writer, plan->clauses[i].name, &is_first);
        text_add(&writer->text, "]");
}

static void add_connection(struct writer *writer, const struct relay_event *event)
{
        abatis_connection connection;

        connection_describe(event, &connection);
        text_add(&writer->text, "{\"time\":");
        text_addf(&writer->text, "%lld.%06u", (long long)event->seconds, event->microseconds);
        add_string(writer, "verdict", connection.verdict);
        add_string(writer, "direction", connection.direction);
        add_string(writer, "transport", *connection.transport ? connection.transport : NULL);
        add_string(writer, "name", *connection.name ? connection.name : NULL);
        add_string(writer, "address", *connection.address ? connection.address : NULL);
        add_number(writer, "port", connection.port, connection.port);
        add_number(writer, "sent", true, connection.sent);
        add_number(writer, "received", true, connection.received);
        add_string(writer, "rule", *connection.rule ? connection.rule : NULL);
        add_string(writer, "problem", *connection.problem ? connection.problem : NULL);
        add_number(writer, "pid", connection.pid, (uint64_t)connection.pid);
        add_string(writer, "program", *connection.program ? connection.program : NULL);
        add_number(writer, "count", true, connection.count);
        text_add(&writer->text, "}");
        flush(writer);
}

/* Of a plan that has a list of them. */
static void add_connections(struct writer *writer, const struct connections *seen)
{
        add_key(writer, "connections");
        text_add(&writer->text, "[");
        for (size_t i = 0; i < seen->count && !writer->is_refused; i++) {
                text_add(&writer->text, i ? "," : "");
                add_connection(writer, &seen->items[i]);
        }
        text_add(&writer->text, "]");
        add_number(writer, "connections_omitted", true, seen->omitted);
}

static void add_set_aside(struct writer *writer, const struct strings *set_aside)
{
        add_key(writer, "set_aside");
        text_add(&writer->text, "[");
        for (size_t i = 0; i + 1 < set_aside->count; i += 2) {
                const char *kept_as = set_aside->items[i + 1];

                text_add(&writer->text, i ? ",{\"path\":" : "{\"path\":");
                json_text_string(&writer->text, set_aside->items[i], strlen(set_aside->items[i]));
                add_string(writer, "kept_as", *kept_as ? kept_as : NULL);
                text_add(&writer->text, "}");
        }
        text_add(&writer->text, "]");
}

int result_write(const struct result_parts *parts, const struct result_sink *sink, abatis_error *err)
{
        const struct job_outcome *outcome = parts->outcome;
        struct writer writer = { .sink = sink };
        bool has_failed;

        text_add(&writer.text, "{");
        add_argv(&writer, parts->argv);
        add_number(&writer, "exit_code", !outcome->signal, (uint64_t)outcome->exit_code);
        add_number(&writer, "signal", outcome->signal, (uint64_t)outcome->signal);
        add_output(&writer, "stdout", &outcome->output[0]);
        add_output(&writer, "stderr", &outcome->output[1]);
        add_number(&writer, "stdout_bytes", true, outcome->totals[0]);
        add_number(&writer, "stderr_bytes", true, outcome->totals[1]);
        add_key(&writer, "duration_ms");
        json_text_decimal(&writer.text, outcome->duration_ms);
        add_flag(&writer, "truncated", outcome->is_truncated);
        add_flag(&writer, "timed_out", outcome->has_timed_out);
        add_flag(&writer, "cancelled", outcome->is_cancelled);
        add_string(&writer, "limit", outcome->limit);
        add_string(&writer, "backend", backend_names[parts->plan->backend]);
        add_clauses(&writer, "enforced", parts->plan, true);
        add_clauses(&writer, "not_enforced", parts->plan, false);
        if (plan_has(parts->plan, PLAN_NETWORK) || plan_has(parts->plan, PLAN_STREAMS))
                add_connections(&writer, &outcome->connections);
        if (outcome->set_aside.count)
                add_set_aside(&writer, &outcome->set_aside);
        add_string(&writer, "audit_id", parts->audit_id);
        text_add(&writer.text, "}");
        flush(&writer);
        has_failed = writer.text.has_failed;
        text_done(&writer.text);
        if (has_failed)
                return error_memory(err);
        return writer.is_refused ? error_set(err, ABATIS_E_SYSTEM, "the result was not taken") : 0;
}

static int keep(void *user, const char *bytes, size_t length)
{
        struct text *text = user;

        text_add_bytes(text, bytes, length);
        return text->has_failed;
}

int result_print(const struct result_parts *parts, char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        const struct result_sink sink = { keep, &text };
        int r = result_write(parts, &sink, err);

        return r && !text.has_failed ? r : text_take(&text, out, err);
}
