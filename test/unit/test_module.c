/* test_module.c: modules of WebAssembly: what is found in them, and their numbers, names, types and imports. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "modules.h"

static void a_program_is_told_in_full(void **state)
{
        const struct module_import *import;
        const struct module_limits *limits;

        (void)state;
        SET(CUSTOM, "\4namejunk");
        SET(START, "\1");
        is_taken();
        assert_int_equal(module->length, made.length);
        assert_int_equal(module->types, 2);
        assert_int_equal(module->counts[MODULE_FUNCTION], 2);
        assert_int_equal(module->imported[MODULE_FUNCTION], 1);
        assert_int_equal(module->counts[MODULE_TABLE], 1);
        assert_int_equal(module->counts[MODULE_MEMORY], 1);
        assert_int_equal(module->counts[MODULE_GLOBAL], 1);
        assert_int_equal(module->exports, 2);
        assert_int_equal(module->elements, 1);
        assert_int_equal(module->data, 1);
        assert_int_equal(module->customs, 1);
        assert_int_equal(module->custom_bytes, 9);
        assert_true(module->has_start);
        assert_int_equal(module->start, 1);
        assert_int_equal(module->import_count, 1);
        import = &module->imports[0];
        assert_true(wire_name_is(import->module, "wasi_snapshot_preview1"));
        assert_true(wire_name_is(import->name, "fd_write"));
        assert_int_equal(import->kind, MODULE_FUNCTION);
        assert_int_equal(import->type, 1);
        assert_true(import->is_allowed);
        assert_int_equal(module->limits_count, 2);
        limits = &module->limits[0];
        assert_int_equal(limits->kind, MODULE_TABLE);
        assert_true(limits->has_max && limits->min == 1 && limits->max == 1);
        limits = &module->limits[1];
        assert_int_equal(limits->kind, MODULE_MEMORY);
        assert_true(!limits->has_max && limits->min == 2 && limits->max == 65536);
        assert_memory_equal(module->bytes + limits->at, "\0\2", 2);
        assert_int_equal(limits->max_at, limits->at + 2);
        assert_int_equal(limits->max_end, limits->max_at);
        assert_true(module->command.is_there && module->command.index == 1);
        assert_true(module->memory.is_there && module->memory.kind == MODULE_MEMORY);
        assert_int_equal(module_check_command(module, &err), 0);
}

static void what_is_no_module_is_refused(void **state)
{
        (void)state;
        made_is_refused(&none, "does not begin");
        put("\0asm\1\0", 7);
        made_is_refused(&none, "does not begin");
        put("", 1);
        made_is_taken(&none);
        made.data[1] = 'A';
        made_is_refused(&none, "byte 0: it does not begin");
        put_head();
        made.data[4] = 2;
        made_is_refused(&none, "byte 4: a version");
        put_head();
        made.data[4] = 0x0d;
        made_is_refused(&none, "byte 4: a version");
        made.data[6] = 1;
        made_is_refused(&none, "byte 4: a WebAssembly component");
}

static void a_module_has_a_size(void **state)
{
        enum { HEAD = 8 + 1 + 4 };
        uint8_t *large = calloc(1, (size_t)MODULE_SIZE_MAX + 1);

        (void)state;
        assert_non_null(large);
        memcpy(large, "\0asm\1\0\0", 8);
        assert_int_equal(wire_write(MODULE_SIZE_MAX - HEAD, 4, large + 9), 4);
        assert_int_equal(module_read(large, MODULE_SIZE_MAX, &none, &module, &err), 0);
        assert_int_equal(module->custom_bytes, MODULE_SIZE_MAX - HEAD);
        module_free(take_pointer(module));
        assert_int_equal(wire_write(MODULE_SIZE_MAX - HEAD + 1, 4, large + 9), 4);
        assert_int_equal(module_read(large, (size_t)MODULE_SIZE_MAX + 1, &none, &module, &err),
                         ABATIS_E_INVALID);
        assert_about("a module of more than 64 MiB");
        free(large);
}

/* ---- sections ------------------------------------------------------------------------------------------- */

