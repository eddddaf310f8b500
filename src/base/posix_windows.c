/* posix_windows.c: what the common files use of POSIX, on Windows: files. */
#include "base/posix_windows.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <aclapi.h>
#include <errno.h>
#include <stdarg.h>
#include <winioctl.h>

#include "base/own.h"
#include "base/text.h"
#include "base/wide_windows.h"

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

int posix_fail(unsigned long code)
{
        static const struct {
                unsigned long code;
                int error;
        } errors[] = { { ERROR_FILE_NOT_FOUND, ENOENT },
                       { ERROR_PATH_NOT_FOUND, ENOENT },
                       { ERROR_INVALID_NAME, ENOENT },
                       { ERROR_BAD_PATHNAME, ENOENT },
                       { ERROR_INVALID_DRIVE, ENOENT },
                       { ERROR_BAD_NETPATH, ENOENT },
                       { ERROR_NOT_READY, ENOENT },
                       { ERROR_ACCESS_DENIED, EACCES },
                       { ERROR_SHARING_VIOLATION, EACCES },
                       { ERROR_FILE_EXISTS, EEXIST },
                       { ERROR_ALREADY_EXISTS, EEXIST },
                       { ERROR_DIRECTORY, ENOTDIR },
                       { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
                       { ERROR_NOT_A_REPARSE_POINT, EINVAL },
                       { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG } };

        errno = EIO;
        for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
                if (errors[i].code == code)
                        errno = errors[i].error;
        return -1;
}

/* ---- from paths to handles ------------------------------------------------------------------------------ */

static char *directory_of(int fd)
{
        if (fd == AT_FDCWD)
                return posix_getcwd(NULL, 0);
        return posix_path_of((void *)_get_osfhandle(fd));
}

/* As Windows takes it; owned by the caller, or NULL with errno. */
static wchar_t *translate(int directory, const char *path)
{
        OWN_FREE char *above = NULL, *joined = NULL;
        const char *whole = path;
        wchar_t *wide;

        if (!strcmp(path, "/dev/null"))
                return _wcsdup(L"NUL");
        if (*path != '/') {
                above = directory_of(directory);
                joined = above ? text_join(above, !*path || !strcmp(path, ".") ? "" : "/",
                                           !strcmp(path, ".") ? "" : path)
                               : NULL;
                if (!joined) {
                        errno = ENOMEM;
                        return NULL;
                }
                whole = joined;
        }
        /* No file has such a name. */
        if (wide_path_fault(whole)) {
                errno = ENOENT;
                return NULL;
        }
        wide = wide_path(whole);
        if (!wide)
                errno = EILSEQ;
        return wide;
}

static HANDLE open_handle(int directory, const char *path, DWORD access_wanted, bool follows)
{
        OWN_FREE wchar_t *wide = translate(directory, path);
        HANDLE handle =
                wide ? CreateFileW(wide, access_wanted, SHARED, NULL, OPEN_EXISTING,
                                   FILE_FLAG_BACKUP_SEMANTICS | (follows ? 0 : FILE_FLAG_OPEN_REPARSE_POINT),
                                   NULL)
                     : INVALID_HANDLE_VALUE;

        if (wide && handle == INVALID_HANDLE_VALUE)
                posix_fail(GetLastError());
        return handle;
}

static bool is_directory(HANDLE handle)
{
        BY_HANDLE_FILE_INFORMATION facts;

        return GetFileInformationByHandle(handle, &facts) &&
               facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
}

static int open_file(int directory, const char *path, int flags)
{
        static const DWORD rights[] = {
                [O_RDONLY] = GENERIC_READ, [O_WRONLY] = GENERIC_WRITE, [O_RDWR] = GENERIC_READ | GENERIC_WRITE
        };
        OWN_FREE wchar_t *wide = translate(directory, path);
        DWORD how = flags & O_CREAT ? (flags & O_EXCL ? CREATE_NEW : OPEN_ALWAYS) : OPEN_EXISTING;
        HANDLE handle;
        int fd;

        if (!wide)
                return -1;
        handle = CreateFileW(wide, rights[flags & 3], SHARED, NULL, how,
                             FILE_FLAG_BACKUP_SEMANTICS |
                                     (flags & O_NOFOLLOW ? FILE_FLAG_OPEN_REPARSE_POINT : 0),
                             NULL);
        if (handle == INVALID_HANDLE_VALUE)
                return posix_fail(GetLastError());
        if (flags & O_DIRECTORY && !is_directory(handle)) {
                CloseHandle(handle);
                errno = ENOTDIR;
                return -1;
        }
        if (flags & O_TRUNC)
                SetEndOfFile(handle);
        fd = _open_osfhandle((intptr_t)handle, (flags & O_APPEND ? _O_APPEND : 0) | _O_NOINHERIT);
        if (fd < 0)
                CloseHandle(handle);
        return fd;
}

int posix_open(const char *path, int flags, ...)
{
        return open_file(AT_FDCWD, path, flags);
}

int posix_openat(int directory, const char *path, int flags, ...)
{
        return open_file(directory, path, flags);
}

/* ---- what a file is ------------------------------------------------------------------------------------- */

static bool is_well_known(PSID sid, const WELL_KNOWN_SID_TYPE *kinds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (IsWellKnownSid(sid, kinds[i]))
                        return true;
        return false;
}

/* Entries with conditions, or for parts of an object, count as if they were for everybody. */
static bool lets_everybody(ACE_HEADER *entry, DWORD rights)
{
        static const WELL_KNOWN_SID_TYPE everybody[] = { WinWorldSid, WinAuthenticatedUserSid,
                                                         WinBuiltinUsersSid, WinInteractiveSid };
        ACCESS_ALLOWED_ACE *allowed = (void *)entry;

        if (entry->AceFlags & INHERIT_ONLY_ACE || !(allowed->Mask & rights))
                return false;
        switch (entry->AceType) {
        case ACCESS_ALLOWED_ACE_TYPE:
                return is_well_known(&allowed->SidStart, everybody, 4);
        case ACCESS_ALLOWED_CALLBACK_ACE_TYPE:
        case ACCESS_ALLOWED_OBJECT_ACE_TYPE:
        case ACCESS_ALLOWED_CALLBACK_OBJECT_ACE_TYPE:
        case ACCESS_ALLOWED_COMPOUND_ACE_TYPE:
                return true;
        default:
                return false;
        }
}

/* Who owns it and whether everybody may write it. Who cannot be asked is a stranger, whom everybody helps. Whoever may make directories
 * in one changes nothing that is there: to files that right is the one to add to them. */
static void find_owner(HANDLE handle, struct posix_stat *out)
{
        const DWORD rights = FILE_WRITE_DATA | WRITE_DAC | WRITE_OWNER | DELETE | GENERIC_WRITE |
                             GENERIC_ALL |
                             ((out->st_mode & S_IFMT) == S_IFDIR ? FILE_DELETE_CHILD : FILE_APPEND_DATA);
        static const WELL_KNOWN_SID_TYPE systems[] = { WinLocalSystemSid, WinBuiltinAdministratorsSid };
        PSECURITY_DESCRIPTOR descriptor = NULL;
        PSID owner = NULL;
        ACL *list = NULL;

        out->st_uid = 1001;
        out->st_mode |= S_IWOTH;
        if (GetSecurityInfo(handle, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                            &owner, NULL, &list, NULL, &descriptor) != ERROR_SUCCESS)
                return;
        if (owner && is_well_known(owner, systems, 2))
                out->st_uid = 0;
        else if (owner && posix_is_user(owner))
                out->st_uid = 1000;
        if (list)
                out->st_mode &= ~(unsigned)S_IWOTH;
        for (DWORD i = 0; list && i < list->AceCount; i++) {
                ACE_HEADER *entry;

                if (!GetAce(list, i, (void **)&entry) || lets_everybody(entry, rights))
                        out->st_mode |= S_IWOTH;
        }
        LocalFree(descriptor);
}

/* Links and junctions are links; what else has a mark of its own (files that a cloud keeps) is a file. */
static bool is_link(HANDLE handle)
{
        FILE_ATTRIBUTE_TAG_INFO tag;

        return GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)) &&
               tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT && IsReparseTagNameSurrogate(tag.ReparseTag);
}

