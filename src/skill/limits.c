/* limits.c: how large memories and tables are, and which of them are allowed. */
#include "skill/reading.h"

uint64_t module_largest(const struct module_limits *limits)
{
        if (limits->kind == MODULE_MEMORY && limits->page_bits == MODULE_PAGE_BITS)
                return limits->is_64_bit ? (uint64_t)1 << 48 : 1 << 16;
        return limits->is_64_bit ? UINT64_MAX : UINT32_MAX;
}

/* What is not allowed about it, or NULL. */
static const char *find_refused(unsigned flags, enum module_kind kind, unsigned allows)
{
        if (kind == MODULE_TABLE && flags & LIMITS_64_BIT && !(allows & MODULE_ALLOWS_64_BIT))
                return "a table of 64 bits";
        if (kind == MODULE_TABLE && flags & LIMITS_SHARED)
                return "a shared table";
        if (flags & LIMITS_64_BIT && !(allows & MODULE_ALLOWS_64_BIT))
                return "a memory of 64 bits";
        if (flags & LIMITS_SHARED && !(allows & MODULE_ALLOWS_SHARED))
                return "a shared memory";
        if (flags & LIMITS_PAGE_SIZE && !(allows & MODULE_ALLOWS_PAGE_SIZES))
                return "a memory with a page size of its own";
        return NULL;
}

static unsigned read_flags(struct reading *reading, enum module_kind kind)
{
        const unsigned known = kind == MODULE_TABLE
                                       ? LIMITS_MAX | LIMITS_SHARED | LIMITS_64_BIT
                                       : LIMITS_MAX | LIMITS_SHARED | LIMITS_64_BIT | LIMITS_PAGE_SIZE;
        const size_t begin = reading->wire.at;
        unsigned flags = wire_byte(&reading->wire);
        const char *refused = find_refused(flags, kind, reading->options->allows);

        if (flags & ~known)
                wire_fail(&reading->wire, begin, "0x%02x is no flag of a %s", flags, module_kind_names[kind]);
        if (refused)
                wire_fail(&reading->wire, begin, "%s is not allowed", refused);
        return flags;
}

static void read_page_size(struct wire *wire, struct module_limits *limits)
{
        const size_t begin = wire->at;

        limits->page_bits = wire_u32(wire);
        if (limits->page_bits && limits->page_bits != MODULE_PAGE_BITS)
                wire_fail(wire, begin, "a page has 1 or 65536 bytes, not two to the power of %u",
                          limits->page_bits);
}

static void check_limits(struct wire *wire, const struct module_limits *limits)
{
        const char *name = module_kind_names[limits->kind];

        if (limits->min > module_largest(limits))
                wire_fail(wire, limits->at, "no %s can be so large: %llu", name,
                          (unsigned long long)limits->min);
        if (limits->max > module_largest(limits))
                wire_fail(wire, limits->max_at, "no %s can be so large: %llu", name,
                          (unsigned long long)limits->max);
        if (limits->max < limits->min)
                wire_fail(wire, limits->max_at, "a %s of at least %llu and at most %llu", name,
                          (unsigned long long)limits->min, (unsigned long long)limits->max);
        if (limits->is_shared && !limits->has_max)
                wire_fail(wire, limits->at, "a shared %s without a maximum", name);
}

void limits_read(struct reading *reading, enum module_kind kind, bool is_imported)
{
        struct wire *wire = &reading->wire;
        struct module *module = reading->module;
        struct module_limits limits = { .kind = kind, .is_imported = is_imported, .at = wire->at };
        const unsigned flags = read_flags(reading, kind);

        limits.section = is_imported            ? MODULE_IMPORT_SECTION
                         : kind == MODULE_TABLE ? MODULE_TABLE_SECTION
                                                : MODULE_MEMORY_SECTION;
        limits.page_bits = kind == MODULE_MEMORY ? MODULE_PAGE_BITS : 0;
        limits.has_max = flags & LIMITS_MAX;
        limits.is_shared = flags & LIMITS_SHARED;
        limits.is_64_bit = flags & LIMITS_64_BIT;
        limits.min = wire_number(wire, limits.is_64_bit ? 64 : 32);
        limits.max_at = wire->at;
        if (limits.has_max)
                limits.max = wire_number(wire, limits.is_64_bit ? 64 : 32);
        limits.max_end = wire->at;
        if (flags & LIMITS_PAGE_SIZE)
                read_page_size(wire, &limits);
        if (!limits.has_max)
                limits.max = module_largest(&limits);
        check_limits(wire, &limits);
        if (module->limits_count == MODULE_LIMITS_MAX)
                wire_fail(wire, limits.at, "more than %d memories and tables", MODULE_LIMITS_MAX);
        if (kind == MODULE_MEMORY && module->counts[kind] &&
            !(reading->options->allows & MODULE_ALLOWS_MEMORIES))
                wire_fail(wire, limits.at, "more than one memory is not allowed");
        if (!wire->failure)
                module->limits[module->limits_count++] = limits;
}
