/* system_windows.c: see system.h. */
#include "base/system.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <bcrypt.h>
#include <errno.h>
#include <shlobj.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/own.h"
#include "base/wide_windows.h"

const int system_name_flags = O_RDONLY, system_unnoted_flags = 0;
/* Letters in both cases, and short names of long ones. */
const bool system_folds_names = true;

void system_read_path(char *path)
{
        wide_path_read(path);
}

/* Windows follows links, or opens the last name as what it is; those on the way it does not tell. */
int system_open_without_links(int directory, const char *path, unsigned flags)
{
        (void)directory;
        (void)path;
        (void)flags;
        errno = ENOSYS;
        return -1;
}

char *system_path_of(int fd)
{
        return posix_path_of((void *)_get_osfhandle(fd));
}

/* A search finds the long name, in the disk's own letters. The root of a drive has none. */
int system_find_spelling(const char *path, char **out)
{
        OWN_FREE wchar_t *wide = NULL;
        OWN_FREE char *found = NULL;
        WIN32_FIND_DATAW facts;
        HANDLE search;

        *out = NULL;
        if (!path[1] || !path[2])
                return 0;
        wide = wide_path(path);
        search = wide ? FindFirstFileW(wide, &facts) : INVALID_HANDLE_VALUE;
        if (search == INVALID_HANDLE_VALUE)
                return posix_fail(wide ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY);
        FindClose(search);
        found = utf8_from_wide(facts.cFileName);
        if (!found) {
                errno = EILSEQ;
                return -1;
        }
        if (strcmp(strrchr(path, '/') + 1, found) != 0)
                *out = take_pointer(found);
        return 0;
}

int system_examine(int at, const char *name, struct system_file *out)
{
        struct stat status;

        if (*name ? fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) < 0 : fstat(at, &status) < 0)
                return -1;
        *out = (struct system_file){ .mode = status.st_mode,
                                     .uid = status.st_uid,
                                     .links = status.st_nlink,
                                     .inode = status.st_ino,
                                     .size = (uint64_t)status.st_size,
                                     .device = status.st_dev };
        return 0;
}

/* A name that the listing has in other letters would be missed: each has to be asked for. */
bool system_list(int directory, void (*note)(void *user, const char *name, unsigned char type), void *user)
{
        (void)directory;
        (void)note;
        (void)user;
        return false;
}

int system_sync(int fd)
{
        return _commit(fd);
}

int system_pipe(int ends[2])
{
        return _pipe(ends, 64 * 1024, _O_BINARY | _O_NOINHERIT);
}

int system_random(void *out, size_t length)
{
        if (BCryptGenRandom(NULL, out, (ULONG)length, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0)
                return 0;
        errno = EIO;
        return -1;
}

struct system_times system_times_of(const struct stat *status)
{
        return (struct system_times){ status->written_ns, status->changed_ns };
}

int64_t system_now(void)
{
        FILETIME time;

        GetSystemTimePreciseAsFileTime(&time);
        /* In tenths of a microsecond, since 1601. */
        return ((int64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) / 10 - INT64_C(11644473600000000);
}

/* To Windows a name is the same in all letters; to a policy that denies it, it has to be. */
static void raise_name(char *variable)
{
        for (; *variable && *variable != '='; variable++)
                if (*variable >= 'a' && *variable <= 'z')
                        *variable = (char)(*variable - 'a' + 'A');
}

/* Made once, and kept. Values are as Windows has them: they are for commands. */
char **system_environment(void)
{
        static char **environment;
        wchar_t *block, *at;
        size_t count = 0;

        if (environment)
                return environment;
        block = GetEnvironmentStringsW();
        for (at = block; at && *at; at += wcslen(at) + 1)
                count++;
        environment = calloc(count + 1, sizeof(*environment));
        count = 0;
        /* Those that begin with "=" are cmd.exe's own notes. */
        for (at = block; at && *at && environment; at += wcslen(at) + 1)
                if (*at != L'=' && (environment[count] = utf8_from_wide(at)))
                        raise_name(environment[count++]);
        FreeEnvironmentStringsW(block);
        return environment;
}

int system_account_home(char **out)
{
        wchar_t *wide = NULL;

        *out = NULL;
        if (SHGetKnownFolderPath(&FOLDERID_Profile, 0, NULL, &wide) == S_OK)
                *out = wide_path_name(wide);
        CoTaskMemFree(wide);
        return 0;
}

int system_read_decimal(const char *digits, double *out)
{
        *out = strtod(digits, NULL); /* nobody sets a locale in a program of ours */
        return 0;
}

#if defined(__aarch64__)
bool system_has_sha256(void)
{
        return IsProcessorFeaturePresent(PF_ARM_V8_CRYPTO_INSTRUCTIONS_AVAILABLE);
}
#elif defined(__x86_64__)
bool system_has_sha256(void)
{
        unsigned a, b, c, d;

        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}
#endif
