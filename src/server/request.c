/* request.c: one request: JSON that has all keys of its method that it must have, and no other. */
#define _GNU_SOURCE
#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "server/object.h"
#include "server/reply.h"
#include "server/scan.h"
#include "server/value.h"

#define ON(method) (1u << METHOD_##method)
enum {
        POLICY = ON(RUN) | ON(CHECK) | ON(EXPLAIN),
        LINES = POLICY | ON(CANCEL) | ON(PROBE) | ON(SKILL),
        EVERY = LINES | ON(EXEC)
};

static const struct key {
        const char *name;
        enum value_type type;
        unsigned allows, requires; /* methods */
} keys[] = {
        { "id", TYPE_ID, LINES, LINES },
        { "method", TYPE_METHOD, LINES, LINES },
        { "protocol", TYPE_PROTOCOL, EVERY, 0 },
        { "command", TYPE_COMMAND, ON(RUN), ON(RUN) },
        { "cwd", TYPE_PATH, ON(RUN) | ON(EXEC), 0 },
        { "env", TYPE_VARIABLES, ON(RUN), 0 },
        { "stdin", TYPE_TEXT, ON(RUN), 0 },
        { "stdin_base64", TYPE_BASE64, ON(RUN), 0 },
        { "stream", TYPE_FLAG, ON(RUN), 0 },
        { "merge", TYPE_FLAG, ON(RUN), 0 },
        { "context", TYPE_TEXT, ON(RUN) | ON(SKILL), 0 },
        { "session", TYPE_NAME, ON(RUN) | ON(CANCEL), 0 },
        { "preset", TYPE_NAME, POLICY | ON(EXEC), 0 },
        { "policy", TYPE_POLICY, POLICY, 0 },
        { "policy_file", TYPE_PATH, POLICY, 0 },
        { "workspace", TYPE_PATH, POLICY, 0 },
        { "data", TYPE_PATH, POLICY, 0 },
        { "config", TYPE_PATH, POLICY, 0 },
        { "limits", TYPE_LIMITS, POLICY | ON(SKILL) | ON(EXEC), 0 },
        { "set", TYPE_SETTINGS, POLICY, 0 },
        { "best_effort", TYPE_FLAG, ON(RUN) | ON(EXPLAIN), 0 },
        { "tier", TYPE_NAME, ON(EXPLAIN) | ON(SKILL) | ON(EXEC), 0 },
        { "target", TYPE_ID, ON(CANCEL), 0 },
        { "access", TYPE_ACCESS, ON(CHECK), ON(CHECK) },
        { "path", TYPE_PATH, ON(CHECK), ON(CHECK) },
        { "skill", TYPE_NAME, ON(SKILL), ON(SKILL) },
        { "program", TYPE_NAME, ON(EXEC), 0 },
        { "wasm", TYPE_PATH, ON(EXEC), 0 },
        { "engine", TYPE_NAME, ON(SKILL) | ON(EXEC), 0 },
        { "imports", TYPE_STRINGS, ON(SKILL) | ON(EXEC), 0 },
        { "args", TYPE_STRINGS, ON(SKILL) | ON(EXEC), 0 },
        { "read", TYPE_PATHS, ON(SKILL) | ON(EXEC), 0 },
        { "write", TYPE_PATHS, ON(SKILL) | ON(EXEC), 0 },
        { "network", TYPE_FLAG, ON(SKILL) | ON(EXEC), 0 },
        { "input", TYPE_ANY, ON(SKILL) | ON(EXEC), 0 },
        { "input_base64", TYPE_BASE64, ON(SKILL) | ON(EXEC), 0 },
};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

/* Of each pair at most one; of some methods exactly one. */
static const struct {
        const char *names[2];
        unsigned requires;
} pairs[] = {
        { { "stdin", "stdin_base64" }, 0 },      { { "input", "input_base64" }, 0 },
        { { "policy", "policy_file" }, 0 },      { { "tier", "policy" }, 0 },
        { { "tier", "policy_file" }, 0 },        { { "tier", "set" }, 0 },
        { { "target", "session" }, ON(CANCEL) }, { { "program", "wasm" }, ON(EXEC) },
        { { "program", "engine" }, 0 },          { { "program", "imports" }, 0 },
};

/* ---- keys ----------------------------------------------------------------------------------------------- */

static int complain_unknown(const char *name, enum method method, abatis_error *err)
{
        const char *names[KEYS + 1] = { NULL }, *nearest;
        size_t count = 0;

        for (size_t i = 0; i < KEYS; i++)
                if (keys[i].allows & 1u << method)
                        names[count++] = keys[i].name;
        nearest = abatis_suggest(name, names);
        if (nearest)
                return error_set(err, PROTOCOL_REQUEST, "unknown key '%s'; did you mean '%s'?", name,
                                 nearest);
        return error_set(err, PROTOCOL_REQUEST, "unknown key '%s'", name);
}

