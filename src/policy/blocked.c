/* blocked.c: two questions that an agent's own tools ask without a policy: is this path closed to writing, to reading?
 *
 * Every way of not knowing ends in the answer "blocked". A protected place is wherever its name leads, like the path
 * that is asked about, so that no spelling of either makes a difference. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

static const char *const system_places[] = {
        "/System",      "/bin",     "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec",
        "/private/etc", "/Library", "/etc",  "/boot",    "/proc",     "/sys",     "/dev",
};

#define SYSTEM_COUNT (sizeof(system_places) / sizeof(*system_places))

enum { MAX_LINKS = 40 /* the kernel's own limit for one lookup */ };

/* Where a path leads. */
struct meaning {
        const char *real;        /* what was asked about, if no link is in it; else that of `facts` */
        struct path_facts facts; /* with every link on the way */
};

static void meaning_done(struct meaning *meaning)
{
        path_facts_done(&meaning->facts);
}

#define OWN_MEANING __attribute__((cleanup(meaning_done)))

/* One name further down. */
static bool walk_into(struct path_facts *facts, const char *name, size_t length)
{
        OWN_FREE char *copy = strndup(name, length);
        OWN_FREE char *path = copy ? path_join(facts->real, copy) : NULL;
        struct path_facts next = { 0 };
        bool is_kept = true;

        if (!path || path_resolve(path, facts->real, &next, NULL) < 0)
                return false;
        for (size_t i = 0; i < next.links.count && is_kept; i++)
                is_kept = strings_add(&facts->links, next.links.items[i], NULL) == 0;
        free(facts->real);
        facts->real = take_pointer(next.real);
        path_facts_done(&next);
        return is_kept && facts->links.count <= MAX_LINKS;
}

/* Back to the directory above. Out of what does not exist too: it may exist by the time somebody walks there. */
static void walk_out(struct path_facts *facts)
{
        char *slash = strrchr(facts->real, '/');

        slash[slash == facts->real] = '\0';
}

/* Walks as the kernel would: ".." leaves the directory that a link has led into. */
static bool walk(const char *path, struct path_facts *facts)
{
        facts->real = strdup("/");
        if (!facts->real)
                return false;
        while (*path) {
                size_t length;

                path += strspn(path, "/");
                length = strcspn(path, "/");
                if (length == 2 && !memcmp(path, "..", 2))
                        walk_out(facts);
                else if (length && !(length == 1 && *path == '.') && !walk_into(facts, path, length))
                        return false;
                path += length;
        }
        return true;
}

/* False when it cannot be found out; what is not absolute means something else to everybody. */
static bool find_meaning(const char *path, struct meaning *meaning)
{
        bool is_clean;

        if (!path || *path != '/' || strlen(path) > PATH_LONGEST)
                return false;
        is_clean = path_is_clean(path);
        if (is_clean && path_has_no_link(path)) {
                meaning->real = path;
                return true;
        }
        if (is_clean ? path_resolve(path, NULL, &meaning->facts, NULL) < 0 : !walk(path, &meaning->facts))
                return false;
        meaning->real = meaning->facts.real;
        return true;
}

/* A link that stands in a protected place is part of it, wherever it leads: who writes may replace it. */
static bool is_inside(const struct meaning *asked, const char *place)
{
        if (path_is_below(asked->real, place))
                return true;
        for (size_t i = 0; i < asked->facts.links.count; i++)
                if (path_is_below(asked->facts.links.items[i], place) &&
                    strcmp(asked->facts.links.items[i], place) != 0)
                        return true;
        return false;
}

static bool is_inside_meaning(const struct meaning *asked, const char *place)
{
        OWN_MEANING struct meaning meaning = { 0 };

        return !find_meaning(place, &meaning) || is_inside(asked, meaning.real);
}

static bool is_in_data(const struct meaning *asked, const char *data_dir)
{
        static const char *const names[] = { "data", "config.toml" };

        if (!data_dir)
                return false;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                OWN_FREE char *place = text_join(data_dir, "/", names[i]);

                if (!place || *data_dir != '/' || is_inside_meaning(asked, place))
                        return true;
        }
        return false;
}

/* By name alone, which costs nothing and is enough for most of what is blocked. */
static bool is_named_in_system(const struct meaning *asked)
{
        for (size_t i = 0; i < SYSTEM_COUNT; i++)
                if (is_inside(asked, system_places[i]))
                        return true;
        return false;
}

/* Where one of them is itself a link, what it leads to has another name. */
static bool is_in_system(const struct meaning *asked)
{
        for (size_t i = 0; i < SYSTEM_COUNT; i++)
                if (is_inside_meaning(asked, system_places[i]))
                        return true;
        return false;
}

int abatis_is_write_blocked(const char *path, const char *data_dir)
{
        OWN_MEANING struct meaning asked = { 0 };

        return !find_meaning(path, &asked) || is_named_in_system(&asked) || is_in_data(&asked, data_dir) ||
               is_in_system(&asked);
}

int abatis_is_read_blocked(const char *path, const char *data_dir, const char *config_path)
{
        OWN_MEANING struct meaning asked = { 0 };

        return !find_meaning(path, &asked) || is_in_data(&asked, data_dir) ||
               (config_path && is_inside_meaning(&asked, config_path));
}
