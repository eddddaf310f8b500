/* stage_linux.c: what lies on the stage of a sandbox: mount points that the host does not have, copies, what masks are made of. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "base/reach.h"
#include "run/opener_linux.h"

const char *const device_nodes[DEVICE_NODE_COUNT] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                                      "/dev/random", "/dev/urandom", "/dev/tty" };

/* Room for one more of `count` items of `size` bytes; NULL, and sticky failure, when there is none. */
static void *make_room(struct opener *opener, void *items, size_t count, size_t *capacity, size_t size)
{
        size_t wanted = *capacity ? 2 * *capacity : 48;
        void *grown;

        if (count < *capacity)
                return items;
        grown = realloc(items, wanted * size);
        if (!grown) {
                opener->has_failed = true;
                return NULL;
        }
        *capacity = wanted;
        return grown;
}

struct init_step *opener_init(struct opener *opener, enum init_op op, const char *path)
{
        struct steps *steps = opener->steps;
        struct init_step *made =
                make_room(opener, steps->init, steps->init_count, &steps->init_capacity, sizeof(*made));

        if (!made)
                return &opener->dropped_init;
        steps->init = made;
        made += steps->init_count++;
        *made = (struct init_step){ .op = op, .path = path, .plan_op = opener->plan_op };
        return made;
}

struct command_step *opener_command(struct opener *opener, enum command_op op)
{
        struct steps *steps = opener->steps;
        struct command_step *made = make_room(opener, steps->command, steps->command_count,
                                              &steps->command_capacity, sizeof(*made));

        if (!made)
                return &opener->dropped_command;
        steps->command = made;
        made += steps->command_count++;
        *made = (struct command_step){ .op = op, .plan_op = opener->plan_op };
        return made;
}

const char *opener_keep(struct opener *opener, const char *first, const char *second)
{
        OWN_FREE char *joined = NULL;

        if (!*first)
                return second; /* the plan's own, which outlives the steps */
        joined = text_join(first, second, "");
        if (!joined || strings_add(opener->strings, joined, NULL) < 0) {
                opener->has_failed = true;
                return "";
        }
        return opener->strings->items[opener->strings->count - 1];
}

bool opener_has_in_tmp(const struct opener *opener, const char *path)
{
        return opener->policy->has_private_tmp && path_is_below(path, "/tmp") && path[4];
}

/* Where a mount point for this path must first be made on the stage; NULL when the host has it. */
static const char *staged_name(struct opener *opener, const char *path)
{
        if (opener_has_in_tmp(opener, path) && opener->part != STEPS_WORLD)
                return path + 1; /* "tmp/..." */
        return *opener->root ? opener_keep(opener, "root", path) : NULL;
}

/* The place of a name in the table, or the free one where it belongs. */
static uint32_t *find_made(const struct opener *opener, const char *name, size_t length)
{
        uint64_t hash = 0;

        for (size_t i = 0; i < length; i++)
                hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
        for (size_t i = hash ^ hash >> 32;; i++) {
                uint32_t *place = &opener->made[i & (opener->made_capacity - 1)];
                const struct init_step *step = &opener->steps->init[*place ? *place - 1 : 0];

                if (!*place || (step->length == length && !memcmp(step->path, name, length)))
                        return place;
        }
}

/* At least half of it stays free. */
static bool make_room_for_made(struct opener *opener)
{
        struct opener grown = *opener;

        if (2 * opener->made_count < opener->made_capacity)
                return true;
        grown.made_capacity = opener->made_capacity ? 2 * opener->made_capacity : 64;
        grown.made = calloc(grown.made_capacity, sizeof(*grown.made));
        opener->has_failed |= !grown.made;
        if (!grown.made)
                return false;
        for (size_t i = 0; i < opener->made_capacity; i++) {
                const struct init_step *step =
                        &opener->steps->init[opener->made[i] ? opener->made[i] - 1 : 0];

                if (opener->made[i])
                        *find_made(&grown, step->path, step->length) = opener->made[i];
        }
        free(opener->made);
        opener->made = grown.made;
        opener->made_capacity = grown.made_capacity;
        return true;
}

static void make_staged(struct opener *opener, enum init_op op, const char *name, unsigned mode)
{
        struct init_step *step = opener_init(opener, op, name);

        step->length = strlen(name);
        step->value = mode;
        if (opener->has_failed || !make_room_for_made(opener))
                return;
        *find_made(opener, name, step->length) = (uint32_t)opener->steps->init_count;
        opener->made_count++;
}

