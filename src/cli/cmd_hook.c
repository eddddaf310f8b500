/* cmd_hook.c: abatis hook: an agent asks before one of its own tools touches a file; what abatis-sh would refuse is refused. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis hook\n"
        "For PreToolUse of Claude Code: reads the event from stdin, and refuses tools that touch a file which abatis-sh would\n"
        "refuse: exit code 2, the reason on stderr. 0: no objection. What is no event is refused, too.\n"
        "The policy is that of abatis-sh; without ABATIS_WORKSPACE the workspace is CLAUDE_PROJECT_DIR.\n";

/* For an agent 2 is a refusal, and anything else but 0 an accident after which it goes on. */
enum { EXIT_BLOCKED = 2, EVENT_MAX = 16 * 1024 * 1024 };

static const struct tool {
        const char *name, *key; /* of the path in its input; NULL: what it reads is not known before */
        bool writes;
} tools[] = {
        { "Read", "file_path", false },
        { "Edit", "file_path", true },
        { "Write", "file_path", true },
        { "MultiEdit", "file_path", true },
        { "LS", "path", false },
        { "NotebookEdit", "notebook_path", true },
        { "Glob", NULL, false },
        { "Grep", NULL, false },
        { "NotebookRead", "notebook_path", false },
};

static int block(const char *what, const char *why)
{
        complain("%s: %s", what, why);
        return EXIT_BLOCKED;
}

/* NULL when there is more than an event has, or nothing can be read. */
static char *read_event(size_t *length)
{
        char *text = malloc(EVENT_MAX + 1);
        ssize_t got = 1;

        *length = 0;
        while (text && got > 0 && *length <= EVENT_MAX) {
                do
                        got = read(0, text + *length, EVENT_MAX + 1 - *length);
                while (got < 0 && errno == EINTR);
                *length += got > 0 ? (size_t)got : 0;
        }
        if (text && (got < 0 || *length > EVENT_MAX)) {
                free(text);
                return NULL;
        }
        return text;
}

static const struct tool *find_tool(const char *name)
{
        for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
                if (!strcmp(tools[i].name, name))
                        return &tools[i];
        return NULL;
}

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text);

        return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* Agents take spaces off, and have words for their home and their directory: then they would open another path than we look at. */
static bool is_plain(const char *path)
{
        static const char *const spaces[] = { "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
                                              "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
                                              "\u2008", "\u2009", "\u200a", "\u200b", "\u2028",
                                              "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff" };

        for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
                if (ends_with(path, spaces[i]))
                        return false;
        return *path == '/' && !isspace((unsigned char)path[strlen(path) - 1]);
}

static bool is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);

        return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* Where as much of it as there is leads to. Owned by the caller; NULL when there is no memory. */
static char *find_real(const char *path)
{
        char *named = strdup(path), *real = NULL, *slash;

        while (named && !(real = realpath(*named ? named : "/", NULL)) && (slash = strrchr(named, '/')))
                *slash = '\0';
        free(named);
        return real;
}

/* A command has its own of these: what the policy says of them is not said of those that a tool opens. The workspace may lie there. */
static bool is_another_inside(const char *path, const char *workspace)
{
        static const char *const places[] = { "/tmp", "/dev", "/proc" };
        char *real = find_real(path), *ground = find_real(workspace);
        bool is_in_it = real && ground && is_below(real, ground), is_one = !real || !ground;

        for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !is_one; i++)
                is_one = !is_in_it && (is_below(path, places[i]) || is_below(real, places[i]));
        free(real);
        free(ground);
        return is_one;
}

static int judge(abatis_policy *policy, abatis_access access, const char *path)
{
        abatis_error err;
        char *rule;
        int allowed, r = 0;

        if (abatis_policy_check(policy, access, path, &allowed, &rule, &err) < 0) {
                fail(&err);
                return EXIT_BLOCKED;
        }
        if (!allowed) {
                make_printable(rule);
                r = block(access == ABATIS_WRITE ? "write refused" : "read refused", rule);
        }
        free(rule);
        return r;
}

static int ask(const struct tool *tool, const char *path)
{
        static char *none[] = { NULL };
        abatis_policy *policy;
        struct flags flags;
        int r = flags_parse(none, 0, &flags);

        if (!r)
                r = shell_choose_policy("CLAUDE_PROJECT_DIR", &flags);
        if (!r)
                r = flags_make_policy(&flags, &policy);
        if (r)
                return EXIT_BLOCKED;
        if (is_another_inside(path, flags.policy.workspace ? flags.policy.workspace : "."))
                r = block(tool->name, "commands have a place of their own there, and this one is not theirs");
        if (!r)
                r = judge(policy, ABATIS_READ, path);
        if (tool->writes && !r)
                r = judge(policy, ABATIS_WRITE, path);
        abatis_policy_free(policy);
        return r;
}

static int answer(json_t *event)
{
        const char *name = json_string_value(json_object_get(event, "tool_name"));
        json_t *input = json_object_get(event, "tool_input");
        const struct tool *tool = name ? find_tool(name) : NULL;
        const char *path = tool && tool->key ? json_string_value(json_object_get(input, tool->key)) : NULL;

        if (!name || !json_is_object(input))
                return block("no event", "a tool_name and a tool_input are expected");
        if (!tool)
                return 0;
        if (!tool->key)
                return block(
                        tool->name,
                        "what it finds is not known before; search with the shell, which is in the sandbox");
        if (!path || !is_plain(path))
                return block(tool->name, "an absolute path is expected, without spaces at its end");
        return ask(tool, path);
}

int cmd_hook(char **argv)
{
        json_error_t where;
        size_t length;
        char *text;
        json_t *event;
        int r;

        if (*argv && !strcmp(*argv, "--help"))
                return print_text(1, help);
        if (*argv)
                return block("usage", "abatis hook, with the event on stdin");
        text = read_event(&length);
        event = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &where) : NULL;
        r = event ? answer(event) : block("no event", text ? where.text : "more than 16 MiB");
        json_decref(event);
        free(text);
        return r;
}
