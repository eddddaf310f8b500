/* sbpl.h: reads profiles for macOS's Seatbelt and says what they allow: our own reading of the language, apart from the backend that
 * writes it. It knows the words that we use, and refuses all others. */
#ifndef SBPL_H
#define SBPL_H

#include <stdbool.h>
#include <stddef.h>

/* Which of several rules for an operation and the groups that have it wins: descriptions of the language say the first, and what
 * others have measured is the second. */
enum sbpl_order {
        SBPL_LAST,     /* the last rule that matches, whether it names the operation or a group */
        SBPL_NARROWEST /* the last one that names the operation; if none matches, of the next group, and so on */
};

struct sbpl; /* a profile */

/* What is asked about: what is NULL or 0 matches no filter that is about it. */
struct sbpl_question {
        const char *operation;
        const char *path;
        const char *target; /* a process: "same-sandbox", "others" */
        const char *name;   /* of a service, a piece of shared memory or a kernel's value */
        const char *family; /* of a socket: "AF_UNIX" */
        const char *host;   /* of a TCP connection, or of what is bound: "localhost" or anything else */
        unsigned port;
        bool has_extension;
};

struct sbpl_parameter {
        const char *name, *value;
};

/* Owned by the caller; or NULL, and what is wrong. Parameters end with a NULL name; their values are borrowed. */
struct sbpl *sbpl_parse(const char *text, const struct sbpl_parameter *parameters, char *message,
                        size_t size);
void sbpl_free(struct sbpl *sbpl);

bool sbpl_allows(const struct sbpl *sbpl, enum sbpl_order order, const struct sbpl_question *question);

/* The profile with every string replaced by the same word: what is left does not depend on names. Owned by the caller. */
char *sbpl_skeleton(const struct sbpl *sbpl);
/* Whether one of its strings, taken out of its quotes, is exactly this. */
bool sbpl_has_string(const struct sbpl *sbpl, const char *string);

#endif
