/* places_windows.c: walks the trees of a plan and gives a container what it may have of them.
 *
 * Every directory is opened from the one above it, as what it is: whatever happens to its path meanwhile, no link is followed. Files
 * are known by their number, so it does not matter how a path is spelled. Walks of several abatis at once take turns, since an access list
 * is read and then written. */
#include "run/places_windows.h"

#include <stdlib.h>
#include <string.h>
#include <winternl.h>

#include "base/error.h"
#include "base/own.h"
#include "run/acl_windows.h"

/* The last is for knowing which file it is: NtCreateFile() gives it to nobody by itself. */
#define CHANGING (READ_CONTROL | WRITE_DAC | SYNCHRONIZE | FILE_READ_ATTRIBUTES)
#define LISTING (CHANGING | FILE_LIST_DIRECTORY)

enum { DEEPEST = 512, LIST_SIZE = 16 * 1024 };

enum {
        MAY_READ = FILE_GENERIC_READ,
        MAY_EXECUTE = FILE_GENERIC_EXECUTE,
        /* Without FILE_DELETE_CHILD: what may be removed has an entry of its own that says so. */
        MAY_WRITE = FILE_GENERIC_WRITE | DELETE,
};

/* ---- what is where -------------------------------------------------------------------------------------- */

static bool identify(HANDLE handle, DWORD *volume, ULONGLONG *index, DWORD *attributes)
{
        BY_HANDLE_FILE_INFORMATION facts;

        if (!GetFileInformationByHandle(handle, &facts))
                return false;
        *volume = facts.dwVolumeSerialNumber;
        *index = (ULONGLONG)facts.nFileIndexHigh << 32 | facts.nFileIndexLow;
        *attributes = facts.dwFileAttributes;
        return true;
}

/* *out is NULL if it is none of them. What cannot be known is an error: it could be an exception. */
static int find_place(const struct places *places, HANDLE handle, const struct place **out, abatis_error *err)
{
        DWORD volume, attributes;
        ULONGLONG index;

        *out = NULL;
        if (!places)
                return 0;
        if (!identify(handle, &volume, &index, &attributes))
                return error_windows(err, GetLastError(), "look at a file below the tree");
        for (size_t i = 0; i < places->count; i++) {
                const struct place *place = &places->items[i];

                if (place->volume == volume && place->index == index && (!*out || place->kind > (*out)->kind))
                        *out = place;
        }
        return 0;
}

/* Whoever reads data and shares no DELETE keeps everybody from moving, removing and replacing it. */
static int open_path(const char *path, DWORD access, DWORD sharing, HANDLE *out, abatis_error *err)
{
        OWN_FREE wchar_t *wide = NULL;
        int r = windows_path(path, &wide, err);

        if (r < 0)
                return r;
        *out = CreateFileW(wide, access, sharing, NULL, OPEN_EXISTING,
                           FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
        return is_handle(*out) ? 0 : error_windows(err, GetLastError(), "open '%s'", path);
}

static int add_place(struct places *places, enum place_kind kind, const char *path, bool is_executable,
                     abatis_error *err)
{
        bool is_held = kind == PLACE_PROTECTED || kind == PLACE_HIDDEN;
        struct place *items = realloc(places->items, (places->count + 1) * sizeof(*items));
        struct place *place;
        DWORD attributes;
        int r;

        if (!items)
                return error_memory(err);
        places->items = items;
        place = &items[places->count];
        *place = (struct place){ .kind = kind, .path = path, .is_executable = is_executable };
        r = open_path(path, is_held ? LISTING : CHANGING,
                      FILE_SHARE_READ | FILE_SHARE_WRITE | (is_held ? 0 : FILE_SHARE_DELETE), &place->handle,
                      err);
        if (r < 0)
                return r;
        places->count++;
        if (!identify(place->handle, &place->volume, &place->index, &attributes))
                return error_windows(err, GetLastError(), "look at '%s'", path);
        if (attributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is a link, and no link can be given or excepted", path);
        place->is_directory = attributes & FILE_ATTRIBUTE_DIRECTORY;
        return 0;
}

static int add_step(struct places *places, const struct step *step, abatis_error *err)
{
        static const struct {
                enum plan_op op;
                enum place_kind kind;
        } kinds[] = { { PLAN_SHOW, PLACE_SHOWN },
                      { PLAN_WRITABLE, PLACE_WRITABLE },
                      { PLAN_PIN, PLACE_PINNED },
                      { PLAN_PROTECT, PLACE_PROTECTED },
                      { PLAN_HIDE, PLACE_HIDDEN } };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                if (kinds[i].op == step->op)
                        /* What is protected could be executed if it was not. */
                        return add_place(places, kinds[i].kind, step->path,
                                         step->op == PLAN_PROTECT || !step->value, err);
        return 0;
}

int places_open(const struct plan *plan, const char *hidden, struct places *out, abatis_error *err)
{
        struct places places = { 0 };
        int r = 0;

        for (size_t i = 0; i < plan->step_count && !r; i++)
                r = add_step(&places, &plan->steps[i], err);
        if (!r && hidden)
                r = add_place(&places, PLACE_HIDDEN, hidden, false, err);
        if (r < 0) {
                places_done(&places);
                return r;
        }
        *out = places;
        return 0;
}

void places_done(struct places *places)
{
        for (size_t i = 0; i < places->count; i++)
                own_handle_close(&places->items[i].handle);
        free(places->items);
        *places = (struct places){ 0 };
}

/* ---- walking -------------------------------------------------------------------------------------------- */

struct walk {
        const struct places *places; /* NULL: entries are taken away */
        PSID sid;
        DWORD file_mask, directory_mask;
        size_t removed;
        abatis_error *err;
};

static int visit_below(struct walk *walk, HANDLE directory, unsigned depth);

/* From the directory that it was found in. A link is opened as itself. */
static NTSTATUS open_child(HANDLE directory, wchar_t *name, USHORT size, ACCESS_MASK access, HANDLE *out)
{
        UNICODE_STRING string = { size, size, name };
        OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes),
                                         .RootDirectory = directory,
                                         .ObjectName = &string };
        IO_STATUS_BLOCK status;

        return NtCreateFile(out, access, &attributes, &status, NULL, 0,
                            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, FILE_OPEN,
                            FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT |
                                    FILE_OPEN_REPARSE_POINT,
                            NULL, 0);
}

