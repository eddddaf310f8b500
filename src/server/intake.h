/* intake.h: lines from a descriptor, none of them longer than allowed. */
#ifndef SERVER_INTAKE_H
#define SERVER_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

enum { INTAKE_LINE_MAX = 8 * 1024 * 1024 };

struct intake {
        char *bytes; /* owned */
        size_t start, length, capacity;
        size_t looked;    /* bytes of the first line that are known to have no newline */
        bool is_skipping; /* the rest of a line that is too long */
        bool has_ended;   /* there will be no more bytes */
};

enum intake_kind {
        INTAKE_NONE,     /* not a whole line yet */
        INTAKE_LINE,     /* without its newline */
        INTAKE_TOO_LONG, /* its beginning */
};

/* Reads once; false when there is no memory. What goes wrong with the descriptor is its end. */
bool intake_read(struct intake *intake, int fd);
/* The next one, borrowed until the next call. What is left at the end is a line, too. */
enum intake_kind intake_take(struct intake *intake, const char **line, size_t *length);
void intake_done(struct intake *intake);

#endif
