/* manifest.h: what a skill's skill.yaml says: its name, its module, what it asks for. */
#ifndef SKILL_MANIFEST_H
#define SKILL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"
#include "base/sha256.h"

enum {
        MANIFEST_NAME_MAX = 64,
        MANIFEST_DESCRIPTION_MAX = 1024,
        MANIFEST_MODULE_MAX = 255,
        MANIFEST_IMPORTS_MAX = 256,
        MANIFEST_SCHEMA_MAX = 64 * 1024, /* as JSON */
        MANIFEST_SCHEMA_DEPTH = 32
};

struct manifest {
        char *name, *version, *description; /* owned, as all here */
        char *module;                       /* a path in the package: relative, and it does not climb */
        char sha256[SHA256_TEXT_SIZE];      /* of the module, or "" */
        const abatis_tier *tier;            /* static: the one it asks for; nobody has granted it */
        char *engine;                       /* or NULL */
        char **imports; /* never NULL, ended by NULL: what it wants besides WASI; see struct module_options */
        char *policy_json; /* a policy file's keys, checked by themselves: no path of it was looked up; or NULL */
        char *input_json, *output_json; /* JSON Schemas, or NULL */
};

/* Nothing but the text is looked at. `file` is how errors call it. What is unknown, twice or of the wrong kind is ABATIS_E_INVALID, with its
 * place. */
int manifest_read(const char *file, const char *text, size_t length, struct manifest **out,
                  abatis_error *err);
void manifest_free(struct manifest *manifest);
static inline void own_manifest_free(struct manifest **manifest)
{
        manifest_free(*manifest);
}
#define OWN_MANIFEST __attribute__((cleanup(own_manifest_free)))

/* "FILE.wasm" */
bool manifest_is_of_file(const char *word);
/* [a-z0-9][a-z0-9._-]{0,63} and not of a file: no path, no flag, no hidden file. */
bool manifest_is_name(const char *word);

#endif
