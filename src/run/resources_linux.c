/* resources_linux.c: turns a plan into what the child can do without thinking: flat steps, open descriptors, a filter. */
#define _GNU_SOURCE
#include "run/resources_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "run/grants_linux.h"

#define ATTR_RDONLY 0x1u
#define ATTR_NOSUID 0x2u
#define ATTR_NODEV 0x4u
#define ATTR_NOEXEC 0x8u

/* Used while the steps of one plan are made. */
struct opener {
        struct resources *resources;
        const struct plan *plan;
        const abatis_policy *policy;
        const abatis_host *host;
        const char *stage; /* where the tmpfs is mounted */
        const char *root;  /* "" or, with a new root, its place on the stage */
        size_t plan_step;  /* the one being translated */
        unsigned tmp_slot, shm_slot;
        bool has_failed;
        struct init_step dropped_init; /* written to after a failure, never read */
        struct command_step dropped_command;
};

static const char *const device_nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                            "/dev/random", "/dev/urandom", "/dev/tty" };

/* What root may read by its file mode alone, without any capability. */
static const char *const root_proc_files[] = { "/proc/kcore",      "/proc/kmsg",        "/proc/kpagecount",
                                               "/proc/kpageflags", "/proc/kpagecgroup", "/proc/keys",
                                               "/proc/timer_list", "/proc/slabinfo",    "/proc/vmallocinfo" };

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
        struct resources *resources = opener->resources;
        struct init_step *steps = make_room(opener, resources->init_steps, resources->child.init_count,
                                            &resources->init_capacity, sizeof(*steps));

        if (!steps)
                return &opener->dropped_init;
        resources->init_steps = steps;
        steps += resources->child.init_count++;
        *steps = (struct init_step){ .op = op, .path = path, .plan_step = opener->plan_step };
        return steps;
}

static struct command_step *command_step(struct opener *opener, enum command_op op)
{
        struct resources *resources = opener->resources;
        struct command_step *steps =
                make_room(opener, resources->command_steps, resources->child.command_count,
                          &resources->command_capacity, sizeof(*steps));

        if (!steps)
                return &opener->dropped_command;
        resources->command_steps = steps;
        steps += resources->child.command_count++;
        *steps = (struct command_step){ .op = op, .plan_step = opener->plan_step };
        return steps;
}

/* A string that lives as long as the resources. */
static const char *keep(struct opener *opener, const char *first, const char *second)
{
        OWN_FREE char *joined = NULL;

        if (!*first)
                return second; /* the plan's own, which outlives the resources */
        joined = text_join(first, second, "");
        if (!joined || strings_add(&opener->resources->strings, joined, NULL) < 0) {
                opener->has_failed = true;
                return "";
        }
        return opener->resources->strings.items[opener->resources->strings.count - 1];
}

static const char *in_root(struct opener *opener, const char *path)
{
        return keep(opener, opener->root, path);
}

static bool has_op(const struct plan *plan, enum plan_op op)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op)
                        return true;
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

static bool was_made(const struct opener *opener, const char *name)
{
        for (size_t i = 0; i < opener->resources->child.init_count; i++) {
                const struct init_step *step = &opener->resources->init_steps[i];

                if (step->op == INIT_MAKE_DIR && !strcmp(step->path, name))
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
                        init_step(opener, INIT_MAKE_DIR, keep(opener, prefix, ""))->value = 0755;
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
        if (!is_directory)
                init_step(opener, INIT_MAKE_FILE, name)->value = 0644;
}

static enum path_kind kind_of(const char *path)
{
        struct stat status;

        if (lstat(path, &status) < 0)
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

/* The host's message queues, as files: they could be emptied through a descriptor. */
static bool has_host_queues(const struct opener *opener)
{
        return !*opener->root && kind_of("/dev/mqueue") == PATH_DIRECTORY;
}

/* Everything on the stage is made before the world, the stage with it, becomes read-only. */
static void fill_stage(struct opener *opener)
{
        bool has_masks = !opener->host->uid || has_host_queues(opener);

        init_step(opener, INIT_MAKE_DIR, "tmp")->value = 01777;
        init_step(opener, INIT_MAKE_DIR, "shm")->value = 01777;
        make_device_points(opener);
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
                has_masks |= step->op == PLAN_HIDE;
        }
        if (has_masks) {
                init_step(opener, INIT_MAKE_DIR, "d")->value = 0;
                init_step(opener, INIT_MAKE_FILE, "f")->value = 0;
        }
        opener->tmp_slot = opener->resources->slot_count++;
        init_step(opener, INIT_GRAB_STAGED, "tmp")->slot = opener->tmp_slot;
        opener->shm_slot = opener->resources->slot_count++;
        init_step(opener, INIT_GRAB_STAGED, "shm")->slot = opener->shm_slot;
}

/* ---- translation ---------------------------------------------------------------------------------------- */

/* Trees are copied while they are still what the host made them, and put back over the read-only world. */
static void grab_trees(struct opener *opener, unsigned *first_slot)
{
        *first_slot = opener->resources->slot_count;
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                const struct step *step = &opener->plan->steps[i];
                struct init_step *grab;

                opener->plan_step = i;
                if (step->op == PLAN_DEVICES) {
                        for (size_t j = 0; j < COUNT(device_nodes); j++) {
                                grab = init_step(opener, INIT_GRAB_NODE, device_nodes[j]);
                                grab->slot = opener->resources->slot_count++;
                                /* Root owns the nodes: writing to the device needs no writable mount, chmod does. */
                                grab->value = opener->host->uid ? 0 : ATTR_RDONLY | ATTR_NOSUID;
                        }
                        continue;
                }
                if (step->op != PLAN_WRITABLE && step->op != PLAN_SHOW)
                        continue;
                grab = init_step(opener, INIT_GRAB, step->path);
                grab->slot = opener->resources->slot_count++;
                grab->value = ATTR_NOSUID | ATTR_NODEV;
                if (step->op == PLAN_SHOW)
                        grab->value |= ATTR_RDONLY | (step->value ? ATTR_NOEXEC : 0);
        }
}

