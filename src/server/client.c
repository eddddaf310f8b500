/* client.c: one who sends requests, and what is not answered yet. */
#include "server/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "server/answer.h"
#include "server/clock.h"
#include "server/reply.h"

/* How much may wait for a client to read it, in bytes, before something else waits. Events and new commands stop first and requests last,
 * so that one who does not read what a command prints can still cancel it, and keeps nobody's place. */
enum {
        EVENTS_MARK = 256 * 1024,
        RESULTS_MARK = 1024 * 1024,
        REQUESTS_MARK = 4 * 1024 * 1024,
};

/* What may wait to be started, or for its answer to be read. */
enum { WAITING_MAX = 1024, WAITING_BYTES_MAX = 64 * 1024 * 1024 };

/* How long one client's requests are answered before it is another's turn. */
enum { TURN_MS = 10 };

struct client *client_new(int in, int out, bool owns_descriptors)
{
        struct client *client = calloc(1, sizeof(*client));

        if (!client)
                return NULL;
        client->in = in;
        client->out = out;
        client->owns_descriptors = owns_descriptors;
        outlet_init(&client->outlet, out);
        return client;
}

void client_free(struct client *client, struct cache *cache)
{
        while (client->tasks) {
                struct task *task = client->tasks;

                client->tasks = task->next;
                task_end(task, cache);
        }
        intake_done(&client->intake);
        outlet_done(&client->outlet);
        if (client->owns_descriptors)
                close(client->in);
        free(client);
}

bool client_wants_input(const struct client *client)
{
        return !client->is_gone && !client->is_deaf && outlet_pending(&client->outlet) < REQUESTS_MARK;
}

bool client_wants_events(const struct client *client)
{
        return !client->is_gone && outlet_pending(&client->outlet) < EVENTS_MARK;
}

static bool can_reply(const struct client *client, const struct task *task)
{
        return task->state == TASK_DONE &&
               (client->is_gone || outlet_pending(&client->outlet) < RESULTS_MARK);
}

bool client_has_more(const struct client *client)
{
        if (client->is_behind && client_wants_input(client))
                return true;
        for (const struct task *task = client->tasks; task; task = task->next)
                if (can_reply(client, task))
                        return true;
        return client->outlet.is_broken && !client->is_gone;
}

bool client_is_finished(const struct client *client)
{
        bool has_said_all = client->is_gone || client->is_deaf;

        return has_said_all && !client->tasks && (client->is_gone || !outlet_pending(&client->outlet));
}

/* ---- requests ------------------------------------------------------------------------------------------- */

static struct task *find_task(const struct client *client, const json_t *id)
{
        for (struct task *task = client->tasks; task; task = task->next)
                if (json_equal(task->id, id))
                        return task;
        return NULL;
}

/* Those that run are counted elsewhere. */
static int check_room(const struct client *client, size_t length, abatis_error *err)
{
        size_t count = 0, bytes = length;

        for (const struct task *task = client->tasks; task; task = task->next) {
                count += task->state != TASK_RUNS;
                bytes += task->length;
        }
        if (count < WAITING_MAX && bytes <= WAITING_BYTES_MAX)
                return 0;
        return error_set(err, PROTOCOL_BUSY,
                         "%zu requests of %zu bytes wait already to be started, or to be read", count,
                         bytes - length);
}

static int add_task(struct client *client, const struct request *request, const char *line, size_t length,
                    abatis_error *err)
{
        struct task **end = &client->tasks;
        int r = check_room(client, length, err);

        if (r < 0)
                return r;
        while (*end)
                end = &(*end)->next;
        *end = task_new(request, line, length);
        return *end ? 0 : error_memory(err);
}

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
        struct task *task = session ? NULL : find_task(client, json_object_get(request->root, "target"));
        bool is_there = session ? cancel_session(client, session, cache) : task && task->state <= TASK_RUNS;

        if (task)
                task_cancel(task);
        reply_open(&client->outlet.text, request->id);
        reply_add_json(&client->outlet.text, "result",
                       is_there ? "{\"cancelled\":true}" : "{\"cancelled\":false}");
        reply_close(&client->outlet.text);
}

