/* test_module_parts.c: memories, tables, globals, exports, elements, code and data of modules: every rule that one can break. */
#include "modules.h"

/* ---- memories and tables -------------------------------------------------------------------------------- */

static void memories_have_limits(void **state)
{
        (void)state;
        TAKEN(MEMORY, "\1\1\2\2");
        TAKEN(MEMORY, "\1\1\2\x80\x80\4");
        REFUSED(MEMORY, "\1\1\2\x81\x80\4", "no memory can be so large: 65537");
        REFUSED(MEMORY, "\1\0\x81\x80\4", "no memory can be so large: 65537");
        REFUSED(MEMORY, "\1\1\3\2", "a memory of at least 3 and at most 2");
        REFUSED(MEMORY, "\1\x10\2", "0x10 is no flag of a memory");
        REFUSED(MEMORY, "\1\x80\0\2", "0x80 is no flag of a memory");
        SET(MEMORY, "\2\0\2\0\1");
        is_taken_when_asked_for(MODULE_ALLOWS_MEMORIES, "more than one memory");
        SET(IMPORT, "\2\1a\1f\0\1\1a\1m\2\0\1");
        is_taken_when_asked_for(MODULE_ALLOWS_MEMORIES, "more than one memory");
        SET(MEMORY, "\1\3\2\2");
        is_taken_when_asked_for(MODULE_ALLOWS_SHARED, "a shared memory is not allowed");
        SET(MEMORY, "\1\2\2");
        make();
        made_is_refused(&all, "a shared memory without a maximum");
}

static void memories_of_other_kinds_are_taken_when_asked_for(void **state)
{
        (void)state;
        SET(MEMORY, "\1\5\2\x80\x80\x80\x80\x80\x80\x40");
        is_taken_when_asked_for(MODULE_ALLOWS_64_BIT, "a memory of 64 bits is not allowed");
        assert_true(module->limits[1].is_64_bit && module->limits[1].max == (uint64_t)1 << 48);
        SET(MEMORY, "\1\5\2\x81\x80\x80\x80\x80\x80\x40");
        make();
        made_is_refused(&all, "no memory can be so large");
        SET(MEMORY, "\1\x09\2\3\0");
        is_taken_when_asked_for(MODULE_ALLOWS_PAGE_SIZES, "a memory with a page size of its own");
        assert_int_equal(module->limits[1].page_bits, 0);
        SET(MEMORY, "\1\x08\2\x10");
        is_taken_when_asked_for(MODULE_ALLOWS_PAGE_SIZES, "a memory with a page size of its own");
        assert_int_equal(module->limits[1].page_bits, MODULE_PAGE_BITS);
        SET(MEMORY, "\1\x08\2\x0c");
        make();
        made_is_refused(&all, "a page has 1 or 65536 bytes");
        SET(MEMORY, "\1\x08\2");
        make();
        made_is_refused(&all, "ends too early");
}

static void tables_have_limits(void **state)
{
        (void)state;
        TAKEN(TABLE, "\1\x70\0\1");
        TAKEN(TABLE, "\2\x70\0\1\x6f\1\1\2");
        TAKEN(TABLE, "\1\x70\1\1\xff\xff\xff\xff\x0f");
        REFUSED(TABLE, "\1\x70\1\2\1", "a table of at least 2 and at most 1");
        REFUSED(TABLE, "\1\x7f\0\1", "0x7f is neither funcref nor externref");
        REFUSED(TABLE, "\1\x64\x70\0\1", "0x64 is neither");
        REFUSED(TABLE, "\1\x40\0\x70\0\1\xd0\x70\x0b", "a table with an expression");
        REFUSED(TABLE, "\1\x70\x08\1\0", "0x08 is no flag of a table");
        SET(TABLE, "\1\x70\4\1");
        is_taken_when_asked_for(MODULE_ALLOWS_64_BIT, "a table of 64 bits");
        SET(TABLE, "\1\x70\3\1\1");
        make();
        made_is_refused(&all, "a shared table");
}

static void memories_and_tables_have_a_number(void **state)
{
        struct text many = { 0 };

        (void)state;
        for (unsigned count = MODULE_LIMITS_MAX - 1; count <= MODULE_LIMITS_MAX; count++) {
                text_done(&many);
                text_addf(&many, "%c", (int)count);
                for (unsigned i = 0; i < count; i++)
                        text_add_bytes(&many, "\x70\0\1", 3);
                bodies[MODULE_TABLE_SECTION] = (struct body){ many.data, many.length };
                if (count < MODULE_LIMITS_MAX)
                        is_taken();
                else
                        is_refused("more than 64 memories and tables");
        }
        text_done(&many);
}

