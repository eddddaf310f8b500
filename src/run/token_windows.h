/* token_windows.h: what a process may do by what it is: its container and its privileges. */
#ifndef RUN_TOKEN_WINDOWS_H
#define RUN_TOKEN_WINDOWS_H

#include "run/system_windows.h"

/* What Windows says of a token; owned by the caller, or NULL. */
void *token_query(HANDLE token, TOKEN_INFORMATION_CLASS what);
/* ABATIS_E_BACKEND unless the token is this container's: some systems take the wish for one and start the process without. */
int token_check_container(HANDLE token, PSID container, abatis_error *err);
/* Likewise if it has a capability that is none of these: by them it reaches networks. */
int token_check_capabilities(HANDLE token, const SID_AND_ATTRIBUTES *given, DWORD count, abatis_error *err);
/* Takes every privilege away for good but the one to pass through directories, without which no path is reached; and looks whether
 * it did. */
int token_strip(HANDLE token, abatis_error *err);

#endif