static bool was_made(const struct opener *opener, const char *name)
{
        return opener->has_failed || (opener->made && *find_made(opener, name, strlen(name)));
}

static void make_directories(struct opener *opener, const char *name, bool with_last)
{
        for (const char *slash = strchr(name, '/'); slash || with_last;
             slash = slash ? strchr(slash + 1, '/') : NULL) {
                OWN_FREE char *prefix = slash ? strndup(name, (size_t)(slash - name)) : strdup(name);

                if (!prefix) {
                        opener->has_failed = true;
                        return;
                }
                if (!was_made(opener, prefix))
                        make_staged(opener, INIT_MAKE_DIR, opener_keep(opener, prefix, ""), 0755);
                if (!slash)
                        return;
        }
}

void opener_make_point(struct opener *opener, const char *path, enum path_kind kind)
{
        const char *name = staged_name(opener, path);
        bool is_directory = kind == PATH_DIRECTORY || kind == PATH_ABSENT;

        if (!name)
                return;
        make_directories(opener, name, is_directory);
        /* A file that two rules show, to be read and to be executed, say, is shown twice. */
        if (!is_directory && !was_made(opener, name))
                make_staged(opener, INIT_MAKE_FILE, name, 0644);
}

enum path_kind opener_kind_of(const char *path)
{
        struct stat status;

        if (reach_lstat(path, &status) < 0)
                return PATH_ABSENT;
        return S_ISDIR(status.st_mode) ? PATH_DIRECTORY : PATH_FILE;
}

static void make_device_points(struct opener *opener)
{
        static const char *const links[][2] = { { "root/dev/fd", "/proc/self/fd" },
                                                { "root/dev/stdin", "/proc/self/fd/0" },
                                                { "root/dev/stdout", "/proc/self/fd/1" },
                                                { "root/dev/stderr", "/proc/self/fd/2" },
                                                { "root/dev/ptmx", "pts/ptmx" } };

        if (!*opener->root)
                return;
        for (size_t i = 0; i < COUNT(device_nodes); i++)
                opener_make_point(opener, device_nodes[i], PATH_FILE);
        opener_make_point(opener, "/dev/pts", PATH_DIRECTORY);
        opener_make_point(opener, "/dev/shm", PATH_DIRECTORY);
        opener_make_point(opener, "/proc", PATH_DIRECTORY);
        opener_make_point(opener, "/tmp", PATH_DIRECTORY);
        for (size_t i = 0; i < COUNT(links); i++)
                opener_init(opener, INIT_MAKE_LINK, links[i][0])->target = links[i][1];
}

const char *opener_copy_name(struct opener *opener, size_t number)
{
        char digits[24];

        snprintf(digits, sizeof(digits), "%zu", number);
        return opener_keep(opener, "copy", digits);
}

static void make_copies(struct opener *opener)
{
        const struct copies *copies = opener->copies;

        opener->plan_op = PLAN_LOADER;
        for (size_t i = 0; i < copies->count; i++) {
                struct init_step *step = opener_init(opener, INIT_MAKE_COPY, opener_copy_name(opener, i));

                step->target = (const char *)copies->items[i].bytes;
                step->value = copies->items[i].length;
        }
        opener->plan_op = PLAN_STAGE;
}

void opener_fill_stage(struct opener *opener)
{
        if (opener->part == STEPS_WHOLE) {
                make_staged(opener, INIT_MAKE_DIR, "tmp", 01777);
                make_staged(opener, INIT_MAKE_DIR, "shm", 01777);
        }
        /* What masks are made of. */
        make_staged(opener, INIT_MAKE_DIR, "d", 0);
        make_staged(opener, INIT_MAKE_FILE, "f", 0);
        if (plan_has(opener->plan, PLAN_HOSTS))
                make_staged(opener, INIT_MAKE_FILE, "hosts", 0444);
        make_device_points(opener);
        make_copies(opener);
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                const struct step *step = &opener->plan->steps[i];

                if (step->op == PLAN_SHOW)
                        opener_make_point(opener, step->path, opener_kind_of(step->path));
                else if (step->op == PLAN_WRITABLE || (step->op == PLAN_HIDE && step->value == PATH_ABSENT))
                        opener_make_point(opener, step->path, (enum path_kind)step->value);
                else if (step->op == PLAN_LINK) {
                        const char *name = staged_name(opener, step->path);

                        make_directories(opener, name, false);
                        opener_init(opener, INIT_MAKE_LINK, name)->target = step->target;
                }
        }
}
