/* mcp.c: MCP on stdin and stdout: which methods there are, and what is said to each.
 *
 * Tools are all that is offered. Those that touch something become tasks, as commands of JSON lines do: with the same places, patience
 * and cache. The others are answered at once. Nothing is remembered from one request to the next: see mcp_message.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"
#include "server/answer.h"
#include "server/client.h"
#include "server/clock.h"
#include "server/mcp_call.h"
#include "server/mcp_message.h"
#include "server/mcp_result.h"
#include "server/mcp_skills.h"
#include "server/object.h"
#include "server/reply.h"

static const char instructions[] =
        "Commands, scripts and files, in a sandbox of the operating system. What the policy does not allow is refused by the kernel: "
        "explain_policy says what is enforced, check_path which rule decides about a path. Trying again does not help.";

/* What one request is answered with. */
struct answer {
        struct client *client;
        const struct message *message;
        const char *line; /* borrowed: what it was */
        size_t length;
        const struct server_options *options;
        struct cache *cache;
        struct text *out;
};

/* How a task is answered: its tool, and the era of its request. */
static unsigned style_of(enum tool_kind tool, bool is_stateless)
{
        return (unsigned)tool * 2 + is_stateless;
}

static enum tool_kind tool_of(const struct task *task)
{
        return (enum tool_kind)(task->style / 2);
}

/* ---- who we are ----------------------------------------------------------------------------------------- */

static void add_instructions(struct text *out)
{
        text_add(out, "\"capabilities\":{\"tools\":{}}");
        reply_add_string(out, "instructions", instructions);
}

/* The revision that is asked for if we speak it, or the last of its era: then the client decides whether it goes on. */
static const char *agree(const json_t *wanted)
{
        static const char *const revisions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

        for (size_t i = 0; json_is_string(wanted) && i < sizeof(revisions) / sizeof(*revisions); i++)
                if (!strcmp(revisions[i], json_string_value(wanted)))
                        return revisions[i];
        return revisions[0];
}

static int initialize(const struct answer *answer, abatis_error *err)
{
        const json_t *wanted = json_object_get(answer->message->params, "protocolVersion");

        if (!json_is_string(wanted))
                return error_set(err, RPC_PARAMS, "'protocolVersion' must be a string");
        message_open_result(answer->out, answer->message->id, false);
        text_addf(answer->out, "\"protocolVersion\":\"%s\",\"serverInfo\":", agree(wanted));
        message_add_identity(answer->out);
        text_add(answer->out, ",");
        add_instructions(answer->out);
        message_close_result(answer->out);
        return 0;
}

/* Neither of these changes as long as this program is the same, and none is about its user. */
static void add_freshness(struct text *out)
{
        text_add(out, ",\"ttlMs\":3600000,\"cacheScope\":\"public\"");
}

static int discover(const struct answer *answer, abatis_error *err)
{
        (void)err;
        message_open_result(answer->out, answer->message->id, true);
        text_add(answer->out, "\"supportedVersions\":[\"" MCP_STATELESS "\"],");
        add_instructions(answer->out);
        add_freshness(answer->out);
        message_close_result(answer->out);
        return 0;
}

static int ping(const struct answer *answer, abatis_error *err)
{
        (void)err;
        message_open_result(answer->out, answer->message->id, false);
        message_close_result(answer->out);
        return 0;
}

static int list_tools(const struct answer *answer, abatis_error *err)
{
        bool is_stateless = answer->message->is_stateless;

        if (json_object_get(answer->message->params, "cursor"))
                return error_set(err, RPC_PARAMS, "'cursor': there is one page only");
        message_open_result(answer->out, answer->message->id, is_stateless);
        text_add(answer->out, "\"tools\":[");
        tool_list(answer->out);
        skills_list(answer->out);
        text_add(answer->out, "]");
        if (is_stateless)
                add_freshness(answer->out);
        message_close_result(answer->out);
        return 0;
}

/* ---- tools that are answered at once -------------------------------------------------------------------- */

