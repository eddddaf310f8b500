/* path.h: literal paths: cleaning, comparing by whole components, resolving symbolic links. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"
#include "base/text.h"

/* A path may be longer than the kernel takes at once (see reach.h), but not without end: what a rule costs grows with the
 * directories above it. No path that the kernel takes at once is deeper. */
enum { PATH_LONGEST = 65535, PATH_DEEPEST = 2048 };

enum path_kind { PATH_ABSENT, PATH_FILE, PATH_DIRECTORY, PATH_OTHER };

struct path_facts {
        char *real; /* owned: no symbolic link in it; of an absent path, below its last existing ancestor */
        enum path_kind kind;  /* of what `real` names */
        struct strings links; /* where symbolic links stood on the way: real parent + name */
};

/* `mode` as stat() tells it. */
enum path_kind path_kind_of(unsigned mode);
/* True when `path` is `directory` or lies below it: /binaries is not below /bin. Both absolute and clean. */
bool path_is_below(const char *path, const char *directory);
/* As strcmp(), in the order of a walk: a directory, all that is below it, then what comes after it. */
int path_compare(const char *left, const char *right);
/* Takes an absolute path apart from "//", "/./" and a trailing "/"; refuses relative, climbing and endless ones. */
int path_clean(const char *path, char **out, abatis_error *err);
/* True for what path_clean() would give back as it is. */
bool path_is_clean(const char *path);
/* True when a clean path is known to be real as far as it exists: no symbolic link on the way. False when there is one,
 * and when it could not be found out. */
bool path_has_no_link(const char *path);
/* Like realpath(): no link in what is returned, which is owned by the caller, or NULL with errno. */
char *path_real(const char *path);
/* The directory, or the working directory for NULL, for a process that walks to what is too long to be entered at once,
 * and follows no link on the way. Owned by the caller, or NULL with errno. */
char *path_to_enter(const char *directory);
/* "directory/name", owned by the caller, or NULL. */
char *path_join(const char *directory, const char *name);

/* Follows every symbolic link of a clean path. A missing component is not an error, an unreadable one is. When `known`
 * is not NULL it is a real directory that the path lies below: only what follows is looked at. */
int path_resolve(const char *path, const char *known, struct path_facts *out, abatis_error *err);
void path_facts_done(struct path_facts *facts);
#define OWN_PATH_FACTS __attribute__((cleanup(path_facts_done)))

#endif
