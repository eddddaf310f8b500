/* test_module_clamp.c: modules with lower limits, damaged ones, and too little memory for them. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "modules.h"
#include "mutations.h"
#include "shortage.h"

/* ---- lower limits --------------------------------------------------------------------------------------- */

static const struct module_bounds bounds = { .pages = 256, .elements = 1000 };

/* Reads what was made, lowers its limits, and lowers them again, which changes nothing. `made` and `module` are the new ones. */
static void clamp(const struct module_options *options, const struct module_bounds *to)
{
        uint8_t *first = NULL, *second = NULL;
        size_t first_length = 0, second_length = 0;

        if (module_clamp(module, options, to, &first, &first_length, &err))
                fail_msg("refused: %s", err.message);
        text_done(&made);
        put(first, first_length);
        free(first);
        made_is_taken(options);
        assert_int_equal(module_clamp(module, options, to, &second, &second_length, &err), 0);
        assert_int_equal(second_length, made.length);
        assert_memory_equal(second, made.data, made.length);
        free(second);
}

static void clamped_is(const struct module_options *options, struct body from, enum module_section section,
                       struct body to)
{
        struct text wanted = { 0 };

        SET(MEMORY, "\1\1\2\3");
        bodies[section] = to;
        make();
        text_add_bytes(&wanted, made.data, made.length);
        SET(MEMORY, "\1\1\2\3");
        bodies[section] = from;
        make();
        made_is_taken(options);
        clamp(options, &bounds);
        assert_int_equal(made.length, wanted.length);
        assert_memory_equal(made.data, wanted.data, wanted.length);
        text_done(&wanted);
}

