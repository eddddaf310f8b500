/* steps_linux.c: turns a plan into what the children can do without thinking: flat steps, in order. */
#define _GNU_SOURCE
#include "run/steps_linux.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "run/broker_linux.h"

/* Used while the steps of one plan are made. */
struct opener {
        struct steps *steps;
        struct strings *strings;
        const struct copies *copies;
        const struct plan *plan;
        const abatis_policy *policy;
        const abatis_host *host;
        const char *root;         /* "" or, with a new root, its place on the stage */
        enum plan_op plan_op;     /* of the step being translated */
        bool has_shm, has_queues; /* the host has a directory for them */
        uint64_t noexec;          /* the attribute, where nothing but what is listed is code; else 0 */
        unsigned tmp_slot, shm_slot, node_slot, tree_slot; /* tree_slot: of the next tree to put back */
        bool has_failed;
        struct init_step dropped_init; /* written to after a failure, never read */
        struct command_step dropped_command;
};

static const char *const device_nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                            "/dev/random", "/dev/urandom", "/dev/tty" };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- builders, sticky like the plan's ------------------------------------------------------------------- */

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

static struct init_step *init_step(struct opener *opener, enum init_op op, const char *path)
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

static struct command_step *command_step(struct opener *opener, enum command_op op)
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

/* A string that lives as long as the steps. */
static const char *keep(struct opener *opener, const char *first, const char *second)
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

static const char *in_root(struct opener *opener, const char *path)
{
        return keep(opener, opener->root, path);
}

static bool is_noexec(const struct plan *plan)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == PLAN_READ_ONLY_WORLD)
                        return plan->steps[i].value;
        return false;
}

/* ---- mount points --------------------------------------------------------------------------------------- */

static bool is_private_tmp_path(const struct opener *opener, const char *path)
{
        return opener->policy->has_private_tmp && path_is_below(path, "/tmp") && path[4];
}

/* Where a mount point for this path must first be made on the stage; NULL when the host has it. */
static const char *staged_name(struct opener *opener, const char *path)
{
        if (is_private_tmp_path(opener, path))
                return path + 1; /* "tmp/..." */
        return *opener->root ? keep(opener, "root", path) : NULL;
}

static void make_staged(struct opener *opener, enum init_op op, const char *name, unsigned mode)
{
        struct init_step *step = init_step(opener, op, name);

        step->length = strlen(name);
        step->value = mode;
}

static bool was_made(const struct opener *opener, const char *name)
{
        size_t length = strlen(name);

        for (size_t i = 0; i < opener->steps->init_count; i++) {
                const struct init_step *step = &opener->steps->init[i];

                if ((step->op == INIT_MAKE_DIR || step->op == INIT_MAKE_FILE) && step->length == length &&
                    !memcmp(step->path, name, length))
                        return true;
        }
        return false;
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
                        make_staged(opener, INIT_MAKE_DIR, keep(opener, prefix, ""), 0755);
                if (!slash)
                        return;
        }
}

static void make_mount_point(struct opener *opener, const char *path, enum path_kind kind)
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

static enum path_kind kind_of(const char *path)
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
                make_mount_point(opener, device_nodes[i], PATH_FILE);
        make_mount_point(opener, "/dev/pts", PATH_DIRECTORY);
        make_mount_point(opener, "/dev/shm", PATH_DIRECTORY);
        make_mount_point(opener, "/proc", PATH_DIRECTORY);
        make_mount_point(opener, "/tmp", PATH_DIRECTORY);
        for (size_t i = 0; i < COUNT(links); i++)
                init_step(opener, INIT_MAKE_LINK, links[i][0])->target = links[i][1];
}

/* The host's message queues, as files, could be emptied through a descriptor: they are covered. */
static bool shows_host_queues(const struct opener *opener)
{
        return !*opener->root && opener->has_queues;
}

/* The name of a copy on the stage. */
static const char *copy_name(struct opener *opener, size_t number)
{
        char digits[24];

        snprintf(digits, sizeof(digits), "%zu", number);
        return keep(opener, "copy", digits);
}

static void make_copies(struct opener *opener)
{
        const struct copies *copies = opener->copies;

        opener->plan_op = PLAN_LOADER;
        for (size_t i = 0; i < copies->count; i++) {
                struct init_step *step = init_step(opener, INIT_MAKE_COPY, copy_name(opener, i));

                step->target = (const char *)copies->items[i].bytes;
                step->value = copies->items[i].length;
        }
        opener->plan_op = PLAN_STAGE;
}

