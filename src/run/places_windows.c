/* places_windows.c: walks the trees of a plan and gives a container what it may have of them.
 *
 * Every directory is opened from the one above it, as what it is: whatever happens to its path meanwhile, no link is followed. Files
 * are known by their number, so it does not matter how a path is spelled. Walks of several abatis at once take turns, since an access list
 * is read and then written. */
#include "run/places_windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "run/acl_windows.h"
#include "run/look_windows.h"
#include "run/turn_windows.h"

/* The last is for knowing which file it is: NtCreateFile() gives it to nobody by itself. */
#define CHANGING (READ_CONTROL | WRITE_DAC | SYNCHRONIZE | FILE_READ_ATTRIBUTES)
#define LISTING (CHANGING | FILE_LIST_DIRECTORY)

enum {
        MAY_READ = FILE_GENERIC_READ,
        MAY_EXECUTE = FILE_GENERIC_EXECUTE,
        /* Without FILE_DELETE_CHILD: what may be removed has an entry of its own that says so. */
        MAY_WRITE = FILE_GENERIC_WRITE | DELETE,
};

/* ---- what is where -------------------------------------------------------------------------------------- */

int places_find(const struct places *places, HANDLE handle, const struct place **out, abatis_error *err)
{
        struct walk_file file;

        *out = NULL;
        if (!places)
                return 0;
        if (!walk_identify(handle, &file))
                return error_windows(err, GetLastError(), "look at a file below the tree");
        for (size_t i = 0; i < places->count; i++) {
                const struct place *place = &places->items[i];

                if (place->file.volume == file.volume && place->file.index == file.index &&
                    (!*out || place->kind > (*out)->kind))
                        *out = place;
        }
        return 0;
}

/* Whoever reads data and shares no DELETE keeps everybody from moving, removing and replacing it. What is only looked at is nobody's
 * to hold. */
static int open_place(struct place *place, abatis_error *err)
{
        static const DWORD access[] = { [PLACE_PINNED] = CHANGING,
                                        [PLACE_SHOWN] = CHANGING,
                                        [PLACE_WRITABLE] = CHANGING,
                                        [PLACE_PROTECTED] = LISTING,
                                        [PLACE_CLOSED] = FILE_READ_ATTRIBUTES,
                                        [PLACE_HIDDEN] = LISTING };
        bool is_held = place->kind == PLACE_PROTECTED || place->kind == PLACE_HIDDEN;

        return walk_open(place->path, access[place->kind],
                         FILE_SHARE_READ | FILE_SHARE_WRITE | (is_held ? 0 : FILE_SHARE_DELETE),
                         &place->handle, err);
}

/* Rules were compared by their names, which must therefore be the only ones: not short, not in other letters, not through a link. */
static int check_name(const struct place *place, abatis_error *err)
{
        OWN_FREE char *name = NULL;
        abatis_error below = { 0 };

        if (walk_find_name(place->handle, &name, &below) < 0)
                return error_within(err, &below, "'%s'", place->path);
        if (!strcmp(name, place->path))
                return 0;
        return error_set(err, ABATIS_E_UNENFORCEABLE,
                         "'%s' is '%s' for Windows, and rules are compared by that name", place->path, name);
}

static bool is_gone(const abatis_error *err)
{
        return err->os_errno == ERROR_FILE_NOT_FOUND || err->os_errno == ERROR_PATH_NOT_FOUND;
}

static int examine(struct place *place, abatis_error *err)
{
        int r;

        if (!walk_identify(place->handle, &place->file))
                return error_windows(err, GetLastError(), "look at '%s'", place->path);
        if (place->file.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is a link, and no link can be given or excepted", place->path);
        place->is_directory = place->file.attributes & FILE_ATTRIBUTE_DIRECTORY;
        r = walk_check_volume(place->handle, place->path, err);
        return r < 0 ? r : check_name(place, err);
}

static int add_place(struct places *places, enum place_kind kind, const char *path, bool is_executable,
                     abatis_error *err)
{
        struct place *items = realloc(places->items, (places->count + 1) * sizeof(*items));
        abatis_error below = { 0 };
        struct place *place;
        int r;

        if (!items)
                return error_memory(err);
        places->items = items;
        place = &items[places->count];
        *place = (struct place){ .kind = kind, .path = path, .is_executable = is_executable };
        r = open_place(place, &below);
        /* What is not there cannot be open. */
        if (r < 0 && kind == PLACE_CLOSED && is_gone(&below))
                return 0;
        if (r < 0)
                return error_within(err, &below, "a path of the plan");
        places->count++;
        return examine(place, err);
}

static int add_step(struct places *places, const struct step *step, abatis_error *err)
{
        static const struct {
                enum plan_op op;
                enum place_kind kind;
        } kinds[] = { { PLAN_SHOW, PLACE_SHOWN },    { PLAN_WRITABLE, PLACE_WRITABLE },
                      { PLAN_PIN, PLACE_PINNED },    { PLAN_PROTECT, PLACE_PROTECTED },
                      { PLAN_CLOSED, PLACE_CLOSED }, { PLAN_HIDE, PLACE_HIDDEN } };

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
        size_t removed, failed;
        abatis_error first; /* why, of those that failed */
        abatis_error *err;
};

static int visit_below(struct walk *walk, HANDLE directory, unsigned depth);

/* The first of these allow something to a directory or file itself, the others to what is made in it later. */
static int change(struct walk *walk, HANDLE handle, bool is_directory, BYTE flags, DWORD not_itself)
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
                          &walk->removed, walk->err);
}