#define CLAMPED(options, id, from, to) \
        clamped_is(options, (struct body)BODY(from), MODULE_##id##_SECTION, (struct body)BODY(to))

static void limits_are_lowered_and_nothing_else(void **state)
{
        (void)state;
        CLAMPED(&none, MEMORY, "\1\0\2", "\1\1\2\x80\2");
        CLAMPED(&none, MEMORY, "\1\1\2\x80\x80\4", "\1\1\2\x80\2");
        CLAMPED(&none, MEMORY, "\1\1\2\x81\2", "\1\1\2\x80\2");
        CLAMPED(&none, MEMORY, "\1\1\2\x80\2", "\1\1\2\x80\2");
        CLAMPED(&none, MEMORY, "\1\1\2\3", "\1\1\2\3");
        CLAMPED(&none, MEMORY, "\1\0\x82\0", "\1\1\x82\0\x80\2"); /* the minimum stays as it is written */
        CLAMPED(&none, MEMORY, "\1\1\2\x80\x80\x84\x80\0", "\1\1\2\x80\2");
        CLAMPED(&none, TABLE, "\1\x70\0\1", "\1\x70\1\1\xe8\7");
        CLAMPED(&none, TABLE, "\1\x70\1\1\xff\xff\xff\xff\x0f", "\1\x70\1\1\xe8\7");
        CLAMPED(&none, TABLE, "\2\x6f\1\1\5\x70\0\1", "\2\x6f\1\1\5\x70\1\1\xe8\7");
        CLAMPED(&all, MEMORY, "\2\0\2\0\1", "\2\1\2\x80\2\1\1\x80\2");
        CLAMPED(&all, MEMORY, "\1\3\2\x80\x08", "\1\3\2\x80\2");
        CLAMPED(&all, MEMORY, "\1\4\2", "\1\5\2\x80\2");
        CLAMPED(&all, MEMORY, "\1\5\2\x80\x80\x80\x80\x80\x80\x40", "\1\5\2\x80\2");
        /* Pages of one byte: 256 others are 16 MiB. */
        CLAMPED(&all, MEMORY, "\1\x08\2\0", "\1\x09\2\x80\x80\x80\x08\0");
        CLAMPED(&all, MEMORY, "\1\x08\2\x10", "\1\x09\2\x80\2\x10");
}

static void limits_of_imports_are_lowered(void **state)
{
        static const struct module_bounds low = { .pages = 1, .elements = 2 };

        (void)state;
        SET(IMPORT, "\4\1a\1t\1\x70\0\1\1a\1m\2\1\1\3\1a\1u\1\x6f\1\1\2\1a\1f\0\1");
        SET(MEMORY, "\1\0\1");
        make();
        made_is_taken(&all);
        clamp(&all, &low);
        assert_int_equal(module->limits_count, 5);
        for (size_t i = 0; i < module->limits_count; i++)
                assert_true(module->limits[i].max == (module->limits[i].kind == MODULE_MEMORY ? 1
                                                      : module->limits[i].section == MODULE_TABLE_SECTION
                                                              ? 1
                                                              : 2));
        assert_true(wire_name_is(module->imports[3].name, "f"));
}

static void sizes_of_sections_grow_and_keep_their_width(void **state)
{
        struct text many = { 0 };

        (void)state;
        /* 42 tables of three bytes: the size of the section takes one byte before, and two afterwards. */
        text_addf(&many, "%c", 42);
        for (unsigned i = 0; i < 42; i++)
                text_add_bytes(&many, "\x70\0\1", 3);
        bodies[MODULE_TABLE_SECTION] = (struct body){ many.data, many.length };
        is_taken();
        clamp(&none, &bounds);
        assert_int_equal(module->sections[MODULE_TABLE_SECTION].begin -
                                 module->sections[MODULE_TABLE_SECTION].size_at,
                         2);
        text_done(&many);
        put_head();
        put("\5\x83\x80\x80\x80\0\1\0\2", 9);
        made_is_taken(&none);
        clamp(&none, &bounds);
        assert_int_equal(made.length, 8 + 11);
        assert_memory_equal(made.data + 8, "\5\x85\x80\x80\x80\0\1\1\2\x80\2", 11);
}

static void too_large_from_the_beginning_is_refused(void **state)
{
        static const struct module_bounds none_at_all = { 0 }, no_bounds = { UINT64_MAX, UINT64_MAX };
        uint8_t *out = NULL;
        size_t length = 7;

        (void)state;
        SET(MEMORY, "\1\0\x81\2");
        is_taken();
        assert_int_equal(module_clamp(module, &none, &bounds, &out, &length, &err), ABATIS_E_INVALID);
        assert_about("the memory begins with 257 pages, and 256 are allowed");
        SET(TABLE, "\1\x70\0\xe9\7");
        is_taken();
        assert_int_equal(module_clamp(module, &none, &bounds, &out, &length, &err), ABATIS_E_INVALID);
        assert_about("the table begins with 1001 elements, and 1000 are allowed");
        is_taken();
        assert_int_equal(module_clamp(module, &none, &none_at_all, &out, &length, &err), ABATIS_E_INVALID);
        assert_null(out);
        assert_int_equal(length, 7);
        clamp(&none, &no_bounds);
        assert_true(module->limits[1].has_max && module->limits[1].max == 65536);
        /* At the bound. */
        SET(TABLE, "\1\x70\0\xe8\7");
        SET(MEMORY, "\1\0\x80\2");
        is_taken();
        clamp(&none, &bounds);
        /* Without any memory or table there is nothing to do. */
        put_head();
        made_is_taken(&none);
        clamp(&none, &none_at_all);
        assert_int_equal(made.length, 8);
}

/* ---- damage --------------------------------------------------------------------------------------------- */

static void be_no_program(const uint8_t *bytes, size_t length, void *state)
{
        OWN_MODULE struct module *read = NULL;
        abatis_error why = { 0 };
        int r = module_read(bytes, length, &none, &read, &why);

        (void)state;
        if (!r)
                r = module_check_command(read, &why);
        assert_int_equal(r, ABATIS_E_INVALID);
        assert_true(*why.message);
}

static void no_beginning_of_a_program_is_one(void **state)
{
        (void)state;
        SET(CUSTOM, "\4namejunk");
        SET(START, "\1");
        is_taken();
        assert_int_equal(module_check_command(module, &err), 0);
        read_every_prefix(made.data, made.length, be_no_program, NULL);
}

static void read_damaged(const uint8_t *bytes, size_t length, void *state)
{
        size_t *results = state;

        for (unsigned i = 0; i < 2; i++) {
                const struct module_options *options = i ? &all : &none;
                OWN_MODULE struct module *read = NULL, *again = NULL;
                OWN_FREE uint8_t *out = NULL;
                size_t out_length = 0;
                abatis_error why = { 0 };
                int r = module_read(bytes, length, options, &read, &why);

                results[!r]++;
                assert_true(r ? !read && *why.message : !!read);
                if (r)
                        continue;
                module_check_command(read, NULL);
                if (module_clamp(read, options, &bounds, &out, &out_length, &why)) {
                        assert_non_null(strstr(why.message, "begins with"));
                        continue;
                }
                assert_int_equal(module_read(out, out_length, options, &again, &why), 0);
                for (size_t j = 0; j < again->limits_count; j++)
                        assert_true(again->limits[j].has_max);
        }
}

static void damaged_modules_do_no_harm(void **state)
{
        size_t results[2] = { 0 };

        (void)state;
        SET(CUSTOM, "\4namejunk");
        SET(START, "\1");
        make();
        read_every_mutation(made.data, made.length, read_damaged, results);
        assert_true(results[0] > 1000 && results[1] > 100);
        SET(IMPORT, "\4\1a\1t\1\x70\0\1\1a\1m\2\1\1\3\1a\1g\3\x7e\1\1a\1f\0\1");
        SET(MEMORY, "\2\x0d\1\x80\x08\0\1\1\3");
        SET(TABLE, "\2\x6f\5\1\xff\xff\x0f\x70\0\1");
        SET(ELEMENT, "\3\5\x70\2\xd2\1\x0b\xd0\x70\x0b\2\0\x41\0\x0b\0\1\1\7\x6f\1\xd0\x6f\x0b");
        make();
        made_is_taken(&all);
        read_every_mutation(made.data, made.length, read_damaged, results);
}

static void every_byte_may_be_any_other(void **state)
{
        size_t results[2] = { 0 };

        (void)state;
        make();
        for (size_t i = 0; i < made.length; i++)
                for (unsigned change = 1; change < 256; change++) {
                        made.data[i] = (char)(made.data[i] ^ change);
                        read_damaged((const uint8_t *)made.data, made.length, results);
                        made.data[i] = (char)(made.data[i] ^ change);
                }
        assert_int_equal(results[0] + results[1], 2 * 255 * made.length);
}

static void a_lack_of_memory_is_told(void **state)
{
        uint8_t *out = NULL;
        size_t length;
        long nth = 0;
        int r;

        (void)state;
        make();
        do {
                module_free(take_pointer(module));
                has_failed = false;
                countdown = ++nth;
                r = module_read(made.data, made.length, &none, &module, &err);
                if (!r)
                        r = module_clamp(module, &none, &bounds, &out, &length, &err);
                countdown = 0;
                assert_int_equal(r, has_failed ? ABATIS_E_MEMORY : 0);
        } while (has_failed);
        assert_true(nth > 4);
        free(out);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MODULE_TEST(limits_are_lowered_and_nothing_else),
                MODULE_TEST(limits_of_imports_are_lowered),
                MODULE_TEST(sizes_of_sections_grow_and_keep_their_width),
                MODULE_TEST(too_large_from_the_beginning_is_refused),
                MODULE_TEST(no_beginning_of_a_program_is_one),
                MODULE_TEST(damaged_modules_do_no_harm),
                MODULE_TEST(every_byte_may_be_any_other),
                MODULE_TEST(a_lack_of_memory_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