/* Everything on the stage is made before the world, the stage with it, becomes read-only. */
static void fill_stage(struct opener *opener)
{
        make_staged(opener, INIT_MAKE_DIR, "tmp", 01777);
        make_staged(opener, INIT_MAKE_DIR, "shm", 01777);
        /* What masks are made of. */
        make_staged(opener, INIT_MAKE_DIR, "d", 0);
        make_staged(opener, INIT_MAKE_FILE, "f", 0);
        make_device_points(opener);
        make_copies(opener);
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                const struct step *step = &opener->plan->steps[i];

                if (step->op == PLAN_SHOW)
                        make_mount_point(opener, step->path, kind_of(step->path));
                else if (step->op == PLAN_WRITABLE || (step->op == PLAN_HIDE && step->value == PATH_ABSENT))
                        make_mount_point(opener, step->path, (enum path_kind)step->value);
                else if (step->op == PLAN_LINK) {
                        const char *name = staged_name(opener, step->path);

                        make_directories(opener, name, false);
                        init_step(opener, INIT_MAKE_LINK, name)->target = step->target;
                }
        }
}

/* ---- translation ---------------------------------------------------------------------------------------- */

static struct init_step *grab(struct opener *opener, enum init_op op, const char *path)
{
        struct init_step *step = init_step(opener, op, path);

        step->slot = opener->steps->slot_count++;
        return step;
}

static unsigned grab_private(struct opener *opener, const char *name)
{
        struct init_step *step = grab(opener, INIT_GRAB_STAGED, name);

        step->value = opener->noexec;
        return step->slot;
}

/* Trees are copied while they are still what the host made them, and put back over the read-only world: first those of
 * every plan, then its own in their order. */
static void grab_trees(struct opener *opener)
{
        const uint64_t read_only = ATTR_NOSUID | ATTR_NODEV | ATTR_RDONLY;
        size_t copies = 0;

        opener->tmp_slot = grab_private(opener, "tmp");
        opener->shm_slot = grab_private(opener, "shm");
        opener->node_slot = opener->steps->slot_count;
        opener->plan_op = PLAN_DEVICES;
        for (size_t i = 0; i < COUNT(device_nodes); i++)
                /* Root owns the nodes: writing to the device needs no writable mount, chmod does. */
                grab(opener, INIT_GRAB_NODE, device_nodes[i])->value =
                        opener->host->uid ? 0 : ATTR_RDONLY | ATTR_NOSUID;
        opener->tree_slot = opener->steps->slot_count;
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                const struct step *step = &opener->plan->steps[i];

                opener->plan_op = step->op;
                if (step->op == PLAN_WRITABLE)
                        grab(opener, INIT_GRAB, step->path)->value =
                                ATTR_NOSUID | ATTR_NODEV | opener->noexec;
                else if (step->op == PLAN_SHOW)
                        grab(opener, INIT_GRAB, step->path)->value =
                                read_only | opener->noexec | (step->value ? ATTR_NOEXEC : 0);
                else if (copies_are_for(step))
                        grab(opener, INIT_GRAB_STAGED, copy_name(opener, copies++))->value = read_only;
                else if (step->op == PLAN_LIBRARIES)
                        grab(opener, INIT_GRAB, step->path)->value = read_only;
        }
}

static struct init_step *place(struct opener *opener, const char *path, unsigned slot)
{
        struct init_step *step = init_step(opener, INIT_PLACE, in_root(opener, path));

        step->slot = slot;
        return step;
}

static void place_devices(struct opener *opener)
{
        for (unsigned i = 0; i < COUNT(device_nodes); i++)
                place(opener, device_nodes[i], opener->node_slot + i)->is_system = true;
}

static void mount_terminals(struct opener *opener)
{
        struct stat status;

        if (!*opener->root && kind_of("/dev/pts") != PATH_DIRECTORY)
                return;
        init_step(opener, INIT_TERMINALS, in_root(opener, "/dev/pts"));
        /* A node of the host's devpts would open the host's terminals; a link leads to ours by itself. */
        if (!*opener->root && !lstat("/dev/ptmx", &status) && S_ISCHR(status.st_mode))
                init_step(opener, INIT_PTMX, "/dev/ptmx")->target = "/dev/pts/ptmx";
}

static void finish_proc(struct opener *opener)
{
        /* The ground has one at /proc, which a new root leaves behind. */
        if (*opener->root)
                init_step(opener, INIT_PROC, in_root(opener, "/proc"))->value = MS_RDONLY;
        for (size_t i = 0; view_root_proc_files[i] && !opener->host->uid; i++)
                if (kind_of(view_root_proc_files[i]) != PATH_ABSENT)
                        init_step(opener, INIT_COVER, in_root(opener, view_root_proc_files[i]))->target = "f";
}

