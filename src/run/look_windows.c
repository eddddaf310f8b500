/* look_windows.c: whether what a plan keeps closed is closed to containers before anything is given.
 *
 * A container gets at what both its user and the container were given. What Windows or a program has given to all of them is no business of
 * ours to take away: so it is refused. */
#include "run/look_windows.h"

#include <winternl.h>

#include "base/error.h"
#include "base/own.h"
#include "run/acl_windows.h"
#include "run/walk_windows.h"

#define LOOKING (READ_CONTROL | SYNCHRONIZE | FILE_READ_ATTRIBUTES)

enum {
        /* What tells no more than that a file is there. */
        HARMLESS = LOOKING,
        WRITING = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES |
                  FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER,
};

struct look {
        const struct places *places;
        const struct place *place; /* the one whose promise it is */
        PSID sid;
        DWORD forbidden;
        abatis_error *err;
};

static int look_below(struct look *look, HANDLE directory, unsigned depth);

static const char *promise_of(const struct look *look)
{
        return look->forbidden == WRITING ? "kept from being written" : "denied";
}

/* By its own name, where it has one. */
static int refuse(const struct look *look, HANDLE handle, const char *why)
{
        OWN_FREE char *name = NULL;

        if (handle && walk_find_name(handle, &name, NULL) < 0)
                name = NULL;
        return error_set(look->err, ABATIS_E_UNENFORCEABLE, "'%s' cannot be %s: %s'%s' %s", look->place->path,
                         promise_of(look), name ? "" : "something below ", name ? name : look->place->path,
                         why);
}

static int look_at(const struct look *look, HANDLE handle)
{
        abatis_error unread = { 0 };
        DWORD rights = 0;

        if (acl_find_rights(handle, look->sid, &rights, &unread) < 0)
                return refuse(look, handle, "does not show its access list");
        return rights & look->forbidden ? refuse(look, handle, "is open to containers already") : 0;
}

/* What its own user may do nothing with is closed to the container, too: it gets what both were given. */
static bool is_closed_to_user(HANDLE handle)
{
        PUBLIC_OBJECT_BASIC_INFORMATION facts = { 0 };

        return NtQueryObject(handle, ObjectBasicInformation, &facts, sizeof(facts), NULL) == 0 &&
               !(facts.GrantedAccess & ~(DWORD)HARMLESS);
}

static bool is_child_closed(HANDLE directory, const FILE_ID_BOTH_DIR_INFO *entry)
{
        OWN_HANDLE HANDLE child = NULL;
        DWORD failure = walk_open_child(directory, entry, MAXIMUM_ALLOWED | SYNCHRONIZE, &child);

        return failure == ERROR_ACCESS_DENIED || (!failure && is_closed_to_user(child));
}

static bool is_place_closed(const struct place *place)
{
        OWN_HANDLE HANDLE handle = NULL;
        abatis_error err = { 0 };
        int r = walk_open(place->path, MAXIMUM_ALLOWED | SYNCHRONIZE,
                          FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &handle, &err);

        return r < 0 ? err.os_errno == ERROR_ACCESS_DENIED : is_closed_to_user(handle);
}

static int look_at_child(void *user, HANDLE directory, FILE_ID_BOTH_DIR_INFO *entry, unsigned depth)
{
        struct look *look = user;
        bool is_link = entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
        bool is_directory = entry->FileAttributes & FILE_ATTRIBUTE_DIRECTORY && !is_link;
        OWN_HANDLE HANDLE child = NULL;
        const struct place *place;
        DWORD failure =
                walk_open_child(directory, entry, LOOKING | (is_directory ? FILE_LIST_DIRECTORY : 0), &child);
        int r;

        /* Gone meanwhile. */
        if (failure == ERROR_FILE_NOT_FOUND)
                return 0;
        if (failure)
                return is_child_closed(directory, entry)
                               ? 0
                               : refuse(look, NULL, "cannot be opened to see its access list");
        r = places_find(look->places, child, &place, look->err);
        if (r < 0)
                return r;
        /* That one has a look of its own, or may be written. */
        if (place && place != look->place && place->kind != PLACE_PINNED)
                return 0;
        r = look_at(look, child);
        return r || !is_directory ? r : look_below(look, child, depth + 1);
}

static int look_below(struct look *look, HANDLE directory, unsigned depth)
{
        return walk_entries(directory, depth, look_at_child, look, look->err);
}

/* From a handle of its own: a directory is listed once by each. */
static int look_at_place(struct look *look)
{
        const struct place *place = look->place;
        OWN_HANDLE HANDLE handle = NULL;
        abatis_error below = { 0 };
        int r = walk_open(place->path, LOOKING | (place->is_directory ? FILE_LIST_DIRECTORY : 0),
                          FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &handle, &below);

        if (r < 0)
                return is_place_closed(place)
                               ? 0
                               : error_within(look->err, &below, "look whether '%s' is closed", place->path);
        r = look_at(look, handle);
        return r || !place->is_directory ? r : look_below(look, handle, 0);
}

int look_at_places(const struct places *places, PSID sid, abatis_error *err)
{
        static const DWORD forbidden[] = { [PLACE_SHOWN] = WRITING,
                                           [PLACE_PROTECTED] = WRITING,
                                           [PLACE_CLOSED] = (DWORD)~HARMLESS,
                                           [PLACE_HIDDEN] = (DWORD)~HARMLESS };
        int r = 0;

        for (size_t i = 0; i < places->count && !r; i++) {
                struct look look = { .places = places,
                                     .place = &places->items[i],
                                     .sid = sid,
                                     .forbidden = forbidden[places->items[i].kind],
                                     .err = err };

                if (look.forbidden)
                        r = look_at_place(&look);
        }
        return r;
}