static int check_path(const struct answer *answer, const struct call *call, abatis_policy *policy,
                      abatis_error *err)
{
        const char *access = json_string_value(json_object_get(call->arguments, "access"));
        OWN_TEXT struct text structure = { 0 }, line = { 0 }, shown = { 0 };
        OWN_FREE char *path = NULL, *rule = NULL;
        int allowed = 0, r = call_path(call, answer->options, "path", &path, err);

        if (!r)
                r = abatis_policy_check(policy, answer_access(access), path, &allowed, &rule, err);
        if (r < 0)
                return r;
        result_show(&shown, rule);
        if (shown.has_failed)
                return error_memory(err);
        text_addf(&line, "%s: %s", allowed ? "allowed" : "refused", shown.data);
        text_addf(&structure, "{\"allowed\":%s", allowed ? "true" : "false");
        reply_add_string(&structure, "access", access);
        reply_add_string(&structure, "path", path);
        reply_add_string(&structure, "rule", shown.data);
        text_add(&structure, "}");
        if (structure.has_failed || line.has_failed)
                return error_memory(err);
        result_answered(answer->out, answer->message->id, answer->message->is_stateless, line.data,
                        structure.data);
        return 0;
}

static int explain_policy(const struct answer *answer, abatis_policy *policy, abatis_error *err)
{
        bool is_best_effort = answer->options->is_best_effort;
        OWN_FREE char *text = NULL, *structure = NULL;
        int r = answer_explain(policy, is_best_effort, answer->cache, ABATIS_TEXT, &text, err);

        if (!r)
                r = answer_explain(policy, is_best_effort, answer->cache, ABATIS_JSON, &structure, err);
        if (!r)
                result_answered(answer->out, answer->message->id, answer->message->is_stateless, text,
                                structure);
        return r;
}

static int ask_policy(const struct answer *answer, const struct call *call, abatis_error *err)
{
        abatis_policy *policy;
        int r = answer->options->make_policy(answer->options->user, false, &policy, err);

        if (r < 0)
                return r;
        r = call->tool == TOOL_CHECK_PATH ? check_path(answer, call, policy, err)
                                          : explain_policy(answer, policy, err);
        abatis_policy_free(policy);
        return r;
}

/* ---- tools that are run --------------------------------------------------------------------------------- */

static int add_task(const struct answer *answer, const struct call *call, abatis_error *err)
{
        const struct message *message = answer->message;
        struct task *task;
        int r = client_add_task(answer->client, message->id, NULL, answer->line, answer->length, &task, err);

        if (r < 0) {
                err->code = r == PROTOCOL_BUSY ? RPC_BUSY : RPC_INTERNAL;
                return err->code;
        }
        task->style = style_of(call->tool, message->is_stateless);
        task->progress.token = json_incref(message->token);
        return 0;
}

/* What a model has got wrong is a result that it is shown; what its client has, an error. */
static int call_tool(const struct answer *answer, abatis_error *err)
{
        abatis_error mistake;
        struct call call;
        int r = call_read(answer->message, &call, err), refused;

        if (r < 0)
                return r;
        refused = call.tool == TOOL_SKILL ? 0 : tool_check(call.tool, call.arguments, &mistake);
        if (!refused && (call.tool == TOOL_CHECK_PATH || call.tool == TOOL_EXPLAIN_POLICY))
                refused = ask_policy(answer, &call, &mistake);
        else if (!refused)
                r = add_task(answer, &call, err);
        if (refused)
                result_refused(answer->out, answer->message->id, answer->message->is_stateless, &mistake);
        return r;
}

/* ---- messages ------------------------------------------------------------------------------------------- */

enum { HANDSHAKE = 1, STATELESS = 2 };

static const struct {
        const char *name;
        int eras;
        int (*answer)(const struct answer *answer, abatis_error *err);
} methods[] = {
        { "tools/call", HANDSHAKE | STATELESS, call_tool },
        { "tools/list", HANDSHAKE | STATELESS, list_tools },
        { "server/discover", STATELESS, discover },
        { "initialize", HANDSHAKE, initialize },
        { "ping", HANDSHAKE, ping },
};