static void sections_come_once_and_in_order(void **state)
{
        (void)state;
        make();
        made_is_taken(&none);
        put_section(MODULE_DATA_SECTION, "\0", 1);
        made_is_refused(&none, "the data section is there twice");
        put_head();
        put_section(MODULE_IMPORT_SECTION, "\0", 1);
        put_section(MODULE_TYPE_SECTION, "\0", 1);
        made_is_refused(&none, "byte 11: the type section is out of order");
        /* Data count stands before code, though its number is higher. */
        put_head();
        put_section(MODULE_CODE_SECTION, "\0", 1);
        put_section(MODULE_DATA_COUNT_SECTION, "\0", 1);
        made_is_refused(&none, "the data count section is out of order");
        put_head();
        put_section(MODULE_DATA_COUNT_SECTION, "\0", 1);
        put_section(MODULE_CODE_SECTION, "\0", 1);
        made_is_taken(&none);
}

static void unknown_sections_are_refused(void **state)
{
        (void)state;
        put_head();
        put_section(13, "\0", 1);
        made_is_refused(&none, "byte 8: the tag section");
        for (unsigned id = 14; id < 256; id++) {
                put_head();
                put_section(id, "\0", 1);
                made_is_refused(&none, "is not known");
        }
}

static void sections_are_used_exactly(void **state)
{
        (void)state;
        REFUSED(TYPE, "\2\x60\0\0\x60\4\x7f\x7f\x7f\x7f\1\x7f\0",
                "1 bytes are left over in the type section");
        REFUSED(FUNCTION, "\1\0\0", "left over in the function section");
        REFUSED(MEMORY, "\1\0", "the memory section ends too early");
        REFUSED(MEMORY, "", "the memory section ends too early");
        REFUSED(DATA_COUNT, "\1\0", "left over in the data count section");
        REFUSED(START, "\1\1", "left over in the start section");
        REFUSED(FUNCTION, "\x81\x01\0", "129 things, for which the function section is too short");
        put_head();
        put("\1\2\0", 3);
        made_is_refused(&none, "byte 8: the type section has 2 bytes, of which 1 are there");
        put_head();
        put("\1\1\0", 3);
        made_is_taken(&none);
        put("\1", 1);
        made_is_refused(&none, "the type section is there twice");
        put_head();
        put("\1", 1);
        made_is_refused(&none, "the file ends too early");
}

static void custom_sections_stand_anywhere_and_have_names(void **state)
{
        (void)state;
        put_head();
        for (size_t i = 1; i < ORDER_LENGTH; i++) {
                put_section(MODULE_CUSTOM_SECTION, "\4some\xff\xfe", 7);
                if (good[order[i]].bytes)
                        put_section(order[i], good[order[i]].bytes, good[order[i]].length);
        }
        put_section(MODULE_CUSTOM_SECTION, "\0", 1);
        made_is_taken(&none);
        assert_int_equal(module->customs, 13);
        assert_int_equal(module->custom_bytes, 12 * 7 + 1);
        REFUSED(CUSTOM, "", "the custom section ends too early");
        REFUSED(CUSTOM, "\5some", "the custom section ends too early");
        REFUSED(CUSTOM, "\4so\xc3\x28", "not UTF-8");
        TAKEN(CUSTOM, "\4so\xc3\xa9");
}

/* ---- numbers and names ---------------------------------------------------------------------------------- */

static void numbers_have_their_width(void **state)
{
        (void)state;
        TAKEN(FUNCTION, "\x81\x80\x80\x80\0\0"); /* filled up, as linkers do */
        REFUSED(FUNCTION, "\x81\x80\x80\x80\x80\0\0", "byte 61: a number that does not fit into 32 bits");
        REFUSED(FUNCTION, "\x81\x80\x80\x80\x10\0", "does not fit into 32 bits");
        REFUSED(FUNCTION, "\x81\x80\x80\x80\x40\0", "does not fit into 32 bits");
        REFUSED(FUNCTION, "\x81\x80\x80\x80\x0f\0", "things, for which");
        REFUSED(FUNCTION, "\x81\x80\x80\x80", "ends too early");
        SET(MEMORY, "\1\4\x82\x80\x80\x80\x80\x80\x80\x80\x80\0");
        is_taken_when_asked_for(MODULE_ALLOWS_64_BIT, "a memory of 64 bits");
        SET(MEMORY, "\1\4\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80\0");
        make();
        made_is_refused(&all, "does not fit into 64 bits");
        SET(MEMORY, "\1\4\x82\x80\x80\x80\x80\x80\x80\x80\x80\2");
        make();
        made_is_refused(&all, "does not fit into 64 bits");
}

