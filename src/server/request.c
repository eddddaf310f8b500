/* request.c: one request: JSON that has all keys of its method that it must have, and no other. */
#define _GNU_SOURCE
#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "server/reply.h"
#include "server/scan.h"
#include "server/server.h"

enum { ID_SIZE_MAX = 128 };

enum type {
        TYPE_ID,        /* an integer or a short string */
        TYPE_METHOD,    /* a method's name */
        TYPE_PROTOCOL,  /* SERVER_PROTOCOL */
        TYPE_NAME,      /* a string that is not empty */
        TYPE_TEXT,      /* any string */
        TYPE_BASE64,    /* a string of base64 */
        TYPE_PATH,      /* an absolute one */
        TYPE_PATHS,     /* an array of them */
        TYPE_FLAG,      /* true or false */
        TYPE_COMMAND,   /* an array of strings, the first of them not empty */
        TYPE_STRINGS,   /* an array of strings */
        TYPE_VARIABLES, /* an object of strings */
        TYPE_LIMITS,    /* an object of strings and numbers */
        TYPE_SETTINGS,  /* an object of strings, numbers, truth values, and arrays of these */
        TYPE_POLICY,    /* an object; the library knows the rest */
        TYPE_ACCESS,    /* read, write or execute */
        TYPE_ANY,
};

#define ON(method) (1u << METHOD_##method)
enum {
        POLICY = ON(RUN) | ON(CHECK) | ON(EXPLAIN),
        LINES = POLICY | ON(CANCEL) | ON(PROBE) | ON(SKILL),
        EVERY = LINES | ON(EXEC)
};

static const char *const method_names[] = { "run", "cancel", "check", "explain", "probe", "skill", NULL };

static const struct key {
        const char *name;
        enum type type;
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
        { "context", TYPE_TEXT, ON(RUN), 0 },
        { "session", TYPE_NAME, ON(RUN) | ON(CANCEL), 0 },
        { "preset", TYPE_NAME, POLICY | ON(EXEC), 0 },
        { "policy", TYPE_POLICY, POLICY, 0 },
        { "policy_file", TYPE_PATH, POLICY, 0 },
        { "workspace", TYPE_PATH, POLICY, 0 },
        { "data", TYPE_PATH, POLICY, 0 },
        { "config", TYPE_PATH, POLICY, 0 },
        { "limits", TYPE_LIMITS, POLICY | ON(EXEC), 0 },
        { "set", TYPE_SETTINGS, POLICY, 0 },
        { "best_effort", TYPE_FLAG, ON(RUN) | ON(EXPLAIN), 0 },
        { "tier", TYPE_NAME, ON(EXPLAIN) | ON(SKILL) | ON(EXEC), 0 },
        { "target", TYPE_ID, ON(CANCEL), 0 },
        { "access", TYPE_ACCESS, ON(CHECK), ON(CHECK) },
        { "path", TYPE_PATH, ON(CHECK), ON(CHECK) },
        { "skill", TYPE_NAME, ON(SKILL), ON(SKILL) },
        { "program", TYPE_NAME, ON(EXEC), 0 },
        { "wasm", TYPE_PATH, ON(EXEC), 0 },
        { "args", TYPE_STRINGS, ON(EXEC), 0 },
        { "read", TYPE_PATHS, ON(EXEC), 0 },
        { "write", TYPE_PATHS, ON(EXEC), 0 },
        { "network", TYPE_FLAG, ON(EXEC), 0 },
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
};

/* ---- types ---------------------------------------------------------------------------------------------- */

static bool is_in(const json_t *value, const char *const *words)
{
        for (; json_is_string(value) && *words; words++)
                if (!strcmp(json_string_value(value), *words))
                        return true;
        return false;
}

static bool is_name(const json_t *value)
{
        return json_is_string(value) && json_string_length(value);
}

static bool is_string(const json_t *value)
{
        return json_is_string(value);
}

static bool is_path(const json_t *value)
{
        return json_is_string(value) && *json_string_value(value) == '/';
}

static bool is_quantity(const json_t *value)
{
        return is_name(value) || (json_is_integer(value) && json_integer_value(value) >= 0);
}

static bool is_scalar(const json_t *value)
{
        return json_is_string(value) || json_is_integer(value) || json_is_boolean(value);
}

static bool are_all(const json_t *array, bool (*is_one)(const json_t *value))
{
        for (size_t i = 0; i < json_array_size(array); i++)
                if (!is_one(json_array_get(array, i)))
                        return false;
        return json_is_array(array);
}

static bool is_setting(const json_t *value)
{
        return is_scalar(value) || are_all(value, is_scalar);
}

static bool have_all(json_t *object, bool (*is_one)(const json_t *value))
{
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value) if (!*key || !is_one(value)) return false;
        return json_is_object(object);
}

static bool are_variables(json_t *object)
{
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value) if (strchr(key, '=')) return false;
        return have_all(object, is_string);
}

static bool is_base64(const json_t *value)
{
        OWN_TEXT struct text text = { 0 };

        return json_is_string(value) &&
               text_add_decoded(&text, json_string_value(value), json_string_length(value));
}

static bool is_id(const json_t *value)
{
        return json_is_integer(value) || (is_name(value) && json_string_length(value) <= ID_SIZE_MAX);
}

