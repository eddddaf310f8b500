/* servers.c: the MCP servers that a client's configuration names, and what is to be said of each. */
#include "agents/servers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

#define ANY "*"
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Where clients keep them: an object of servers by their names. */
static const char *const places[][4] = {
        { "mcpServers" }, /* Claude Desktop, Claude Code, Cursor, Gemini CLI, Windsurf, Cline */
        { "projects", ANY, "mcpServers" }, /* Claude Code, for one project each */
        { "servers" },                     /* VS Code's mcp.json */
        { "mcp", "servers" },              /* and its settings */
        { "context_servers" },             /* Zed */
};

static const char *const addresses[] = { "url", "httpUrl", "serverUrl" };

static int take(struct servers *servers, const struct server *server, abatis_error *err)
{
        struct server *items = realloc(servers->items, (servers->count + 1) * sizeof(*items));

        if (!items) {
                free(server->name);
                return error_memory(err);
        }
        servers->items = items;
        servers->items[servers->count++] = *server;
        return 0;
}

/* A bare name is the one in PATH, if that is the client's. A relative path is whatever lies there, in a project of somebody else's perhaps. */
static bool is_abatis(const struct jsonc *document, const struct server *server, const char *command,
                      const struct servers_program *program)
{
        if (!strcmp(command, "abatis"))
                return server->env == JSONC_NONE || jsonc_member(document, server->env, "PATH") == JSONC_NONE;
        return !strcmp(command, program->path) ||
               (*command == '/' && program->is_same && program->is_same(command));
}

/* Whether args are those that we put there; then `original` is known. */
static bool is_wrapped(const struct jsonc *document, struct server *server)
{
        size_t word = server->args == JSONC_NONE ? JSONC_NONE : jsonc_first(document, server->args);

        if (word == JSONC_NONE || !jsonc_is(document, word, SERVERS_VERB))
                return false;
        word = jsonc_next(document, server->args, word);
        if (word == JSONC_NONE)
                return false;
        server->had_no_args = jsonc_is(document, word, SERVERS_MARK_NO_ARGS);
        if (!server->had_no_args && !jsonc_is(document, word, SERVERS_MARK))
                return false;
        while (word != JSONC_NONE && !jsonc_is(document, word, "--"))
                word = jsonc_next(document, server->args, word);
        server->original = word == JSONC_NONE ? word : jsonc_next(document, server->args, word);
        return server->original != JSONC_NONE;
}

static int check_args(const struct jsonc *document, const struct server *server, abatis_error *err)
{
        const struct jsonc_value *args = &document->values[server->args];

        if (args->kind != JSONC_ARRAY)
                return jsonc_refuse(document, args->start, err, "the args of this server are no array");
        for (size_t i = jsonc_first(document, server->args); i != JSONC_NONE;
             i = jsonc_next(document, server->args, i))
                if (document->values[i].kind != JSONC_STRING)
                        return jsonc_refuse(document, document->values[i].start, err,
                                            "an argument of a server that is no string");
        return 0;
}

/* One that the client starts. */
static int see_started(const struct jsonc *document, struct server *server,
                       const struct servers_program *program, abatis_error *err)
{
        const struct jsonc_value *command = &document->values[server->command];
        OWN_FREE char *named = NULL;
        int r = 0;

        if (command->kind != JSONC_STRING || command->end - command->start == 2)
                return jsonc_refuse(document, command->start, err,
                                    "the command of this server is no string with a program's name");
        if (server->args != JSONC_NONE)
                r = check_args(document, server, err);
        named = r ? NULL : jsonc_decode(document, command->start, command->end);
        if (!named)
                return r ? r : error_memory(err);
        if (is_abatis(document, server, named, program))
                server->state = is_wrapped(document, server) ? SERVER_WRAPPED : SERVER_OURS;
        else
                server->state = is_wrapped(document, server) ? SERVER_FOREIGN : SERVER_BARE;
        return 0;
}

static bool has_address(const struct jsonc *document, size_t entry)
{
        for (size_t i = 0; i < COUNT(addresses); i++)
                if (jsonc_member(document, entry, addresses[i]) != JSONC_NONE)
                        return true;
        return false;
}

static int see_server(const struct jsonc *document, size_t entry, const struct servers_program *program,
                      struct servers *out, abatis_error *err)
{
        const struct jsonc_value *value = &document->values[entry];
        struct server server = { .state = SERVER_UNKNOWN, .holder = entry };
        size_t inner;
        int r = 0;

        server.command = jsonc_member(document, entry, "command");
        /* Zed had the program, its arguments and its environment in one. */
        inner = server.command == JSONC_NONE ? JSONC_NONE : jsonc_member(document, server.command, "path");
        if (inner != JSONC_NONE) {
                server.holder = server.command;
                server.command = inner;
        }
        server.args = jsonc_member(document, server.holder, "args");
        server.env = jsonc_member(document, server.holder, "env");
        /* Whatever its type says: there are clients that do not look at that. */
        if (server.command != JSONC_NONE)
                r = see_started(document, &server, program, err);
        else if (has_address(document, entry))
                server.state = SERVER_REMOTE;
        if (r < 0)
                return r;
        server.name = jsonc_decode(document, value->key, value->key_end);
        return server.name ? take(out, &server, err) : error_memory(err);
}

/* All that is at the end of a path of keys. */
static int see_place(const struct jsonc *document, size_t value, const char *const *path,
                     const struct servers_program *program, struct servers *out, bool *is_there,
                     abatis_error *err)
{
        const struct jsonc_value *found = &document->values[value];
        int r = 0;

        if (found->kind != JSONC_OBJECT)
                return *path ? 0 : jsonc_refuse(document, found->start, err, "the servers are no object");
        *is_there |= !*path;
        for (size_t i = jsonc_first(document, value); i != JSONC_NONE && !r;
             i = jsonc_next(document, value, i))
                if (!*path)
                        r = see_server(document, i, program, out, err);
                else if (!strcmp(*path, ANY))
                        r = see_place(document, i, path + 1, program, out, is_there, err);
        if (!*path || !strcmp(*path, ANY))
                return r;
        value = jsonc_member(document, value, *path);
        return value == JSONC_NONE ? 0 : see_place(document, value, path + 1, program, out, is_there, err);
}

int servers_find(const struct jsonc *document, const struct servers_program *program, struct servers *out,
                 abatis_error *err)
{
        struct servers servers = { 0 };
        bool is_there = false;
        int r = 0;

        for (size_t i = 0; i < COUNT(places) && !r; i++)
                r = see_place(document, 0, places[i], program, &servers, &is_there, err);
        if (!r && !is_there)
                r = jsonc_refuse(
                        document, 0, err,
                        "no MCP servers: there is no mcpServers, servers, mcp.servers or context_servers");
        if (r < 0)
                servers_done(&servers);
        else
                *out = servers;
        return r;
}

void servers_done(struct servers *servers)
{
        for (size_t i = 0; i < servers->count; i++)
                free(servers->items[i].name);
        free(servers->items);
        *servers = (struct servers){ 0 };
}
