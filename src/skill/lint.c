/* lint.c: what is wrong with a skill package or a module, all of it and not only the first. */
#define _GNU_SOURCE
#include "skill/lint.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/layer.h"
#include "skill/file.h"
#include "skill/imports.h"
#include "skill/package.h"

struct lint {
        struct text *out; /* borrowed */
        int count;
};

static void find(struct lint *lint, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void find(struct lint *lint, const char *format, ...)
{
        va_list arguments;
        abatis_error line;

        /* Whatever is in it is shown on one line. */
        va_start(arguments, format);
        error_set_list(&line, ABATIS_E_INVALID, format, arguments);
        va_end(arguments);
        text_addf(lint->out, "%s\n", line.message);
        lint->count++;
}

/* ---- the module ----------------------------------------------------------------------------------------- */

static void judge_module(struct lint *lint, const struct module *module, const char *path)
{
        abatis_error below = { 0 };
        int before = lint->count;

        for (size_t i = 0; i < module->import_count; i++)
                if (module_check_import(&module->imports[i], &below) < 0)
                        find(lint, "'%s': %s", path, below.message);
        if (lint->count == before && module_check_command(module, &below) < 0)
                find(lint, "'%s': %s", path, below.message);
}

/* 1 when it could be read, and *out is it. */
static int read_module(struct lint *lint, const char *bytes, size_t length, char *const *imports,
                       const char *path, struct module **out, abatis_error *err)
{
        const struct module_options options = { .imports = (const char *const *)imports };
        abatis_error below = { 0 };
        int r = module_read(bytes, length, &options, out, &below);

        if (r == ABATIS_E_MEMORY)
                return error_memory(err);
        if (r < 0)
                find(lint, "'%s': %s", path, below.message);
        return !r;
}

int lint_module(const char *file, struct text *out, int *count, abatis_error *err)
{
        struct lint lint = { .out = out };
        OWN_FREE char *bytes = NULL;
        OWN_MODULE struct module *module = NULL;
        size_t length = 0;
        int r = file_take(AT_FDCWD, file, HANDS_ANY, MODULE_SIZE_MAX, file, &bytes, &length, err);

        if (!r)
                r = read_module(&lint, bytes, length, NULL, file, &module, err);
        if (r < 0)
                return r;
        if (r)
                judge_module(&lint, module, file);
        *count = lint.count;
        return 0;
}

/* ---- the package ---------------------------------------------------------------------------------------- */

static bool is_needed(const struct module *module, const char *entry)
{
        const char *const list[] = { entry, NULL };

        for (size_t i = 0; i < module->import_count; i++)
                if (!imports_allow(&module->imports[i], NULL) && imports_allow(&module->imports[i], list))
                        return true;
        return false;
}

static void judge_imports(struct lint *lint, const struct manifest *manifest, const struct module *module)
{
        for (char **entry = manifest->imports; *entry; entry++)
                if (!is_needed(module, *entry))
                        find(lint, "imports: '%s' allows nothing that the module imports", *entry);
}

static void judge_claims(struct lint *lint, const struct package *package)
{
        const struct manifest *manifest = package->manifest;
        bool is_verified = !strcmp(manifest->tier->name, "verified");

        if (*manifest->sha256 && strcmp(manifest->sha256, package->module_sha256))
                find(lint, "sha256: that of '%s' is %s", manifest->module, package->module_sha256);
        if (is_verified && !*manifest->sha256)
                find(lint, "tier: verified needs the module's sha256, which is %s", package->module_sha256);
        if (is_verified && !package->signature)
                find(lint, "tier: verified needs a signature in " PACKAGE_SIGNATURE);
}

static int judge_policy(struct lint *lint, const struct manifest *manifest, abatis_error *err)
{
        OWN_LAYER struct layer *layer = NULL;
        int r;

        if (!manifest->policy_json)
                return 0;
        r = layer_read(DOCUMENT_JSON, "policy", manifest->policy_json, strlen(manifest->policy_json), &layer,
                       err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < layer->count; i++) {
                const struct entry *entry = &layer->entries[i];

                if (entry->key == KEY_NETWORK && strcmp(entry->value, "deny") && !manifest->tier->may_connect)
                        find(lint, "policy.network.mode: '%s', and the tier %s has no network", entry->value,
                             manifest->tier->name);
                if ((entry->key == KEY_READ || entry->key == KEY_EXECUTE) &&
                    (!strcmp(entry->value, "all") || !strcmp(entry->value, "/")))
                        find(lint, "policy.%s: '%s' asks for everything", keys[entry->key].name,
                             entry->value);
                if (entry->key == KEY_WRITE && *entry->value != '$')
                        find(lint, "policy.filesystem.write: '%s' lies outside of what a skill is given",
                             entry->value);
        }
        return 0;
}

int lint_package(const char *directory, struct text *out, int *count, abatis_error *err)
{
        struct lint lint = { .out = out };
        OWN_PACKAGE struct package *package = NULL;
        OWN_MODULE struct module *module = NULL;
        abatis_error below = { 0 };
        int r = package_read(directory, &package, &below);

        if (r == ABATIS_E_MEMORY)
                return error_memory(err);
        if (r < 0) {
                find(&lint, "%s", below.message);
                *count = lint.count;
                return 0;
        }
        judge_claims(&lint, package);
        r = judge_policy(&lint, package->manifest, err);
        if (!r)
                r = read_module(&lint, package->module, package->module_length, package->manifest->imports,
                                package->manifest->module, &module, err);
        if (r < 0)
                return r;
        if (r) {
                judge_module(&lint, module, package->manifest->module);
                judge_imports(&lint, package->manifest, module);
        }
        *count = lint.count;
        return 0;
}
