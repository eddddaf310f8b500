/* module.h: what a WebAssembly module is made of and asks for, found out before any engine sees it.
 *
 * The reader is strict: what it does not know, or what two readers could read in two ways, is refused with the byte at which it
 * stands, never skipped. It takes time in proportion to the file and memory that does not depend on it.
 *
 * What is left to the engine: the types of constant expressions and elements, whether a global that a constant names may change, and
 * all that stands in the bodies of functions, of which only the sizes are checked. So a module that is taken here may still be refused
 * there; but what it imports, how much memory it can have and where it begins is known. Known is version 2 of the standard, and
 * of later ones constant expressions that calculate or name globals of the module itself, and what options allow. */
#ifndef SKILL_MODULE_H
#define SKILL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "skill/wire.h"

enum {
        MODULE_SIZE_MAX = 64 * 1024 * 1024,
        MODULE_IMPORTS_MAX = 1024, /* WASI has 46 functions */
        MODULE_EXPORTS_MAX = 10000,
        MODULE_LIMITS_MAX = 64, /* memories and tables together */
        MODULE_PAGE_BITS = 16   /* a page of memory has 64 KiB */
};

/* What is refused unless it is asked for. */
enum {
        MODULE_ALLOWS_64_BIT = 1 << 0, /* memories, and tables */
        MODULE_ALLOWS_SHARED = 1 << 1,
        MODULE_ALLOWS_PAGE_SIZES = 1 << 2, /* memories with pages of one byte */
        MODULE_ALLOWS_MEMORIES = 1 << 3,   /* more than one */
};

struct module_options {
        unsigned allows; /* MODULE_ALLOWS_* */
        /* Borrowed, ended by NULL, or NULL: what may be imported besides WASI's functions, "MODULE.NAME" or "MODULE.*". The
         * last dot separates them: a name with a dot in it is only allowed with all others of its module. */
        const char *const *imports;
};

/* As they are numbered in the file. */
enum module_kind { MODULE_FUNCTION, MODULE_TABLE, MODULE_MEMORY, MODULE_GLOBAL };
enum { MODULE_KINDS = MODULE_GLOBAL + 1 };

enum module_section {
        MODULE_CUSTOM_SECTION,
        MODULE_TYPE_SECTION,
        MODULE_IMPORT_SECTION,
        MODULE_FUNCTION_SECTION,
        MODULE_TABLE_SECTION,
        MODULE_MEMORY_SECTION,
        MODULE_GLOBAL_SECTION,
        MODULE_EXPORT_SECTION,
        MODULE_START_SECTION,
        MODULE_ELEMENT_SECTION,
        MODULE_CODE_SECTION,
        MODULE_DATA_SECTION,
        MODULE_DATA_COUNT_SECTION,
};
enum { MODULE_SECTIONS = MODULE_DATA_COUNT_SECTION + 1 };

struct module_import {
        struct wire_name module, name;
        size_t at; /* where it stands in the file */
        enum module_kind kind;
        uint32_t type; /* of a function */
        bool is_allowed;
};

/* How large a memory or a table is and may become, in pages or elements. */
struct module_limits {
        enum module_kind kind;
        enum module_section section;
        bool is_imported, is_64_bit, is_shared, has_max;
        unsigned page_bits;     /* of a memory: MODULE_PAGE_BITS, or 0 */
        uint64_t min, max;      /* without a maximum, as much as there could be */
        size_t at;              /* of the flags; the minimum follows */
        size_t max_at, max_end; /* of the maximum; without one, where it would stand */
};

struct module_export {
        bool is_there;
        enum module_kind kind;
        uint32_t index;
};

struct module {
        const uint8_t *bytes; /* borrowed, by the names too */
        size_t length;
        struct {
                size_t size_at, begin, end; /* all 0 when it is not there, and of custom sections */
        } sections[MODULE_SECTIONS];
        struct module_import imports[MODULE_IMPORTS_MAX];
        struct module_limits
                limits[MODULE_LIMITS_MAX]; /* in the order of the file, which is that of their numbers */
        uint32_t import_count, limits_count;
        uint32_t counts[MODULE_KINDS], imported[MODULE_KINDS]; /* the first with the second */
        uint32_t types, exports, elements, data, customs;
        size_t custom_bytes; /* in all custom sections, of which only the names are looked at */
        bool has_start;
        uint32_t start;                       /* what the engine calls before anything else */
        struct module_export command, memory; /* the exports "_start" and "memory" */
};

/* The bytes must stay as long as the module. A damaged, unknown or too large one is ABATIS_E_INVALID. Imports that are not allowed are
 * told, and are no mistake here. */
int module_read(const void *bytes, size_t length, const struct module_options *options, struct module **out,
                abatis_error *err);
void module_free(struct module *module);
static inline void own_module_free(struct module **module)
{
        module_free(*module);
}
#define OWN_MODULE __attribute__((cleanup(own_module_free)))

/* Whether it can be run as a program: nothing is imported that is not allowed, "_start" is exported, takes nothing and gives nothing,
 * and "memory" is exported: WASI's functions write there. */
int module_check_command(const struct module *module, abatis_error *err);
/* The first of it, of one import. */
int module_check_import(const struct module_import *import, abatis_error *err);

/* The largest maximum that such a memory or table can have. */
uint64_t module_largest(const struct module_limits *limits);

struct module_bounds {
        uint64_t pages;    /* of 64 KiB, in each memory */
        uint64_t elements; /* in each table */
};

/* The same module, owned by the caller, with no maximum above these: where there is none, or a higher one, it is theirs. Nothing else
 * is changed but the sizes of the sections round them, and that is checked. Who needs more from the beginning is refused. Options are
 * those that it was read with. */
int module_clamp(const struct module *module, const struct module_options *options,
                 const struct module_bounds *bounds, uint8_t **out, size_t *out_length, abatis_error *err);

#endif
