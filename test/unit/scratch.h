/* scratch.h: a directory tree of its own for each test, removed with the test. */
#ifndef UNIT_SCRATCH_H
#define UNIT_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* For cmocka's setup and teardown. The tree lies below /var/tmp, never below /tmp, which policies make private. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* The absolute, resolved path of something in the tree; valid until the teardown. */
const char *at(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Each returns the absolute path; parents are made. */
const char *make_dir(const char *relative);
const char *make_file(const char *relative, const char *contents);
const char *make_link(const char *relative, const char *target);
/* A directory below this one whose path has at least `length` bytes, with the files "one" and "two" and a link from "link"
 * to "one". */
const char *make_deep(const char *relative, size_t length);

#define SCRATCH_TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

#endif
