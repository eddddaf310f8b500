/* describe.c: what there is to say of a skill, as JSON and in words. */
#include "skill/describe.h"

#include <string.h>

#include "base/json.h"

/* JSON that we have made, or null. */
static json_t *parse(const char *text)
{
        return text ? json_loads(text, JSON_DECODE_ANY, NULL) : json_null();
}

/* Takes the value over; without memory there is no list any more. */
static void append(json_t **list, json_t *value)
{
        if (!*list)
                json_decref(value);
        else if (json_array_append_new(*list, value) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

json_t *describe_briefly(const struct package *package)
{
        const struct manifest *manifest = package->manifest;

        return json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "name", manifest->name, "version",
                         manifest->version, "description", manifest->description, "tier", package->tier->name,
                         "state", package->installed_at ? "ok" : "not installed", "input",
                         parse(manifest->input_json), "output", parse(manifest->output_json));
}

json_t *describe_changed(const char *name, const char *problem)
{
        return json_pack("{s:s,s:s,s:s}", "name", name, "state", "changed", "problem", problem);
}

/* ---- the module ----------------------------------------------------------------------------------------- */

static json_t *describe_imports(const struct module *module)
{
        json_t *list = json_array();

        for (size_t i = 0; i < module->import_count; i++) {
                const struct module_import *import = &module->imports[i];

                append(&list, json_pack("{s:s%,s:s%}", "module", import->module.bytes, import->module.length,
                                        "name", import->name.bytes, import->name.length));
        }
        return list;
}

static json_t *describe_memories(const struct module *module)
{
        json_t *list = json_array();

        for (size_t i = 0; i < module->limits_count; i++) {
                const struct module_limits *limits = &module->limits[i];

                if (limits->kind == MODULE_MEMORY)
                        append(&list, json_pack("{s:I,s:o}", "pages", (json_int_t)limits->min, "most_pages",
                                                limits->has_max ? json_integer((json_int_t)limits->max)
                                                                : json_null()));
        }
        return list;
}

static json_t *describe_module(const struct package *package, const struct module *module)
{
        return json_pack("{s:s,s:I,s:s,s:o,s:o}", "path", package->manifest->module, "bytes",
                         (json_int_t)package->module_length, "sha256", package->module_sha256, "imports",
                         describe_imports(module), "memories", describe_memories(module));
}

json_t *describe_fully(const struct package *package, const struct module *module)
{
        const struct manifest *manifest = package->manifest;
        json_t *all = describe_briefly(package), *allowed = json_array(), *more;

        for (char **import = manifest->imports; *import; import++)
                append(&allowed, json_string(*import));
        more = json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "asks", manifest->tier->name, "engine",
                         json_from_string(manifest->engine), "imports", allowed, "policy",
                         parse(manifest->policy_json), "signer", json_from_string(package->signer),
                         "installed_at", json_from_string(package->installed_at), "module",
                         describe_module(package, module));
        if (!all || !more || json_object_update(all, more) < 0) {
                json_decref(all);
                all = NULL;
        }
        json_decref(more);
        return all;
}

/* ---- in words ------------------------------------------------------------------------------------------- */

static void add_row(struct text *out, const char *label, const char *value)
{
        text_addf(out, "%-12s ", label);
        text_add_line(out, value);
        text_add(out, "\n");
}

static void add_name(struct text *out, struct wire_name name)
{
        /* Which may have a NUL in it; then what follows is left out. */
        char shown[128];
        size_t length = name.length < sizeof(shown) - 1 ? name.length : sizeof(shown) - 1;

        memcpy(shown, name.bytes, length);
        shown[length] = '\0';
        text_add_line(out, shown);
}

static void add_imports(struct text *out, const struct module *module)
{
        for (size_t i = 0; i < module->import_count; i++) {
                text_addf(out, "%-12s ", i ? "" : "imports");
                add_name(out, module->imports[i].module);
                text_add(out, ".");
                add_name(out, module->imports[i].name);
                text_add(out, "\n");
        }
}

static void add_memories(struct text *out, const struct module *module)
{
        for (size_t i = 0; i < module->limits_count; i++) {
                const struct module_limits *limits = &module->limits[i];
                unsigned long long least = limits->min, most = limits->max;

                if (limits->kind != MODULE_MEMORY)
                        continue;
                text_addf(out, "%-12s pages of %s: %llu", "memory", limits->page_bits ? "64 KiB" : "a byte",
                          least);
                if (limits->has_max)
                        text_addf(out, ", %llu at most\n", most);
                else
                        text_add(out, ", and no limit of its own\n");
        }
}

void describe_in_words(const struct package *package, const struct module *module, struct text *out)
{
        const struct manifest *manifest = package->manifest;
        const char *const rows[][2] = {
                { "name", manifest->name },
                { "version", manifest->version },
                { "description", manifest->description },
                { "tier", package->tier->name },
                { "asks for", manifest->tier == package->tier ? NULL : manifest->tier->name },
                { "signer", package->signer },
                { "installed", package->installed_at },
                { "engine", manifest->engine },
                { "module", manifest->module },
                { "sha256", package->module_sha256 },
        };
        const char *const schemas[][2] = { { "policy", manifest->policy_json },
                                           { "input", manifest->input_json },
                                           { "output", manifest->output_json } };

        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
                if (rows[i][1])
                        add_row(out, rows[i][0], rows[i][1]);
        text_addf(out, "%-12s %zu\n", "bytes", package->module_length);
        add_imports(out, module);
        add_memories(out, module);
        for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++)
                if (schemas[i][1])
                        text_addf(out, "%-12s %s\n", schemas[i][0], schemas[i][1]);
}
