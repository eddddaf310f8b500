/* mcp_call.c: a call of a tool: which one, with which arguments, and what has to be run for it.
 *
 * Every tool that touches anything is a command in the sandbox. Those for files run our own program there (file_inside.c), so that the
 * kernel judges by the same policy, links and races included, and nothing is done with the rights that this process has. */
#define _GNU_SOURCE
#include "server/mcp_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "server/mcp_skills.h"
#include "server/reply.h"
#include "server/value.h"

int call_read(const struct message *message, struct call *out, abatis_error *err)
{
        const json_t *name = json_object_get(message->params, "name");

        if (!json_is_string(name))
                return error_set(err, RPC_PARAMS, "'name' must be the name of a tool");
        *out = (struct call){ .tool = tool_find(json_string_value(name)),
                              .arguments = json_object_get(message->params, "arguments") };
        if (out->tool == TOOL_COUNT && skills_have(json_string_value(name))) {
                out->tool = TOOL_SKILL;
                out->skill = json_string_value(name);
        } else if (out->tool == TOOL_RUN_SKILL)
                out->skill = json_string_value(json_object_get(out->arguments, "skill"));
        if (out->tool == TOOL_COUNT)
                return error_set(err, RPC_PARAMS, "there is no tool '%s'", json_string_value(name));
        return 0;
}

static const char *string_of(const struct call *call, const char *name)
{
        return json_string_value(json_object_get(call->arguments, name));
}

int call_path(const struct call *call, const struct server_options *options, const char *name, char **out,
              abatis_error *err)
{
        const char *path = string_of(call, name);

        if (!path)
                *out = strdup(options->workspace);
        else
                *out = *path == '/' ? strdup(path) : path_join(options->workspace, path);
        return *out ? 0 : error_memory(err);
}

/* ---- commands ------------------------------------------------------------------------------------------- */

/* A list that grows by one string after the other, for which there is room. */
struct list {
        const char **items;
        size_t count;
};

static int make_list(size_t room, struct list *out, abatis_error *err)
{
        out->items = calloc(room + 1, sizeof(*out->items));
        out->count = 0;
        return out->items ? 0 : error_memory(err);
}

static void add(struct list *list, const char *item)
{
        if (item)
                list->items[list->count++] = item;
}

static void add_all(struct list *list, const json_t *array)
{
        for (size_t i = 0; i < json_array_size(array); i++)
                add(list, json_string_value(json_array_get(array, i)));
}

/* Interpreters that take a script as an argument, and what stands before it and between it and the script's own. A shell takes a script
 * that begins with a dash for flags. */
static const struct {
        const char *name, *flag, *before, *after;
} interpreters[] = {
        { "sh", "-c", "--", "sh" },   { "bash", "-c", "--", "bash" }, { "python3", "-c", NULL, NULL },
        { "node", "-e", NULL, "--" }, { "perl", "-e", NULL, "--" },   { "ruby", "-e", NULL, "--" },
};

static void add_script(const struct call *call, struct list *list)
{
        const char *wanted = string_of(call, "interpreter");
        size_t i = 0;

        while (wanted && strcmp(interpreters[i].name, wanted) != 0)
                i++;
        add(list, interpreters[i].name);
        add(list, interpreters[i].flag);
        add(list, interpreters[i].before);
        add(list, string_of(call, "script"));
        add(list, interpreters[i].after);
        add_all(list, json_object_get(call->arguments, "args"));
}

/* A number as an argument; the string is the message's, to be kept as long. */
static void add_number(struct message *message, struct list *list, const char *key, json_int_t number)
{
        char digits[24];

        snprintf(digits, sizeof(digits), "%lld", (long long)number);
        if (!json_object_set_new(message->root, key, json_string(digits)))
                add(list, json_string_value(json_object_get(message->root, key)));
}

static json_int_t number_of(const struct call *call, const char *name, json_int_t otherwise, json_int_t most)
{
        const json_t *value = json_object_get(call->arguments, name);
        json_int_t number = value ? value_count(value) : otherwise;

        return number > most ? most : number;
}

static void add_file_command(const struct call *call, struct message *message, const char *program,
                             struct list *list)
{
        const char *mode = string_of(call, "mode");
        json_int_t limit = number_of(call, "limit", TOOL_READ_DEFAULT, TOOL_READ_MAX);

        add(list, program);
        add(list, "file-inside");
        add(list, call->tool == TOOL_READ_FILE ? "read" : call->tool == TOOL_WRITE_FILE ? "write" : "list");
        add(list, string_of(call, "path"));
        if (call->tool == TOOL_WRITE_FILE) {
                add(list, mode ? mode : "overwrite");
        } else if (call->tool == TOOL_READ_FILE) {
                add_number(message, list, "offset", number_of(call, "offset", 0, INT64_MAX / 2));
                add_number(message, list, "limit", limit ? limit : 1);
        } else {
                add_number(message, list, "limit", TOOL_ENTRIES_MAX);
        }
}

static bool is_of_files(enum tool_kind tool)
{
        return tool == TOOL_READ_FILE || tool == TOOL_WRITE_FILE || tool == TOOL_LIST_DIRECTORY;
}

