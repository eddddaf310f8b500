/* fuzz_wrap.c: whatever a configuration is, its servers are wrapped so that nothing else differs, once, and exactly undone; or it is refused.
 *
 * links: src/agents/jsonc.c src/agents/servers.c src/agents/edits.c src/agents/wrap.c src/base/json_text.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agents/wrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const flags[] = { "--profile=mcp-server", "--deny=/a \"b\"", NULL };

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

static struct wrap_options options(bool is_undone)
{
        return (struct wrap_options){ .is_undone = is_undone,
                                      .program = { "/usr/bin/abatis", NULL },
                                      .flags = flags };
}

static void strip(json_t *holder)
{
        json_object_del(holder, "args");
        if (json_is_string(json_object_get(holder, "path")))
                json_object_set_new(holder, "path", json_null());
}

/* All that a server is started by, of both forms. */
static void strip_servers(json_t *servers)
{
        const char *name;
        json_t *server;

        json_object_foreach(servers, name, server)
        {
                json_t *command = json_object_get(server, "command");

                if (json_is_object(command) && json_object_get(command, "path"))
                        strip(command);
                else if (command) {
                        json_object_del(server, "args");
                        json_object_set_new(server, "command", json_null());
                }
        }
}

static json_t *load_stripped(const char *text, size_t length)
{
        json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL), *project;
        const char *name;

        strip_servers(json_object_get(root, "mcpServers"));
        strip_servers(json_object_get(root, "servers"));
        strip_servers(json_object_get(json_object_get(root, "mcp"), "servers"));
        strip_servers(json_object_get(root, "context_servers"));
        json_object_foreach(json_object_get(root, "projects"), name, project)
                strip_servers(json_object_get(project, "mcpServers"));
        return root;
}

/* What another reader of JSON takes, it takes afterwards, and finds the same in it. */
static void check_rest(const char *text, size_t length, const struct wrap *wrap)
{
        json_t *before = load_stripped(text, length), *after = load_stripped(wrap->text, wrap->length);

        check(!before || json_equal(before, after));
        json_decref(before);
        json_decref(after);
}

static bool has_wrapped(const char *text, size_t length)
{
        const struct servers_program program = { "/usr/bin/abatis", NULL };
        struct jsonc document;
        struct servers servers;
        bool found = false;
        abatis_error err;

        check(!jsonc_parse(text, length, &document, &err));
        check(!servers_find(&document, &program, &servers, &err));
        for (size_t i = 0; i < servers.count; i++)
                found |= servers.items[i].state == SERVER_WRAPPED || servers.items[i].state == SERVER_FOREIGN;
        servers_done(&servers);
        jsonc_done(&document);
        return found;
}

static void check_wrapped(const char *text, size_t length, const struct wrap *wrap)
{
        struct wrap_options again = options(false), back = options(true);
        struct wrap next;
        abatis_error err;

        check(wrap->changed && wrap->difference && *wrap->difference);
        check_rest(text, length, wrap);
        check(!wrap_make(wrap->text, wrap->length, &again, &next, &err) && !next.text);
        wrap_done(&next);
        /* What was wrapped before would be undone, too. */
        if (has_wrapped(text, length))
                return;
        check(!wrap_make(wrap->text, wrap->length, &back, &next, &err));
        check(next.length == length && !memcmp(next.text, text, length));
        wrap_done(&next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        char *copy = malloc(size ? size : 1);
        struct wrap_options forth = options(false), back = options(true);
        abatis_error err = { 0 };
        struct wrap wrap;

        check(copy != NULL);
        if (size)
                memcpy(copy, data, size);
        if (wrap_make(copy, size, &forth, &wrap, &err) < 0) {
                check(*err.message >= '0' && *err.message <= '9' && !strchr(err.message, '\n'));
        } else {
                if (wrap.text)
                        check_wrapped(copy, size, &wrap);
                check(wrap.report != NULL);
                wrap_done(&wrap);
        }
        if (!wrap_make(copy, size, &back, &wrap, &err)) {
                if (wrap.text)
                        check_rest(copy, size, &wrap);
                wrap_done(&wrap);
        }
        free(copy);
        return 0;
}