/* ---- globals and constants ------------------------------------------------------------------------------ */

static void globals_have_a_constant(void **state)
{
        (void)state;
        TAKEN(GLOBAL, "\1\x7d\0\x43\1\2\3\4\x0b");
        TAKEN(GLOBAL, "\1\x7c\0\x44\1\2\3\4\5\6\7\x08\x0b");
        TAKEN(GLOBAL, "\1\x7b\0\xfd\x0c\1\2\3\4\5\6\7\x08\1\2\3\4\5\6\7\x08\x0b");
        TAKEN(GLOBAL, "\1\x70\0\xd0\x70\x0b");
        TAKEN(GLOBAL, "\1\x70\0\xd2\1\x0b");
        TAKEN(GLOBAL, "\2\x7f\0\x41\0\x0b\x7f\0\x23\0\x0b");
        TAKEN(GLOBAL, "\1\x7f\0\x41\1\x41\2\x6a\x41\3\x6c\x0b");
        REFUSED(GLOBAL, "\1\x7f\0\x0b", "a constant expression of 0 values");
        REFUSED(GLOBAL, "\1\x7f\0\x41\0\x41\0\x0b", "a constant expression of 2 values");
        REFUSED(GLOBAL, "\1\x7f\0\x41\1\x6a\x0b", "an operation that lacks its values");
        REFUSED(GLOBAL, "\1\x7f\0\x23\0\x0b", "there is no global 0, but 0 of them");
        REFUSED(GLOBAL, "\1\x70\0\xd2\2\x0b", "there is no function 2, but 2 of them");
        REFUSED(GLOBAL, "\1\x70\0\xd0\x6e\x0b", "neither funcref nor externref");
        REFUSED(GLOBAL, "\1\x7b\0\xfd\x0d\1\2\3\4\5\6\7\x08\1\2\3\4\5\6\7\x08\x0b", "that no constant");
        REFUSED(GLOBAL, "\1\x7f\0\x10\0\x0b", "the instruction 0x10, which no constant expression has");
        REFUSED(GLOBAL, "\1\x7f\0\xfb\0\0\x0b", "the instruction 0xfb");
        REFUSED(GLOBAL, "\1\x7f\2\x41\0\x0b", "0x02 says neither");
        REFUSED(GLOBAL, "\1\x7f\0\x41\0", "the global section ends too early");
        REFUSED(GLOBAL, "\1\x7d\0\x43\1\2\3", "the global section ends too early");
}

/* ---- exports and the start ------------------------------------------------------------------------------ */

static void exports_have_names_of_their_own(void **state)
{
        (void)state;
        TAKEN(EXPORT, "\4\6memory\2\0\6_start\0\1\0\1\0\1g\3\0");
        assert_int_equal(module->exports, 4);
        REFUSED(EXPORT, "\3\6memory\2\0\6_start\0\1\6memory\0\1", "a second export 'memory'");
        REFUSED(EXPORT, "\2\0\2\0\0\0\1", "a second export ''");
        REFUSED(EXPORT, "\1\1f\0\2", "there is no function 2");
        REFUSED(EXPORT, "\1\1t\1\1", "there is no table 1");
        REFUSED(EXPORT, "\1\1m\2\1", "there is no memory 1");
        REFUSED(EXPORT, "\1\1g\3\1", "there is no global 1");
        REFUSED(EXPORT, "\1\1e\4\0", "a tag (exceptions)");
        REFUSED(EXPORT, "\1\1e\5\0", "0x05 is neither");
}