/* From tenths of a microsecond since 1601. */
static int64_t read_time(LARGE_INTEGER time)
{
        return (time.QuadPart - INT64_C(116444736000000000)) * 100;
}

static int examine(HANDLE handle, struct posix_stat *out)
{
        BY_HANDLE_FILE_INFORMATION facts;
        FILE_BASIC_INFO times;

        *out = (struct posix_stat){ 0 };
        if (GetFileType(handle) != FILE_TYPE_DISK) {
                out->st_mode = S_IFCHR | 0600;
                return 0;
        }
        if (!GetFileInformationByHandle(handle, &facts) ||
            !GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof(times)))
                return posix_fail(GetLastError());
        out->st_mode = is_link(handle)                                     ? S_IFLNK | 0777
                       : facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR | 0700
                                                                           : S_IFREG | 0700;
        out->st_dev = facts.dwVolumeSerialNumber;
        out->st_ino = (uint64_t)facts.nFileIndexHigh << 32 | facts.nFileIndexLow;
        out->st_nlink = facts.nNumberOfLinks;
        out->st_size = (long long)((uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow);
        out->written_ns = read_time(times.LastWriteTime);
        out->changed_ns = read_time(times.ChangeTime);
        find_owner(handle, out);
        return 0;
}

int posix_fstat(int fd, struct posix_stat *out)
{
        return examine((HANDLE)_get_osfhandle(fd), out);
}

