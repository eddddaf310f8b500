/* places.h: the directories that a policy gives to a module. */
#ifndef SKILL_PLACES_H
#define SKILL_PLACES_H

#include "policy/policy.h"
#include "skill/engine.h"

struct places {
        struct engine_place *items; /* owned */
        size_t count;
};

/* What the policy lets be read and written, by the same names as outside, and the workspace, where it lies in one of them, as "." too:
 * relative paths are of that. To be asked before the engine's own files are added to the policy. */
int places_find(const abatis_policy *policy, struct places *out, abatis_error *err);
void places_done(struct places *places);
#define OWN_PLACES __attribute__((cleanup(places_done)))

#endif
