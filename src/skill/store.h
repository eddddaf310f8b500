/* store.h: a private place for what engines read: modules that were checked, and what was compiled of them. It is a cache: what is
 * missing in it is made again. */
#ifndef SKILL_STORE_H
#define SKILL_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"
#include "base/sha256.h"

/* Its directory, made if need be; owned by the caller. Nobody but the user can change anything in it, or it is an error. */
int store_open(char **out, abatis_error *err);

/* Puts a module there, unless it is. *directory, owned by the caller, has that one file and is called by `hash`, which is the bytes'; *file,
 * owned too, is the module in it, called NAME as far as that is a simple name. */
int store_put(const char *name, const void *bytes, size_t length, const char *hash, char **directory,
              char **file, abatis_error *err);

/* A hash of the program's bytes, which is remembered for as long as the file is the same. */
int store_hash_program(const char *program, char out[SHA256_TEXT_SIZE], abatis_error *err);

/* Where what this program compiles of this module is kept; owned by the caller. *is_there says whether it is. */
int store_find_compiled(const char *program_hash, const char *module_hash, char **out, bool *is_there,
                        abatis_error *err);
/* An empty directory, owned by the caller, to compile into: beside the store, which no command may write; */
int store_stage(char **out, abatis_error *err);
/* which becomes that place, read-only, at once; if another was faster, what it has made stays. */
int store_keep(const char *stage, const char *place, abatis_error *err);
/* Removes such a directory with all that is in it. */
void store_drop(const char *stage);

#endif
