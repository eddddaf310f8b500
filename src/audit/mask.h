/* mask.h: takes secrets out of what is written down. */
#ifndef AUDIT_MASK_H
#define AUDIT_MASK_H

#include <stddef.h>

#include "base/text.h"

struct masked {
        const char *bytes; /* borrowed: of the string, or of the scratch */
        size_t length;
};

/* The string with "***" for each stretch that secrets cover; valid until the scratch is used again. When memory is short
 * nothing of the string is left, and scratch->has_failed. `secrets` ends with NULL, or is NULL. */
struct masked mask_string(const char *string, const char *const *secrets, struct text *scratch);

#endif
