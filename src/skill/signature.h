/* signature.h: whose key has signed a manifest; the arithmetic is done by a program of its own, abatis-verify. */
#ifndef SKILL_SIGNATURE_H
#define SKILL_SIGNATURE_H

#include "skill/package.h"

/* *signer, owned by the caller, is the name of the key's file without ".pem". `program` is the caller's own executable, beside which
 * abatis-verify may lie, or NULL: then it is looked for where it was installed. */
int signature_check(const struct package *package, const char *program, char **signer, abatis_error *err);

/* verifier.c, which the build makes: where it was installed. */
extern const char signature_verifier[] __attribute__((visibility("hidden")));

#endif
