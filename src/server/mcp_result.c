/* mcp_result.c: what a tool gives back: text for the model, and the same as a structure for programs. */
#include "server/mcp_result.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"
#include "server/mcp_message.h"
#include "server/reply.h"

/* ---- blocks of content ---------------------------------------------------------------------------------- */

/* What was said is a block by itself, after a title if there is one. */
static void add_block(struct text *out, const char *title, const char *bytes, size_t length)
{
        if (out->data[out->length - 1] == '}')
                text_add(out, ",");
        text_add(out, "{\"type\":\"text\",\"text\":\"");
        json_text_characters(out, title, strlen(title));
        json_text_characters(out, bytes, length);
        text_add(out, "\"}");
}

void result_show(struct text *out, const char *string)
{
        if (text_is_utf8(string, strlen(string)))
                text_add(out, string);
        else
                text_add_line(out, string);
}

static void add_line(struct text *out, const char *line)
{
        OWN_TEXT struct text shown = { 0 };

        result_show(&shown, line);
        if (shown.has_failed)
                out->has_failed = true;
        else
                add_block(out, "", shown.data ? shown.data : "", shown.length);
}

/* Bytes that are no text are only in the structure. */
static void add_bytes(struct text *out, const char *title, const char *bytes, size_t length)
{
        OWN_TEXT struct text line = { 0 };

        if (text_is_plain(bytes, length)) {
                add_block(out, title, bytes, length);
                return;
        }
        text_addf(&line, "%s%zu bytes that are no text: structuredContent has them as base64", title, length);
        if (line.has_failed)
                out->has_failed = true;
        else
                add_line(out, line.data);
}

static void open_content(struct text *out, const json_t *id, bool is_stateless)
{
        message_open_result(out, id, is_stateless);
        text_add(out, "\"content\":[");
}

static void close_content(struct text *out, bool is_error)
{
        text_addf(out, ",\"isError\":%s", is_error ? "true" : "false");
        message_close_result(out);
}

void result_refused(struct text *out, const json_t *id, bool is_stateless, const abatis_error *err)
{
        open_content(out, id, is_stateless);
        if (!out->has_failed)
                add_line(out, err->message);
        text_add(out, "]");
        close_content(out, true);
}

void result_answered(struct text *out, const json_t *id, bool is_stateless, const char *text,
                     const char *structure)
{
        open_content(out, id, is_stateless);
        if (!out->has_failed)
                add_line(out, text);
        text_add(out, "]");
        reply_add_json(out, "structuredContent", structure);
        close_content(out, false);
}

/* ---- commands ------------------------------------------------------------------------------------------- */

/* How it ended, for who reads only the text. */
static void add_end(const abatis_result *result, struct text *out)
{
        OWN_TEXT struct text line = { 0 };
        const char *limit = abatis_result_limit(result);

        if (abatis_result_cancelled(result))
                text_add(&line, "cancelled");
        else if (limit)
                text_addf(&line, "ended by %s", limit);
        else if (abatis_result_signal(result))
                text_addf(&line, "ended by signal %d", abatis_result_signal(result));
        else
                text_addf(&line, "exit code %d", abatis_result_exit_code(result));
        if (abatis_result_truncated(result))
                text_add(&line, "; there was more output than is kept");
        if (line.has_failed)
                out->has_failed = true;
        else
                add_line(out, line.data);
}

static void add_run(const struct task *task, struct text *out)
{
        size_t length, error_length;
        const char *bytes = abatis_result_stdout(task->result, &length),
                   *errors = abatis_result_stderr(task->result, &error_length);

        if (length)
                add_bytes(out, "", bytes, length);
        if (error_length)
                add_bytes(out, "stderr:\n", errors, error_length);
        add_end(task->result, out);
        text_add(out, "],\"structuredContent\":");
        task_add_result(task, out);
        close_content(out, abatis_result_exit_code(task->result) != 0);
}

/* What a skill prints is what it gives: as a structure, if it is an object. How it went is told where it went wrong. */
static void add_skill(const abatis_result *result, struct text *out)
{
        size_t length, error_length;
        const char *bytes = abatis_result_stdout(result, &length),
                   *errors = abatis_result_stderr(result, &error_length);
        bool has_failed = abatis_result_exit_code(result) != 0;
        json_t *object = !has_failed && !abatis_result_truncated(result)
                                 ? json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL)
                                 : NULL;
        char *json =
                json_is_object(object) ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

        add_bytes(out, "", bytes, length);
        if (has_failed && error_length)
                add_bytes(out, "stderr:\n", errors, error_length);
        if (has_failed || abatis_result_truncated(result))
                add_end(result, out);
        text_add(out, "]");
        if (json)
                reply_add_json(out, "structuredContent", json);
        close_content(out, has_failed);
        free(json);
        json_decref(object);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

