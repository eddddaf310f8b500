/* mcp_tools.c: the tools of MCP: their names, what they take and give, in the words that a model is told.
 *
 * No tool takes anything of a policy: that is said by who starts the server, and a model must not change what it is kept in by. */
#include "server/mcp_tools.h"

#include <string.h>

#include "base/error.h"
#include "server/mcp_message.h"
#include "server/value.h"

enum { ARGUMENTS_MAX = 6 };

struct argument {
        const char *name;
        enum value_type type;
        bool is_required;
        const char *schema; /* of its value */
};

#define PATH_SCHEMA \
        "{\"type\":\"string\",\"minLength\":1,\"description\":\"absolute, or from the workspace\"}"
#define STDIN_SCHEMA "{\"type\":\"string\",\"description\":\"what it reads on standard input\"}"
#define TIMEOUT_SCHEMA \
        "{\"type\":\"integer\",\"minimum\":1,\"description\":\"milliseconds until it is killed; never more than the policy allows\"}"
#define CWD_SCHEMA \
        "{\"type\":\"string\",\"description\":\"the directory it starts in; the workspace if nothing is said\"}"
#define STRINGS_SCHEMA "{\"type\":\"array\",\"items\":{\"type\":\"string\"}"

/* Not as a list of types, which not every client's dialect of schemas has. */
#define INTEGER_OR_NULL "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}"
#define STRING_OR_NULL "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"

/* The result object of docs/embedding.md, as far as a model needs it. */
#define RUN_OUTPUT                                                                                                  \
        "{\"type\":\"object\",\"properties\":{"                                                                     \
        "\"exit_code\":" INTEGER_OR_NULL ",\"signal\":" INTEGER_OR_NULL ","                                         \
        "\"stdout\":{\"type\":\"string\"},\"stdout_base64\":{\"type\":\"string\"},"                                 \
        "\"stderr\":{\"type\":\"string\"},\"stderr_base64\":{\"type\":\"string\"},"                                 \
        "\"truncated\":{\"type\":\"boolean\"},\"timed_out\":{\"type\":\"boolean\"},"                                \
        "\"cancelled\":{\"type\":\"boolean\"},\"limit\":" STRING_OR_NULL ","                                        \
        "\"duration_ms\":{\"type\":\"number\"},\"backend\":{\"type\":\"string\"},"                                  \
        "\"enforced\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"not_enforced\":{\"type\":\"array\"}}," \
        "\"required\":[\"exit_code\",\"signal\",\"truncated\",\"timed_out\",\"duration_ms\"]}"

