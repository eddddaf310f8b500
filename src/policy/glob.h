/* glob.h: patterns for paths, as docs/POLICY.md defines them: compiled once, matched against resolved paths. */
#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"

/* One component of a pattern. */
struct glob_part {
        enum glob_part_kind {
                GLOB_NAME,     /* exactly this name */
                GLOB_WILD,     /* a name with *, ? or a set in it */
                GLOB_ANY_DEPTH /* "**": any number of names; never twice in a row */
        } kind;
        const char *text; /* borrowed from the pattern: not terminated */
        size_t length;
        size_t least; /* no shorter name matches, in bytes */
        char last;    /* no name that ends otherwise matches; NUL: any may */
};

struct glob {
        char *text;              /* owned: the pattern */
        struct glob_part *parts; /* owned */
        size_t count;
};

/* True when a text is a pattern at all: what has none of * ? [ in it is a plain path. */
bool glob_has_magic(const char *text);
/* The pattern that stands for exactly this text, whatever characters are in it; owned by the caller, or NULL. */
char *glob_quote(const char *text);

/* Variables are expanded already: the pattern is absolute, a name without a slash, or begins with "**" and a slash. */
int glob_compile(const char *pattern, struct glob *out, abatis_error *err);
void glob_done(struct glob *glob);

/* True when the absolute, resolved path or a directory above it matches: what holds for a directory holds below it. */
bool glob_matches(const struct glob *glob, const char *real);
/* False only when nothing below this absolute, resolved directory can ever match. */
bool glob_may_match_below(const struct glob *glob, const char *directory);

/* True when the path is one of the directories that the pattern names before any "**", on the way to what matches. */
bool glob_leads_through(const struct glob *glob, const char *path);

#endif
