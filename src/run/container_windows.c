/* container_windows.c: makes and removes AppContainers, as far as this Windows has them.
 *
 * Its functions are looked for when they are needed: on a Windows without them, and under wine, this program still starts, and says so. */
#include "run/container_windows.h"

#include <bcrypt.h>
#include <objbase.h>
#include <sddl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

#define PREFIX "abatis."

enum { DIGEST_SIZE = 32, SID_NUMBERS = 8 };

int container_name_new(char out[CONTAINER_NAME_SIZE], abatis_error *err)
{
        unsigned char random[16];

        if (BCryptGenRandom(NULL, random, sizeof(random), BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
                return error_set(err, ABATIS_E_SYSTEM, "Windows has no random numbers");
        strcpy(out, PREFIX);
        for (size_t i = 0; i < sizeof(random); i++)
                snprintf(out + sizeof(PREFIX) - 1 + 2 * i, 3, "%02x", random[i]);
        return 0;
}

bool container_name_is_ours(const char *name)
{
        return strlen(name) == CONTAINER_NAME_SIZE - 1 && !strncmp(name, PREFIX, sizeof(PREFIX) - 1) &&
               strspn(name + sizeof(PREFIX) - 1, "0123456789abcdef") == 32;
}

static bool hash(const void *bytes, size_t length, unsigned char out[DIGEST_SIZE])
{
        BCRYPT_ALG_HANDLE algorithm = NULL;
        BCRYPT_HASH_HANDLE running = NULL;
        bool is_done = BCryptOpenAlgorithmProvider(&algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0) == 0 &&
                       BCryptCreateHash(algorithm, &running, NULL, 0, NULL, 0, 0) == 0 &&
                       BCryptHashData(running, (unsigned char *)bytes, (ULONG)length, 0) == 0 &&
                       BCryptFinishHash(running, out, DIGEST_SIZE, 0) == 0;

        if (running)
                BCryptDestroyHash(running);
        if (algorithm)
                BCryptCloseAlgorithmProvider(algorithm, 0);
        return is_done;
}

/* The first seven words of the SHA-256 of the name in small letters. */
int container_find_sid(const char *name, struct container_sid *out, abatis_error *err)
{
        static SID_IDENTIFIER_AUTHORITY packages = { { 0, 0, 0, 0, 0, 15 } };
        OWN_FREE wchar_t *wide = wide_from_utf8(name);
        DWORD words[DIGEST_SIZE / sizeof(DWORD)];

        if (!wide)
                return error_memory(err);
        for (wchar_t *at = wide; *at; at++)
                if (*at >= L'A' && *at <= L'Z')
                        *at = (wchar_t)(*at + (L'a' - L'A'));
        if (!hash(wide, wcslen(wide) * sizeof(*wide), (unsigned char *)words) ||
            !InitializeSid(&out->u.sid, &packages, SID_NUMBERS))
                return error_set(err, ABATIS_E_SYSTEM, "the SID of a container cannot be made");
        *GetSidSubAuthority(&out->u.sid, 0) = SECURITY_APP_PACKAGE_BASE_RID;
        for (DWORD i = 1; i < SID_NUMBERS; i++)
                *GetSidSubAuthority(&out->u.sid, i) = words[i - 1];
        return 0;
}

/* ---- Windows' own functions ----------------------------------------------------------------------------- */

struct functions {
        HRESULT(WINAPI *create)
        (PCWSTR, PCWSTR, PCWSTR, PSID_AND_ATTRIBUTES, DWORD, PSID *);
        HRESULT(WINAPI *remove)(PCWSTR);
        HRESULT(WINAPI *find_folder)(PCWSTR, PWSTR *);
        HRESULT(WINAPI *derive)(PCWSTR, PSID *);
};

/* From the system's directory, wherever the program lies. A function as data: C has no other way to get one by its name. */
static bool find(const char *name, void *out)
{
        HMODULE library = LoadLibraryExW(L"userenv.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
        FARPROC found = library ? GetProcAddress(library, name) : NULL;

        memcpy(out, &found, sizeof(found));
        return found;
}

static bool find_functions(struct functions *out)
{
        return find("CreateAppContainerProfile", &out->create) &&
               find("DeleteAppContainerProfile", &out->remove) &&
               find("GetAppContainerFolderPath", &out->find_folder) &&
               find("DeriveAppContainerSidFromAppContainerName", &out->derive);
}

const char *container_reason(void)
{
        struct functions functions;

        return find_functions(&functions) ? NULL
                                          : "this Windows has no AppContainer; fix: Windows 10 or newer";
}

static int refuse(abatis_error *err)
{
        return error_set(err, ABATIS_E_BACKEND, "the backend appcontainer is not available: %s",
                         container_reason());
}

/* Whether Windows has made the one whose entries we write, and would take away. */
static int compare(const struct functions *functions, const wchar_t *name, PSID made,
                   const struct container_sid *sid, abatis_error *err)
{
        PSID derived = NULL;
        bool is_same = functions->derive(name, &derived) == S_OK && EqualSid(derived, (PSID)&sid->u.sid) &&
                       EqualSid(made, (PSID)&sid->u.sid);

        if (derived)
                FreeSid(derived);
        return is_same ? 0
                       : error_set(err, ABATIS_E_BACKEND,
                                   "Windows gives a container another SID than is derived from its name");
}

/* The directory that Windows has made for it. It wants the SID as text. */
static int find_folder(const struct functions *functions, const struct container_sid *sid, wchar_t **out,
                       abatis_error *err)
{
        wchar_t *number = NULL, *found = NULL, *copied;
        HRESULT result = E_FAIL;

        if (ConvertSidToStringSidW((PSID)&sid->u.sid, &number))
                result = functions->find_folder(number, &found);
        LocalFree(number);
        if (FAILED(result))
                return error_windows(err, (DWORD)result, "find the container's directory");
        copied = _wcsdup(found);
        CoTaskMemFree(found);
        if (!copied)
                return error_memory(err);
        *out = copied;
        return 0;
}

int container_make(const char *name, const struct container_sid *sid, wchar_t **folder, abatis_error *err)
{
        OWN_FREE wchar_t *wide = wide_from_utf8(name);
        struct functions functions;
        PSID made = NULL;
        HRESULT result;
        int r;

        if (!wide)
                return error_memory(err);
        if (!find_functions(&functions))
                return refuse(err);
        result = functions.create(wide, wide, L"a command that abatis runs", NULL, 0, &made);
        if (FAILED(result))
                return error_windows(err, (DWORD)result, "make the container");
        r = compare(&functions, wide, made, sid, err);
        FreeSid(made);
        return r < 0 ? r : find_folder(&functions, sid, folder, err);
}

int container_remove(const char *name, abatis_error *err)
{
        OWN_FREE wchar_t *wide = wide_from_utf8(name);
        struct functions functions;
        HRESULT result;

        if (!wide)
                return error_memory(err);
        /* Without them there was none to be made. */
        if (!find_functions(&functions))
                return 0;
        result = functions.remove(wide);
        return SUCCEEDED(result) || result == HRESULT_FROM_WIN32(ERROR_NOT_FOUND)
                       ? 0
                       : error_windows(err, (DWORD)result, "remove the container");
}