static void many_exports_have_names_of_their_own(void **state)
{
        struct text many = { 0 };

        (void)state;
        for (unsigned count = MODULE_EXPORTS_MAX; count <= MODULE_EXPORTS_MAX + 1; count++) {
                text_done(&many);
                text_add_bytes(&many, count == MODULE_EXPORTS_MAX ? "\x90\x4e" : "\x91\x4e", 2);
                for (unsigned i = 0; i < count; i++) {
                        text_addf(&many, "\5%05u", i);
                        text_add_bytes(&many, "\0\1", 2);
                }
                bodies[MODULE_EXPORT_SECTION] = (struct body){ many.data, many.length };
                if (count == MODULE_EXPORTS_MAX)
                        is_taken();
                else
                        is_refused("more than 10000 exports");
        }
        /* The last as the first. */
        text_done(&many);
        text_add_bytes(&many, "\x90\x4e", 2);
        for (unsigned i = 0; i < MODULE_EXPORTS_MAX; i++) {
                text_addf(&many, "\5%05u", i % (MODULE_EXPORTS_MAX - 1));
                text_add_bytes(&many, "\0\1", 2);
        }
        bodies[MODULE_EXPORT_SECTION] = (struct body){ many.data, many.length };
        is_refused("a second export '00000'");
        text_done(&many);
}

static void the_start_is_a_plain_function(void **state)
{
        (void)state;
        is_taken();
        assert_false(module->has_start);
        TAKEN(START, "\1");
        assert_true(module->has_start);
        REFUSED(START, "\2", "there is no function 2");
        REFUSED(START, "\0", "the start function 0 has parameters or results"); /* the imported one */
        SET(FUNCTION, "\1\1");
        REFUSED(START, "\1", "the start function 1 has parameters or results");
        SET(IMPORT, "\1\1a\1f\0\0");
        TAKEN(START, "\0");
        SET(TYPE, "\2\x60\0\0\x60\0\1\x7f");
        REFUSED(START, "\0", "the start function 0 has parameters or results");
}

