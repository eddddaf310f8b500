/* clamp.c: writes a module again with lower maxima of its memories and tables. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "skill/reading.h"

/* Some bytes of the module, and what stands in their place. */
struct edit {
        size_t at, removed, added;
        uint8_t bytes[WIRE_NUMBER_SIZE];
};

/* The size of each section that has memories or tables, and of each of these the flags and the maximum. */
struct edits {
        struct edit list[3 + 2 * MODULE_LIMITS_MAX];
        size_t count;
};

/* The highest maximum that it may have. */
static uint64_t find_bound(const struct module_limits *limits, const struct module_bounds *bounds)
{
        const uint64_t largest = module_largest(limits);
        const unsigned smaller = limits->kind == MODULE_MEMORY ? MODULE_PAGE_BITS - limits->page_bits : 0;
        const uint64_t bound = limits->kind == MODULE_MEMORY ? bounds->pages : bounds->elements;

        return bound > largest >> smaller ? largest : bound << smaller;
}

static bool is_within(const struct module_limits *limits, const struct module_bounds *bounds)
{
        return limits->has_max && limits->max <= find_bound(limits, bounds);
}

static int check_minima(const struct module *module, const struct module_bounds *bounds, abatis_error *err)
{
        for (size_t i = 0; i < module->limits_count; i++) {
                const struct module_limits *limits = &module->limits[i];

                if (limits->min > find_bound(limits, bounds))
                        return error_set(err, ABATIS_E_INVALID,
                                         "byte %zu: the %s begins with %llu %s, and %llu are allowed",
                                         limits->at, module_kind_names[limits->kind],
                                         (unsigned long long)limits->min,
                                         limits->kind == MODULE_TABLE ? "elements"
                                         : limits->page_bits          ? "pages"
                                                                      : "bytes",
                                         (unsigned long long)find_bound(limits, bounds));
        }
        return 0;
}

/* ---- what is written in the place of what --------------------------------------------------------------- */

static struct edit *add_edit(struct edits *edits, size_t at, size_t end)
{
        struct edit *edit = &edits->list[edits->count++];

        *edit = (struct edit){ .at = at, .removed = end - at };
        return edit;
}

static void add_maximum(struct edits *edits, const struct module *module, const struct module_limits *limits,
                        uint64_t maximum)
{
        struct edit *edit = add_edit(edits, limits->at, limits->at + 1);

        edit->added = 1;
        edit->bytes[0] = module->bytes[limits->at] | LIMITS_MAX;
        edit = add_edit(edits, limits->max_at, limits->max_end);
        edit->added = wire_write(maximum, 0, edit->bytes);
}

/* What changes in a section: its size, which is known last and stands first. It keeps its width: linkers fill it up. */
static void add_section(struct edits *edits, const struct module *module, enum module_section section,
                        const struct module_bounds *bounds)
{
        const size_t first = edits->count, begin = module->sections[section].begin,
                     size_at = module->sections[section].size_at;
        size_t size = module->sections[section].end - begin;
        struct edit *head = add_edit(edits, size_at, begin);

        for (size_t i = 0; i < module->limits_count; i++)
                if (module->limits[i].section == section && !is_within(&module->limits[i], bounds))
                        add_maximum(edits, module, &module->limits[i],
                                    find_bound(&module->limits[i], bounds));
        for (size_t i = first + 1; i < edits->count; i++)
                size = size - edits->list[i].removed + edits->list[i].added;
        if (edits->count == first + 1)
                edits->count = first;
        else
                head->added = wire_write(size, begin - size_at, head->bytes);
}

static void write_edited(const struct module *module, const struct edits *edits, struct text *text)
{
        size_t at = 0;

        for (size_t i = 0; i < edits->count; i++) {
                const struct edit *edit = &edits->list[i];

                text_add_bytes(text, module->bytes + at, edit->at - at);
                text_add_bytes(text, edit->bytes, edit->added);
                at = edit->at + edit->removed;
        }
        text_add_bytes(text, module->bytes + at, module->length - at);
}

/* ---- and whether it is what it should be ---------------------------------------------------------------- */

static bool is_same_name(struct wire_name left, struct wire_name right)
{
        return left.length == right.length && !memcmp(left.bytes, right.bytes, left.length);
}

static bool has_same_imports(const struct module *old, const struct module *new)
{
        for (size_t i = 0; i < old->import_count; i++) {
                const struct module_import *left = &old->imports[i], *right = &new->imports[i];

                if (!is_same_name(left->module, right->module) || !is_same_name(left->name, right->name) ||
                    left->kind != right->kind || left->type != right->type ||
                    left->is_allowed != right->is_allowed)
                        return false;
        }
        return old->import_count == new->import_count;
}

static bool has_bounded_limits(const struct module *old, const struct module *new,
                               const struct module_bounds *bounds)
{
        for (size_t i = 0; i < old->limits_count; i++) {
                const struct module_limits *left = &old->limits[i], *right = &new->limits[i];
                const uint64_t bound = find_bound(left, bounds);

                if (left->kind != right->kind || left->section != right->section || left->min != right->min ||
                    left->is_64_bit != right->is_64_bit || left->is_shared != right->is_shared ||
                    left->page_bits != right->page_bits || !right->has_max ||
                    right->max != (left->max < bound ? left->max : bound))
                        return false;
        }
        return old->limits_count == new->limits_count;
}

/* Byte for byte, but for the sections that have memories or tables. */
static bool has_same_sections(const struct module *old, const struct module *new)
{
        for (size_t i = 0; i < MODULE_SECTIONS; i++) {
                const size_t length = old->sections[i].end - old->sections[i].begin;

                if (i == MODULE_IMPORT_SECTION || i == MODULE_TABLE_SECTION || i == MODULE_MEMORY_SECTION)
                        continue;
                if (new->sections[i].end - new->sections[i].begin != length ||
                    memcmp(old->bytes + old->sections[i].begin, new->bytes + new->sections[i].begin, length))
                        return false;
        }
        return !memcmp(old->counts, new->counts, sizeof(old->counts)) && old->customs == new->customs &&
               old->custom_bytes == new->custom_bytes;
}

static int check_edited(const struct module *old, const struct text *text,
                        const struct module_options *options, const struct module_bounds *bounds,
                        abatis_error *err)
{
        OWN_MODULE struct module *new = NULL;
        abatis_error below;
        int r = module_read(text->data, text->length, options, &new, &below);

        if (r < 0)
                return error_within(err, &below, "with other limits");
        if (!has_same_imports(old, new) || !has_bounded_limits(old, new, bounds) ||
            !has_same_sections(old, new))
                return error_set(err, ABATIS_E_INVALID, "its limits cannot be changed without breaking it");
        return 0;
}

int module_clamp(const struct module *module, const struct module_options *options,
                 const struct module_bounds *bounds, uint8_t **out, size_t *out_length, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        struct edits edits = { .count = 0 };
        size_t length;
        char *taken;
        int r = check_minima(module, bounds, err);

        if (r < 0)
                return r;
        add_section(&edits, module, MODULE_IMPORT_SECTION, bounds);
        add_section(&edits, module, MODULE_TABLE_SECTION, bounds);
        add_section(&edits, module, MODULE_MEMORY_SECTION, bounds);
        write_edited(module, &edits, &text);
        if (text.has_failed)
                return error_memory(err);
        r = check_edited(module, &text, options, bounds, err);
        if (r < 0)
                return r;
        length = text.length;
        r = text_take(&text, &taken, err);
        if (r < 0)
                return r;
        *out = (uint8_t *)taken;
        *out_length = length;
        return 0;
}
