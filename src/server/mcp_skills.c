/* mcp_skills.c: the installed skills as tools of MCP. */
#define _GNU_SOURCE
#include "server/mcp_skills.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/mcp_tools.h"
#include "server/reply.h"

/* The array of those that are installed, or NULL. */
static json_t *load(void)
{
        json_t *list;
        char *text;

        if (abatis_skill_list(ABATIS_JSON, &text, NULL) < 0)
                return NULL;
        list = json_loads(text, 0, NULL);
        free(text);
        return list;
}

/* MCP has objects only, both ways. */
static bool is_of_objects(const json_t *schema)
{
        const char *type = json_string_value(json_object_get(schema, "type"));

        return type && !strcmp(type, "object");
}

static void add_schema(struct text *out, const char *key, const json_t *schema)
{
        char *json = schema ? json_dumps(schema, JSON_COMPACT) : NULL;

        reply_add_json(out, key, json ? json : "{\"type\":\"object\"}");
        free(json);
}

static void add_tool(struct text *out, const json_t *skill)
{
        const char *name = json_string_value(json_object_get(skill, "name")),
                   *description = json_string_value(json_object_get(skill, "description"));
        const json_t *input = json_object_get(skill, "input"), *output = json_object_get(skill, "output");

        if (!name || !description || tool_find(name) != TOOL_COUNT ||
            (json_is_object(input) && !is_of_objects(input)))
                return;
        text_addf(out, ",{\"name\":\"%s\"", name); /* of letters that JSON needs no escape for */
        reply_add_string(out, "description", description);
        add_schema(out, "inputSchema", json_is_object(input) ? input : NULL);
        if (is_of_objects(output))
                add_schema(out, "outputSchema", output);
        text_add(out,
                 ",\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"
                 "\"openWorldHint\":false}}");
}

void skills_list(struct text *out)
{
        json_t *list = load();

        for (size_t i = 0; i < json_array_size(list); i++)
                add_tool(out, json_array_get(list, i));
        json_decref(list);
}

bool skills_have(const char *name)
{
        json_t *list = load();
        bool has = false;

        for (size_t i = 0; i < json_array_size(list) && !has; i++) {
                const char *other = json_string_value(json_object_get(json_array_get(list, i), "name"));

                has = other && !strcmp(other, name);
        }
        json_decref(list);
        return has;
}

int skills_open(const char *name, abatis_skill **out, abatis_error *err)
{
        const abatis_skill_options options = { .size = sizeof(options), .file = name };

        if (!skills_have(name))
                return error_set(err, ABATIS_E_NOT_FOUND, "there is no skill '%s'", name);
        return abatis_skill_open(&options, out, err);
}

int skills_make_input(const json_t *input, char **out, abatis_error *err)
{
        *out = json_is_string(input) ? strdup(json_string_value(input))
               : input               ? json_dumps(input, JSON_COMPACT | JSON_ENCODE_ANY)
                                     : strdup("");
        return *out ? 0 : error_memory(err);
}
