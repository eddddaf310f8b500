/* turn_windows.c: of several abatis of one user, in whatever sessions, one at a time changes access lists. */
#include "run/turn_windows.h"

#include <sddl.h>
#include <stdio.h>

#include "base/error.h"
#include "base/own.h"
#include "run/token_windows.h"

enum { PATIENCE_MS = 5 * 60 * 1000 };

/* With the user in it. Containers have names of their own, and do not meet this one. */
static int make_name(wchar_t out[128], abatis_error *err)
{
        OWN_HANDLE HANDLE token = NULL;
        OWN_FREE TOKEN_USER *user = NULL;
        wchar_t *number = NULL;

        if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
                user = token_query(token, TokenUser);
        if (!user || !ConvertSidToStringSidW(user->User.Sid, &number))
                return error_windows(err, GetLastError(), "find out who the user is");
        _snwprintf(out, 127, L"Global\\abatis-access-lists-%ls", number);
        LocalFree(number);
        return 0;
}

/* Somebody else may have taken the name: whoever waits for him in vain, or may not open it, goes no further. */
int turn_take(HANDLE *out, abatis_error *err)
{
        wchar_t name[128] = L"";
        OWN_HANDLE HANDLE turn = NULL;
        DWORD waited;
        int r = make_name(name, err);

        if (r < 0)
                return r;
        turn = CreateMutexW(NULL, FALSE, name);
        waited = turn ? WaitForSingleObject(turn, PATIENCE_MS) : WAIT_FAILED;
        if (waited == WAIT_TIMEOUT)
                return error_set(err, ABATIS_E_SYSTEM, "another abatis changes access lists for minutes");
        if (waited != WAIT_OBJECT_0 && waited != WAIT_ABANDONED)
                return error_windows(err, GetLastError(), "wait for another abatis");
        *out = take_handle(&turn);
        return 0;
}

void turn_end(HANDLE *turn)
{
        if (is_handle(*turn))
                ReleaseMutex(*turn);
        own_handle_close(turn);
}
