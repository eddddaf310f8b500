/* world.h: what the profiles are made of and asked about: a tree of files with hostile names, random policies and paths. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* Where a job's own directory lies: here, and as a Mac has it. */
#define OWN_TMP_HERE "/tmp/abatis-7"
#define OWN_TMP "/private/tmp/abatis-7"

/* The next number of the row that the seed began, below `limit`. */
void world_seed(uint64_t seed);
unsigned world_random(unsigned limit);
bool world_chance(unsigned percent);

/* Makes the tree in an empty directory; its path must have no capital letter in it. */
void world_make(const char *root);
/* Not what is on the disk. */
void world_forget(void);
const char *world_root(void);

/* A policy that needs nothing more; owned by the caller. */
abatis_policy *world_policy(void);
/* An absolute, resolved path, mostly of the tree; owned by the caller. */
char *world_path(void);
/* The same, of a directory that exists in the tree. */
const char *world_directory(void);
/* A path of random bytes; owned by the caller. */
char *world_hostile_path(void);

/* The same path as macOS has it; owned by the caller. */
char *world_on_mac(const char *real);
/* True when lower-case letters, digits and the like are all there is in it. */
bool world_is_plain(const char *text);
char *world_join(const char *directory, const char *name);

#endif
