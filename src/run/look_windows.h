/* look_windows.h: whether what a plan keeps closed is closed to containers before anything is given. */
#ifndef RUN_LOOK_WINDOWS_H
#define RUN_LOOK_WINDOWS_H

#include "run/places_windows.h"

/* Looks at every place that a plan closes or keeps from being written, and at all that lies below it. What a container could get at all the
 * same is refused by its name. */
int look_at_places(const struct places *places, PSID sid, abatis_error *err);

#endif
