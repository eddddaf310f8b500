/* module.c: reads a WebAssembly module section by section, and refuses what it does not know. */
#include "skill/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "skill/imports.h"
#include "skill/names.h"
#include "skill/reading.h"

enum { KIND_TAG = 4, SECTION_TAG = 13 };

_Static_assert((int)MODULE_EXPORTS_MAX <= (int)NAMES_MAX, "their names have room");

const char *const module_kind_names[MODULE_KINDS] = { "function", "table", "memory", "global" };

/* So many of one kind, and how many there are. */
static void read_vector(struct reading *reading, void (*read)(struct reading *), uint32_t *counted)
{
        for (uint32_t left = wire_count(&reading->wire); left && !reading->wire.failure; left--) {
                read(reading);
                ++*counted;
        }
}

static uint32_t read_type_index(struct reading *reading)
{
        return wire_index(&reading->wire, reading->module->types, "type");
}

static void read_table_type(struct reading *reading, bool is_imported)
{
        types_read_reference(&reading->wire);
        limits_read(reading, MODULE_TABLE, is_imported);
}

static void read_type(struct reading *reading)
{
        types_read(&reading->wire);
}

static void read_types(struct reading *reading)
{
        read_vector(reading, read_type, &reading->module->types);
}

static enum module_kind read_kind(struct wire *wire)
{
        const size_t begin = wire->at;
        uint8_t kind = wire_byte(wire);

        if (kind == KIND_TAG)
                wire_fail(wire, begin, "a tag (exceptions) is not supported");
        if (kind >= MODULE_KINDS)
                wire_fail(wire, begin, "0x%02x is neither a function nor a table, memory or global", kind);
        return wire->failure ? MODULE_FUNCTION : (enum module_kind)kind;
}

static void read_import(struct reading *reading)
{
        struct wire *wire = &reading->wire;
        struct module *module = reading->module;
        struct module_import import = { .at = wire->at };

        import.module = wire_name(wire);
        import.name = wire_name(wire);
        import.kind = read_kind(wire);
        switch (import.kind) {
        case MODULE_FUNCTION:
                import.type = read_type_index(reading);
                break;
        case MODULE_TABLE:
                read_table_type(reading, true);
                break;
        case MODULE_MEMORY:
                limits_read(reading, MODULE_MEMORY, true);
                break;
        case MODULE_GLOBAL:
                types_read_global(wire);
                break;
        }
        if (module->import_count == MODULE_IMPORTS_MAX)
                wire_fail(wire, import.at, "more than %d imports", MODULE_IMPORTS_MAX);
        if (wire->failure)
                return;
        import.is_allowed = imports_allow(&import, reading->options->imports);
        module->imports[module->import_count] = import;
        module->counts[import.kind]++;
        module->imported[import.kind]++;
}

static void read_imports(struct reading *reading)
{
        read_vector(reading, read_import, &reading->module->import_count);
}

static void read_function(struct reading *reading)
{
        read_type_index(reading);
}

static void read_functions(struct reading *reading)
{
        read_vector(reading, read_function, &reading->module->counts[MODULE_FUNCTION]);
}

static void read_table(struct reading *reading)
{
        enum { WITH_CONTENTS = 0x40 };
        struct wire *wire = &reading->wire;

        if (wire->at < wire->end && wire->bytes[wire->at] == WITH_CONTENTS)
                wire_fail(wire, wire->at, "a table with an expression for its elements is not supported");
        read_table_type(reading, false);
}

static void read_tables(struct reading *reading)
{
        read_vector(reading, read_table, &reading->module->counts[MODULE_TABLE]);
}

static void read_memory(struct reading *reading)
{
        limits_read(reading, MODULE_MEMORY, false);
}

static void read_memories(struct reading *reading)
{
        read_vector(reading, read_memory, &reading->module->counts[MODULE_MEMORY]);
}

static void read_global(struct reading *reading)
{
        types_read_global(&reading->wire);
        constant_read(reading);
}

static void read_globals(struct reading *reading)
{
        read_vector(reading, read_global, &reading->module->counts[MODULE_GLOBAL]);
}

static void read_export(struct reading *reading)
{
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at;
        struct wire_name name = wire_name(wire);
        struct module_export export = { .is_there = true };

        export.kind = read_kind(wire);
        export.index = constant_read_index(reading, export.kind);
        if (reading->module->exports == MODULE_EXPORTS_MAX)
                wire_fail(wire, begin, "more than %d exports", MODULE_EXPORTS_MAX);
        if (wire->failure)
                return;
        if (!names_add(reading->names, name))
                wire_fail(wire, begin, "a second export '%.*s'", wire_shown(name), name.bytes);
        if (wire_name_is(name, "_start"))
                reading->module->command = export;
        else if (wire_name_is(name, "memory"))
                reading->module->memory = export;
}

