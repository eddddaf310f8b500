/* native_build.c: plans how a module becomes a native program. */
#include "skill/native_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "skill/imports.h"
#include "skill/reading.h"

/* ---- what can be compiled ------------------------------------------------------------------------------- */

static int check_imports(const struct module *module, abatis_error *err)
{
        for (size_t i = 0; i < module->import_count; i++) {
                const struct module_import *import = &module->imports[i];

                if (!imports_allow(import, NULL))
                        return error_set(err, ABATIS_E_INVALID,
                                         "byte %zu: it imports the %s '%.*s.%.*s', and a native program has "
                                         "only the functions of WASI",
                                         import->at, module_kind_names[import->kind],
                                         wire_shown(import->module), import->module.bytes,
                                         wire_shown(import->name), import->name.bytes);
        }
        return 0;
}

static const char *find_unknown(const struct module_limits *limits)
{
        if (limits->is_64_bit)
                return "64-bit addresses";
        if (limits->is_shared)
                return "threads that share it";
        if (limits->kind == MODULE_MEMORY && limits->page_bits != MODULE_PAGE_BITS)
                return "pages of another size";
        return NULL;
}

static int check_limits(const struct module *module, abatis_error *err)
{
        for (size_t i = 0; i < module->limits_count; i++) {
                const char *what = find_unknown(&module->limits[i]);

                if (what)
                        return error_set(err, ABATIS_E_INVALID,
                                         "byte %zu: the %s has %s, which a native program cannot have",
                                         module->limits[i].at, module_kind_names[module->limits[i].kind],
                                         what);
        }
        if (module->counts[MODULE_MEMORY] != 1)
                return error_set(err, ABATIS_E_INVALID,
                                 "it has %u memories, and a native program can have one",
                                 (unsigned)module->counts[MODULE_MEMORY]);
        return 0;
}

int native_check(const struct module *module, abatis_error *err)
{
        int r = module_check_command(module, err);

        if (!r)
                r = check_imports(module, err);
        return r ? r : check_limits(module, err);
}

/* ---- what wasm2c is given ------------------------------------------------------------------------------- */

static void add_number(struct text *text, uint64_t number)
{
        uint8_t bytes[WIRE_NUMBER_SIZE];

        text_add_bytes(text, bytes, wire_write(number, 0, bytes));
}

static void add_export(struct text *text, const char *name, const struct module_export *export)
{
        const uint8_t kind = (uint8_t) export->kind;

        add_number(text, strlen(name));
        text_add(text, name);
        text_add_bytes(text, &kind, 1);
        add_number(text, export->index);
}

static void add_exports(struct text *text, const struct module *module)
{
        OWN_TEXT struct text body = { 0 };
        const uint8_t id = MODULE_EXPORT_SECTION;

        add_number(&body, 2);
        add_export(&body, "memory", &module->memory);
        add_export(&body, "_start", &module->command);
        text->has_failed |= body.has_failed;
        text_add_bytes(text, &id, 1);
        add_number(text, body.length);
        text_add_bytes(text, body.data, body.length);
}

/* As they stand in a file: the count of data segments before the code. */
static const enum module_section sections[] = {
        MODULE_TYPE_SECTION,    MODULE_IMPORT_SECTION,     MODULE_FUNCTION_SECTION, MODULE_TABLE_SECTION,
        MODULE_MEMORY_SECTION,  MODULE_GLOBAL_SECTION,     MODULE_EXPORT_SECTION,   MODULE_START_SECTION,
        MODULE_ELEMENT_SECTION, MODULE_DATA_COUNT_SECTION, MODULE_CODE_SECTION,     MODULE_DATA_SECTION,
};

int native_strip(const struct module *module, uint8_t **out, size_t *out_length, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        enum { HEAD = 8 };
        size_t length;
        char *taken;
        int r;

        text_add_bytes(&text, module->bytes, HEAD);
        for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
                const size_t at = module->sections[sections[i]].size_at,
                             end = module->sections[sections[i]].end;

                if (sections[i] == MODULE_EXPORT_SECTION)
                        add_exports(&text, module);
                else if (end)
                        text_add_bytes(&text, module->bytes + at - 1, end - at + 1);
        }
        length = text.length;
        r = text_take(&text, &taken, err);
        if (r < 0)
                return r;
        *out = (uint8_t *)taken;
        *out_length = length;
        return 0;
}

