/* beneath.h: where a path leads that starts at a directory and must not leave what is beneath it. */
#ifndef SKILL_NATIVE_BENEATH_H
#define SKILL_NATIVE_BENEATH_H

#include <stdbool.h>

enum { BENEATH_PATH_MAX = 4096, BENEATH_NAME_MAX = 256 };
/* Instead of an errno: the path is absolute, or climbs out, or a symlink on the way does. */
enum { BENEATH_ESCAPE = -1 };

enum {
        BENEATH_FOLLOWS = 1 << 0, /* if the path ends at a symlink, where that leads counts */
        BENEATH_CREATES = 1 << 1, /* slashes behind the last name do not mean that it is there already */
};

/* A directory, and a name in it that no further walk follows: neither "..", nor with a slash, nor (with FOLLOWS, unless somebody is
 * quick, so use O_NOFOLLOW) a symlink. "." stands for the directory itself. */
struct beneath {
        int parent;
        bool is_owned; /* or it is the directory that the path starts at, which the caller has */
        char name[BENEATH_NAME_MAX];
};

/* Returns 0, an errno, or BENEATH_ESCAPE. */
int beneath_find(int root, const char *path, unsigned how, struct beneath *out);
void beneath_done(struct beneath *found);

#endif