/* What is not ours to change stays closed; but nothing must stay open. */
static int say_unopened(const struct walk *walk, DWORD failure)
{
        if (walk->places || failure == ERROR_FILE_NOT_FOUND)
                return 0;
        return error_windows(walk->err, failure, "open a file to take its entry away");
}

static int visit_child(struct walk *walk, HANDLE directory, const FILE_ID_BOTH_DIR_INFO *entry,
                       unsigned depth)
{
        bool is_directory = entry->FileAttributes & FILE_ATTRIBUTE_DIRECTORY;
        OWN_HANDLE HANDLE child = NULL;
        const struct place *place;
        bool is_pinned;
        DWORD failure;
        int r;

        if (entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return 0;
        failure = walk_open_child(directory, entry, is_directory ? LISTING : CHANGING, &child);
        if (failure)
                return say_unopened(walk, failure);
        r = places_find(walk->places, child, &place, walk->err);
        if (r < 0)
                return r;
        is_pinned = place && place->kind == PLACE_PINNED;
        if (place && !is_pinned)
                return 0; /* it has a walk of its own, or none */
        r = change(walk, child, is_directory, is_pinned ? 0 : INHERITED_ACE, is_pinned ? DELETE : 0);
        /* Where one entry stays, those below it are taken away all the same. */
        if (is_directory && (!r || !walk->places)) {
                int below = visit_below(walk, child, depth + 1);

                r = r ? r : below;
        }
        return r;
}

/* Who gives stops at the first failure; who takes away does what can be done, and tells. */
static int visit(void *user, HANDLE directory, FILE_ID_BOTH_DIR_INFO *entry, unsigned depth)
{
        struct walk *walk = user;
        abatis_error err = { 0 };
        abatis_error *outer = walk->err;
        int r;

        if (walk->places)
                return visit_child(walk, directory, entry, depth);
        walk->err = &err;
        r = visit_child(walk, directory, entry, depth);
        walk->err = outer;
        if (r < 0 && !walk->failed++)
                walk->first = err;
        return 0;
}

static int visit_below(struct walk *walk, HANDLE directory, unsigned depth)
{
        return walk_entries(directory, depth, visit, walk, walk->err);
}

static int visit_root(struct walk *walk, const char *path)
{
        OWN_HANDLE HANDLE root = NULL;
        const struct place *place;
        struct walk_file file;
        int below = 0;
        int r = walk_open(path, LISTING, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &root,
                          walk->err);

        if (r < 0)
                return r;
        if (!walk_identify(root, &file))
                return error_windows(walk->err, GetLastError(), "look at '%s'", path);
        if (file.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
                return error_set(walk->err, ABATIS_E_INVALID, "'%s' is a link", path);
        r = places_find(walk->places, root, &place, walk->err);
        if (!r && place && (place->kind == PLACE_HIDDEN || place->kind == PLACE_CLOSED))
                r = error_set(walk->err, ABATIS_E_UNENFORCEABLE, "'%s' is given, and denied by another name",
                              path);
        if (!r)
                r = change(walk, root, file.attributes & FILE_ATTRIBUTE_DIRECTORY, 0, DELETE);
        if (file.attributes & FILE_ATTRIBUTE_DIRECTORY && (!r || !walk->places))
                below = visit_below(walk, root, 0);
        return r ? r : below;
}

/* Of two that are the same file the one that counts is walked. */
static int give(const struct places *places, const struct place *place, PSID sid, abatis_error *err)
{
        DWORD mask = MAY_READ | (place->kind == PLACE_WRITABLE ? MAY_WRITE : 0);
        struct walk walk = { .places = places,
                             .sid = sid,
                             .file_mask = mask | (place->is_executable ? MAY_EXECUTE : 0),
                             /* To go through a directory is no execution. */
                             .directory_mask = mask | MAY_EXECUTE,
                             .err = err };
        const struct place *found = NULL;
        int r = places_find(places, place->handle, &found, err);

        if (r < 0 || (found && found->kind > place->kind && found->kind <= PLACE_PROTECTED))
                return r;
        return visit_root(&walk, place->path);
}

int places_grant(const struct places *places, PSID sid, abatis_error *err)
{
        OWN_TURN HANDLE turn = NULL;
        int r = turn_take(&turn, err);

        if (!r)
                r = look_at_places(places, sid, err);
        for (size_t i = 0; i < places->count && !r; i++) {
                enum place_kind kind = places->items[i].kind;

                if (kind == PLACE_SHOWN || kind == PLACE_WRITABLE || kind == PLACE_PROTECTED)
                        r = give(places, &places->items[i], sid, err);
        }
        return r;
}

int places_revoke(const char *tree, PSID sid, size_t *removed, abatis_error *err)
{
        OWN_TURN HANDLE turn = NULL;
        abatis_error below = { 0 };
        struct walk walk = { .sid = sid, .err = &below };
        int r = turn_take(&turn, err);

        if (r < 0)
                return r;
        r = visit_root(&walk, tree);
        *removed += walk.removed;
        if (r == ABATIS_E_SYSTEM && is_gone(&below))
                return 0;
        if (!r && !walk.failed)
                return 0;
        return error_within(err, r < 0 ? &below : &walk.first, "take %zu access entries away from '%s'",
                            walk.failed + (r < 0), tree);
}

int places_revoke_all(const struct strings *trees, PSID sid, size_t *removed, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < trees->count; i++) {
                int of_tree = places_revoke(trees->items[i], sid, removed, r < 0 ? NULL : err);

                r = r < 0 ? r : of_tree;
        }
        return r;
}
