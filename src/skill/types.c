/* types.c: types of values, functions and globals. */
#include "skill/reading.h"

enum { TYPE_FUNCTION = 0x60, TYPE_FUNCREF = 0x70, TYPE_EXTERNREF = 0x6f };

static bool is_value_type(uint8_t byte)
{
        return (byte >= 0x7b && byte <= 0x7f) || byte == TYPE_FUNCREF || byte == TYPE_EXTERNREF;
}

static void read_value_type(struct wire *wire)
{
        const size_t begin = wire->at;
        uint8_t byte = wire_byte(wire);

        if (is_value_type(byte))
                return;
        if ((byte >= 0x62 && byte <= 0x6e) || (byte >= 0x71 && byte <= 0x75))
                wire_fail(
                        wire, begin,
                        "the type 0x%02x (a reference of garbage collection or exceptions) is not supported",
                        byte);
        wire_fail(wire, begin, "0x%02x is no type of a value", byte);
}

void types_read_reference(struct wire *wire)
{
        const size_t begin = wire->at;
        uint8_t byte = wire_byte(wire);

        if (byte != TYPE_FUNCREF && byte != TYPE_EXTERNREF)
                wire_fail(wire, begin, "0x%02x is neither funcref nor externref", byte);
}

static void read_value_types(struct wire *wire)
{
        uint32_t count = wire_count(wire);

        for (; count && !wire->failure; count--)
                read_value_type(wire);
}

static const char *name_type_form(uint8_t form)
{
        switch (form) {
        case 0x5f:
                return "a structure (garbage collection)";
        case 0x5e:
                return "an array (garbage collection)";
        case 0x5d:
                return "a continuation (stack switching)";
        case 0x50:
        case 0x4f:
                return "a subtype (garbage collection)";
        case 0x4e:
                return "a recursive type (garbage collection)";
        }
        return NULL;
}

void types_read(struct wire *wire)
{
        const size_t begin = wire->at;
        uint8_t form = wire_byte(wire);

        if (form != TYPE_FUNCTION && name_type_form(form))
                wire_fail(wire, begin, "%s is not supported", name_type_form(form));
        if (form != TYPE_FUNCTION)
                wire_fail(wire, begin, "0x%02x begins no type", form);
        read_value_types(wire);
        read_value_types(wire);
}

void types_read_global(struct wire *wire)
{
        size_t begin;
        uint8_t mutability;

        read_value_type(wire);
        begin = wire->at;
        mutability = wire_byte(wire);
        if (mutability > 1)
                wire_fail(wire, begin, "0x%02x says neither that a global can change nor that it cannot",
                          mutability);
}

/* ---- of functions that were read already ---------------------------------------------------------------- */

static struct wire read_again(const struct module *module, enum module_section section)
{
        return (struct wire){ .bytes = module->bytes,
                              .at = module->sections[section].begin,
                              .end = module->sections[section].end,
                              .part = "section" };
}

static uint32_t find_type(const struct module *module, uint32_t function)
{
        struct wire wire = read_again(module, MODULE_FUNCTION_SECTION);

        if (function < module->imported[MODULE_FUNCTION])
                for (size_t i = 0; i < module->import_count; i++)
                        if (module->imports[i].kind == MODULE_FUNCTION && !function--)
                                return module->imports[i].type;
        wire_count(&wire);
        for (function -= module->imported[MODULE_FUNCTION]; function; function--)
                wire_u32(&wire);
        return wire_u32(&wire);
}

bool types_is_plain(const struct module *module, uint32_t function)
{
        struct wire wire = read_again(module, MODULE_TYPE_SECTION);
        uint32_t type = find_type(module, function), taken, given;

        wire_count(&wire);
        while (type--)
                types_read(&wire);
        wire_byte(&wire);
        taken = wire_count(&wire);
        given = taken ? 0 : wire_count(&wire);
        return !taken && !given && !wire.failure;
}
