/* names.c: a table of hashes, since to compare each name with all others would take the square of their number. */
#include "skill/names.h"

#include <stdlib.h>

#include "base/sha256.h"

/* Who makes names that meet in one slot has some thousand numbers compared for each, no more. Two names with the same 64 bits of
 * SHA-256, which nobody has by chance, are taken for one: that refuses, and lets nothing through. */
bool names_add(struct names *names, struct wire_name name)
{
        char digits[SHA256_TEXT_SIZE];
        uint64_t key;
        size_t slot;

        sha256_text(name.bytes, name.length, digits);
        digits[16] = '\0';
        key = strtoull(digits, NULL, 16);
        key = key ? key : 1;
        for (slot = key % NAMES_SLOTS; names->keys[slot]; slot = (slot + 1) % NAMES_SLOTS)
                if (names->keys[slot] == key)
                        return false;
        names->keys[slot] = key;
        return true;
}
