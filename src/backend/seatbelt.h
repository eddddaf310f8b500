/* seatbelt.h: what the parts of the macOS backend share. */
#ifndef BACKEND_SEATBELT_H
#define BACKEND_SEATBELT_H

#include "backend/backend.h"

/* While one plan is made. */
struct seatbelt {
        const abatis_policy *policy;
        const abatis_host *host;
        struct plan *plan;
        struct text profile;
        struct strings ways; /* directories and links on the way to what may be read */
        struct strings pins; /* and those on the way to what is denied or protected, in writable trees */
};

/* A rule for an operation beats every rule for a group that has it ("file-read*"), wherever they stand; among rules for the same
 * name the last one wins. So what is allowed by the name of a group is refused by the names of all its members that any rule
 * of ours allows by itself: then both orders say the same. */
#define READS "file-read* file-test-existence"
#define WRITES "file-write* file-link"
#define STARTS "process-exec* file-map-executable"
#define ALL_READS "file-read* file-read-data file-read-metadata file-test-existence"
#define ALL_WRITES "file-write* file-write-create file-write-data file-write-unlink file-link"
#define PINNED "file-write-create file-write-unlink"

/* ---- seatbelt_words.c: how strings, paths and patterns are said in a profile ----------------------------- */

/* The only way for a string into a profile. False, and nothing is added, for what cannot be said exactly: control characters,
 * and bytes that are not UTF-8. */
bool seatbelt_quote(struct text *out, const char *string);
/* The path as the kernel has it, which is not what people write: /tmp, /var and /etc are links, and the disk has a second
 * name. Owned by the caller, or NULL. */
char *seatbelt_canonical(const char *real);
/* Filters for a path, each with a space before it; the tree has the path itself in it. All say whether they could. */
bool seatbelt_add_itself(struct text *out, const char *real);
bool seatbelt_add_tree(struct text *out, const char *real);
/* The same by every other spelling that may lead there: for what is refused. */
bool seatbelt_add_itself_spelled(struct text *out, const char *real);
bool seatbelt_add_tree_spelled(struct text *out, const char *real);
/* For what the first `count` parts of a pattern match, and for all that lies below it. Any case of a letter matches. */
bool seatbelt_add_pattern(struct text *out, const struct glob *glob, size_t count, bool with_tree);

/* ---- seatbelt_rules.c: the policy's rules for files ------------------------------------------------------ */

bool seatbelt_lists_commands(const struct seatbelt *seatbelt);
/* Everything may be read and executed: then there is no rule for each tree. */
bool seatbelt_starts_all(const struct seatbelt *seatbelt);
/* In the order in which they have to stand. */
void seatbelt_add_grants(struct seatbelt *seatbelt);
void seatbelt_add_protected_paths(struct seatbelt *seatbelt);
void seatbelt_add_protected_patterns(struct seatbelt *seatbelt);
void seatbelt_add_denied(struct seatbelt *seatbelt);

/* ---- seatbelt_profile.c ---------------------------------------------------------------------------------- */

/* Makes the profile, and misses the clauses of rules that it cannot say. */
void seatbelt_write(struct seatbelt *seatbelt);

#endif