static void read_exports(struct reading *reading)
{
        OWN_FREE struct names *names = calloc(1, sizeof(*names));

        if (!names) {
                reading->wire.failure = error_memory(reading->wire.err);
                return;
        }
        reading->names = names;
        read_vector(reading, read_export, &reading->module->exports);
        reading->names = NULL;
}

static void read_start(struct reading *reading)
{
        const size_t begin = reading->wire.at;
        uint32_t function = constant_read_index(reading, MODULE_FUNCTION);

        if (!reading->wire.failure && !types_is_plain(reading->module, function))
                wire_fail(&reading->wire, begin, "the start function %u has parameters or results", function);
        reading->module->has_start = true;
        reading->module->start = function;
}

/* How a segment of elements says what it is, besides the numbers of functions for a table at some place. */
enum { ELEMENT_PASSIVE = 1, ELEMENT_EXPLICIT = 2, ELEMENT_EXPRESSIONS = 4, ELEMENT_FLAGS = 7 };

static void read_element(struct reading *reading)
{
        struct wire *wire = &reading->wire;
        size_t begin = wire->at;
        const uint32_t flags = wire_u32(wire);
        uint32_t count;

        if (flags > ELEMENT_FLAGS)
                wire_fail(wire, begin, "%u is no kind of a segment of elements", flags);
        if (!(flags & ELEMENT_PASSIVE)) {
                if (flags & ELEMENT_EXPLICIT)
                        constant_read_index(reading, MODULE_TABLE);
                else if (!reading->module->counts[MODULE_TABLE])
                        wire_fail(wire, begin, "elements for a table, and there is none");
                constant_read(reading);
        }
        begin = wire->at;
        if (flags & (ELEMENT_PASSIVE | ELEMENT_EXPLICIT)) {
                if (flags & ELEMENT_EXPRESSIONS)
                        types_read_reference(wire);
                else if (wire_byte(wire))
                        wire_fail(wire, begin, "elements that are not functions");
        }
        for (count = wire_count(wire); count && !wire->failure; count--) {
                if (flags & ELEMENT_EXPRESSIONS)
                        constant_read(reading);
                else
                        constant_read_index(reading, MODULE_FUNCTION);
        }
}

static void read_elements(struct reading *reading)
{
        read_vector(reading, read_element, &reading->module->elements);
}

static void read_data_count(struct reading *reading)
{
        reading->has_data_count = true;
        reading->data_count = wire_u32(&reading->wire);
}

static void read_body(struct reading *reading)
{
        enum { SHORTEST = 2 }; /* no locals, and the end */
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at;
        uint32_t size = wire_u32(wire);

        wire_skip(wire, size);
        if (!wire->failure && (size < SHORTEST || wire->bytes[wire->at - 1] != OPCODE_END))
                wire_fail(wire, begin, "the body of a function that has no end");
}

static void read_code(struct reading *reading)
{
        read_vector(reading, read_body, &reading->bodies);
}

static void read_segment(struct reading *reading)
{
        enum { AT_A_PLACE, PASSIVE, IN_A_MEMORY };
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at;
        const uint32_t flags = wire_u32(wire);

        if (flags > IN_A_MEMORY)
                wire_fail(wire, begin, "%u is no kind of a segment of data", flags);
        if (flags == IN_A_MEMORY)
                constant_read_index(reading, MODULE_MEMORY);
        else if (flags == AT_A_PLACE && !reading->module->counts[MODULE_MEMORY])
                wire_fail(wire, begin, "data for a memory, and there is none");
        if (flags != PASSIVE)
                constant_read(reading);
        wire_skip(wire, wire_u32(wire));
}

static void read_data(struct reading *reading)
{
        read_vector(reading, read_segment, &reading->module->data);
}

static void read_custom(struct reading *reading)
{
        struct wire *wire = &reading->wire;

        reading->module->customs++;
        reading->module->custom_bytes += wire->end - wire->at;
        wire_name(wire);
        if (!wire->failure)
                wire->at = wire->end;
}