static void signed_numbers_have_their_width(void **state)
{
        (void)state;
        TAKEN(GLOBAL, "\1\x7f\0\x41\xff\xff\xff\xff\7\x0b");
        TAKEN(GLOBAL, "\1\x7f\0\x41\x80\x80\x80\x80\x78\x0b");
        REFUSED(GLOBAL, "\1\x7f\0\x41\x80\x80\x80\x80\x08\x0b", "signed number that does not fit into 32");
        REFUSED(GLOBAL, "\1\x7f\0\x41\x80\x80\x80\x80\x70\x0b", "signed number that does not fit into 32");
        REFUSED(GLOBAL, "\1\x7f\0\x41\x80\x80\x80\x80\x80\0\x0b", "signed number that does not fit into 32");
        TAKEN(GLOBAL, "\1\x7e\0\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x0b");
        TAKEN(GLOBAL, "\1\x7e\0\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\x0b");
        REFUSED(GLOBAL, "\1\x7e\0\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\x0b", "does not fit into 64");
        REFUSED(GLOBAL, "\1\x7e\0\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7e\x0b", "does not fit into 64");
        REFUSED(GLOBAL, "\1\x7e\0\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0\x0b", "does not fit into 64");
}

static void numbers_are_written_as_they_are_read(void **state)
{
        static const uint64_t numbers[] = { 0, 1, 127, 128, 65535, 65536, UINT32_MAX, UINT64_MAX };

        (void)state;
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                for (size_t width = 0; width <= WIRE_NUMBER_SIZE; width++) {
                        uint8_t bytes[WIRE_NUMBER_SIZE];
                        struct wire wire = { .bytes = bytes, .part = "number" };

                        wire.end = wire_write(numbers[i], width, bytes);
                        assert_true(wire.end >= width);
                        assert_true(wire_number(&wire, 64) == numbers[i]);
                        assert_int_equal(wire.failure, 0);
                        assert_int_equal(wire.at, wire.end);
                }
}

static void names_are_utf8(void **state)
{
        (void)state;
        TAKEN(EXPORT, "\2\6memory\2\0\3\xe2\x82\xac\0\1");
        TAKEN(EXPORT, "\2\6memory\2\0\3a\0b\0\1");
        REFUSED(EXPORT, "\2\6memory\2\0\3\xe2\x82\x28\0\1", "not UTF-8");
        REFUSED(EXPORT, "\2\6memory\2\0\3\xed\xa0\x80\0\1", "not UTF-8"); /* a surrogate */
        REFUSED(EXPORT, "\2\6memory\2\0\2\xc0\x80\0\1", "not UTF-8");     /* an overlong NUL */
        REFUSED(EXPORT, "\2\6memory\2\0\2\xe2\x82\0\1", "not UTF-8");
        TAKEN(IMPORT, "\1\2\xc3\xa9\1b\0\0");
        REFUSED(IMPORT, "\1\2\xc3\x28\1b\0\0", "not UTF-8");
        REFUSED(IMPORT, "\1\1a\2\xc3\x28\0\0", "not UTF-8");
}

/* ---- types ---------------------------------------------------------------------------------------------- */

static void types_are_those_of_functions(void **state)
{
        static const char *const forms[] = { "structure", "array",   "continuation",
                                             "subtype",   "subtype", "recursive" };
        static const uint8_t bytes[] = { 0x5f, 0x5e, 0x5d, 0x50, 0x4f, 0x4e };

        (void)state;
        TAKEN(TYPE, "\2\x60\0\0\x60\7\x7f\x7e\x7d\x7c\x7b\x70\x6f\2\x7b\x6f");
        REFUSED(TYPE, "\2\x60\0\0\x61\0\0", "byte 14: 0x61 begins no type");
        for (size_t i = 0; i < sizeof(bytes); i++) {
                char type[] = "\2\x60\0\0\0\0\0";

                type[4] = (char)bytes[i];
                bodies[MODULE_TYPE_SECTION] = (struct body){ type, sizeof(type) - 1 };
                is_refused(forms[i]);
        }
        REFUSED(TYPE, "\2\x60\0\0\x60\1\x64\0", "a reference of garbage collection");
        REFUSED(TYPE, "\2\x60\0\0\x60\1\x6e\0", "a reference of garbage collection");
        REFUSED(TYPE, "\2\x60\0\0\x60\1\x69\0", "0x69");
        REFUSED(TYPE, "\2\x60\0\0\x60\1\x7a\0", "0x7a is no type of a value");
        REFUSED(TYPE, "\2\x60\0\0\x60\1\0\0", "0x00 is no type of a value");
        REFUSED(TYPE, "\2\x60\0\0\x60\0\1\x40", "0x40 is no type of a value");
        REFUSED(TYPE, "\2\x60\0\0\x60\0\2\x7f", "2 things, for which");
        REFUSED(FUNCTION, "\1\2", "there is no type 2, but 2 of them");
        TAKEN(FUNCTION, "\1\1");
}

