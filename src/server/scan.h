/* scan.h: a line before it is parsed: how much a parser would have to make of it, and whose it is. */
#ifndef SERVER_SCAN_H
#define SERVER_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { SCAN_DEPTH_MAX = 64, SCAN_VALUES_MAX = 100 * 1000 };

struct scan {
        bool is_too_deep, has_too_many;
        const char *
                id; /* borrowed: the value of the outermost key "id", as it stands there; NULL: none, or several */
        size_t id_length;
};

/* Of any bytes, as far as they look like an object. */
struct scan scan_line(const char *line, size_t length);
/* The value of a key of the outermost object, as it was written, in a text that is known to be JSON; NULL when the key is not there, or
 * is not written plainly. */
const char *scan_member(const char *text, size_t length, const char *key, size_t *out_length);

#endif
