/* profile.h: the profiles that are part of the program. */
#ifndef POLICY_PROFILE_H
#define POLICY_PROFILE_H

#include <stddef.h>

/* Generated from profiles/ by script/embed.py; the last one has no name. */
struct shipped_profile {
        const char *name, *text;
        size_t length;
};
extern const struct shipped_profile shipped_profiles[];

#endif