#define DATA_MARGIN (UINT64_C(1) << 30)

static void set_limit(struct opener *opener, unsigned resource, uint64_t soft, uint64_t hard)
{
        struct command_step *step = command_step(opener, COMMAND_LIMIT);

        step->resource = resource;
        step->value = soft;
        step->hard = hard;
}

static void set_limits(struct opener *opener)
{
        const uint64_t *limits = opener->policy->limits;

        for (size_t i = 0; i < opener->plan->step_count; i++) {
                enum limit limit = (enum limit)opener->plan->steps[i].value;
                uint64_t seconds = (limits[LIMIT_CPU] + 999) / 1000, data;

                if (opener->plan->steps[i].op != PLAN_LIMIT)
                        continue;
                switch (limit) {
                case LIMIT_OPEN_FILES:
                        set_limit(opener, RLIMIT_NOFILE, limits[limit], limits[limit]);
                        break;
                case LIMIT_FILE_SIZE:
                        set_limit(opener, RLIMIT_FSIZE, limits[limit], limits[limit]);
                        break;
                case LIMIT_PROCESSES:
                        /* Init lives in the same namespace and counts too, with its threads. */
                        data = limits[limit] + 1 + broker_threads(opener->plan);
                        set_limit(opener, RLIMIT_NPROC, data, data);
                        break;
                case LIMIT_MEMORY:
                        /* It is of address space, of which stacks of threads are large and mostly unused: so it only
                         * keeps one process from taking everything between two looks. */
                        data = limits[limit] + (limits[limit] > DATA_MARGIN ? limits[limit] : DATA_MARGIN);
                        set_limit(opener, RLIMIT_DATA, data, data);
                        break;
                case LIMIT_CPU:
                        set_limit(opener, RLIMIT_CPU, seconds, seconds + 1);
                        break;
                case LIMIT_WRITTEN:
                case LIMIT_TIMEOUT:
                case LIMIT_OUTPUT:
                case LIMIT_COUNT:
                        break;
                }
        }
}

/* Files in the private directories are memory, too: no more of it than the limit, and the supervisor counts it. */
static const char *stage_options(struct opener *opener)
{
        uint64_t limit = opener->policy->limits[LIMIT_MEMORY];
        char options[96];

        if (!plan_limits_by(opener->plan, PLAN_COUNT, LIMIT_MEMORY))
                return NULL;
        snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64, limit, limit / 1024 + 1024);
        return keep(opener, options, "");
}

/* What is left for the command when its filter is loaded. */
static void finish_command(struct opener *opener)
{
        command_step(opener, COMMAND_DESCRIPTORS);
        command_step(opener, COMMAND_WAIT);
        if (plan_has(opener->plan, PLAN_LANDLOCK))
                command_step(opener, COMMAND_LANDLOCK);
        command_step(opener, COMMAND_CHDIR);
        command_step(opener, COMMAND_REOPEN);
        set_limits(opener);
}

/* Of files there can be many, and each in a slot is a descriptor. */
static void expose(struct opener *opener, const struct step *step)
{
        if (copies_are_for(step))
                place(opener, step->path, opener->tree_slot++);
        else
                init_step(opener, INIT_EXPOSE, in_root(opener, step->path))->value =
                        ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV;
}

