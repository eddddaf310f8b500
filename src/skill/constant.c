/* constant.c: expressions of which the value is known before anything runs, and the numbers of what they name. */
#include "skill/reading.h"

uint32_t constant_read_index(struct reading *reading, enum module_kind kind)
{
        return wire_index(&reading->wire, reading->module->counts[kind], module_kind_names[kind]);
}

static void read_vector_constant(struct wire *wire)
{
        enum { V128_CONST = 12 };
        const size_t begin = wire->at;

        if (wire_u32(wire) != V128_CONST)
                wire_fail(wire, begin, "an instruction that no constant expression has");
        wire_skip(wire, 16);
}

/* One instruction; how many values are there afterwards, of so many before. */
static unsigned read_constant_instruction(struct reading *reading, uint8_t opcode, unsigned values)
{
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at - 1;

        switch (opcode) {
        case 0x41: /* i32.const */
                wire_skip_signed(wire, 32);
                return values + 1;
        case 0x42: /* i64.const */
                wire_skip_signed(wire, 64);
                return values + 1;
        case 0x43: /* f32.const */
                wire_skip(wire, 4);
                return values + 1;
        case 0x44: /* f64.const */
                wire_skip(wire, 8);
                return values + 1;
        case 0xfd:
                read_vector_constant(wire);
                return values + 1;
        case 0x23: /* global.get: of those that stand before it */
                constant_read_index(reading, MODULE_GLOBAL);
                return values + 1;
        case 0xd0: /* ref.null */
                types_read_reference(wire);
                return values + 1;
        case 0xd2: /* ref.func */
                constant_read_index(reading, MODULE_FUNCTION);
                return values + 1;
        case 0x6a: /* i32.add, sub, mul, and the same of i64 */
        case 0x6b:
        case 0x6c:
        case 0x7c:
        case 0x7d:
        case 0x7e:
                if (values < 2)
                        wire_fail(wire, begin, "an operation that lacks its values");
                return values - 1;
        }
        wire_fail(wire, begin, "the instruction 0x%02x, which no constant expression has", opcode);
        return values;
}

void constant_read(struct reading *reading)
{
        struct wire *wire = &reading->wire;
        const size_t begin = wire->at;
        unsigned values = 0;
        uint8_t opcode;

        while ((opcode = wire_byte(wire)) != OPCODE_END && !wire->failure)
                values = read_constant_instruction(reading, opcode, values);
        if (values != 1)
                wire_fail(wire, begin, "a constant expression of %u values", values);
}
