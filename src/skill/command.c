/* command.c: whether a module can be run as a program. */
#include "base/error.h"
#include "skill/reading.h"

static int check_export(const struct module_export *export, const char *name, enum module_kind kind,
                        abatis_error *err)
{
        if (!export->is_there)
                return error_set(err, ABATIS_E_INVALID, "not a program: it exports no %s '%s'",
                                 module_kind_names[kind], name);
        if (export->kind != kind)
                return error_set(err, ABATIS_E_INVALID, "not a program: its export '%s' is a %s, not a %s",
                                 name, module_kind_names[export->kind], module_kind_names[kind]);
        return 0;
}

int module_check_import(const struct module_import *import, abatis_error *err)
{
        if (import->is_allowed)
                return 0;
        return error_set(err, ABATIS_E_INVALID,
                         "byte %zu: it imports the %s '%.*s.%.*s', which is not allowed", import->at,
                         module_kind_names[import->kind], wire_shown(import->module), import->module.bytes,
                         wire_shown(import->name), import->name.bytes);
}

int module_check_command(const struct module *module, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < module->import_count && !r; i++)
                r = module_check_import(&module->imports[i], err);
        if (!r)
                r = check_export(&module->command, "_start", MODULE_FUNCTION, err);
        if (!r)
                r = check_export(&module->memory, "memory", MODULE_MEMORY, err);
        if (!r && !types_is_plain(module, module->command.index))
                r = error_set(err, ABATIS_E_INVALID,
                              "not a program: its function '_start' has parameters or results");
        return r;
}