static struct init_step *place(struct opener *opener, const char *path, unsigned slot)
{
        struct init_step *step = init_step(opener, INIT_PLACE, in_root(opener, path));

        step->slot = slot;
        return step;
}

static void place_devices(struct opener *opener, unsigned *slot)
{
        for (size_t i = 0; i < COUNT(device_nodes); i++)
                place(opener, device_nodes[i], (*slot)++)->is_system = true;
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

static void mount_proc(struct opener *opener)
{
        init_step(opener, INIT_PROC, in_root(opener, "/proc"));
        for (size_t i = 0; i < COUNT(root_proc_files) && !opener->host->uid; i++)
                if (kind_of(root_proc_files[i]) != PATH_ABSENT)
                        init_step(opener, INIT_COVER, in_root(opener, root_proc_files[i]))->target = "f";
}

static void set_limits(struct opener *opener)
{
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                enum limit limit = (enum limit)opener->plan->steps[i].value;
                struct command_step *step;

                if (opener->plan->steps[i].op != PLAN_LIMIT)
                        continue;
                step = command_step(opener, COMMAND_LIMIT);
                step->value = opener->policy->limits[limit];
                step->resource = limit == LIMIT_OPEN_FILES  ? RLIMIT_NOFILE
                                 : limit == LIMIT_FILE_SIZE ? RLIMIT_FSIZE
                                                            : RLIMIT_NPROC;
                /* Init lives in the same namespace and counts too. */
                if (limit == LIMIT_PROCESSES)
                        step->value++;
        }
}

/* What the command does when init is ready. */
static void finish_command(struct opener *opener)
{
        command_step(opener, COMMAND_WAIT);
        if (has_op(opener->plan, PLAN_LANDLOCK))
                command_step(opener, COMMAND_LANDLOCK);
        command_step(opener, COMMAND_CHDIR);
        /* Late: it may take the number of a descriptor that an earlier step needed. */
        command_step(opener, COMMAND_STDIO);
        command_step(opener, COMMAND_DESCRIPTORS);
        /* After the descriptors: a limit for the command is none for its own preparation. */
        set_limits(opener);
}