int posix_fstatat(int directory, const char *path, struct posix_stat *out, int flags)
{
        HANDLE handle;
        int r;

        /* The root has the drives in it, and is on none of them. */
        if (!strcmp(path, "/")) {
                *out = (struct posix_stat){ .st_mode = S_IFDIR | 0555, .st_nlink = 1, .st_ino = 1 };
                return 0;
        }
        handle = open_handle(directory, path, FILE_READ_ATTRIBUTES | READ_CONTROL,
                             !(flags & AT_SYMLINK_NOFOLLOW));
        if (handle == INVALID_HANDLE_VALUE && errno == EACCES)
                handle = open_handle(directory, path, FILE_READ_ATTRIBUTES, !(flags & AT_SYMLINK_NOFOLLOW));
        if (handle == INVALID_HANDLE_VALUE)
                return -1;
        r = examine(handle, out);
        CloseHandle(handle);
        return r;
}

int posix_stat(const char *path, struct posix_stat *out)
{
        return posix_fstatat(AT_FDCWD, path, out, 0);
}

int posix_lstat(const char *path, struct posix_stat *out)
{
        return posix_fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

/* What is there is opened for it: nothing else knows all of an access list. */
int posix_faccessat(int directory, const char *path, int mode, int flags)
{
        DWORD wanted = FILE_READ_ATTRIBUTES | (mode & R_OK ? FILE_READ_DATA : 0) |
                       (mode & W_OK ? FILE_WRITE_DATA : 0) | (mode & X_OK ? FILE_EXECUTE : 0);
        HANDLE handle;

        (void)flags;
        if (!strcmp(path, "/")) {
                errno = EACCES;
                return mode & W_OK ? -1 : 0;
        }
        handle = open_handle(directory, path, wanted, true);
        if (handle == INVALID_HANDLE_VALUE)
                return -1;
        CloseHandle(handle);
        return 0;
}

int posix_access(const char *path, int mode)
{
        return posix_faccessat(AT_FDCWD, path, mode, 0);
}

/* ---- links ---------------------------------------------------------------------------------------------- */

/* As FSCTL_GET_REPARSE_POINT has it, for both kinds. */
struct link {
        ULONG tag;
        USHORT length, reserved;
        USHORT target_offset, target_length, shown_offset, shown_length;
        wchar_t text[8 * 1024];
};

static char *read_target(struct link *link)
{
        bool is_symbolic = link->tag == IO_REPARSE_TAG_SYMLINK;
        /* A symbolic one has flags before its text. */
        const wchar_t *text = link->text + (is_symbolic ? 2 : 0) + link->target_offset / sizeof(wchar_t);
        OWN_FREE wchar_t *target = calloc(link->target_length / sizeof(wchar_t) + 1, sizeof(wchar_t));
        char *relative;

        if (!target || (!is_symbolic && link->tag != IO_REPARSE_TAG_MOUNT_POINT))
                return NULL;
        memcpy(target, text, link->target_length);
        if (is_symbolic && link->text[0] & 1) {
                relative = utf8_from_wide(target);
                for (char *at = relative; at && *at; at++)
                        if (*at == '\\')
                                *at = '/';
                return relative;
        }
        return wide_path_name(target);
}

long posix_readlinkat(int directory, const char *path, char *out, size_t size)
{
        OWN_FREE struct link *link = calloc(1, sizeof(*link));
        OWN_FREE char *target = NULL;
        HANDLE handle = open_handle(directory, path, FILE_READ_ATTRIBUTES, false);
        DWORD got = 0;
        BOOL is_read;

        if (handle == INVALID_HANDLE_VALUE)
                return -1;
        is_read = link &&
                  DeviceIoControl(handle, FSCTL_GET_REPARSE_POINT, NULL, 0, link, sizeof(*link), &got, NULL);
        CloseHandle(handle);
        target = is_read ? read_target(link) : NULL;
        if (!target || strlen(target) >= size) {
                errno = EINVAL;
                return -1;
        }
        memcpy(out, target, strlen(target));
        return (long)strlen(target);
}

/* ---- changes -------------------------------------------------------------------------------------------- */

/* Who may get at it is said by what it is made in. */
int posix_mkdirat(int directory, const char *path, unsigned mode)
{
        OWN_FREE wchar_t *wide = translate(directory, path);

        (void)mode;
        return !wide ? -1 : CreateDirectoryW(wide, NULL) ? 0 : posix_fail(GetLastError());
}

int posix_unlink(const char *path)
{
        OWN_FREE wchar_t *wide = translate(AT_FDCWD, path);

        return !wide ? -1 : DeleteFileW(wide) ? 0 : posix_fail(GetLastError());
}

int posix_rename(const char *from, const char *to)
{
        OWN_FREE wchar_t *wide_from = translate(AT_FDCWD, from), *wide_to = translate(AT_FDCWD, to);

        if (!wide_from || !wide_to)
                return -1;
        return MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) ? 0 : posix_fail(GetLastError());
}

