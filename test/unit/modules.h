/* modules.h: modules of WebAssembly, made section by section from a good one, and read. */
#ifndef UNIT_MODULES_H
#define UNIT_MODULES_H

#include "base/text.h"
#include "scratch.h"
#include "skill/module.h"

/* A section's body, or none of that number. */
struct body {
        const void *bytes;
        size_t length;
};

#define BODY(literal)                        \
        {                                    \
                literal, sizeof(literal) - 1 \
        }

/* A program that writes nothing: every section but that of the start. */
extern const struct body good[MODULE_SECTIONS];
enum { ORDER_LENGTH = MODULE_SECTIONS };
extern const enum module_section order[ORDER_LENGTH];
extern const struct module_options none, all;

/* What the next module is made of, the bytes of the last, what was read of it, and why it was refused. */
extern struct body bodies[MODULE_SECTIONS];
extern struct text made;
extern struct module *module;
extern abatis_error err;

int module_setup(void **state);
int module_teardown(void **state);
#define MODULE_TEST(test) cmocka_unit_test_setup_teardown(test, module_setup, module_teardown)

/* Changes the next module. */
#define SET(id, literal) (bodies[MODULE_##id##_SECTION] = (struct body)BODY(literal))
#define LEAVE_OUT(id) (bodies[MODULE_##id##_SECTION] = (struct body){ 0 })

/* Makes it; the one after that is good again. */
void make(void);
/* By hand: the first eight bytes, then what is added. */
void put_head(void);
void put(const void *bytes, size_t length);
void put_section(unsigned id, const void *bytes, size_t length);

void assert_about(const char *about);
/* What was made last. */
void made_is_refused(const struct module_options *options, const char *about);
void made_is_taken(const struct module_options *options);
/* Made now, and nothing is allowed. */
void is_refused(const char *about);
void is_taken(void);
/* Only with these, whatever else is allowed. */
void is_taken_when_asked_for(unsigned allows, const char *about);

#define REFUSED(id, literal, about) (SET(id, literal), is_refused(about))
#define TAKEN(id, literal) (SET(id, literal), is_taken())

#endif
