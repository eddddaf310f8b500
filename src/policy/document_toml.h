/* document_toml.h: what the files of the TOML parser share: the place they have come to, and how they complain. */
#ifndef POLICY_DOCUMENT_TOML_H
#define POLICY_DOCUMENT_TOML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/document.h"

struct toml {
        struct source *source; /* borrowed */
        size_t at;
        unsigned line, column; /* of `at` */
};

enum { TOML_END = -1 };

/* A byte further on, or TOML_END: the text is not terminated. */
static inline int toml_peek(const struct toml *toml, size_t ahead)
{
        if (ahead >= toml->source->length - toml->at)
                return TOML_END;
        return (unsigned char)toml->source->text[toml->at + ahead];
}

static inline void toml_step(struct toml *toml)
{
        unsigned char byte = (unsigned char)toml->source->text[toml->at++];

        if (byte == '\n') {
                toml->line++;
                toml->column = 1;
        } else if ((byte & 0xc0) != 0x80) {
                toml->column++;
        }
}

/* How many bytes the line break here has, or 0; a carriage return alone is none. */
static inline size_t toml_line_break(const struct toml *toml)
{
        if (toml_peek(toml, 0) == '\n')
                return 1;
        return toml_peek(toml, 0) == '\r' && toml_peek(toml, 1) == '\n' ? 2 : 0;
}

static inline bool toml_is_space(int byte)
{
        return byte == ' ' || byte == '\t';
}

/* A tab is none for TOML. */
static inline bool toml_is_control(int byte)
{
        return (byte >= 0 && byte < ' ' && byte != '\t') || byte == 0x7f;
}

#define toml_error(toml, ...) source_error((toml)->source, (toml)->line, (toml)->column, __VA_ARGS__)
/* The code of the error that node_new() set. */
static inline int toml_node_error(const struct toml *toml)
{
        return toml->source->nodes < DOCUMENT_NODES_MAX ? ABATIS_E_MEMORY : ABATIS_E_INVALID;
}
/* "expected WHAT, not ...": what is found here instead. */
int toml_expected(struct toml *toml, const char *what);

/* From the opening quote to behind the closing one; adds to `out`. A key is always on one line. */
int toml_read_string(struct toml *toml, bool is_key, struct text *out);
/* Numbers, booleans, dates and times. */
int toml_parse_scalar(struct toml *toml, struct node **out);

#endif
