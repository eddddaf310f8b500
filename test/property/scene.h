/* scene.h: what one round is about: a random tree of files and random policies that speak of it. */
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entry_kind { ENTRY_DIRECTORY, ENTRY_FILE, ENTRY_PROGRAM, ENTRY_SCRIPT, ENTRY_LINK, ENTRY_PIPE };

struct entry {
        enum entry_kind kind;
        char *path; /* owned */
};

enum { SCENE_MAX = 64 };

struct scene {
        uint64_t random;
        const char *tools; /* borrowed: where the probe and the program are; in view under every policy */
        char *tree, *workspace, *home;    /* owned: the last two are directories in the tree */
        char *workspace_name, *home_name; /* owned: what they are called by: that, or a link to it */
        char *data, *program;             /* owned, or NULL: what else the policy is told of */
        struct entry entries[SCENE_MAX];
        size_t count;
};

/* A number below `limit`, the next in the row that the seed began. */
unsigned scene_random(struct scene *scene, unsigned limit);
bool scene_chance(struct scene *scene, unsigned percent);

/* Makes the tree at `tree`, which does not exist. */
void scene_make(struct scene *scene, uint64_t seed, const char *tree, const char *tools);
/* Removes the tree too. */
void scene_done(struct scene *scene);
/* The text of a policy file, owned by the caller. */
char *scene_policy(struct scene *scene);

bool is_below(const char *path, const char *directory);
char *join(const char *directory, const char *name); /* owned by the caller */
_Noreturn void die(const char *what, const char *which);

#endif
