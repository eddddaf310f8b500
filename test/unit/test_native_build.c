/* test_native_build.c: which modules can become native programs, what wasm2c is given of them, and the commands. */
#include "skill/native_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "modules.h"
#include "shortage.h"

static const struct native_tools tools = { "/usr/bin/wasm2c", "/usr/bin/cc" };

/* What was made now is a module, but not one that can be compiled. */
static void cannot_be_compiled(const struct module_options *options, const char *about)
{
        struct native_build build = { .program = NULL };

        make();
        made_is_taken(options);
        assert_int_equal(native_build_plan(module, &tools, "/d", &build, &err), ABATIS_E_INVALID);
        assert_about(about);
        assert_null(build.program);
}

static void what_wasm2c_does_not_know_is_refused(void **state)
{
        static const char *const others[] = { "env.*", NULL };
        const struct module_options options = { .imports = others };

        (void)state;
        is_taken();
        assert_int_equal(native_check(module, &err), 0);
        SET(MEMORY, "\1\3\2\4");
        cannot_be_compiled(&all, "the memory has threads that share it");
        SET(MEMORY, "\1\4\2");
        cannot_be_compiled(&all, "the memory has 64-bit addresses");
        SET(MEMORY, "\1\x08\2\0");
        cannot_be_compiled(&all, "the memory has pages of another size");
        SET(MEMORY, "\2\0\2\0\1");
        cannot_be_compiled(&all, "it has 2 memories");
        SET(IMPORT, "\1\3env\6system\0\1");
        cannot_be_compiled(&options, "'env.system', and a native program has only the functions of WASI");
        SET(IMPORT, "\1\3env\6system\0\1");
        cannot_be_compiled(&none, "'env.system', which is not allowed");
        SET(EXPORT, "\1\6memory\2\0");
        cannot_be_compiled(&none, "exports no function '_start'");
}

/* What is given to wasm2c, which is `made` then. */
static void strip(void)
{
        uint8_t *bytes = NULL;
        size_t length = 0;

        assert_int_equal(native_strip(module, &bytes, &length, &err), 0);
        text_done(&made);
        put(bytes, length);
        free(bytes);
}

static void is_stripped_to(struct body exports)
{
        OWN_TEXT struct text wanted = { 0 };

        make();
        made_is_taken(&none);
        strip();
        text_add_bytes(&wanted, made.data, made.length);
        bodies[MODULE_EXPORT_SECTION] = exports;
        make();
        assert_int_equal(made.length, wanted.length);
        assert_memory_equal(made.data, wanted.data, made.length);
        made_is_taken(&none);
}

static void only_two_exports_and_no_custom_section_are_left(void **state)
{
        const struct body two = BODY("\2\6memory\2\0\6_start\0\1");

        (void)state;
        is_stripped_to(two);
        SET(EXPORT, "\2\6_start\0\1\6memory\2\0");
        is_stripped_to(two);
        SET(EXPORT, "\4\4a*/b\0\1\6_start\0\1\3\n#e\0\0\6memory\2\0");
        is_stripped_to(two);
        SET(CUSTOM, "\4name\0\2\1x");
        is_stripped_to(two);
        SET(START, "\1");
        make();
        made_is_taken(&none);
        strip();
        made_is_taken(&none);
        assert_true(module->has_start);
}

static void commands_stay_in_the_directory(void **state)
{
        OWN_NATIVE_BUILD struct native_build build = { 0 };

        (void)state;
        is_taken();
        assert_int_equal(native_build_plan(module, &tools, "/a b/c", &build, &err), 0);
        assert_string_equal(build.module, "/a b/c/skill.wasm");
        assert_string_equal(build.program, "/a b/c/program");
        assert_string_equal(build.translate.items[0], "/usr/bin/wasm2c");
        assert_true(strings_has(&build.translate, "--no-debug-names"));
        assert_true(strings_has(&build.translate, "--output=/a b/c/skill.c"));
        assert_string_equal(build.translate.items[build.translate.count - 1], build.module);
        assert_null(build.translate.items[build.translate.count]);
        assert_string_equal(build.compile.items[0], "/usr/bin/cc");
        assert_true(strings_has(&build.compile, "-o/a b/c/program"));
        assert_true(strings_has(&build.compile, "-I/a b/c"));
        assert_true(strings_has(&build.compile, "-static-pie"));
        assert_true(strings_has(&build.compile, "/a b/c/skill/native/wasi_path.c"));
        assert_false(strings_has(&build.compile, "/a b/c/skill/native/wasi.h"));
        assert_true(strings_has(&build.compile, "-DSKILL_HAS_IMPORTS=1"));
        assert_null(build.compile.items[build.compile.count]);
}

static void without_imports_the_host_is_not_asked_for(void **state)
{
        OWN_NATIVE_BUILD struct native_build build = { 0 };

        (void)state;
        SET(IMPORT, "\0");
        SET(ELEMENT, "\0");
        SET(EXPORT, "\2\6memory\2\0\6_start\0\0");
        is_taken();
        assert_int_equal(native_build_plan(module, &tools, "/d", &build, &err), 0);
        assert_true(strings_has(&build.compile, "-DSKILL_HAS_IMPORTS=0"));
}

static void all_sources_are_part_of_the_library(void **state)
{
        bool has_runtime = false;

        (void)state;
        for (const struct native_source *source = native_sources; source->name; source++) {
                assert_int_equal(source->length, strlen(source->text));
                assert_int_equal(strncmp(source->text, "/* ", 3), 0);
                assert_int_equal(strncmp(source->text + 3, source->name, strlen(source->name)), 0);
                has_runtime |= !strcmp(source->name, NATIVE_RUNTIME);
        }
        assert_true(has_runtime);
}

static void a_lack_of_memory_is_told(void **state)
{
        uint8_t *bytes = NULL;
        size_t length;
        long nth = 0;
        int r;

        (void)state;
        is_taken();
        do {
                struct native_build build = { 0 };

                has_failed = false;
                countdown = ++nth;
                r = native_build_plan(module, &tools, "/d", &build, &err);
                if (!r)
                        r = native_strip(module, &bytes, &length, &err);
                countdown = 0;
                assert_int_equal(r, has_failed ? ABATIS_E_MEMORY : 0);
                native_build_done(&build);
        } while (has_failed);
        assert_true(nth > 20);
        free(bytes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MODULE_TEST(what_wasm2c_does_not_know_is_refused),
                MODULE_TEST(only_two_exports_and_no_custom_section_are_left),
                MODULE_TEST(commands_stay_in_the_directory),
                MODULE_TEST(without_imports_the_host_is_not_asked_for),
                MODULE_TEST(all_sources_are_part_of_the_library),
                MODULE_TEST(a_lack_of_memory_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