static int answer_message(const struct answer *answer, abatis_error *err)
{
        const struct message *message = answer->message;
        int era = message->is_stateless ? STATELESS : HANDSHAKE;

        if (client_find_task(answer->client, message->id))
                return error_set(err, RPC_REQUEST, "a request with this id is not answered yet");
        for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
                if (strcmp(methods[i].name, message->method) != 0)
                        continue;
                if (methods[i].eras & era)
                        return methods[i].answer(answer, err);
                if (era == HANDSHAKE)
                        return error_set(err, RPC_PARAMS, "'_meta' must name the revision, " MCP_STATELESS);
        }
        return error_set(err, RPC_METHOD, "there is no method '%s'", message->method);
}

/* What is cancelled is not answered any more. One that has just ended cannot be, and that is no mistake. */
static void cancel(struct client *client, const struct message *message)
{
        const json_t *id = json_object_get(message->params, "requestId");
        struct task *task = id ? client_find_task(client, id) : NULL;

        if (!task)
                return;
        task->is_unheard = true;
        task_cancel(task);
}

static void hear(struct client *client, const char *line, size_t length, const struct server_options *options,
                 struct cache *cache)
{
        struct text *out = &client->outlet.text;
        OWN_FREE char *requested = NULL;
        struct message message;
        json_t *id = NULL;
        abatis_error err;
        int r = message_parse(line, length, &message, &id, &requested, &err);

        if (r < 0) {
                message_error(out, id, requested, &err);
                json_decref(id);
                return;
        }
        if (message.method && message.id) {
                const struct answer answer = { client, &message, line, length, options, cache, out };

                if (answer_message(&answer, &err) < 0)
                        message_error(out, message.id, NULL, &err);
        } else if (message.method && !strcmp(message.method, "notifications/cancelled")) {
                cancel(client, &message);
        }
        message_done(&message);
}

static void refuse_long(struct client *client, const char *line, size_t length)
{
        json_t *id = object_find_id(line, length);
        abatis_error err;

        error_set(&err, RPC_REQUEST, "a line has at most %d bytes", INTAKE_LINE_MAX);
        message_error(&client->outlet.text, id, NULL, &err);
        json_decref(id);
}

/* ---- tasks ---------------------------------------------------------------------------------------------- */

/* It was judged when it came. */
static int read_order(const char *line, size_t length, const struct server_options *options,
                      struct order *out, abatis_error *err)
{
        OWN_FREE char *requested = NULL;
        struct message message;
        json_t *id = NULL;
        struct call call;
        int r = message_parse(line, length, &message, &id, &requested, err);

        json_decref(id);
        if (r < 0)
                return r;
        r = call_read(&message, &call, err);
        if (!r)
                r = call_make_order(&call, &message, options, out, err);
        message_done(&message);
        return r;
}

static void reply(const struct task *task, struct text *out)
{
        result_of_task(task, tool_of(task), task->style % 2, out);
}

/* Seconds, of those that it may take if there is a limit; and what a command said last. */
static void tell_progress(const struct task *task, struct text *out)
{
        const struct progress *progress = &task->progress;
        OWN_TEXT struct text line = { 0 };

        text_add(out,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":");
        if (json_is_string(progress->token))
                json_text_string(out, json_string_value(progress->token),
                                 json_string_length(progress->token));
        else
                text_addf(out, "%lld", (long long)json_integer_value(progress->token));
        text_add(out, ",\"progress\":");
        json_text_decimal(out, (double)(clock_ms() - progress->began) / 1000);
        if (progress->limit) {
                text_add(out, ",\"total\":");
                json_text_decimal(out, (double)progress->limit / 1000);
        }
        if (tool_is_command(tool_of(task)))
                progress_add_line(progress, &line);
        if (line.length)
                reply_add_string(out, "message", line.data);
        text_add(out, "}");
        reply_close(out);
}

const struct dialect mcp_dialect = { hear, refuse_long, read_order, reply, tell_progress };