/* ---- imports -------------------------------------------------------------------------------------------- */

static void all_kinds_of_imports_are_read(void **state)
{
        (void)state;
        TAKEN(IMPORT, "\4\1a\1f\0\0\1a\1t\1\x70\1\2\3\1a\1g\3\x7e\1\1b\1h\0\1");
        assert_int_equal(module->import_count, 4);
        assert_int_equal(module->imports[1].kind, MODULE_TABLE);
        assert_int_equal(module->imports[2].kind, MODULE_GLOBAL);
        assert_int_equal(module->imports[3].type, 1);
        assert_int_equal(module->counts[MODULE_FUNCTION], 3);
        assert_true(module->limits[0].is_imported && module->limits[0].max == 3);
        SET(MEMORY, "\0");
        TAKEN(IMPORT, "\2\1a\1f\0\1\1a\1m\2\1\1\2");
        assert_true(module->limits[0].is_imported && module->limits[0].kind == MODULE_MEMORY);
        REFUSED(IMPORT, "\1\1a\1f\0\2", "there is no type 2");
        REFUSED(IMPORT, "\1\1a\1t\1\x7f\0\1", "neither funcref nor externref");
        REFUSED(IMPORT, "\1\1a\1g\3\x7e\2", "0x02 says neither");
        REFUSED(IMPORT, "\1\1a\1g\3\x60\0", "no type of a value");
        REFUSED(IMPORT, "\1\1a\1e\4\0\0", "a tag (exceptions) is not supported");
        REFUSED(IMPORT, "\1\1a\1x\5\0", "0x05 is neither");
        REFUSED(IMPORT, "\1\1a\1x\x7f\0", "0x7f is neither");
}

static void imports_have_a_number(void **state)
{
        struct text many = { 0 };

        (void)state;
        for (unsigned count = MODULE_IMPORTS_MAX; count <= MODULE_IMPORTS_MAX + 1; count++) {
                text_done(&many);
                text_add_bytes(&many, count == MODULE_IMPORTS_MAX ? "\x80\x08" : "\x81\x08", 2);
                for (unsigned i = 0; i < count; i++)
                        text_add_bytes(&many, "\0\0\0\0", 4);
                bodies[MODULE_IMPORT_SECTION] = (struct body){ many.data, many.length };
                if (count == MODULE_IMPORTS_MAX)
                        is_taken();
                else
                        is_refused("more than 1024 imports");
        }
        text_done(&many);
}

/* Whether the good program may import this from that module. */
static bool allows_import(const char *from, const char *name, const char *const *list, enum module_kind kind)
{
        static const struct body rest[MODULE_KINDS] = { BODY("\0\1"), BODY("\1\x70\0\1"), BODY("\2\0\1"),
                                                        BODY("\3\x7f\0") };
        const struct module_options options = { .allows = all.allows, .imports = list };
        struct text import = { 0 };
        bool is_allowed;

        text_addf(&import, "\1%c%s%c%s", (int)strlen(from), from, (int)strlen(name), name);
        text_add_bytes(&import, rest[kind].bytes, rest[kind].length);
        bodies[MODULE_IMPORT_SECTION] = (struct body){ import.data, import.length };
        /* Its own function has another number when none is imported. */
        if (kind != MODULE_FUNCTION) {
                SET(EXPORT, "\2\6memory\2\0\6_start\0\0");
                SET(ELEMENT, "\0");
        }
        make();
        text_done(&import);
        made_is_taken(&options);
        is_allowed = module->imports[0].is_allowed;
        assert_int_equal(module_check_command(module, &err), is_allowed ? 0 : ABATIS_E_INVALID);
        if (!is_allowed)
                assert_about("which is not allowed");
        return is_allowed;
}

