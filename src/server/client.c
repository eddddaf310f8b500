/* client.c: one who sends requests, and what is not answered yet. */
#include "server/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
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

struct client *client_new(const struct dialect *dialect, int in, int out, bool owns_descriptors)
{
        struct client *client = calloc(1, sizeof(*client));

        if (!client)
                return NULL;
        client->dialect = dialect;
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

struct task *client_find_task(const struct client *client, const json_t *id)
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

int client_add_task(struct client *client, json_t *id, const char *session, const char *line, size_t length,
                    struct task **out, abatis_error *err)
{
        struct task **end = &client->tasks;
        int r = check_room(client, length, err);

        if (r < 0)
                return r;
        while (*end)
                end = &(*end)->next;
        *end = task_new(id, session, line, length);
        if (!*end)
                return error_memory(err);
        *out = *end;
        return 0;
}

void client_hear(struct client *client, const struct server_options *options, struct cache *cache)
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
                        client->dialect->hear(client, line, length, options, cache);
                else if (kind == INTAKE_TOO_LONG)
                        client->dialect->refuse_long(client, line, length);
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

static bool wants_progress(const struct client *client, const struct task *task)
{
        return task->progress.token && task->state == TASK_RUNS && !task->is_unheard &&
               client_wants_events(client);
}

int64_t client_due(const struct client *client)
{
        int64_t due = -1;

        for (const struct task *task = client->tasks; task; task = task->next)
                if (wants_progress(client, task) && (due < 0 || task->progress.due < due))
                        due = task->progress.due;
        return due;
}

static void tell_progress(struct client *client, struct task *task)
{
        if (!wants_progress(client, task) || clock_ms() < task->progress.due)
                return;
        client->dialect->tell_progress(task, &client->outlet.text);
        task->progress.due = clock_ms() + PROGRESS_MS;
}

void client_advance(struct client *client, struct cache *cache)
{
        for (struct task **at = &client->tasks; *at;) {
                struct task *task = *at;
                struct text *out = &client->outlet.text;

                task_advance(task, cache, client_wants_events(client) ? out : NULL);
                tell_progress(client, task);
                if (!can_reply(client, task)) {
                        at = &task->next;
                        continue;
                }
                if (!client->is_gone && !task->is_unheard)
                        client->dialect->reply(task, out);
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