static int check_key(const char *name, json_t *value, enum method method, abatis_error *err)
{
        for (size_t i = 0; i < KEYS; i++) {
                const char *wanted;

                if (strcmp(name, keys[i].name) != 0 || !(keys[i].allows & 1u << method))
                        continue;
                wanted = value_judge(keys[i].type, value);
                return wanted ? error_set(err, PROTOCOL_REQUEST, "'%s' must be %s", name, wanted) : 0;
        }
        return complain_unknown(name, method, err);
}

static int check_presence(json_t *root, enum method method, abatis_error *err)
{
        for (size_t i = 0; i < KEYS; i++)
                if (keys[i].requires & 1u << method && !json_object_get(root, keys[i].name))
                        return error_set(err, PROTOCOL_REQUEST, "'%s' is missing", keys[i].name);
        for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
                const char *const *names = pairs[i].names;
                bool has_first = json_object_get(root, names[0]),
                     has_second = json_object_get(root, names[1]);

                if (has_first && has_second)
                        return error_set(err, PROTOCOL_REQUEST, "'%s' and '%s' exclude each other", names[0],
                                         names[1]);
                if (!has_first && !has_second && pairs[i].requires & 1u << method)
                        return error_set(err, PROTOCOL_REQUEST, "'%s' or '%s' is missing", names[0],
                                         names[1]);
        }
        return 0;
}

static int check_request(json_t *root, enum method method, abatis_error *err)
{
        const char *name;
        json_t *value;

        json_object_foreach(root, name, value)
        {
                int r = check_key(name, value, method, err);

                if (r < 0)
                        return r;
        }
        return check_presence(root, method, err);
}

/* Which method's keys there may be. */
static int find_method(json_t *root, enum method *out, abatis_error *err)
{
        json_t *name = json_object_get(root, "method");
        int r = name ? check_key("method", name, METHOD_PROBE, err)
                     : error_set(err, PROTOCOL_REQUEST, "'method' is missing");

        for (int i = 0; !r && value_methods[i]; i++)
                if (!strcmp(json_string_value(name), value_methods[i]))
                        *out = (enum method)i;
        return r;
}

int request_parse(const char *line, size_t length, struct request *out, json_t **id, abatis_error *err)
{
        enum method method = METHOD_RUN;
        json_t *root = NULL;
        int r = object_load(line, length, &root, id, err);

        if (r < 0)
                return r;
        r = find_method(root, &method, err);
        if (!r)
                r = check_request(root, method, err);
        if (r < 0) {
                *id = object_find_id(line, length);
                json_decref(root);
                return r;
        }
        *out = (struct request){ method, root, json_object_get(root, "id"), line, length };
        return 0;
}

int request_parse_exec(const char *text, size_t length, struct request *out, abatis_error *err)
{
        json_t *root = NULL;
        int r = object_load(text, length, &root, NULL, err);

        if (!r)
                r = check_request(root, METHOD_EXEC, err);
        if (r < 0) {
                json_decref(root);
                return r;
        }
        *out = (struct request){ METHOD_EXEC, root, NULL, text, length };
        return 0;
}

void request_done(struct request *request)
{
        json_decref(request->root);
        request->root = NULL;
}

/* ---- values --------------------------------------------------------------------------------------------- */

const char *request_string(const struct request *request, const char *key)
{
        return json_string_value(json_object_get(request->root, key));
}

int request_flag(const struct request *request, const char *key)
{
        return json_is_true(json_object_get(request->root, key));
}

int request_list(const struct request *request, const char *key, const char ***out, abatis_error *err)
{
        const json_t *array = json_object_get(request->root, key);
        size_t count = json_array_size(array);
        const char **list = calloc(count + 1, sizeof(*list));

        if (!list)
                return error_memory(err);
        for (size_t i = 0; i < count; i++)
                list[i] = json_string_value(json_array_get(array, i));
        *out = list;
        return 0;
}

/* A string is the text itself; of any other value, which only `input` may be, its JSON, as it was written: with all its digits. */
int request_input(const struct request *request, const char *key, char **owned, const char **out,
                  size_t *length, abatis_error *err)
{
        OWN_TEXT struct text decoded = { 0 };
        char name[32];
        const json_t *plain = json_object_get(request->root, key), *base64;
        const char *written = scan_member(request->text, request->length, key, length);
        int r;

        snprintf(name, sizeof(name), "%s_base64", key);
        base64 = json_object_get(request->root, name);
        *out = NULL;
        if (json_is_string(plain)) {
                *out = json_string_value(plain);
                *length = json_string_length(plain);
        } else if (plain && written) {
                *out = written;
        } else if (plain) {
                *owned = json_dumps(plain, JSON_COMPACT | JSON_ENCODE_ANY);
                if (!*owned)
                        return error_memory(err);
                *out = *owned;
                *length = strlen(*owned);
        } else if (base64) {
                text_add_decoded(&decoded, json_string_value(base64), json_string_length(base64));
                *length = decoded.length;
                r = text_take(&decoded, owned, err);
                if (r < 0)
                        return r;
                *out = *owned;
        }
        return 0;
}
