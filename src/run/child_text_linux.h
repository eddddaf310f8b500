/* child_text_linux.h: the little that the children do with text, without calling anybody. */
#ifndef RUN_CHILD_TEXT_LINUX_H
#define RUN_CHILD_TEXT_LINUX_H

#include <stdbool.h>

static inline bool text_is_same(const char *left, const char *right)
{
        /* NOLINTNEXTLINE(clang-analyzer-core.*): a name is what the kernel has filled, as the analyzer cannot see */
        while (*left && *left == *right) {
                left++;
                right++;
        }
        return *left == *right;
}

static inline bool text_begins_with(const char *text, const char *start)
{
        while (*start && *text == *start) {
                text++;
                start++;
        }
        return !*start;
}

/* What follows the number; NULL if there is none. */
static inline const char *text_read_number(const char *at, unsigned long *out)
{
        const char *start = at;

        for (*out = 0; *at >= '0' && *at <= '9' && *out < 1ul << 56; at++)
                *out = *out * 10 + (unsigned long)(*at - '0');
        return at == start ? 0 : at;
}

/* Each ends what it writes, and returns where the next may be written. */
static inline char *text_write(char *at, const char *text)
{
        while (*text)
                *at++ = *text++;
        *at = '\0';
        return at;
}

static inline char *text_write_number(char *at, unsigned long number)
{
        char digits[20];
        int count = 0;

        do
                digits[count++] = (char)('0' + number % 10);
        while (number /= 10);
        while (count)
                *at++ = digits[--count];
        *at = '\0';
        return at;
}

/* "." or ".." */
static inline bool text_is_dots(const char *name)
{
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

#endif
