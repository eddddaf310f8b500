/* host_name.h: names of hosts in the one form in which they are compared. */
#ifndef BASE_HOST_NAME_H
#define BASE_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
        HOST_NAME_MAX_LENGTH = 253, /* what 255 bytes of a DNS message can say */
        HOST_NAME_SIZE = HOST_NAME_MAX_LENGTH + 1,
        HOST_LABEL_MAX_LENGTH = 63,
};

/* Lower-case, without the dot at the end that means the root. Taken are labels of letters, digits, "-" (neither first nor
 * last) and "_", joined by dots; international names are those whose labels begin with "xn--".
 *
 * A name whose last label is a number ("127.1", "0x7f000001") is an address to whoever calls inet_aton(), and refused: no
 * top-level domain is one. False leaves `out` untouched. */
bool host_name_read(const char *bytes, size_t length, char out[HOST_NAME_SIZE]);
/* Whether the name ends in this one and has at least one more label; both as host_name_read() gives them. */
bool host_name_is_below(const char *name, const char *parent);

#endif
