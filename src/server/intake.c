/* intake.c: lines from a descriptor, none of them longer than allowed. */
#include "server/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024 };

/* Of many clients most wait: they need no room meanwhile. */
static void tidy(struct intake *intake)
{
        if (intake->start && intake->length)
                memmove(intake->bytes, intake->bytes + intake->start, intake->length);
        intake->start = 0;
        if (!intake->length && intake->capacity > 2 * CHUNK) {
                free(intake->bytes);
                intake->bytes = NULL;
                intake->capacity = 0;
        }
}

bool intake_read(struct intake *intake, int fd)
{
        ssize_t got;

        tidy(intake);
        if (intake->capacity - intake->length < CHUNK) {
                size_t wanted = intake->capacity * 2 + CHUNK;
                char *bytes = realloc(intake->bytes, wanted);

                if (!bytes)
                        return false;
                intake->bytes = bytes;
                intake->capacity = wanted;
        }
        do
                got = read(fd, intake->bytes + intake->length, intake->capacity - intake->length);
        while (got < 0 && errno == EINTR);
        if (got > 0)
                intake->length += (size_t)got;
        else if (!got || errno != EAGAIN)
                intake->has_ended = true;
        return true;
}

static void drop(struct intake *intake, size_t length)
{
        intake->start += length;
        intake->length -= length;
        intake->looked = 0;
}

enum intake_kind intake_take(struct intake *intake, const char **line, size_t *length)
{
        const char *first = intake->bytes ? intake->bytes + intake->start : "";
        const char *newline = intake->length > intake->looked
                                      ? memchr(first + intake->looked, '\n', intake->length - intake->looked)
                                      : NULL;
        size_t whole = newline ? (size_t)(newline - first) : intake->length;
        bool was_skipping = intake->is_skipping;

        intake->looked = intake->length;
        if (whole > INTAKE_LINE_MAX && !was_skipping) {
                *line = first;
                *length = INTAKE_LINE_MAX;
                intake->is_skipping = !newline;
                drop(intake, newline ? whole + 1 : whole);
                return INTAKE_TOO_LONG;
        }
        if (!newline && was_skipping)
                drop(intake, whole);
        if (!newline && (!intake->has_ended || !intake->length))
                return INTAKE_NONE;
        drop(intake, newline ? whole + 1 : whole);
        intake->is_skipping = false;
        if (was_skipping)
                return intake_take(intake, line, length);
        *line = first;
        *length = whole;
        return INTAKE_LINE;
}

void intake_done(struct intake *intake)
{
        free(intake->bytes);
}
