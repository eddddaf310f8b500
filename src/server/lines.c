/* lines.c: requests and replies as lines of JSON, of our own: docs/SERVER.md. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/answer.h"
#include "server/client.h"
#include "server/object.h"
#include "server/reply.h"
#include "server/request.h"
#include "server/setting.h"
#include "server/skill.h"

/* ---- what is asked -------------------------------------------------------------------------------------- */

/* True if there was something of it, be it that it had not started. */
static bool cancel_session(struct client *client, const char *name, struct cache *cache)
{
        const struct session_key session = { client, name };
        bool is_there = cache_end_session(cache, &session);

        for (struct task *task = client->tasks; task; task = task->next) {
                if (!task->session || strcmp(task->session, name) != 0)
                        continue;
                is_there |= task->state <= TASK_RUNS;
                task_cancel(task);
        }
        return is_there;
}

/* A command that has just ended cannot be cancelled, and that is no mistake. */
static void cancel(struct client *client, const struct request *request, struct cache *cache)
{
        const char *session = request_string(request, "session");
        struct task *task =
                session ? NULL : client_find_task(client, json_object_get(request->root, "target"));
        bool is_there = session ? cancel_session(client, session, cache) : task && task->state <= TASK_RUNS;

        if (task)
                task_cancel(task);
        reply_open(&client->outlet.text, request->id);
        reply_add_json(&client->outlet.text, "result",
                       is_there ? "{\"cancelled\":true}" : "{\"cancelled\":false}");
        reply_close(&client->outlet.text);
}

static void hear(struct client *client, const char *line, size_t length, const struct server_options *options,
                 struct cache *cache)
{
        struct request request;
        struct task *task;
        json_t *id = NULL;
        abatis_error err;
        int r = request_parse(line, length, &request, &id, &err);

        if (r < 0) {
                reply_error(&client->outlet.text, id, &err);
                json_decref(id);
                return;
        }
        if (client_find_task(client, request.id))
                r = error_set(&err, PROTOCOL_ID, "a request with this id is not answered yet");
        else if (request.method == METHOD_RUN || request.method == METHOD_SKILL)
                r = client_add_task(client, request.id, request_string(&request, "session"), line, length,
                                    &task, &err);
        else if (request.method == METHOD_CANCEL)
                cancel(client, &request, cache);
        else
                answer_request(&request, options->program, cache, &client->outlet.text);
        if (r < 0)
                reply_error(&client->outlet.text, request.id, &err);
        request_done(&request);
}

static void refuse_long(struct client *client, const char *line, size_t length)
{
        json_t *id = object_find_id(line, length);
        abatis_error err;

        error_set(&err, PROTOCOL_LENGTH, "a line has at most %d bytes", INTAKE_LINE_MAX);
        reply_error(&client->outlet.text, id, &err);
        json_decref(id);
}

/* ---- what is to be run ---------------------------------------------------------------------------------- */

/* "NAME=VALUE", owned one by one; *out is NULL where the request says nothing, which is our own. */
static int make_environment(const struct request *request, char ***out, abatis_error *err)
{
        json_t *variables = json_object_get(request->root, "env"), *value;
        char **list = variables ? calloc(json_object_size(variables) + 1, sizeof(*list)) : NULL;
        const char *name;
        size_t count = 0;

        *out = list;
        if (variables && !list)
                return error_memory(err);
        json_object_foreach(variables, name, value)
        {
                list[count] = text_join(name, "=", json_string_value(value));
                if (!list[count++])
                        return error_memory(err);
        }
        return 0;
}

static int copy_cwd(const struct request *request, char **out, abatis_error *err)
{
        const char *cwd = request_string(request, "cwd");

        if (!cwd)
                cwd = request_string(request, "workspace");
        *out = cwd ? strdup(cwd) : NULL;
        return cwd && !*out ? error_memory(err) : 0;
}

static int read_order(const char *line, size_t length, const struct server_options *options,
                      struct order *out, abatis_error *err)
{
        struct request request;
        json_t *id = NULL;
        int r = request_parse(line, length, &request, &id, err);

        json_decref(id);
        if (r < 0)
                return r;
        out->root = request.root;
        out->context = request_string(&request, "context");
        out->is_best_effort = request_flag(&request, "best_effort");
        out->is_merged = request_flag(&request, "merge");
        out->is_streamed = request_flag(&request, "stream");
        if (request.method == METHOD_SKILL)
                return skill_make_order(&request, options->program, false, out, err);
        r = request_list(&request, "command", &out->argv, err);
        if (!r)
                r = make_environment(&request, &out->environment, err);
        if (!r)
                r = request_input(&request, "stdin", &out->decoded, &out->input, &out->input_length, err);
        if (!r)
                r = copy_cwd(&request, &out->cwd, err);
        if (!r)
                r = setting_make_policy(&request, options->program, NULL, &out->policy, err);
        return r;
}

/* ---- what is answered ----------------------------------------------------------------------------------- */

static void reply(const struct task *task, struct text *out)
{
        if (!task->result) {
                reply_error(out, task->id, &task->err);
                return;
        }
        reply_open(out, task->id);
        text_add(out, ",\"result\":");
        task_add_result(task, out);
        reply_close(out);
}

const struct dialect lines_dialect = { hear, refuse_long, read_order, reply, NULL };