static void functions_of_wasi_may_be_imported(void **state)
{
        static const char wasi[] = "wasi_snapshot_preview1";

        (void)state;
        assert_true(allows_import(wasi, "args_get", NULL, MODULE_FUNCTION));
        assert_true(allows_import(wasi, "path_open", NULL, MODULE_FUNCTION));
        assert_true(allows_import(wasi, "sock_accept", NULL, MODULE_FUNCTION));
        assert_true(allows_import(wasi, "sock_shutdown", NULL, MODULE_FUNCTION));
        assert_false(allows_import(wasi, "sock_open", NULL, MODULE_FUNCTION));
        assert_false(allows_import(wasi, "path_ope", NULL, MODULE_FUNCTION));
        assert_false(allows_import(wasi, "path_openn", NULL, MODULE_FUNCTION));
        assert_false(allows_import(wasi, "", NULL, MODULE_FUNCTION));
        assert_false(allows_import(wasi, "args_get", NULL, MODULE_GLOBAL));
        assert_false(allows_import(wasi, "args_get", NULL, MODULE_MEMORY));
        assert_false(allows_import("wasi_unstable", "args_get", NULL, MODULE_FUNCTION));
        assert_false(allows_import("wasi_snapshot_preview", "args_get", NULL, MODULE_FUNCTION));
        assert_false(allows_import("", "args_get", NULL, MODULE_FUNCTION));
        assert_false(allows_import("env", "system", NULL, MODULE_FUNCTION));
        assert_about("the function 'env.system', which is not allowed");
}

static void a_list_allows_more_imports(void **state)
{
        static const char *const list[] = { "env.memory", "host.*", "a.b.c", "no-dot", NULL };

        (void)state;
        assert_true(allows_import("env", "memory", list, MODULE_MEMORY));
        assert_true(allows_import("env", "memory", list, MODULE_FUNCTION));
        assert_false(allows_import("env", "memory", NULL, MODULE_MEMORY));
        assert_false(allows_import("env", "memories", list, MODULE_MEMORY));
        assert_false(allows_import("env", "", list, MODULE_FUNCTION));
        assert_true(allows_import("host", "anything", list, MODULE_TABLE));
        assert_true(allows_import("host", "with.dots", list, MODULE_FUNCTION));
        assert_true(allows_import("host", "", list, MODULE_FUNCTION));
        assert_false(allows_import("hos", "t", list, MODULE_FUNCTION));
        assert_false(allows_import("host.*", "x", list, MODULE_FUNCTION));
        assert_true(allows_import("a.b", "c", list, MODULE_FUNCTION));
        assert_false(allows_import("a", "b.c", list, MODULE_FUNCTION));
        assert_false(allows_import("no-dot", "", list, MODULE_FUNCTION));
        assert_false(allows_import("", "no-dot", list, MODULE_FUNCTION));
        assert_true(allows_import("wasi_snapshot_preview1", "fd_read", list, MODULE_FUNCTION));
}

static void a_name_with_nul_is_no_other(void **state)
{
        static const char *const list[] = { "env.f", NULL };
        const struct module_options options = { .imports = list };

        (void)state;
        SET(IMPORT, "\1\3env\1f\0\1");
        make();
        made_is_taken(&options);
        assert_true(module->imports[0].is_allowed);
        SET(IMPORT, "\1\3env\3f\0g\0\1");
        make();
        made_is_taken(&options);
        assert_false(module->imports[0].is_allowed);
}

static void long_names_have_short_messages(void **state)
{
        struct text import = { 0 };

        (void)state;
        text_add_bytes(&import, "\1\1a\x80\x80\1", 6);
        for (size_t i = 0; i < 16384; i++)
                text_add(&import, "n");
        text_add_bytes(&import, "\0\1", 2);
        bodies[MODULE_IMPORT_SECTION] = (struct body){ import.data, import.length };
        is_taken();
        text_done(&import);
        assert_int_equal(module->imports[0].name.length, 16384);
        assert_int_equal(module_check_command(module, &err), ABATIS_E_INVALID);
        assert_about("which is not allowed");
        assert_true(strlen(err.message) < 300);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MODULE_TEST(a_program_is_told_in_full),
                MODULE_TEST(what_is_no_module_is_refused),
                MODULE_TEST(a_module_has_a_size),
                MODULE_TEST(sections_come_once_and_in_order),
                MODULE_TEST(unknown_sections_are_refused),
                MODULE_TEST(sections_are_used_exactly),
                MODULE_TEST(custom_sections_stand_anywhere_and_have_names),
                MODULE_TEST(numbers_have_their_width),
                MODULE_TEST(signed_numbers_have_their_width),
                MODULE_TEST(numbers_are_written_as_they_are_read),
                MODULE_TEST(names_are_utf8),
                MODULE_TEST(types_are_those_of_functions),
                MODULE_TEST(all_kinds_of_imports_are_read),
                MODULE_TEST(imports_have_a_number),
                MODULE_TEST(functions_of_wasi_may_be_imported),
                MODULE_TEST(a_list_allows_more_imports),
                MODULE_TEST(a_name_with_nul_is_no_other),
                MODULE_TEST(long_names_have_short_messages),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