static void a_program_has_a_start_and_a_memory(void **state)
{
        static const struct {
                struct body exports;
                const char *about;
        } cases[] = {
                { BODY("\2\6memory\2\0\6_start\0\1"), NULL },
                { BODY("\2\6memory\2\0\6_Start\0\1"), "it exports no function '_start'" },
                { BODY("\1\6memory\2\0"), "it exports no function '_start'" },
                { BODY("\2\6memory\2\0\6_start\2\0"), "its export '_start' is a memory, not a function" },
                { BODY("\2\6memory\2\0\6_start\0\0"), "'_start' has parameters or results" },
                { BODY("\1\6_start\0\1"), "it exports no memory 'memory'" },
                { BODY("\2\6memory\0\1\6_start\0\1"), "its export 'memory' is a function, not a memory" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                bodies[MODULE_EXPORT_SECTION] = cases[i].exports;
                is_taken();
                assert_int_equal(module_check_command(module, &err), cases[i].about ? ABATIS_E_INVALID : 0);
                if (cases[i].about)
                        assert_about(cases[i].about);
        }
        LEAVE_OUT(EXPORT);
        is_taken();
        assert_int_equal(module_check_command(module, &err), ABATIS_E_INVALID);
}

static void the_type_of_any_function_is_found(void **state)
{
        (void)state;
        /* Two imported, three of its own, of which only the last is plain. */
        SET(TYPE, "\3\x60\1\x7f\1\x7f\x60\0\1\x7f\x60\0\0");
        SET(IMPORT, "\2\x16wasi_snapshot_preview1\x08"
                    "fd_write\0\0\x16wasi_snapshot_preview1\7fd_read\0\1");
        SET(FUNCTION, "\3\0\1\2");
        SET(CODE, "\3\2\0\x0b\2\0\x0b\2\0\x0b");
        SET(EXPORT, "\2\6memory\2\0\6_start\0\4");
        is_taken();
        assert_int_equal(module_check_command(module, &err), 0);
        for (uint32_t i = 0; i < 4; i++) {
                module->command.index = i;
                assert_int_equal(module_check_command(module, &err), ABATIS_E_INVALID);
        }
}

/* ---- elements, code and data ---------------------------------------------------------------------------- */

static void elements_are_of_eight_kinds(void **state)
{
        (void)state;
        TAKEN(ELEMENT, "\1\0\x41\0\x0b\2\0\1");
        TAKEN(ELEMENT, "\1\1\0\1\1");
        TAKEN(ELEMENT, "\1\2\0\x41\0\x0b\0\1\1");
        TAKEN(ELEMENT, "\1\3\0\1\1");
        TAKEN(ELEMENT, "\1\4\x41\0\x0b\1\xd2\1\x0b");
        TAKEN(ELEMENT, "\1\5\x70\2\xd2\1\x0b\xd0\x70\x0b");
        TAKEN(ELEMENT, "\1\6\0\x41\0\x0b\x70\1\xd2\1\x0b");
        TAKEN(ELEMENT, "\1\7\x6f\1\xd0\x6f\x0b");
        REFUSED(ELEMENT, "\1\x08\x41\0\x0b\1\1", "8 is no kind of a segment of elements");
        REFUSED(ELEMENT, "\1\0\x41\0\x0b\1\2", "there is no function 2");
        REFUSED(ELEMENT, "\1\1\1\1\1", "elements that are not functions");
        REFUSED(ELEMENT, "\1\2\1\x41\0\x0b\0\1\1", "there is no table 1");
        REFUSED(ELEMENT, "\1\4\x41\0\x0b\1\xd2\2\x0b", "there is no function 2");
        REFUSED(ELEMENT, "\1\5\x7f\0", "0x7f is neither");
        REFUSED(ELEMENT, "\1\0\x41\0\x41\0\x0b\1\1", "a constant expression of 2 values");
        LEAVE_OUT(TABLE);
        is_refused("elements for a table, and there is none");
        LEAVE_OUT(TABLE);
        TAKEN(ELEMENT, "\1\1\0\1\1");
}

static void each_function_has_a_body(void **state)
{
        (void)state;
        TAKEN(CODE, "\1\4\1\1\x7f\x0b");
        REFUSED(CODE, "\2\2\0\x0b\2\0\x0b", "1 functions of its own, and bodies of 2");
        REFUSED(CODE, "\0", "1 functions of its own, and bodies of 0");
        REFUSED(CODE, "\1\3\0\x0b", "the code section ends too early");
        REFUSED(CODE, "\1\1\x0b", "the body of a function that has no end");
        REFUSED(CODE, "\1\0", "the body of a function that has no end");
        REFUSED(CODE, "\1\2\0\x0f", "the body of a function that has no end");
        LEAVE_OUT(CODE);
        is_refused("1 functions of its own, and bodies of 0");
        SET(FUNCTION, "\0");
        SET(EXPORT, "\0");
        SET(ELEMENT, "\0");
        LEAVE_OUT(CODE);
        is_taken();
}

static void data_are_of_three_kinds(void **state)
{
        (void)state;
        TAKEN(DATA, "\1\1\2hi");
        TAKEN(DATA, "\1\2\0\x41\0\x0b\2hi");
        REFUSED(DATA, "\1\3\2hi", "3 is no kind of a segment of data");
        REFUSED(DATA, "\1\2\1\x41\0\x0b\2hi", "there is no memory 1");
        REFUSED(DATA, "\1\0\x41\0\x0b\3hi", "the data section ends too early");
        REFUSED(DATA, "\1\0\x41\0\x0b\1hi", "left over in the data section");
        LEAVE_OUT(MEMORY);
        REFUSED(EXPORT, "\0", "data for a memory, and there is none");
        LEAVE_OUT(MEMORY);
        SET(EXPORT, "\0");
        TAKEN(DATA, "\1\1\2hi");
}

static void data_are_as_many_as_was_said(void **state)
{
        (void)state;
        LEAVE_OUT(DATA_COUNT);
        is_taken();
        REFUSED(DATA_COUNT, "\2", "1 segments of data where there should be 2");
        LEAVE_OUT(DATA);
        is_refused("0 segments of data where there should be 1");
        LEAVE_OUT(DATA);
        TAKEN(DATA_COUNT, "\0");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MODULE_TEST(memories_have_limits),
                MODULE_TEST(memories_of_other_kinds_are_taken_when_asked_for),
                MODULE_TEST(tables_have_limits),
                MODULE_TEST(memories_and_tables_have_a_number),
                MODULE_TEST(globals_have_a_constant),
                MODULE_TEST(exports_have_names_of_their_own),
                MODULE_TEST(many_exports_have_names_of_their_own),
                MODULE_TEST(the_start_is_a_plain_function),
                MODULE_TEST(a_program_has_a_start_and_a_memory),
                MODULE_TEST(the_type_of_any_function_is_found),
                MODULE_TEST(elements_are_of_eight_kinds),
                MODULE_TEST(each_function_has_a_body),
                MODULE_TEST(data_are_of_three_kinds),
                MODULE_TEST(data_are_as_many_as_was_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
