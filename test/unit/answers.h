/* answers.h: what a filter says to a call, for the tests of filters. */
#ifndef TEST_ANSWERS_H
#define TEST_ANSWERS_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "run/filter_linux.h"

#if defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#endif

#define ALLOWED SECCOMP_RET_ALLOW
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#define MISSING (SECCOMP_RET_ERRNO | ENOSYS)
#define ASKED SECCOMP_RET_USER_NOTIF

extern struct filter filter; /* the one that was built last */

/* The number that a name has here, or one that is negative. */
int number_of(const char *name);
void build_with(struct filter_options options);
uint32_t ask_number(uint32_t arch, uint32_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* The call with these arguments must get this answer; a call that this architecture lacks proves nothing. */
void assert_answer(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t expected);
/* The kernel looks at the low half of these arguments, so bits above it must change nothing. */
void assert_answer_whatever_is_above(const char *name, uint64_t a, uint64_t b, uint64_t c, uint32_t expected);

#endif
