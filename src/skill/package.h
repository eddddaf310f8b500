/* package.h: a skill package in memory: the bytes of its manifest and its module, as they were read once. */
#ifndef SKILL_PACKAGE_H
#define SKILL_PACKAGE_H

#include <stddef.h>

#include "abatis.h"
#include "base/sha256.h"
#include "skill/manifest.h"
#include "skill/module.h"

#define PACKAGE_MANIFEST "skill.yaml"
#define PACKAGE_SIGNATURE "skill.yaml.sig"

struct package {
        struct manifest *manifest; /* owned, as all here */
        char *text;                /* of skill.yaml */
        size_t text_length;
        char *module; /* its bytes */
        size_t module_length;
        char *signature; /* the file's bytes, or NULL: there is none */
        size_t signature_length;
        char text_sha256[SHA256_TEXT_SIZE], module_sha256[SHA256_TEXT_SIZE];
        const abatis_tier *tier; /* static: what it gets, whatever it asks for */
        char *signer;            /* whose key has signed it, or NULL */
        char *installed_at;      /* or NULL: it is not */
};

/* Reads the directory; no link in it is followed. It gets the tier untrusted, whatever it says. */
int package_read(const char *directory, struct package **out, abatis_error *err);
/* That the module is the one of the manifest's hash, and a program that imports nothing else than it may. With `read` it is handed out, too: it
 * borrows the package's bytes. */
int package_check(const struct package *package, struct module **read, abatis_error *err);
/* From bytes, which it takes over in any case. */
int package_make(char *text, size_t text_length, char *module, size_t module_length, const char *shown,
                 struct package **out, abatis_error *err);
void package_free(struct package *package);
static inline void own_package_free(struct package **package)
{
        package_free(*package);
}
#define OWN_PACKAGE __attribute__((cleanup(own_package_free)))

#endif
