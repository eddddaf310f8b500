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

/* "." or ".." */
static inline bool text_is_dots(const char *name)
{
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

#endif