static const struct tool {
        const char *name, *title, *description;
        const char *hints;  /* annotations, without the braces */
        const char *output; /* its schema; NULL: it is not in the list */
        struct argument arguments[ARGUMENTS_MAX];
        const char *either[2]; /* exactly one of them; or NULL */
} tools[TOOL_COUNT] = {
        [TOOL_RUN_COMMAND] = { "run_command",
                               "Run a command",
                               "Runs a program with its arguments in a sandbox and waits for its end. No shell is involved: use run_script for pipes, "
                               "variables and several commands. What the policy does not allow fails as if permissions were missing; "
                               "explain_policy tells what is allowed.",
                               "\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":true",
                               RUN_OUTPUT,
                               { { "command", TYPE_COMMAND, true,
                                   STRINGS_SCHEMA
                                   ",\"minItems\":1,\"description\":\"the program and its arguments\"}" },
                                 { "cwd", TYPE_NAME, false, CWD_SCHEMA },
                                 { "stdin", TYPE_TEXT, false, STDIN_SCHEMA },
                                 { "timeout_ms", TYPE_COUNT, false, TIMEOUT_SCHEMA } },
                               { NULL } },
        [TOOL_RUN_SCRIPT] = { "run_script",
                              "Run a script",
                              "Runs a script in a sandbox and waits for its end: by sh if no other interpreter is named. At most 128 KiB.",
                              "\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":true",
                              RUN_OUTPUT,
                              { { "script", TYPE_NAME, true,
                                  "{\"type\":\"string\",\"minLength\":1,\"description\":\"its text\"}" },
                                { "interpreter", TYPE_INTERPRETER, false,
                                  "{\"type\":\"string\",\"enum\":[\"sh\",\"bash\",\"python3\",\"node\",\"perl\",\"ruby\"]}" },
                                { "args", TYPE_STRINGS, false,
                                  STRINGS_SCHEMA ",\"description\":\"its arguments\"}" },
                                { "cwd", TYPE_NAME, false, CWD_SCHEMA },
                                { "stdin", TYPE_TEXT, false, STDIN_SCHEMA },
                                { "timeout_ms", TYPE_COUNT, false, TIMEOUT_SCHEMA } },
                              { NULL } },
        [TOOL_READ_FILE] = { "read_file",
                             "Read a file",
                             "Reads a file, or a part of it, in the sandbox: 256 KiB if nothing is said, 1 MiB at most. If has_more is true, "
                             "go on at offset + bytes.",
                             "\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false",
                             "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"content\":{\"type\":\"string\"},"
                             "\"content_base64\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},\"offset\":{\"type\":\"integer\"},"
                             "\"bytes\":{\"type\":\"integer\"},\"has_more\":{\"type\":\"boolean\"}},"
                             "\"required\":[\"path\",\"size\",\"offset\",\"bytes\",\"has_more\"]}",
                             { { "path", TYPE_NAME, true, PATH_SCHEMA },
                               { "offset", TYPE_COUNT, false,
                                 "{\"type\":\"integer\",\"minimum\":0,\"description\":\"the first byte\"}" },
                               { "limit", TYPE_COUNT, false,
                                 "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1048576,\"description\":\"how many bytes at most\"}" } },
                             { NULL } },
        [TOOL_WRITE_FILE] = { "write_file",
                              "Write a file",
                              "Writes a file in the sandbox: over what is there (overwrite), only if nothing is there (create), or at its end (append).",
                              "\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":false",
                              "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},"
                              "\"bytes\":{\"type\":\"integer\"}},\"required\":[\"path\",\"size\",\"bytes\"]}",
                              { { "path", TYPE_NAME, true, PATH_SCHEMA },
                                { "content", TYPE_TEXT, false, "{\"type\":\"string\"}" },
                                { "content_base64", TYPE_BASE64, false,
                                  "{\"type\":\"string\",\"description\":\"instead, what is no text\"}" },
                                { "mode", TYPE_WAY, false,
                                  "{\"type\":\"string\",\"enum\":[\"overwrite\",\"create\",\"append\"]}" } },
                              { "content", "content_base64" } },
        [TOOL_LIST_DIRECTORY] = { "list_directory",
                                  "List a directory",
                                  "Lists what is in a directory, in the sandbox: names, types and sizes, the first 1000 by name.",
                                  "\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false",
                                  "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"},"
                                  "\"has_more\":{\"type\":\"boolean\"},\"entries\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
                                  "\"properties\":{\"name\":{\"type\":\"string\"},\"name_base64\":{\"type\":\"string\"},"
                                  "\"type\":{\"type\":\"string\",\"enum\":[\"file\",\"directory\",\"link\",\"other\",\"unknown\"]},"
                                  "\"size\":{\"type\":\"integer\"}},\"required\":[\"type\"]}}},"
                                  "\"required\":[\"path\",\"count\",\"has_more\",\"entries\"]}",
                                  { { "path", TYPE_NAME, true, PATH_SCHEMA } },
                                  { NULL } },
        [TOOL_CHECK_PATH] = { "check_path",
                              "Ask about a path",
                              "Says whether the policy allows to read, write or execute a path, and which rule decides. Nothing is run.",
                              "\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false",
                              "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"access\":{\"type\":\"string\"},"
                              "\"allowed\":{\"type\":\"boolean\"},\"rule\":{\"type\":\"string\"}},"
                              "\"required\":[\"path\",\"access\",\"allowed\",\"rule\"]}",
                              { { "access", TYPE_ACCESS, true,
                                  "{\"type\":\"string\",\"enum\":[\"read\",\"write\",\"execute\"]}" },
                                { "path", TYPE_NAME, true, PATH_SCHEMA } },
                              { NULL } },
        [TOOL_EXPLAIN_POLICY] = { "explain_policy",
                                  "Explain the policy",
                                  "Says what is enforced on commands and files here, and by what. Nothing is run.",
                                  "\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false",
                                  "{\"type\":\"object\"}",
                                  { { .name = NULL } },
                                  { NULL } },
        [TOOL_RUN_SKILL] = { "run_skill",
                             "Run a skill",
                             "Runs an installed skill, a WebAssembly module, in a sandbox of its own, and waits for its end. What is given as input it reads "
                             "on standard input: a string as it is, anything else as JSON.",
                             "\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":false",
                             RUN_OUTPUT,
                             { { "skill", TYPE_NAME, true,
                                 "{\"type\":\"string\",\"minLength\":1,\"description\":\"its name\"}" },
                               { "input", TYPE_ANY, false,
                                 "{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"array\"},{\"type\":\"string\"},{\"type\":\"number\"},"
                                 "{\"type\":\"boolean\"},{\"type\":\"null\"}],\"description\":\"what it is given\"}" },
                               { "timeout_ms", TYPE_COUNT, false, TIMEOUT_SCHEMA } },
                             { NULL } },
};

