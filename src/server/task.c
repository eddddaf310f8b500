/* task.c: one request to run a command, from its arrival to its reply. */
#define _GNU_SOURCE
#include "server/task.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/reply.h"

static const char *const flow_names[] = { "stdout", "stderr" };

struct task *task_new(json_t *id, const char *session, const char *line, size_t length)
{
        struct task *task = calloc(1, sizeof(*task));

        if (!task)
                return NULL;
        for (int i = 0; i < 2; i++)
                task->flows[i] = (struct flow)FLOW_NONE;
        task->id = json_incref(id);
        task->session = session ? strdup(session) : NULL;
        task->line = malloc(length);
        task->length = length;
        if (!task->line || (session && !task->session)) {
                task_free(task);
                return NULL;
        }
        memcpy(task->line, line, length);
        return task;
}

static void drop_line(struct task *task)
{
        free(task->line);
        task->line = NULL;
        task->length = 0;
}

void task_free(struct task *task)
{
        json_decref(task->id);
        json_decref(task->progress.token);
        free(task->session);
        drop_line(task);
        abatis_result_free(task->result);
        flow_done(&task->flows[0]);
        flow_done(&task->flows[1]);
        free(task);
}

/* ---- the beginning -------------------------------------------------------------------------------------- */

/* Where the output goes: it is kept for the result, or passed on to pipes of ours. */
static int choose_output(struct task *task, const struct order *order, abatis_job_options *options,
                         abatis_error *err)
{
        int r = 0;

        options->capture = order->is_merged ? ABATIS_CAPTURE_MERGED : ABATIS_CAPTURE;
        options->stdout_fd = options->stderr_fd = -1;
        if (!order->is_streamed)
                return 0;
        r = flow_open(&task->flows[0], err);
        if (!r && !order->is_merged)
                r = flow_open(&task->flows[1], err);
        options->stdout_fd = task->flows[0].writes;
        options->stderr_fd = task->flows[1].writes;
        return r;
}

static int start_in(struct task *task, const struct order *order, const abatis_job_options *options,
                    const void *client, struct cache *cache, abatis_error *err)
{
        const struct session_key session = { client, task->session };
        int r = cache_acquire(cache, order->policy, order->is_best_effort, &session, &task->warm, err);

        if (r < 0) {
                /* If that cannot be written down either, it is still refused. */
                abatis_audit_refused(order->policy, options, err, NULL);
                return r;
        }
        r = abatis_job_start(task->warm->sandbox, options, &task->job, err);
        if (r < 0) {
                cache_release(cache, task->warm, r == ABATIS_E_SYSTEM);
                task->warm = NULL;
        }
        return r;
}

static int start(struct task *task, const struct order *order, const void *client, struct cache *cache,
                 abatis_error *err)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        int r = choose_output(task, order, &options, err);

        if (r < 0)
                return r;
        options.argv = order->argv;
        options.envp = (const char *const *)order->environment;
        options.cwd = order->cwd;
        options.stdin_fd = -1;
        options.stdin_data = order->input;
        options.stdin_length = order->input_length;
        options.context = order->context;
        if (task->progress.token) {
                options.on_output = progress_hear;
                options.user = &task->progress;
        }
        r = start_in(task, order, &options, client, cache, err);
        progress_begin(&task->progress, abatis_policy_limit(order->policy, "limits.timeout"));
        return r;
}

void task_start(struct task *task, const struct dialect *dialect, const struct server_options *options,
                const void *client, struct cache *cache)
{
        struct order order = { .root = NULL };
        int r = dialect->read_order(task->line, task->length, options, &order, &task->err);

        if (!r)
                r = start(task, &order, client, cache, &task->err);
        order_done(&order);
        drop_line(task);
        task->state = r < 0 ? TASK_DONE : TASK_RUNS;
        if (r < 0)
                flow_done(&task->flows[0]);
        if (r < 0)
                flow_done(&task->flows[1]);
}

/* ---- the way -------------------------------------------------------------------------------------------- */

/* What has failed has no result, whatever is known of it. */
static void finish(struct task *task, struct cache *cache, bool has_failed)
{
        int r = has_failed ? abatis_job_finish(task->job, NULL, NULL)
                           : abatis_job_finish(task->job, &task->result, &task->err);

        task->job = NULL;
        cache_release(cache, task->warm, has_failed || r == ABATIS_E_SYSTEM);
        task->warm = NULL;
        flow_close_writer(&task->flows[0]);
        flow_close_writer(&task->flows[1]);
        task->state = TASK_DRAINS;
}

static void tell_flows(struct task *task, struct text *events)
{
        for (int i = 0; i < 2; i++) {
                /* After the end there is always something in it, if only that it is empty. */
                bool is_ready = task->flows_said[i] || task->state == TASK_DRAINS;

                if (task->flows[i].reads >= 0 && is_ready && events)
                        flow_tell(&task->flows[i], task->id, flow_names[i], events);
        }
}

void task_advance(struct task *task, struct cache *cache, struct text *events)
{
        int done = 0, r = 0;

        if (task->state == TASK_RUNS && task->job_said)
                r = abatis_job_advance(task->job, &done, &task->err);
        if (r < 0 || done)
                finish(task, cache, r < 0);
        task->job_said = 0;
        tell_flows(task, events);
        if (task->state == TASK_DRAINS && task->flows[0].reads < 0 && task->flows[1].reads < 0)
                task->state = TASK_DONE;
}

void task_cancel(struct task *task)
{
        if (task->state == TASK_WAITS) {
                error_set(&task->err, PROTOCOL_CANCELLED, "cancelled before it started");
                task->state = TASK_DONE;
                drop_line(task);
        } else if (task->state == TASK_RUNS)
                abatis_job_cancel(task->job);
}

void task_abandon(struct task *task)
{
        task_cancel(task);
        flow_close_reader(&task->flows[0]);
        flow_close_reader(&task->flows[1]);
}

void task_kill(struct task *task)
{
        if (task->state == TASK_RUNS)
                abatis_job_signal(task->job, SIGKILL, NULL);
}

void task_end(struct task *task, struct cache *cache)
{
        if (task->state == TASK_RUNS)
                finish(task, cache, false);
        task_free(task);
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static int add_piece(void *user, const char *bytes, size_t length)
{
        struct text *text = user;

        text_add_bytes(text, bytes, length);
        return text->has_failed;
}

void task_add_result(const struct task *task, struct text *out)
{
        abatis_result_write(task->result, add_piece, out, NULL);
}
