/* lines.h: values of keys as the lines of a policy file. */
#ifndef POLICY_LINES_H
#define POLICY_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/keys.h"

/* One value of one key. */
struct line {
        enum key_id key;
        char *value;     /* owned; NULL: the key has an empty list */
        bool is_literal; /* needs {path: ...}, or a pattern would be read */
        const char *origin;
};

/* Sticky: after a failure nothing is added. */
struct lines {
        struct line *items; /* owned */
        size_t count;
        bool has_failed;
};

/* Copies the value; NULL is an empty list. The keys must come in the order of the table. */
void lines_add(struct lines *lines, enum key_id key, const char *value, bool is_literal, const char *origin);
void lines_done(struct lines *lines);
#define OWN_LINES __attribute__((cleanup(lines_done)))

/* As YAML, each line with its origin in a comment. */
void lines_print(const struct lines *lines, struct text *out);

#endif