/* What the key wants, in words, when the value is not of its type; else NULL. */
static const char *judge(enum type type, json_t *value)
{
        static const char *const accesses[] = { "read", "write", "execute", NULL };

        switch (type) {
        case TYPE_ID:
                return is_id(value) ? NULL : "an integer or a string of 1 to 128 bytes";
        case TYPE_METHOD:
                return is_in(value, method_names) ? NULL : "run, cancel, check, explain, probe or skill";
        case TYPE_PROTOCOL:
                return json_is_integer(value) && json_integer_value(value) == SERVER_PROTOCOL ? NULL : "1";
        case TYPE_NAME:
                return is_name(value) ? NULL : "a string that is not empty";
        case TYPE_TEXT:
                return json_is_string(value) ? NULL : "a string";
        case TYPE_BASE64:
                return is_base64(value) ? NULL : "a string of base64";
        case TYPE_PATH:
                return is_path(value) ? NULL : "an absolute path";
        case TYPE_PATHS:
                return are_all(value, is_path) ? NULL : "an array of absolute paths";
        case TYPE_FLAG:
                return json_is_boolean(value) ? NULL : "true or false";
        case TYPE_COMMAND:
                return are_all(value, is_string) && is_name(json_array_get(value, 0))
                               ? NULL
                               : "an array of strings: the program and its arguments";
        case TYPE_STRINGS:
                return are_all(value, is_string) ? NULL : "an array of strings";
        case TYPE_VARIABLES:
                return are_variables(value) ? NULL : "an object of strings";
        case TYPE_LIMITS:
                return have_all(value, is_quantity) ? NULL : "an object of strings and numbers";
        case TYPE_SETTINGS:
                return have_all(value, is_setting)
                               ? NULL
                               : "an object of strings, numbers, truth values and arrays of these";
        case TYPE_POLICY:
                return json_is_object(value) ? NULL : "an object";
        case TYPE_ACCESS:
                return is_in(value, accesses) ? NULL : "read, write or execute";
        case TYPE_ANY:
                break;
        }
        return NULL;
}

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
                wanted = judge(keys[i].type, value);
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

/* ---- text ----------------------------------------------------------------------------------------------- */

/* The parser's own words are for who has called it. */
static const char *describe(enum json_error_code code)
{
        switch (code) {
        case json_error_unknown:
        case json_error_out_of_memory:
        case json_error_cannot_open_file:
        case json_error_invalid_argument:
        case json_error_invalid_format:
        case json_error_wrong_type:
        case json_error_null_character:
        case json_error_null_value:
        case json_error_item_not_found:
        case json_error_index_out_of_range:
        case json_error_stack_overflow:
        case json_error_invalid_syntax:
                break;
        case json_error_invalid_utf8:
                return "not UTF-8";
        case json_error_premature_end_of_input:
                return "it ends too early";
        case json_error_end_of_input_expected:
                return "there is more after the end";
        case json_error_null_byte_in_key:
                return "a key has \\u0000 in it";
        case json_error_duplicate_key:
                return "a key is there twice";
        case json_error_numeric_overflow:
                return "a number is too large";
        }
        return NULL;
}

/* A string with \u0000 in it is a mistake in the parser's eyes as any other of syntax. */
static int complain_json(const json_error_t *error, size_t length, abatis_error *err)
{
        const char *what = describe(json_error_code(error));

        if (!length)
                return error_set(err, PROTOCOL_JSON, "empty: a request is an object");
        if (!what)
                what = strstr(error->text, "JSON_ALLOW_NUL") ? "a string has \\u0000 in it" : "not JSON";
        return error_set(err, PROTOCOL_JSON, "column %d: %s", error->column, what);
}

static int load(const char *text, size_t length, const struct scan *scan, json_t **out, abatis_error *err)
{
        json_error_t error;
        json_t *root;

        if (scan->is_too_deep)
                return error_set(err, PROTOCOL_JSON, "nested deeper than %d levels", SCAN_DEPTH_MAX);
        if (scan->has_too_many)
                return error_set(err, PROTOCOL_JSON, "more than %d values", SCAN_VALUES_MAX);
        root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        if (!root && (!*error.text || json_error_code(&error) == json_error_out_of_memory))
                return error_memory(err);
        if (!root)
                return complain_json(&error, length, err);
        if (!json_is_object(root)) {
                json_decref(root);
                return error_set(err, PROTOCOL_REQUEST, "a request is an object");
        }
        *out = root;
        return 0;
}

static json_t *parse_id(const struct scan *scan)
{
        json_t *id = scan->id ? json_loadb(scan->id, scan->id_length, JSON_DECODE_ANY, NULL) : NULL;

        if (id && is_id(id))
                return id;
        json_decref(id);
        return NULL;
}

json_t *request_find_id(const char *line, size_t length)
{
        const struct scan scan = scan_line(line, length);

        return parse_id(&scan);
}

/* Which method's keys there may be. */
static int find_method(json_t *root, enum method *out, abatis_error *err)
{
        json_t *name = json_object_get(root, "method");
        int r = name ? check_key("method", name, METHOD_PROBE, err)
                     : error_set(err, PROTOCOL_REQUEST, "'method' is missing");

        for (int i = 0; !r && method_names[i]; i++)
                if (!strcmp(json_string_value(name), method_names[i]))
                        *out = (enum method)i;
        return r;
}

int request_parse(const char *line, size_t length, struct request *out, json_t **id, abatis_error *err)
{
        const struct scan scan = scan_line(line, length);
        enum method method = METHOD_RUN;
        json_t *root = NULL;
        int r = load(line, length, &scan, &root, err);

        if (!r)
                r = find_method(root, &method, err);
        if (!r)
                r = check_request(root, method, err);
        if (r < 0) {
                *id = parse_id(&scan);
                json_decref(root);
                return r;
        }
        *out = (struct request){ method, root, json_object_get(root, "id"), line, length };
        return 0;
}

int request_parse_exec(const char *text, size_t length, struct request *out, abatis_error *err)
{
        const struct scan scan = scan_line(text, length);
        json_t *root = NULL;
        int r = load(text, length, &scan, &root, err);

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
