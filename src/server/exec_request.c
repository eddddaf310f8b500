/* exec_request.c: one request, one command, one response: for whoever starts a process rather than keep one. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"
#include "server/intake.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/setting.h"
#include "server/skill.h"

static int read_all(int fd, struct text *out, abatis_error *err)
{
        char bytes[16 * 1024];
        ssize_t got;

        while ((got = read(fd, bytes, sizeof(bytes)))) {
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_os(err, errno, "cannot read the request");
                text_add_bytes(out, bytes, (size_t)got);
                if (out->length > INTAKE_LINE_MAX)
                        return error_set(err, PROTOCOL_LENGTH, "a request has at most %d bytes",
                                         INTAKE_LINE_MAX);
        }
        return out->has_failed ? error_memory(err) : 0;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

/* The program, then its arguments. */
static int make_argv(const struct request *request, const char ***out, abatis_error *err)
{
        OWN_FREE const char **arguments = NULL;
        const char **argv;
        size_t count = 0;
        int r = request_list(request, "args", &arguments, err);

        if (r < 0)
                return r;
        while (arguments[count])
                count++;
        argv = calloc(count + 2, sizeof(*argv));
        if (!argv)
                return error_memory(err);
        argv[0] = request_string(request, "program");
        memcpy(argv + 1, arguments, count * sizeof(*argv));
        *out = argv;
        return 0;
}

static int make_order(const struct request *request, const char *program, struct order *out,
                      abatis_error *err)
{
        const char *cwd = request_string(request, "cwd");
        int r;

        if (request_string(request, "wasm"))
                return skill_make_order(request, program, true, out, err);
        r = make_argv(request, &out->argv, err);
        if (!r)
                r = request_input(request, "input", &out->decoded, &out->input, &out->input_length, err);
        if (!r)
                r = setting_make_policy(request, program, NULL, &out->policy, err);
        /* Without a workspace there is nothing of the caller's to be in. */
        if (!cwd && setting_tier(request)->policy)
                cwd = "/tmp";
        out->cwd = cwd ? strdup(cwd) : NULL;
        return !r && cwd && !out->cwd ? error_memory(err) : r;
}

static int run_in(abatis_policy *policy, const abatis_job_options *options, abatis_result **out,
                  abatis_error *err)
{
        const abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options), .spares = -1 };
        abatis_sandbox *sandbox;
        int r = abatis_sandbox_open(policy, &sandbox_options, &sandbox, err);

        if (r < 0) {
                abatis_audit_refused(policy, options, err, NULL);
                return r;
        }
        r = abatis_run(sandbox, options, out, err);
        abatis_sandbox_free(sandbox);
        return r;
}

static int run(const struct request *request, const char *program, abatis_result **out, abatis_error *err)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        struct order order = { .root = NULL };
        int r = make_order(request, program, &order, err);

        if (!r) {
                options.argv = order.argv;
                options.cwd = order.cwd;
                options.capture = ABATIS_CAPTURE;
                options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
                options.stdin_data = order.input;
                options.stdin_length = order.input_length;
                r = run_in(order.policy, &options, out, err);
        }
        order_done(&order);
        return r;
}

/* ---- the response --------------------------------------------------------------------------------------- */

/* Why it is no success, or false. */
static bool describe_failure(const abatis_result *result, abatis_error *err)
{
        const char *limit = abatis_result_limit(result);

        if (limit)
                error_set(err, PROTOCOL_FAILED, "ended by %s", limit);
        else if (abatis_result_signal(result))
                error_set(err, PROTOCOL_FAILED, "ended by signal %d", abatis_result_signal(result));
        else if (abatis_result_exit_code(result))
                error_set(err, PROTOCOL_FAILED, "exit code %d", abatis_result_exit_code(result));
        else
                return false;
        return true;
}

static void add_outputs(struct text *out, const abatis_result *result)
{
        size_t length = 0;
        const char *bytes = result ? abatis_result_stdout(result, &length) : "";

        reply_add_bytes(out, "output", bytes, length);
        length = 0;
        bytes = result ? abatis_result_stderr(result, &length) : "";
        reply_add_bytes(out, "stderr", bytes, length);
}

/* What of the result object belongs here, by the same names. */
static void add_facts(struct text *out, const abatis_result *result)
{
        static const char *const names[] = { "duration_ms",  "exit_code", "signal",  "truncated",
                                             "timed_out",    "limit",     "backend", "enforced",
                                             "not_enforced", "set_aside", "audit_id" };
        OWN_FREE char *text = NULL;
        json_t *object = NULL;

        if (result && !abatis_result_print(result, &text, NULL))
                object = json_loads(text, 0, NULL);
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                const json_t *value = json_object_get(object, names[i]);
                OWN_FREE char *json =
                        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))
                              : NULL;

                reply_add_json(out, names[i], json ? json : "null");
        }
        out->has_failed |= result && !object;
        json_decref(object);
}

static void respond(struct text *out, const abatis_tier *tier, const abatis_result *result,
                    const abatis_error *refusal)
{
        abatis_error failure;
        const abatis_error *why = refusal;

        if (result && describe_failure(result, &failure))
                why = &failure;
        text_addf(out, "{\"success\":%s", why ? "false" : "true");
        add_outputs(out, result);
        text_add(out, ",\"error\":");
        if (why)
                reply_describe_error(out, why);
        else
                text_add(out, "null");
        reply_add_string(out, "tier", tier->name);
        add_facts(out, result);
        reply_close(out);
}

static int write_all(int fd, const struct text *text, abatis_error *err)
{
        size_t done = 0;

        if (text->has_failed)
                return error_memory(err);
        while (done < text->length) {
                ssize_t written = write(fd, text->data + done, text->length - done);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return error_os(err, errno, "cannot write the response");
                done += (size_t)written;
        }
        return 0;
}

int server_exec_request(const char *program, int in, int out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 }, response = { 0 };
        struct request request = { .root = NULL };
        abatis_result *result = NULL;
        abatis_error refusal;
        int r = read_all(in, &text, &refusal);

        if (!r)
                r = request_parse_exec(text.data ? text.data : "", text.length, &request, &refusal);
        if (!r)
                r = run(&request, program, &result, &refusal);
        respond(&response, setting_tier(&request), result, r ? &refusal : NULL);
        request_done(&request);
        abatis_result_free(result);
        return write_all(out, &response, err);
}
