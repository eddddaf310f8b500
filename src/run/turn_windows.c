/* turn_windows.c: of several abatis of one user, in whatever sessions, one at a time changes access lists. */
#include "run/turn_windows.h"

#include <sddl.h>
#include <stdio.h>

#include "base/error.h"
#include "base/own.h"
#include "run/token_windows.h"

/* With the user in it: what another one has made cannot be opened. Containers have names of their own, and do not meet this one. */
static int make_names(wchar_t global[128], wchar_t local[128], abatis_error *err)
{
        OWN_HANDLE HANDLE token = NULL;
        OWN_FREE TOKEN_USER *user = NULL;
        wchar_t *number = NULL;

        if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
                user = token_query(token, TokenUser);
        if (!user || !ConvertSidToStringSidW(user->User.Sid, &number))
                return error_windows(err, GetLastError(), "find out who the user is");
        _snwprintf(global, 127, L"Global\\abatis-access-lists-%ls", number);
        _snwprintf(local, 127, L"Local\\abatis-access-lists-%ls", number);
        LocalFree(number);
        return 0;
}

/* Where the global one is not to be had, because somebody has taken its name, those of one session still take turns. */
int turn_take(HANDLE *out, abatis_error *err)
{
        wchar_t global[128] = L"", local[128] = L"";
        OWN_HANDLE HANDLE turn = NULL;
        DWORD waited;
        int r = make_names(global, local, err);

        if (r < 0)
                return r;
        turn = CreateMutexW(NULL, FALSE, global);
        if (!turn)
                turn = CreateMutexW(NULL, FALSE, local);
        waited = turn ? WaitForSingleObject(turn, INFINITE) : WAIT_FAILED;
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
