/* token_windows.c: looks whether a process is in its container, and takes its privileges away. */
#include "run/token_windows.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/own.h"

void *token_query(HANDLE token, TOKEN_INFORMATION_CLASS what)
{
        DWORD size = 0;
        void *found;

        GetTokenInformation(token, what, NULL, 0, &size);
        found = calloc(1, size ? size : 1);
        if (found && (!size || !GetTokenInformation(token, what, found, size, &size))) {
                free(found);
                return NULL;
        }
        return found;
}

int token_check_container(HANDLE token, PSID container, abatis_error *err)
{
        OWN_FREE TOKEN_APPCONTAINER_INFORMATION *found = NULL;
        DWORD is_contained = 0, size;

        if (!GetTokenInformation(token, TokenIsAppContainer, &is_contained, sizeof(is_contained), &size))
                return error_set(err, ABATIS_E_BACKEND,
                                 "Windows does not say whether the command is contained");
        if (!is_contained)
                return error_set(err, ABATIS_E_BACKEND,
                                 "Windows has started the command outside its container; it was ended");
        found = token_query(token, TokenAppContainerSid);
        if (!found || !found->TokenAppContainer || !EqualSid(found->TokenAppContainer, container))
                return error_set(err, ABATIS_E_BACKEND,
                                 "Windows has started the command in another container; it was ended");
        return 0;
}

static bool is_among(PSID sid, const SID_AND_ATTRIBUTES *given, DWORD count)
{
        for (DWORD i = 0; i < count; i++)
                if (EqualSid(sid, given[i].Sid))
                        return true;
        return false;
}

int token_check_capabilities(HANDLE token, const SID_AND_ATTRIBUTES *given, DWORD count, abatis_error *err)
{
        OWN_FREE TOKEN_GROUPS *found = token_query(token, TokenCapabilities);

        if (!found)
                return error_set(err, ABATIS_E_BACKEND,
                                 "Windows does not say which capabilities the command has");
        for (DWORD i = 0; i < found->GroupCount; i++)
                if (!is_among(found->Groups[i].Sid, given, count))
                        return error_set(
                                err, ABATIS_E_BACKEND,
                                "Windows has given the command a capability that it was not to have; it was ended");
        return 0;
}

int token_strip(HANDLE token, abatis_error *err)
{
        OWN_FREE TOKEN_PRIVILEGES *privileges = token_query(token, TokenPrivileges), *left = NULL;
        LUID passing;

        if (!privileges || !LookupPrivilegeValueW(NULL, L"SeChangeNotifyPrivilege", &passing))
                return error_windows(err, GetLastError(), "read the privileges of the command");
        for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
                LUID_AND_ATTRIBUTES *privilege = &privileges->Privileges[i];

                if (privilege->Luid.LowPart != passing.LowPart ||
                    privilege->Luid.HighPart != passing.HighPart)
                        privilege->Attributes = SE_PRIVILEGE_REMOVED;
        }
        if (!AdjustTokenPrivileges(token, FALSE, privileges, 0, NULL, NULL))
                return error_windows(err, GetLastError(), "take the privileges of the command away");
        left = token_query(token, TokenPrivileges);
        if (!left || left->PrivilegeCount > 1 ||
            (left->PrivilegeCount && (left->Privileges[0].Luid.LowPart != passing.LowPart ||
                                      left->Privileges[0].Luid.HighPart != passing.HighPart)))
                return error_set(err, ABATIS_E_SYSTEM, "the command would keep a privilege");
        return 0;
}
