/* turn_windows.h: of several abatis of one user, in whatever sessions, one at a time changes access lists. */
#ifndef RUN_TURN_WINDOWS_H
#define RUN_TURN_WINDOWS_H

#include "run/system_windows.h"

/* Waits for it. */
int turn_take(HANDLE *out, abatis_error *err);
void turn_end(HANDLE *turn);

#define OWN_TURN __attribute__((cleanup(turn_end)))

#endif