/* Why the program inside has not done it, in its own words where it had some. */
static void describe_failure(const abatis_result *result, abatis_error *err)
{
        size_t length;
        const char *said = abatis_result_stderr(result, &length), *limit = abatis_result_limit(result);

        if (limit)
                error_set(err, ABATIS_E_SYSTEM, "ended by %s", limit);
        else if (abatis_result_truncated(result))
                error_set(err, ABATIS_E_SYSTEM,
                          "limits.output of the policy is too small for it: ask for less");
        else if (abatis_result_exit_code(result) == 1 && length)
                error_set(err, ABATIS_E_SYSTEM, "%s", said);
        else
                error_set(err, ABATIS_E_SYSTEM, "it could not be done in the sandbox: exit code %d",
                          abatis_result_exit_code(result));
}

/* One line for each entry: its type and its name. */
static void add_entries(const json_t *entries, struct text *out)
{
        OWN_TEXT struct text lines = { 0 };

        for (size_t i = 0; i < json_array_size(entries); i++) {
                const json_t *entry = json_array_get(entries, i);
                const char *name = json_string_value(json_object_get(entry, "name"));

                text_addf(&lines, "%s%s ", i ? "\n" : "", json_string_value(json_object_get(entry, "type")));
                text_add_line(&lines, name ? name : "(a name that is no text)");
        }
        if (lines.has_failed)
                out->has_failed = true;
        else
                add_line(out, lines.length ? lines.data : "(empty)");
}

static void add_note(struct text *out, const json_t *facts)
{
        OWN_TEXT struct text line = { 0 };
        json_int_t offset = json_integer_value(json_object_get(facts, "offset")),
                   bytes = json_integer_value(json_object_get(facts, "bytes"));

        text_addf(&line, "[bytes %lld to %lld of %lld; there is more at offset %lld]", (long long)offset,
                  (long long)(offset + bytes), (long long)json_integer_value(json_object_get(facts, "size")),
                  (long long)(offset + bytes));
        if (line.has_failed)
                out->has_failed = true;
        else
                add_line(out, line.data);
}

static void add_structure(struct text *out, const char *facts, size_t length)
{
        text_add(out, "],\"structuredContent\":");
        text_add_bytes(out, facts, length);
}

/* The facts that the program inside tells are a JSON object, whose last brace others are put before. */
static void add_file(enum tool_kind tool, const abatis_result *result, const json_t *facts, struct text *out)
{
        size_t length, facts_length;
        const char *bytes = abatis_result_stdout(result, &length),
                   *told = abatis_result_stderr(result, &facts_length);
        json_t *entries = tool == TOOL_LIST_DIRECTORY ? json_loadb(bytes, length, 0, NULL) : NULL;

        if (tool == TOOL_READ_FILE)
                add_bytes(out, "", bytes, length);
        if (tool == TOOL_READ_FILE && json_is_true(json_object_get(facts, "has_more")))
                add_note(out, facts);
        if (tool == TOOL_LIST_DIRECTORY)
                add_entries(entries, out);
        if (tool == TOOL_WRITE_FILE)
                add_line(out, "written");
        add_structure(out, told, facts_length - 1);
        if (tool == TOOL_READ_FILE)
                reply_add_bytes(out, "content", bytes, length);
        if (tool == TOOL_LIST_DIRECTORY) {
                text_add(out, ",\"entries\":");
                text_add_bytes(out, bytes, length);
        }
        text_add(out, "}");
        json_decref(entries);
        close_content(out, false);
}

/* It has run among what others have written: it is not believed without a look. */
static json_t *read_facts(enum tool_kind tool, const abatis_result *result)
{
        size_t length, told;
        const char *bytes = abatis_result_stdout(result, &length);
        const char *said = abatis_result_stderr(result, &told);
        json_t *facts, *entries;

        if (abatis_result_exit_code(result) || abatis_result_truncated(result))
                return NULL;
        facts = json_loadb(said, told, JSON_REJECT_DUPLICATES, NULL);
        entries =
                tool == TOOL_LIST_DIRECTORY ? json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (!json_is_object(facts) || said[told - 1] != '}' || memchr(said, '\n', told) ||
            (tool == TOOL_LIST_DIRECTORY && (!json_is_array(entries) || memchr(bytes, '\n', length)))) {
                json_decref(facts);
                facts = NULL;
        }
        json_decref(entries);
        return facts;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

void result_of_task(const struct task *task, enum tool_kind tool, bool is_stateless, struct text *out)
{
        bool is_run = tool_is_command(tool) || tool == TOOL_SKILL;
        json_t *facts = task->result && !is_run ? read_facts(tool, task->result) : NULL;
        abatis_error err = task->err;

        if (task->result && !is_run && !facts)
                describe_failure(task->result, &err);
        if (!task->result || (!is_run && !facts)) {
                result_refused(out, task->id, is_stateless, &err);
                return;
        }
        open_content(out, task->id, is_stateless);
        if (out->has_failed) {
                json_decref(facts);
                return;
        }
        if (tool == TOOL_SKILL)
                add_skill(task->result, out);
        else if (is_run)
                add_run(task, out);
        else
                add_file(tool, task->result, facts, out);
        json_decref(facts);
}