/* By their numbers, which are not their order. */
static const struct {
        const char *name;
        unsigned rank;
        void (*read)(struct reading *);
} sections[MODULE_SECTIONS] = {
        [MODULE_CUSTOM_SECTION] = { "custom section", 0, read_custom },
        [MODULE_TYPE_SECTION] = { "type section", 1, read_types },
        [MODULE_IMPORT_SECTION] = { "import section", 2, read_imports },
        [MODULE_FUNCTION_SECTION] = { "function section", 3, read_functions },
        [MODULE_TABLE_SECTION] = { "table section", 4, read_tables },
        [MODULE_MEMORY_SECTION] = { "memory section", 5, read_memories },
        [MODULE_GLOBAL_SECTION] = { "global section", 6, read_globals },
        [MODULE_EXPORT_SECTION] = { "export section", 7, read_exports },
        [MODULE_START_SECTION] = { "start section", 8, read_start },
        [MODULE_ELEMENT_SECTION] = { "element section", 9, read_elements },
        [MODULE_DATA_COUNT_SECTION] = { "data count section", 10, read_data_count },
        [MODULE_CODE_SECTION] = { "code section", 11, read_code },
        [MODULE_DATA_SECTION] = { "data section", 12, read_data },
};

/* The number of a section that may stand here, after those of this rank. */
static uint8_t read_section_id(struct wire *wire, unsigned *rank)
{
        const size_t begin = wire->at;
        uint8_t id = wire_byte(wire);

        if (id == SECTION_TAG)
                wire_fail(wire, begin, "the tag section (exceptions) is not supported");
        if (id >= MODULE_SECTIONS)
                wire_fail(wire, begin, "section %u is not known", id);
        if (wire->failure || id == MODULE_CUSTOM_SECTION)
                return MODULE_CUSTOM_SECTION;
        if (sections[id].rank <= *rank)
                wire_fail(wire, begin, "the %s %s", sections[id].name,
                          sections[id].rank == *rank ? "is there twice" : "is out of order");
        *rank = sections[id].rank;
        return id;
}

static void read_section(struct reading *reading, unsigned *rank)
{
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at;
        const uint8_t id = read_section_id(wire, rank);
        const size_t size_at = wire->at;
        const uint32_t size = wire_u32(wire);
        const struct wire whole = *wire;

        if (size > wire->end - wire->at)
                wire_fail(wire, begin, "the %s has %u bytes, of which %zu are there", sections[id].name, size,
                          wire->end - wire->at);
        if (wire->failure)
                return;
        wire->end = wire->at + size;
        wire->part = sections[id].name;
        if (id != MODULE_CUSTOM_SECTION) {
                reading->module->sections[id].size_at = size_at;
                reading->module->sections[id].begin = wire->at;
                reading->module->sections[id].end = wire->end;
        }
        sections[id].read(reading);
        if (wire->at != wire->end)
                wire_fail(wire, wire->at, "%zu bytes are left over in the %s", wire->end - wire->at,
                          sections[id].name);
        wire->end = whole.end;
        wire->part = whole.part;
}

static void read_head(struct wire *wire)
{
        enum { HEAD = 8 };

        if (wire->end < HEAD || memcmp(wire->bytes, "\0asm", 4))
                wire_fail(wire, 0, "it does not begin as a WebAssembly module");
        else if (!memcmp(wire->bytes + 4, "\x0d\0\1", 4))
                wire_fail(wire, 4, "a WebAssembly component is not supported, only modules are");
        else if (memcmp(wire->bytes + 4, "\1\0\0", 4))
                wire_fail(wire, 4, "a version of WebAssembly that is not known");
        else
                wire_skip(wire, HEAD);
}

/* What two sections say of each other. */
static void check_counts(struct reading *reading)
{
        const struct module *module = reading->module;
        const uint32_t own = module->counts[MODULE_FUNCTION] - module->imported[MODULE_FUNCTION];

        if (reading->bodies != own)
                wire_fail(&reading->wire, module->length, "%u functions of its own, and bodies of %u", own,
                          reading->bodies);
        if (reading->has_data_count && reading->data_count != module->data)
                wire_fail(&reading->wire, module->length, "%u segments of data where there should be %u",
                          module->data, reading->data_count);
}

int module_read(const void *bytes, size_t length, const struct module_options *options, struct module **out,
                abatis_error *err)
{
        OWN_MODULE struct module *module = NULL;
        struct reading reading = { .options = options,
                                   .wire = { .bytes = bytes, .end = length, .part = "file", .err = err } };
        unsigned rank = 0;

        if (length > MODULE_SIZE_MAX)
                return error_set(err, ABATIS_E_INVALID, "a module of more than %d MiB",
                                 MODULE_SIZE_MAX / 1024 / 1024);
        module = calloc(1, sizeof(*module));
        if (!module)
                return error_memory(err);
        module->bytes = bytes;
        module->length = length;
        reading.module = module;
        read_head(&reading.wire);
        while (reading.wire.at < length && !reading.wire.failure)
                read_section(&reading, &rank);
        check_counts(&reading);
        if (!reading.wire.failure)
                *out = take_pointer(module);
        return reading.wire.failure;
}

void module_free(struct module *module)
{
        free(module);
}
