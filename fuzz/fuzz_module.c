/* fuzz_module.c: whatever a module is, it is read without harm, and one that is taken can have its limits lowered, once and for all.
 *
 * links: src/skill/module.c src/skill/wire.c src/skill/names.c src/skill/types.c src/skill/limits.c src/skill/constant.c src/skill/imports.c src/skill/command.c src/skill/clamp.c src/base/sha256*.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skill/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct module_bounds bounds = { .pages = 256, .elements = 1000 };

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

static void check_limits(const struct module *module)
{
        for (size_t i = 0; i < module->limits_count; i++) {
                const struct module_limits *limits = &module->limits[i];

                check(limits->has_max && limits->min <= limits->max);
                check(limits->kind == MODULE_MEMORY
                              ? limits->max <= bounds.pages << (MODULE_PAGE_BITS - limits->page_bits)
                              : limits->max <= bounds.elements);
        }
}

static void clamp(const struct module *module, const struct module_options *options)
{
        struct module *lower = NULL;
        uint8_t *once = NULL, *twice = NULL;
        size_t once_length = 0, twice_length = 0;
        abatis_error err = { 0 };

        if (module_clamp(module, options, &bounds, &once, &once_length, &err)) {
                check(strstr(err.message, "begins with") != NULL);
                return;
        }
        check(!module_read(once, once_length, options, &lower, &err));
        check_limits(lower);
        check(lower->command.is_there == module->command.is_there &&
              lower->import_count == module->import_count);
        check(!module_clamp(lower, options, &bounds, &twice, &twice_length, &err));
        check(twice_length == once_length && !memcmp(once, twice, once_length));
        module_free(lower);
        free(once);
        free(twice);
}

/* What is taken with these options; without an error to fill in, it is the same. */
static bool read_with(const uint8_t *data, size_t size, unsigned allows)
{
        const struct module_options options = { .allows = allows };
        struct module *module = NULL, *again = NULL;
        abatis_error err = { 0 };
        int r = module_read(data, size, &options, &module, &err);

        check(r == module_read(data, size, &options, &again, NULL));
        check(r ? !module && err.code == r && !strchr(err.message, '\n') && *err.message : !!module);
        if (!r) {
                check(!module_check_command(module, &err) || *err.message);
                clamp(module, &options);
        }
        module_free(module);
        module_free(again);
        return !r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        uint8_t *copy = malloc(size ? size : 1);
        bool is_taken;

        if (!copy)
                abort();
        if (size)
                memcpy(copy, data, size);
        is_taken = read_with(copy, size, 0);
        /* Who allows more refuses nothing more. */
        check(read_with(copy, size,
                        MODULE_ALLOWS_64_BIT | MODULE_ALLOWS_SHARED | MODULE_ALLOWS_PAGE_SIZES |
                                MODULE_ALLOWS_MEMORIES) ||
              !is_taken);
        free(copy);
        return 0;
}