/* One step of the plan after the world became read-only. */
static void translate(struct opener *opener, const struct step *step)
{
        struct init_step *child;

        switch (step->op) {
        case PLAN_SWEEP:
        case PLAN_OWN_TMP:
        case PLAN_NAMESPACES:
        case PLAN_MAP_IDS:
        case PLAN_STAGE:
        case PLAN_PRIVATE_IPC:
        case PLAN_SESSION:
        case PLAN_PRIVILEGES:
        case PLAN_READ_ONLY_WORLD:
        case PLAN_NOEXEC:
        case PLAN_LINK:
        case PLAN_LIMIT:
        case PLAN_CGROUP:
        case PLAN_COUNT:
        case PLAN_ARGUMENTS:
        case PLAN_ENVIRONMENT:
        case PLAN_DEADLINE:
        case PLAN_OUTPUT:
        case PLAN_BROKER:
                return; /* done elsewhere: with the ground, before, or by the parent */
        case PLAN_NEW_ROOT:
                init_step(opener, INIT_COVER, opener->root)->target = "root";
                return;
        case PLAN_SHOW:
        case PLAN_LIBRARIES:
        case PLAN_WRITABLE:
        case PLAN_LOADER:
                place(opener, step->path, opener->tree_slot++);
                return;
        case PLAN_START:
                expose(opener, step);
                return;
        case PLAN_DEVICES:
                place_devices(opener);
                return;
        case PLAN_TERMINALS:
                mount_terminals(opener);
                return;
        case PLAN_PRIVATE_SHM:
                if (*opener->root || opener->has_shm)
                        place(opener, "/dev/shm", opener->shm_slot)->is_system = true;
                if (shows_host_queues(opener))
                        init_step(opener, INIT_COVER, "/dev/mqueue")->target = "d";
                return;
        case PLAN_PRIVATE_TMP:
                place(opener, "/tmp", opener->tmp_slot)->is_system = true;
                return;
        case PLAN_PROC:
                finish_proc(opener);
                return;
        case PLAN_PIN:
        case PLAN_PROTECT:
                child = init_step(opener, INIT_BIND, in_root(opener, step->path));
                child->value = step->op == PLAN_PROTECT ? ATTR_RDONLY : 0;
                child->is_kept = true;
                return;
        case PLAN_HIDE:
                child = init_step(opener, INIT_COVER, in_root(opener, step->path));
                child->target = step->value == PATH_DIRECTORY || step->value == PATH_ABSENT ? "d" : "f";
                child->is_kept = true;
                return;
        case PLAN_ENTER_ROOT:
                init_step(opener, INIT_PIVOT, opener->root);
                return;
        case PLAN_LANDLOCK:
                command_step(opener, COMMAND_RULES);
                return;
        case PLAN_SECCOMP:
                command_step(opener, COMMAND_SECCOMP);
                return;
        case PLAN_DESCRIPTORS:
                finish_command(opener);
                return;
        }
}

/* Where the stage is mounted: a directory that is nobody's, covered again before the command sees it. */
static int find_stage(const char **out, abatis_error *err)
{
        static const char *const candidates[] = { "/dev/shm", "/tmp", "/run", "/mnt" };

        for (size_t i = 0; i < COUNT(candidates); i++) {
                struct stat status;

                if (!lstat(candidates[i], &status) && S_ISDIR(status.st_mode)) {
                        *out = candidates[i];
                        return 0;
                }
        }
        return error_set(err, ABATIS_E_SYSTEM, "none of /dev/shm, /tmp, /run and /mnt is a directory");
}

static int make_steps(struct opener *opener, abatis_error *err)
{
        if (plan_has(opener->plan, PLAN_READ_ONLY_WORLD)) {
                const char *stage = NULL;
                int r = find_stage(&stage, err);

                if (r < 0)
                        return r;
                opener->has_shm = !strcmp(stage, "/dev/shm"); /* it would be the first choice */
                opener->has_queues = kind_of("/dev/mqueue") == PATH_DIRECTORY;
                if (plan_has(opener->plan, PLAN_NEW_ROOT))
                        opener->root = keep(opener, stage, "/root");
                opener->noexec = plan_has(opener->plan, PLAN_NOEXEC) ? ATTR_NOEXEC : 0;
                opener->plan_op = PLAN_STAGE;
                init_step(opener, INIT_STAGE, stage)->target = stage_options(opener);
                if (plan_has(opener->plan, PLAN_COUNT)) {
                        opener->plan_op = PLAN_COUNT;
                        init_step(opener, INIT_COUNT, NULL);
                        opener->plan_op = PLAN_STAGE;
                }
                fill_stage(opener);
                grab_trees(opener);
                opener->plan_op = PLAN_READ_ONLY_WORLD;
                init_step(opener, INIT_READ_ONLY, NULL)->value = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV |
                                                                 opener->noexec |
                                                                 (is_noexec(opener->plan) ? ATTR_NOEXEC : 0);
        }
        opener->plan_op = PLAN_DESCRIPTORS;
        command_step(opener, COMMAND_STDIO);
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                opener->plan_op = opener->plan->steps[i].op;
                translate(opener, &opener->plan->steps[i]);
        }
        command_step(opener, COMMAND_SIGNAL_MASK);
        command_step(opener, COMMAND_EXEC);
        return opener->has_failed ? error_memory(err) : 0;
}

int steps_make(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
               const struct copies *copies, struct strings *strings, struct steps *out, abatis_error *err)
{
        struct opener opener = { .steps = out,
                                 .strings = strings,
                                 .copies = copies,
                                 .plan = plan,
                                 .policy = policy,
                                 .host = host,
                                 .root = "" };
        int r = make_steps(&opener, err);

        out->root_length = strlen(opener.root);
        return r;
}

void steps_done(struct steps *steps)
{
        free(steps->init);
        free(steps->command);
}
