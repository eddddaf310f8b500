/* answers.c: builds a filter and asks it, by the names of calls. */
#define _GNU_SOURCE
#include "answers.h"

#include <seccomp.h>
#include <string.h>

#include "bpf.h"
#include "scratch.h"

int number_of(const char *name)
{
        return seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);
}

struct filter filter;

void build_with(struct filter_options options)
{
        abatis_error err = { .message = "" };

        memset(&filter, 0xee, sizeof(filter));
        if (filter_build(&options, &filter, &err) < 0)
                fail_msg("%s", err.message);
        assert_true(filter.length > 0 && filter.length <= FILTER_MAX);
}

uint32_t ask_number(uint32_t arch, uint32_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
        struct seccomp_data data = { .nr = (int)number, .arch = arch, .args = { a, b, c, d } };

        return bpf_run(filter.code, filter.length, &data, NULL);
}

void assert_answer(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t expected)
{
        int number = !strcmp(name, "fchmodat2") ? 452 : number_of(name);
        uint32_t answer;

        if (number < 0)
                return;
        answer = ask_number(NATIVE, (uint32_t)number, a, b, c, d);
        if (answer != expected)
                fail_msg("%s(0x%llx, 0x%llx, 0x%llx, 0x%llx) gets 0x%x instead of 0x%x", name,
                         (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                         (unsigned long long)d, answer, expected);
}

void assert_answer_whatever_is_above(const char *name, uint64_t a, uint64_t b, uint64_t c, uint32_t expected)
{
        static const uint64_t above[] = { 0, 1ull << 32, 1ull << 63, 0xffffffffull << 32 };

        for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++)
                assert_answer(name, a | above[i], b | above[i], c | above[i], 0, expected);
}