/* The first of these allow something to a directory or file itself, the others to what is made in it later. */
static int change(const struct walk *walk, HANDLE handle, bool is_directory, BYTE flags, DWORD not_itself,
                  size_t *removed)
{
        DWORD itself = (is_directory ? walk->directory_mask : walk->file_mask) & ~not_itself;
        struct acl_entry entries[] = {
                { itself, flags },
                { walk->directory_mask, CONTAINER_INHERIT_ACE | INHERIT_ONLY_ACE | flags },
                { walk->file_mask, OBJECT_INHERIT_ACE | INHERIT_ONLY_ACE | flags },
        };

        return acl_change(handle, walk->sid, entries,
                          !walk->places  ? 0
                          : is_directory ? sizeof(entries) / sizeof(*entries)
                                         : 1,
                          removed, walk->err);
}

static int visit_child(struct walk *walk, HANDLE directory, FILE_ID_BOTH_DIR_INFO *entry, unsigned depth)
{
        bool is_directory = entry->FileAttributes & FILE_ATTRIBUTE_DIRECTORY;
        OWN_HANDLE HANDLE child = NULL;
        const struct place *place;
        bool is_pinned;
        int r;

        if (entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return 0;
        /* What is not ours to change stays closed; but nothing must stay open. */
        if (open_child(directory, entry->FileName, (USHORT)entry->FileNameLength,
                       is_directory ? LISTING : CHANGING, &child) != 0)
                return walk->places
                               ? 0
                               : error_set(walk->err, ABATIS_E_SYSTEM,
                                           "a file below the tree cannot be opened to take its entry away");
        r = find_place(walk->places, child, &place, walk->err);
        if (r < 0)
                return r;
        is_pinned = place && place->kind == PLACE_PINNED;
        if (place && !is_pinned)
                return 0; /* it has a walk of its own, or none */
        r = change(walk, child, is_directory, is_pinned ? 0 : INHERITED_ACE, is_pinned ? DELETE : 0,
                   &walk->removed);
        return r || !is_directory ? r : visit_below(walk, child, depth + 1);
}

static int visit_entries(struct walk *walk, HANDLE directory, void *list, unsigned depth)
{
        FILE_ID_BOTH_DIR_INFO *entry = list;
        int r = 0;

        for (;;) {
                bool is_dots = entry->FileName[0] == L'.' &&
                               (entry->FileNameLength == 2 ||
                                (entry->FileNameLength == 4 && entry->FileName[1] == L'.'));

                if (!is_dots)
                        r = visit_child(walk, directory, entry, depth);
                if (r < 0 || !entry->NextEntryOffset)
                        return r;
                entry = (void *)((char *)entry + entry->NextEntryOffset);
        }
}

static int visit_below(struct walk *walk, HANDLE directory, unsigned depth)
{
        OWN_FREE void *list = malloc(LIST_SIZE);
        int r = 0;

        if (!list)
                return error_memory(walk->err);
        if (depth > DEEPEST)
                return error_set(walk->err, ABATIS_E_SYSTEM, "directories are nested more than %d deep",
                                 DEEPEST);
        while (!r && GetFileInformationByHandleEx(directory, FileIdBothDirectoryInfo, list, LIST_SIZE))
                r = visit_entries(walk, directory, list, depth);
        if (!r && GetLastError() != ERROR_NO_MORE_FILES)
                r = error_windows(walk->err, GetLastError(), "list a directory");
        return r;
}

static int visit_root(struct walk *walk, const char *path)
{
        OWN_HANDLE HANDLE root = NULL;
        const struct place *place;
        DWORD volume, attributes;
        ULONGLONG index;
        int r = open_path(path, LISTING, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &root,
                          walk->err);

        if (r < 0)
                return r;
        if (!identify(root, &volume, &index, &attributes))
                return error_windows(walk->err, GetLastError(), "look at '%s'", path);
        if (attributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return error_set(walk->err, ABATIS_E_INVALID, "'%s' is a link", path);
        r = find_place(walk->places, root, &place, walk->err);
        if (!r && place && place->kind == PLACE_HIDDEN)
                r = error_set(walk->err, ABATIS_E_UNENFORCEABLE, "'%s' is given, and denied by another name",
                              path);
        if (!r)
                r = change(walk, root, attributes & FILE_ATTRIBUTE_DIRECTORY, 0, DELETE, &walk->removed);
        if (r < 0 || !(attributes & FILE_ATTRIBUTE_DIRECTORY))
                return r;
        return visit_below(walk, root, 0);
}

/* Held by who walks. Containers have names of their own, and do not meet this one. */
static int take_turn(HANDLE *out, abatis_error *err)
{
        OWN_HANDLE HANDLE turn = CreateMutexW(NULL, FALSE, L"Local\\abatis-access-lists");
        DWORD waited = turn ? WaitForSingleObject(turn, INFINITE) : WAIT_FAILED;

        if (waited != WAIT_OBJECT_0 && waited != WAIT_ABANDONED)
                return error_windows(err, GetLastError(), "wait for another abatis");
        *out = take_handle(&turn);
        return 0;
}

static void end_turn(HANDLE *turn)
{
        if (is_handle(*turn))
                ReleaseMutex(*turn);
        own_handle_close(turn);
}

#define OWN_TURN __attribute__((cleanup(end_turn)))

/* An exception that was given to containers already would be none. */
static int check_exception(const struct place *place, abatis_error *err)
{
        bool is_open = false;
        int r = acl_is_open(place->handle, &is_open, err);

        if (r < 0 || !is_open)
                return r;
        return error_set(err, ABATIS_E_UNENFORCEABLE,
                         "'%s' cannot be denied: its access list is open to containers already", place->path);
}

int places_grant(const struct places *places, PSID sid, abatis_error *err)
{
        OWN_TURN HANDLE turn = NULL;
        int r = take_turn(&turn, err);

        for (size_t i = 0; i < places->count && !r; i++)
                if (places->items[i].kind == PLACE_HIDDEN)
                        r = check_exception(&places->items[i], err);
        for (size_t i = 0; i < places->count && !r; i++) {
                const struct place *place = &places->items[i];
                DWORD mask = MAY_READ | (place->kind == PLACE_WRITABLE ? MAY_WRITE : 0);
                struct walk walk = { .places = places,
                                     .sid = sid,
                                     .file_mask = mask | (place->is_executable ? MAY_EXECUTE : 0),
                                     /* To go through a directory is no execution. */
                                     .directory_mask = mask | MAY_EXECUTE,
                                     .err = err };

                if (place->kind != PLACE_HIDDEN && place->kind != PLACE_PINNED)
                        r = visit_root(&walk, place->path);
        }
        return r;
}

int places_revoke(const char *tree, PSID sid, size_t *removed, abatis_error *err)
{
        OWN_TURN HANDLE turn = NULL;
        abatis_error below = { 0 };
        struct walk walk = { .sid = sid, .err = &below };
        int r = take_turn(&turn, err);

        if (r < 0)
                return r;
        r = visit_root(&walk, tree);
        if (r == ABATIS_E_SYSTEM &&
            (below.os_errno == ERROR_FILE_NOT_FOUND || below.os_errno == ERROR_PATH_NOT_FOUND))
                r = 0;
        if (r < 0)
                return error_within(err, &below, "take access entries away from '%s'", tree);
        *removed += walk.removed;
        return 0;
}