static void handle_line(struct client *client, const char *line, size_t length, const char *program,
                        struct cache *cache)
{
        struct request request;
        json_t *id = NULL;
        abatis_error err;
        int r = request_parse(line, length, &request, &id, &err);

        if (r < 0) {
                reply_error(&client->outlet.text, id, &err);
                json_decref(id);
                return;
        }
        if (find_task(client, request.id))
                r = error_set(&err, PROTOCOL_ID, "a request with this id is not answered yet");
        else if (request.method == METHOD_RUN)
                r = add_task(client, &request, line, length, &err);
        else if (request.method == METHOD_CANCEL)
                cancel(client, &request, cache);
        else
                answer_request(&request, program, cache, &client->outlet.text);
        if (r < 0)
                reply_error(&client->outlet.text, request.id, &err);
        request_done(&request);
}

static void refuse_long_line(struct client *client, const char *line, size_t length)
{
        json_t *id = request_find_id(line, length);
        abatis_error err;

        error_set(&err, PROTOCOL_LENGTH, "a line has at most %d bytes", INTAKE_LINE_MAX);
        reply_error(&client->outlet.text, id, &err);
        json_decref(id);
}

void client_hear(struct client *client, const char *program, struct cache *cache)
{
        const int64_t end = clock_ms() + TURN_MS;
        enum intake_kind kind = INTAKE_LINE;
        const char *line;
        size_t length;

        /* What was read is answered first, or it would become more and more. */
        if (client->in_said && !client->is_behind && !intake_read(&client->intake, client->in)) {
                client->outlet.why = ENOMEM;
                client_leave(client, cache);
                return;
        }
        client->in_said = 0;
        while (kind != INTAKE_NONE && client_wants_input(client) && clock_ms() < end) {
                kind = intake_take(&client->intake, &line, &length);
                if (kind == INTAKE_LINE)
                        handle_line(client, line, length, program, cache);
                else if (kind == INTAKE_TOO_LONG)
                        refuse_long_line(client, line, length);
        }
        client->is_behind = kind != INTAKE_NONE;
        client->is_deaf |= kind == INTAKE_NONE && client->intake.has_ended;
}

/* ---- tasks ---------------------------------------------------------------------------------------------- */

struct task *client_next(const struct client *client)
{
        struct task *task = client_wants_events(client) ? client->tasks : NULL;

        while (task && task->state != TASK_WAITS)
                task = task->next;
        return task;
}

unsigned client_count_running(const struct client *client)
{
        unsigned count = 0;

        for (const struct task *task = client->tasks; task; task = task->next)
                count += task->state == TASK_RUNS;
        return count;
}

void client_advance(struct client *client, struct cache *cache)
{
        for (struct task **at = &client->tasks; *at;) {
                struct task *task = *at;
                struct text *out = &client->outlet.text;

                task_advance(task, cache, client_wants_events(client) ? out : NULL);
                if (!can_reply(client, task)) {
                        at = &task->next;
                        continue;
                }
                if (!client->is_gone)
                        task_reply(task, out);
                *at = task->next;
                task_free(task);
        }
}

void client_leave(struct client *client, struct cache *cache)
{
        const struct session_key sessions = { client, NULL };

        client->is_gone = true;
        for (struct task *task = client->tasks; task; task = task->next)
                task_abandon(task);
        cache_end_session(cache, &sessions);
}

void client_cancel(struct client *client)
{
        for (struct task *task = client->tasks; task; task = task->next)
                task_cancel(task);
}

void client_kill(struct client *client)
{
        for (struct task *task = client->tasks; task; task = task->next)
                task_kill(task);
}
