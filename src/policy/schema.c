/* schema.c: the JSON Schema of the policy file, made from the table of keys that the parser reads by. */
#define _GNU_SOURCE
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "policy/keys.h"

#define PORT "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

/* What place.c takes, as far as an expression can say it: not whether an IPv6 address is one, whether a range ascends or
 * begins at its first address, and which names and addresses are nobody's. */
#define PORTS PORT "(-" PORT ")?"
#define LABEL "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
#define NOT_A_NUMBER "(?!([^:]*\\.)?([0-9]+|0[xX][0-9A-Fa-f]*)\\.?:)"
#define NAME "(\\*\\.)?" NOT_A_NUMBER LABEL "(\\." LABEL ")*\\.?"
#define OCTET "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 OCTET "(\\." OCTET "){3}(/([0-9]|[12][0-9]|3[0-2]))?"
#define IPV6 "\\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?\\]"
#define HOST "(\\*|" NAME "|" IPV4 "|" IPV6 ")"

static json_t *text_like(const char *pattern)
{
        return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static json_t *list_of(json_t *item)
{
        return item ? json_pack("{s:s, s:o}", "type", "array", "items", item) : NULL;
}

static json_t *either(json_t *first, json_t *second)
{
        return json_pack("{s:[o, o]}", "anyOf", first, second);
}

/* A text, or {path: ...}. */
static json_t *path(void)
{
        return either(json_pack("{s:s, s:i}", "type", "string", "minLength", 1),
                      json_pack("{s:s, s:{s:{s:s, s:i}}, s:[s], s:b}", "type", "object", "properties", "path",
                                "type", "string", "minLength", 1, "required", "path", "additionalProperties",
                                0));
}

/* As much as units.c takes. */
static json_t *count(void)
{
        return json_pack("{s:s, s:i, s:I}", "type", "integer", "minimum", 1, "maximum",
                         (json_int_t)(INT64_MAX / 2));
}

static json_t *describe_type(enum key_type type)
{
        static const char name[] = "^[^= \\n]+$";

        switch (type) {
        case TYPE_VERSION:
                return json_pack("{s:i}", "const", 1);
        case TYPE_BASES:
        case TYPE_VARIABLES:
                return either(text_like(name), list_of(text_like(name)));
        case TYPE_TREES:
        case TYPE_HOLES:
        case TYPE_PATHS:
        case TYPE_PROGRAMS:
                return list_of(path());
        case TYPE_SESSION:
                return json_pack("{s:[s, s]}", "enum", "private", "shared");
        case TYPE_CALLS:
                return json_pack("{s:[s, s]}", "enum", "usual", "few");
        case TYPE_BACKEND:
                return json_pack("{s:[s, s, s, s, s, s, s]}", "enum", "", "auto", "native", "bwrap",
                                 "seatbelt", "appcontainer", "none");
        case TYPE_MODE:
                return json_pack("{s:[s, s, s, s]}", "enum", "deny", "unix-only", "allow", "list");
        case TYPE_HOSTS:
                return list_of(text_like("^(inherited|" HOST ":(\\*|" PORTS "(," PORTS "){0,15})(/udp)?)$"));
        case TYPE_PORTS:
                return list_of(either(json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 1, "maximum",
                                                65535),
                                      json_pack("{s:s}", "const", "inherited")));
        case TYPE_BOOLEAN:
                return json_pack("{s:s}", "type", "boolean");
        case TYPE_MASKS:
                return list_of(text_like(name));
        case TYPE_ASSIGNMENTS:
                return json_pack("{s:s, s:{s:s}, s:{s:s}}", "type", "object", "propertyNames", "pattern",
                                 name, "additionalProperties", "type", "string");
        case TYPE_SIZE:
                return either(count(), text_like("^0*[1-9][0-9]*(B|KiB|MiB|GiB|TiB|KB|MB|GB|K|M|G)?$"));
        case TYPE_DURATION:
                return text_like("^0*[1-9][0-9]*(ms|s|m|h)$");
        case TYPE_NUMBER:
                return count();
        case TYPE_LOG:
                return either(json_pack("{s:s}", "type", "boolean"),
                              text_like("^(on|off|(/|~/)[^\\n]*[^/\\n]|\\$\\{([^\\n]*[^/\\n])?)$"));
        }
        return NULL;
}

/* Hosts are listed in a mode for lists, unless the mode is another file's business. */
static int add_condition(json_t *network)
{
        json_t *condition = json_pack("{s:[s, s], s:{s:{s:i}}}", "required", "mode", "connect", "properties",
                                      "connect", "minItems", 1);
        json_t *consequence = json_pack("{s:{s:{s:s}}}", "properties", "mode", "const", "list");

        /* Both take the value over, also when they fail. */
        if (json_object_set_new(network, "if", condition) < 0) {
                json_decref(consequence);
                return -1;
        }
        return json_object_set_new(network, "then", consequence);
}

/* The properties of one section; made when its first key comes. NULL when memory is short. */
static json_t *find_section(json_t *top, const char *name, size_t length)
{
        char title[32] = { 0 };
        json_t *section;

        memcpy(title, name, length < sizeof(title) ? length : sizeof(title) - 1);
        section = json_object_get(top, title);
        if (!section) {
                section = json_pack("{s:[s, s], s:{}, s:b}", "type", "object", "null", "properties",
                                    "additionalProperties", 0);
                if (json_object_set_new(top, title, section) < 0 ||
                    (!strcmp(title, "network") && add_condition(section) < 0))
                        return NULL;
        }
        return json_object_get(section, "properties");
}

static json_t *describe_key(enum key_id id)
{
        json_t *type = describe_type(keys[id].type);

        return key_takes_none(id) ? either(type, json_pack("{s:s}", "const", "none")) : type;
}

static int add_key(json_t *top, enum key_id id)
{
        const struct key *key = &keys[id];
        size_t section = key_section_length(key);
        json_t *type = describe_key(id), *place = section ? find_section(top, key->name, section) : top;

        if (!place || json_object_set_new(type, "description", json_string(key->description)) < 0) {
                json_decref(type);
                return -1;
        }
        return json_object_set_new(place, key_leaf(key), type);
}

int abatis_policy_schema(char **out, abatis_error *err)
{
        json_t *root =
                json_pack("{s:s, s:s, s:s, s:[s, s], s:{}, s:b}", "$schema",
                          "http://json-schema.org/draft-07/schema#", "title", "abatis policy", "description",
                          "What a command that abatis runs may read, write, execute and reach.", "type",
                          "object", "null", "properties", "additionalProperties", 0);
        json_t *top = json_object_get(root, "properties");

        for (enum key_id id = KEY_VERSION; top && id < KEY_COUNT; id++)
                if (add_key(top, id) < 0)
                        top = NULL;
        /* "audit: off" says one key of the section, and the others are not said. */
        if (top && json_object_set_new(top, "audit",
                                       either(json_incref(json_object_get(top, "audit")),
                                              describe_type(TYPE_LOG))) < 0)
                top = NULL;
        if (!top) {
                json_decref(root);
                return error_memory(err);
        }
        return json_to_text(root, JSON_INDENT(2), out, err);
}
