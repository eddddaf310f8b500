/* glob_reader.h: reads a pattern character by character: for those who compile one and those who match it. */
#ifndef POLICY_GLOB_READER_H
#define POLICY_GLOB_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* While one name is examined. */
struct glob_reader {
        const char *pattern; /* for messages */
        const char *text;
        size_t length, at;
};

uint32_t glob_next_character(struct glob_reader *reader);
/* What stands between "[" and "]", as far as it is the same for both: whether the set is turned round, and where its
 * members begin. */
bool glob_begin_set(struct glob_reader *reader);
/* The next member, a single character or a range; false at the end of the set, which is then behind us. A "]" that
 * comes first is a member, and so is a "-" that comes first or last. */
bool glob_next_member(struct glob_reader *reader, bool is_first, uint32_t *low, uint32_t *high);

#endif