enum tool_kind tool_find(const char *name)
{
        int i = 0;

        while (i < TOOL_COUNT && (!tools[i].name || strcmp(tools[i].name, name) != 0))
                i++;
        return (enum tool_kind)i;
}

const char *tool_name(enum tool_kind kind)
{
        return tools[kind].name;
}

bool tool_is_command(enum tool_kind kind)
{
        return kind == TOOL_RUN_COMMAND || kind == TOOL_RUN_SCRIPT || kind == TOOL_RUN_SKILL;
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

static const struct argument *find_argument(const struct tool *tool, const char *name)
{
        for (size_t i = 0; i < ARGUMENTS_MAX && tool->arguments[i].name; i++)
                if (!strcmp(tool->arguments[i].name, name))
                        return &tool->arguments[i];
        return NULL;
}

static int complain_unknown(const struct tool *tool, const char *name, abatis_error *err)
{
        const char *names[ARGUMENTS_MAX + 1] = { NULL }, *nearest;

        for (size_t i = 0; i < ARGUMENTS_MAX; i++)
                names[i] = tool->arguments[i].name;
        nearest = abatis_suggest(name, names);
        if (nearest)
                return error_set(err, RPC_PARAMS, "%s: unknown argument '%s'; did you mean '%s'?", tool->name,
                                 name, nearest);
        return error_set(err, RPC_PARAMS, "%s: unknown argument '%s'", tool->name, name);
}

static int check_presence(const struct tool *tool, json_t *arguments, abatis_error *err)
{
        const char *const *either = tool->either;

        for (size_t i = 0; i < ARGUMENTS_MAX && tool->arguments[i].name; i++)
                if (tool->arguments[i].is_required && !json_object_get(arguments, tool->arguments[i].name))
                        return error_set(err, RPC_PARAMS, "%s: '%s' is missing", tool->name,
                                         tool->arguments[i].name);
        if (*either && !json_object_get(arguments, either[0]) == !json_object_get(arguments, either[1]))
                return error_set(err, RPC_PARAMS, "%s: one of '%s' and '%s' is needed", tool->name, either[0],
                                 either[1]);
        return 0;
}

int tool_check(enum tool_kind kind, json_t *arguments, abatis_error *err)
{
        const struct tool *tool = &tools[kind];
        const char *name;
        json_t *value;

        if (arguments && !json_is_object(arguments))
                return error_set(err, RPC_PARAMS, "%s: 'arguments' must be an object", tool->name);
        json_object_foreach(arguments, name, value)
        {
                const struct argument *argument = find_argument(tool, name);
                const char *wanted = argument ? value_judge(argument->type, value) : NULL;

                if (!argument)
                        return complain_unknown(tool, name, err);
                if (wanted)
                        return error_set(err, RPC_PARAMS, "%s: '%s' must be %s", tool->name, name, wanted);
        }
        return check_presence(tool, arguments, err);
}

/* ---- the list ------------------------------------------------------------------------------------------- */

static void add_arguments(struct text *out, const struct tool *tool)
{
        const char *comma = "";

        text_add(out, "{\"type\":\"object\",\"properties\":{");
        for (size_t i = 0; i < ARGUMENTS_MAX && tool->arguments[i].name; i++)
                text_addf(out, "%s\"%s\":%s", i ? "," : "", tool->arguments[i].name,
                          tool->arguments[i].schema);
        text_add(out, "},\"required\":[");
        for (size_t i = 0; i < ARGUMENTS_MAX && tool->arguments[i].name; i++)
                if (tool->arguments[i].is_required) {
                        text_addf(out, "%s\"%s\"", comma, tool->arguments[i].name);
                        comma = ",";
                }
        text_add(out, "],\"additionalProperties\":false}");
}

void tool_list(struct text *out)
{
        for (size_t i = 0; i < TOOL_COUNT; i++) {
                const struct tool *tool = &tools[i];

                if (!tool->output)
                        continue;
                text_addf(out, "%s{\"name\":\"%s\",\"title\":\"%s\",\"description\":\"%s\",\"inputSchema\":",
                          i ? "," : "", tool->name, tool->title, tool->description);
                add_arguments(out, tool);
                text_addf(out, ",\"outputSchema\":%s,\"annotations\":{\"title\":\"%s\",%s}}", tool->output,
                          tool->title, tool->hints);
        }
}
