/* progress.c: how long a command has run, and what it said last, for who has asked to be told meanwhile.
 *
 * By the clock, and not by what is printed: a command that prints much would fill the client's mind, one that prints nothing would look dead. */
#include "server/progress.h"

#include <string.h>

#include "server/clock.h"

void progress_begin(struct progress *progress, uint64_t limit)
{
        progress->began = clock_ms();
        progress->due = progress->began + PROGRESS_MS;
        progress->limit = limit;
}

void progress_hear(void *user, int descriptor, const char *bytes, size_t length)
{
        struct progress *progress = user;
        size_t kept;

        (void)descriptor;
        if (length > sizeof(progress->tail)) {
                bytes += length - sizeof(progress->tail);
                length = sizeof(progress->tail);
        }
        kept = sizeof(progress->tail) - length;
        if (kept > progress->length)
                kept = progress->length;
        memmove(progress->tail, progress->tail + progress->length - kept, kept);
        memcpy(progress->tail + kept, bytes, length);
        progress->length = kept + length;
}

static bool is_end(char sign)
{
        return sign == '\n' || sign == '\r';
}

void progress_add_line(const struct progress *progress, struct text *out)
{
        size_t end = progress->length, start;

        while (end && is_end(progress->tail[end - 1]))
                end--;
        start = end;
        while (start && !is_end(progress->tail[start - 1]))
                start--;
        /* A longer line than is kept begins somewhere in a character. */
        while (start < end && ((unsigned char)progress->tail[start] & 0xc0) == 0x80)
                start++;
        while (start < end) {
                char shown[TEXT_SHOWN_SIZE];

                start += text_show(progress->tail + start, end - start, shown);
                text_add(out, shown);
        }
}