/* ---- the commands --------------------------------------------------------------------------------------- */

/* Its debug names are not used: they are the module's, and would be part of the C. */
static const char *const translate_flags[] = { "--no-debug-names", "--module-name=skill" };

/* Results are those of WebAssembly's arithmetic: nothing is fused, and a signalling NaN becomes a quiet one. Each page of a frame is
 * touched in order, so that none is larger than the guard below the stack. Where its code lies
 * is left to chance, which costs a twentieth of its start. Warnings would be about what wasm2c writes. */
static const char *const compile_flags[] = {
        "-std=gnu11",
        "-O2",
        "-w",
        "-ffp-contract=off",
        "-fsignaling-nans",
        "-fstack-clash-protection",
        "-fPIE",
        "-static-pie",
        "-s",
};

static int add_joined(struct strings *list, const char *first, const char *second, const char *third,
                      abatis_error *err)
{
        OWN_FREE char *joined = text_join(first, second, third);

        return joined ? strings_add(list, joined, err) : error_memory(err);
}

static int add_flags(struct strings *list, const char *const *flags, size_t count, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; !r && i < count; i++)
                r = strings_add(list, flags[i], err);
        return r;
}

static int plan_translation(const struct native_tools *tools, const char *directory,
                            struct native_build *build, abatis_error *err)
{
        int r = strings_add(&build->translate, tools->wasm2c, err);

        if (!r)
                r = add_flags(&build->translate, translate_flags,
                              sizeof(translate_flags) / sizeof(*translate_flags), err);
        if (!r)
                r = add_joined(&build->translate, "--output=", directory, "/skill.c", err);
        return r ? r : strings_add(&build->translate, build->module, err);
}

static bool is_compiled(const struct native_source *source)
{
        return !strcmp(source->name + strlen(source->name) - 2, ".c");
}

static int plan_compilation(const struct native_tools *tools, const char *directory, bool has_imports,
                            struct native_build *build, abatis_error *err)
{
        struct strings *list = &build->compile;
        int r = strings_add(list, tools->compiler, err);

        if (!r)
                r = add_flags(list, compile_flags, sizeof(compile_flags) / sizeof(*compile_flags), err);
        if (!r)
                r = strings_add(list, has_imports ? "-DSKILL_HAS_IMPORTS=1" : "-DSKILL_HAS_IMPORTS=0", err);
        if (!r)
                r = add_joined(list, "-I", directory, "", err);
        if (!r)
                r = add_joined(list, "-o", build->program, "", err);
        if (!r)
                r = add_joined(list, directory, "/skill.c", "", err);
        for (const struct native_source *source = native_sources; !r && source->name; source++)
                if (is_compiled(source))
                        r = add_joined(list, directory, "/" NATIVE_PLACE "/", source->name, err);
        return r ? r : strings_add(list, "-lm", err);
}

static int end_list(struct strings *list, abatis_error *err)
{
        char **items = realloc(list->items, (list->count + 1) * sizeof(*items));

        if (!items)
                return error_memory(err);
        items[list->count] = NULL;
        list->items = items;
        return 0;
}

int native_build_plan(const struct module *module, const struct native_tools *tools, const char *directory,
                      struct native_build *out, abatis_error *err)
{
        OWN_NATIVE_BUILD struct native_build build = {
                .module = text_join(directory, "/skill.wasm", ""),
                .program = text_join(directory, "/program", ""),
        };
        int r = build.module && build.program ? native_check(module, err) : error_memory(err);

        if (!r)
                r = plan_translation(tools, directory, &build, err);
        if (!r)
                r = plan_compilation(tools, directory, module->import_count > 0, &build, err);
        if (!r)
                r = end_list(&build.translate, err);
        if (!r)
                r = end_list(&build.compile, err);
        if (r < 0)
                return r;
        *out = build;
        build = (struct native_build){ 0 };
        return 0;
}

void native_build_done(struct native_build *build)
{
        free(build->module);
        free(build->program);
        strings_done(&build->translate);
        strings_done(&build->compile);
}