static int make_argv(const struct call *call, struct message *message, const char *program, const char ***out,
                     abatis_error *err)
{
        const json_t *command = json_object_get(call->arguments, "command"),
                     *arguments = json_object_get(call->arguments, "args");
        struct list list;
        int r = make_list(json_array_size(command) + json_array_size(arguments) + 8, &list, err);

        if (r < 0)
                return r;
        if (is_of_files(call->tool))
                add_file_command(call, message, program, &list);
        else if (call->tool == TOOL_RUN_SCRIPT)
                add_script(call, &list);
        else
                add_all(&list, command);
        *out = list.items;
        return 0;
}

/* ---- the policy ----------------------------------------------------------------------------------------- */

/* Our own program may start, and nothing else besides what may already. It has no more rights inside than any other. */
static int let_program_start(abatis_policy *policy, const char *program, abatis_error *err)
{
        static const char *const keys[] = { "filesystem.execute", "process.commands" };
        char *rule = NULL;
        int allowed = 0, r = 0;

        /* Of what lies there a private /tmp shows only what the policy names. */
        if (path_is_below(program, "/tmp"))
                r = abatis_policy_set(policy, "filesystem.execute", program, err);
        if (!r)
                r = abatis_policy_check(policy, ABATIS_EXECUTE, program, &allowed, NULL, err);
        for (size_t i = 0; !r && !allowed && i < sizeof(keys) / sizeof(*keys); i++) {
                r = abatis_policy_set(policy, keys[i], program, err);
                if (!r)
                        r = abatis_policy_check(policy, ABATIS_EXECUTE, program, &allowed, NULL, err);
        }
        if (r || allowed)
                return r;
        r = abatis_policy_check(policy, ABATIS_EXECUTE, program, &allowed, &rule, err);
        if (!r)
                r = error_set(err, ABATIS_E_NOT_EXECUTABLE,
                              "abatis itself cannot be started in the sandbox: %s", rule);
        free(rule);
        return r;
}

/* Who asks may have less time than the policy gives, and not more. */
static int shorten_time(abatis_policy *policy, const struct call *call, abatis_error *err)
{
        const json_t *wanted = json_object_get(call->arguments, "timeout_ms");
        uint64_t limit = abatis_policy_limit(policy, "limits.timeout"), time;
        char value[32];

        if (!wanted)
                return 0;
        time = (uint64_t)value_count(wanted);
        if (limit && time >= limit)
                return 0;
        snprintf(value, sizeof(value), "%llums", (unsigned long long)(time ? time : 1));
        return abatis_policy_set(policy, "limits.timeout", value, err);
}

static int make_policy(const struct call *call, const struct server_options *options, abatis_policy **out,
                       abatis_error *err)
{
        abatis_policy *policy;
        int r = options->make_policy(options->user, true, &policy, err);

        if (r < 0)
                return r;
        /* A session that is shared would be every caller's. */
        r = abatis_policy_set(policy, "session", "private", err);
        if (!r)
                r = shorten_time(policy, call, err);
        if (!r && is_of_files(call->tool))
                r = let_program_start(policy, options->program, err);
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static int make_input(const struct call *call, struct order *out, abatis_error *err)
{
        const char *key = call->tool == TOOL_WRITE_FILE ? "content" : "stdin";
        const json_t *plain = json_object_get(call->arguments, key),
                     *base64 = json_object_get(call->arguments, "content_base64");
        OWN_TEXT struct text decoded = { 0 };
        int r;

        if (plain) {
                out->input = json_string_value(plain);
                out->input_length = json_string_length(plain);
        } else if (base64) {
                text_add_decoded(&decoded, json_string_value(base64), json_string_length(base64));
                out->input_length = decoded.length;
                r = text_take(&decoded, &out->decoded, err);
                if (r < 0)
                        return r;
                out->input = out->decoded;
        }
        return 0;
}

/* A skill has a policy of its own; of the command line's it has the workspace. */
static int make_skill_order(const struct call *call, const struct server_options *options, struct order *out,
                            abatis_error *err)
{
        abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                 .workspace = options->workspace,
                                                 .program = options->program };
        int r = skills_open(call->skill, &out->skill, err);

        if (!r)
                r = abatis_skill_apply(out->skill, &policy_options, err);
        if (!r)
                r = abatis_policy_new(&policy_options, &out->policy, err);
        if (!r && call->tool == TOOL_RUN_SKILL)
                r = shorten_time(out->policy, call, err);
        if (!r)
                r = skills_make_input(call->tool == TOOL_SKILL ? call->arguments
                                                               : json_object_get(call->arguments, "input"),
                                      &out->decoded, err);
        if (r < 0)
                return r;
        out->input = out->decoded;
        out->input_length = strlen(out->decoded);
        return order_take_skill(out, NULL, err);
}

int call_make_order(struct call *call, struct message *message, const struct server_options *options,
                    struct order *out, abatis_error *err)
{
        int r;

        if (call->skill) {
                r = make_skill_order(call, options, out, err);
                out->context = tool_name(TOOL_RUN_SKILL);
                out->root = take_pointer(message->root);
                return r;
        }
        if (is_of_files(call->tool) && !options->program)
                return error_set(err, PROTOCOL_UNSUPPORTED, "this system does not tell where abatis lies");
        r = make_argv(call, message, options->program, &out->argv, err);
        if (!r)
                r = make_input(call, out, err);
        if (!r)
                r = call_path(call, options, "cwd", &out->cwd, err);
        if (!r)
                r = make_policy(call, options, &out->policy, err);
        out->context = tool_name(call->tool);
        out->is_best_effort = options->is_best_effort;
        out->root = take_pointer(message->root);
        return r;
}