/* ---- directories ---------------------------------------------------------------------------------------- */

struct posix_directory {
        HANDLE search; /* owned; NULL: the drives are listed */
        bool has_next;
        DWORD drives;
        WIN32_FIND_DATAW found;
        struct dirent entry;
};

static DIR *list(int at, const char *path)
{
        OWN_FREE wchar_t *wide = NULL, *pattern = NULL;
        DIR *directory = calloc(1, sizeof(*directory));

        if (!directory)
                return NULL;
        if (!strcmp(path, "/")) {
                directory->drives = GetLogicalDrives();
                return directory;
        }
        wide = translate(at, path);
        pattern = wide ? malloc((wcslen(wide) + 3) * sizeof(*pattern)) : NULL;
        if (pattern) {
                wcscpy(pattern, wide);
                wcscat(pattern, pattern[wcslen(pattern) - 1] == L'\\' ? L"*" : L"\\*");
                directory->search = FindFirstFileW(pattern, &directory->found);
                directory->has_next = true;
        }
        if (!pattern || directory->search == INVALID_HANDLE_VALUE) {
                if (pattern)
                        posix_fail(GetLastError());
                free(directory);
                return NULL;
        }
        return directory;
}

DIR *posix_opendir(const char *path)
{
        return list(AT_FDCWD, path);
}

DIR *posix_fdopendir(int fd)
{
        DIR *directory = list(fd, "");

        if (directory)
                close(fd);
        return directory;
}

static struct dirent *next_drive(DIR *directory)
{
        for (int i = 0; i < 26; i++)
                if (directory->drives & 1u << i) {
                        directory->drives &= ~(1u << i);
                        directory->entry.d_type = DT_DIR;
                        directory->entry.d_name[0] = (char)('a' + i);
                        directory->entry.d_name[1] = '\0';
                        return &directory->entry;
                }
        return NULL;
}

struct dirent *posix_readdir(DIR *directory)
{
        DWORD attributes = directory->found.dwFileAttributes;
        OWN_FREE char *name = NULL;

        if (!directory->search)
                return next_drive(directory);
        if (!directory->has_next)
                return NULL;
        name = utf8_from_wide(directory->found.cFileName);
        snprintf(directory->entry.d_name, sizeof(directory->entry.d_name), "%s", name ? name : "?");
        directory->entry.d_type = attributes & FILE_ATTRIBUTE_REPARSE_POINT ? DT_UNKNOWN
                                  : attributes & FILE_ATTRIBUTE_DIRECTORY   ? DT_DIR
                                                                            : DT_REG;
        directory->has_next = FindNextFileW(directory->search, &directory->found);
        return &directory->entry;
}

int posix_closedir(DIR *directory)
{
        if (directory->search)
                FindClose(directory->search);
        free(directory);
        return 0;
}

int posix_alphasort(const struct dirent **left, const struct dirent **right)
{
        return strcmp((*left)->d_name, (*right)->d_name);
}

int posix_scandir(const char *path, struct dirent ***out, int (*filter)(const struct dirent *),
                  int (*compare)(const struct dirent **, const struct dirent **))
{
        DIR *directory = posix_opendir(path);
        struct dirent **entries = NULL, *entry;
        int count = 0;

        while (directory && (entry = posix_readdir(directory))) {
                struct dirent **grown = realloc(entries, ((size_t)count + 1) * sizeof(*entries));

                entries = grown ? grown : entries;
                if (!grown || !(entries[count] = malloc(sizeof(*entry))))
                        break;
                *entries[count] = *entry;
                if (!filter || filter(entry))
                        count++;
                else
                        free(entries[count]);
        }
        if (!directory)
                return -1;
        posix_closedir(directory);
        if (entries)
                qsort(entries, (size_t)count, sizeof(*entries), (int (*)(const void *, const void *))compare);
        *out = entries;
        return count;
}
