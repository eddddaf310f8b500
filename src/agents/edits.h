/* edits.h: what is to be put in the place of parts of a text, and how people see it. */
#ifndef AGENTS_EDITS_H
#define AGENTS_EDITS_H

#include <stddef.h>

#include "base/text.h"

struct edit {
        size_t start, end; /* of the old text */
        char *text;        /* owned */
};

struct edits {
        struct edit *items; /* owned */
        size_t count;
};

/* Takes the replacement over, and leaves it empty. */
int edits_add(struct edits *edits, size_t start, size_t end, struct text *replacement, abatis_error *err);
/* By their places; none may reach into another. Before the two below. */
void edits_sort(struct edits *edits);
void edits_apply(const struct edits *edits, const char *text, size_t length, struct text *out);
/* The lines that differ, with "-" and "+"; of a long one what is around the change. */
void edits_show(const struct edits *edits, const char *text, size_t length, struct text *out);
void edits_done(struct edits *edits);
#define OWN_EDITS __attribute__((cleanup(edits_done)))

#endif