/* One step of the plan after the world became read-only. *slot runs through the trees that were grabbed. */
static void translate(struct opener *opener, const struct step *step, unsigned *slot)
{
        struct init_step *child;

        switch (step->op) {
        case PLAN_NAMESPACES:
        case PLAN_MAP_IDS:
        case PLAN_STAGE:
        case PLAN_READ_ONLY_WORLD:
        case PLAN_LINK:
        case PLAN_LIMIT:
        case PLAN_ENVIRONMENT:
        case PLAN_DEADLINE:
        case PLAN_OUTPUT:
                return; /* done elsewhere: before, or by the parent */
        case PLAN_NEW_ROOT:
                init_step(opener, INIT_COVER, opener->root)->target = "root";
                return;
        case PLAN_SHOW:
        case PLAN_WRITABLE:
                place(opener, step->path, (*slot)++);
                return;
        case PLAN_DEVICES:
                place_devices(opener, slot);
                return;
        case PLAN_TERMINALS:
                mount_terminals(opener);
                return;
        case PLAN_PRIVATE_SHM:
                if (*opener->root || kind_of("/dev/shm") == PATH_DIRECTORY)
                        place(opener, "/dev/shm", opener->shm_slot)->is_system = true;
                if (has_host_queues(opener))
                        init_step(opener, INIT_COVER, "/dev/mqueue")->target = "d";
                return;
        case PLAN_PRIVATE_TMP:
                place(opener, "/tmp", opener->tmp_slot)->is_system = true;
                return;
        case PLAN_PROC:
                mount_proc(opener);
                return;
        case PLAN_PIN:
                init_step(opener, INIT_BIND, in_root(opener, step->path))->is_kept = true;
                return;
        case PLAN_PROTECT:
                child = init_step(opener, INIT_BIND, in_root(opener, step->path));
                child->value = ATTR_RDONLY;
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
        case PLAN_PRIVATE_IPC:
                command_step(opener, COMMAND_IPC);
                return;
        case PLAN_SESSION:
                command_step(opener, COMMAND_SIGNALS);
                command_step(opener, COMMAND_SESSION);
                return;
        case PLAN_PRIVILEGES:
                command_step(opener, COMMAND_PRIVILEGES)->value = opener->host->namespaces != NAMESPACES_USER;
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

/* A directory that is nobody's: the tmpfs on it is covered again before the command sees it. */
static const char *choose_stage(void)
{
        static const char *const candidates[] = { "/dev/shm", "/tmp", "/run", "/mnt" };

        for (size_t i = 0; i < COUNT(candidates); i++)
                if (kind_of(candidates[i]) == PATH_DIRECTORY)
                        return candidates[i];
        return NULL;
}

static int make_steps(struct opener *opener, abatis_error *err)
{
        struct resources *resources = opener->resources;
        bool has_world = has_op(opener->plan, PLAN_READ_ONLY_WORLD);
        unsigned slot = 0;

        /* First of all: while init mounts, the command prepares itself on another processor. */
        init_step(opener, INIT_START, NULL);
        if (has_op(opener->plan, PLAN_MAP_IDS))
                init_step(opener, INIT_MAP_IDS, resources->uid_map)->target = resources->gid_map;
        if (has_world) {
                opener->stage = choose_stage();
                if (!opener->stage)
                        return error_set(err, ABATIS_E_SYSTEM,
                                         "none of /dev/shm, /tmp, /run and /mnt is a directory");
                if (has_op(opener->plan, PLAN_NEW_ROOT))
                        opener->root = keep(opener, opener->stage, "/root");
                /* Another user's namespace only receives mount events; root's would also send them. */
                if (opener->host->namespaces == NAMESPACES_ROOT)
                        init_step(opener, INIT_PRIVATE, NULL);
                init_step(opener, INIT_STAGE, opener->stage);
                fill_stage(opener);
        }
        if (has_world) {
                grab_trees(opener, &slot);
                init_step(opener, INIT_READ_ONLY, NULL)->value = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV;
        }
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                opener->plan_step = i;
                translate(opener, &opener->plan->steps[i], &slot);
        }
        command_step(opener, COMMAND_SIGNAL_MASK);
        command_step(opener, COMMAND_EXEC);
        return opener->has_failed ? error_memory(err) : 0;
}

static uint64_t namespace_flags(const struct plan *plan, const abatis_host *host)
{
        if (!has_op(plan, PLAN_NAMESPACES))
                return 0;
        return CLONE_NEWNS | CLONE_NEWPID | (host->namespaces == NAMESPACES_USER ? CLONE_NEWUSER : 0);
}

static char *write_number(char *at, unsigned number)
{
        char digits[12];
        int count = 0;

        do
                digits[count++] = (char)('0' + number % 10);
        while (number /= 10);
        while (count)
                *at++ = digits[--count];
        return at;
}

/* "ID ID 1": the one id is mapped to itself. */
static void write_map(char *map, unsigned id)
{
        map = write_number(map, id);
        *map++ = ' ';
        map = write_number(map, id);
        memcpy(map, " 1", 3);
}

int resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                   struct resources **out, abatis_error *err)
{
        struct resources *resources = calloc(1, sizeof(*resources));
        struct opener opener = {
                .resources = resources, .plan = plan, .policy = policy, .host = host, .root = ""
        };
        int r;

        if (!resources)
                return error_memory(err);
        write_map(resources->uid_map, host->uid);
        write_map(resources->gid_map, host->gid);
        resources->child.namespaces = namespace_flags(plan, host);
        r = make_steps(&opener, err);
        if (!r)
                r = filter_build(policy->network, &resources->filter, err);
        if (!r && has_op(plan, PLAN_LANDLOCK))
                r = grants_open(plan, policy, host->landlock_abi, resources, err);
        if (r < 0) {
                resources_free(resources);
                return r;
        }
        resources->child.keeps_masks = has_op(plan, PLAN_HIDE) || has_op(plan, PLAN_PROTECT);
        resources->child.root_length = strlen(opener.root);
        resources->child.init_steps = resources->init_steps;
        resources->child.command_steps = resources->command_steps;
        resources->child.rules = resources->rules;
        resources->child.filter =
                (struct sock_fprog){ (unsigned short)resources->filter.length, resources->filter.code };
        *out = resources;
        return 0;
}

void resources_free(struct resources *resources)
{
        if (!resources)
                return;
        for (size_t i = 0; i < resources->child.rule_count; i++) {
                if (resources->rules[i].fd >= 0)
                        close(resources->rules[i].fd);
                free((void *)resources->rules[i].except);
        }
        free(resources->rules);
        free(resources->init_steps);
        free(resources->command_steps);
        strings_done(&resources->strings);
        free(resources);
}
