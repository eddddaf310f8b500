/* modules.c: makes modules of WebAssembly from a good one, and reads them. */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* ---- making them ---------------------------------------------------------------------------------------- */

const struct body good[MODULE_SECTIONS] = {
        [MODULE_TYPE_SECTION] = BODY("\2\x60\0\0\x60\4\x7f\x7f\x7f\x7f\1\x7f"),
        [MODULE_IMPORT_SECTION] = BODY("\1\x16wasi_snapshot_preview1\x08"
                                       "fd_write\0\1"),
        [MODULE_FUNCTION_SECTION] = BODY("\1\0"),
        [MODULE_TABLE_SECTION] = BODY("\1\x70\1\1\1"),
        [MODULE_MEMORY_SECTION] = BODY("\1\0\2"),
        [MODULE_GLOBAL_SECTION] = BODY("\1\x7f\1\x41\x80\x08\x0b"),
        [MODULE_EXPORT_SECTION] = BODY("\2\6memory\2\0\6_start\0\1"),
        [MODULE_ELEMENT_SECTION] = BODY("\1\0\x41\0\x0b\1\1"),
        [MODULE_DATA_COUNT_SECTION] = BODY("\1"),
        [MODULE_CODE_SECTION] = BODY("\1\2\0\x0b"),
        [MODULE_DATA_SECTION] = BODY("\1\0\x41\0\x0b\2hi"),
};

const enum module_section order[ORDER_LENGTH] = {
        MODULE_CUSTOM_SECTION, MODULE_TYPE_SECTION,    MODULE_IMPORT_SECTION,     MODULE_FUNCTION_SECTION,
        MODULE_TABLE_SECTION,  MODULE_MEMORY_SECTION,  MODULE_GLOBAL_SECTION,     MODULE_EXPORT_SECTION,
        MODULE_START_SECTION,  MODULE_ELEMENT_SECTION, MODULE_DATA_COUNT_SECTION, MODULE_CODE_SECTION,
        MODULE_DATA_SECTION,
};

const struct module_options none, all = { .allows = MODULE_ALLOWS_64_BIT | MODULE_ALLOWS_SHARED |
                                                    MODULE_ALLOWS_PAGE_SIZES | MODULE_ALLOWS_MEMORIES };

struct body bodies[MODULE_SECTIONS];
struct text made;
static uint8_t *exact; /* what the module borrows */
struct module *module;
abatis_error err;

int module_setup(void **state)
{
        (void)state;
        memcpy(bodies, good, sizeof(good));
        return 0;
}

int module_teardown(void **state)
{
        (void)state;
        module_free(take_pointer(module));
        free(take_pointer(exact));
        text_done(&made);
        return 0;
}

void put(const void *bytes, size_t length)
{
        text_add_bytes(&made, bytes, length);
}

static void put_number(uint64_t number, size_t width)
{
        uint8_t bytes[WIRE_NUMBER_SIZE];

        put(bytes, wire_write(number, width, bytes));
}

void put_section(unsigned id, const void *bytes, size_t length)
{
        put(&(uint8_t){ (uint8_t)id }, 1);
        put_number(length, 0);
        put(bytes, length);
}

void put_head(void)
{
        text_done(&made);
        put("\0asm\1\0\0", 8);
}

void make(void)
{
        put_head();
        for (size_t i = 0; i < ORDER_LENGTH; i++)
                if (bodies[order[i]].bytes)
                        put_section(order[i], bodies[order[i]].bytes, bodies[order[i]].length);
        memcpy(bodies, good, sizeof(good));
}

/* ---- reading them --------------------------------------------------------------------------------------- */

/* With nothing behind it, so that the sanitizers and valgrind see a read past the end. */
static int read_made(const struct module_options *options)
{
        module_free(take_pointer(module));
        free(exact);
        exact = malloc(made.length ? made.length : 1);
        assert_non_null(exact);
        if (made.length)
                memcpy(exact, made.data, made.length);
        err = (abatis_error){ 0 };
        return module_read(exact, made.length, options, &module, &err);
}

void assert_about(const char *about)
{
        if (!strstr(err.message, about))
                fail_msg("'%s' is not about '%s'", err.message, about);
}

void made_is_refused(const struct module_options *options, const char *about)
{
        assert_int_equal(read_made(options), ABATIS_E_INVALID);
        assert_null(module);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        assert_about(about);
        assert_true(!strncmp(err.message, "byte ", 5));
}

void made_is_taken(const struct module_options *options)
{
        if (read_made(options))
                fail_msg("refused: %s", err.message);
        assert_non_null(module);
}

void is_refused(const char *about)
{
        make();
        made_is_refused(&none, about);
}

void is_taken(void)
{
        make();
        made_is_taken(&none);
}

void is_taken_when_asked_for(unsigned allows, const char *about)
{
        const struct module_options options = { .allows = allows },
                                    others = { .allows = all.allows & ~allows };

        make();
        made_is_refused(&others, about);
        made_is_taken(&options);
}
