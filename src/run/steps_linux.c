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
#include "run/broker_linux.h"
#include "run/opener_linux.h"

static const char *in_root(struct opener *opener, const char *path)
{
        return opener_keep(opener, opener->root, path);
}

static bool is_noexec(const struct plan *plan)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == PLAN_READ_ONLY_WORLD)
                        return plan->steps[i].value;
        return false;
}

/* The host's message queues, as files, could be emptied through a descriptor: they are covered. */
static bool shows_host_queues(const struct opener *opener)
{
        return !*opener->root && opener->has_queues;
}

static struct init_step *grab(struct opener *opener, enum init_op op, const char *path)
{
        struct init_step *step = opener_init(opener, op, path);

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

        if (opener->part == STEPS_WHOLE) {
                opener->tmp_slot = grab_private(opener, "tmp");
                opener->shm_slot = grab_private(opener, "shm");
        }
        if (opener->part == STEPS_WORLD && *opener->root) {
                struct init_step *step = grab(opener, INIT_GRAB, "/proc");

                step->value = read_only;
                opener->proc_slot = step->slot;
        }
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
                        grab(opener, INIT_GRAB_STAGED, opener_copy_name(opener, copies++))->value = read_only;
                else if (step->op == PLAN_LIBRARIES)
                        grab(opener, INIT_GRAB, step->path)->value = read_only;
        }
}

static struct init_step *place(struct opener *opener, const char *path, unsigned slot)
{
        struct init_step *step = opener_init(opener, INIT_PLACE, in_root(opener, path));

        step->slot = slot;
        return step;
}

/* A tree that the private /tmp would cover. The world has it where the host has; of two, one in the other, the outer brings the
 * inner along. */
static bool is_tree_in_tmp(const struct opener *opener, size_t index)
{
        const struct step *step = &opener->plan->steps[index];

        if ((step->op != PLAN_WRITABLE && step->op != PLAN_SHOW) || !opener_has_in_tmp(opener, step->path))
                return false;
        for (size_t i = 0; i < index; i++)
                if (is_tree_in_tmp(opener, i) && path_is_below(step->path, opener->plan->steps[i].path))
                        return false;
        return true;
}

static void grab_trees_in_tmp(struct opener *opener)
{
        opener->tree_slot = opener->steps->slot_count;
        for (size_t i = 0; i < opener->plan->step_count; i++)
                if (is_tree_in_tmp(opener, i))
                        grab(opener, INIT_GRAB, opener->plan->steps[i].path);
}

static void place_trees_in_tmp(struct opener *opener)
{
        opener_init(opener, INIT_ROOT, NULL);
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                const char *path = opener->plan->steps[i].path;

                if (!is_tree_in_tmp(opener, i))
                        continue;
                opener_make_point(opener, path, opener_kind_of(path));
                place(opener, path, opener->tree_slot++);
        }
}

/* In a copy of the world there is no stage of the job's own. */
static void place_private(struct opener *opener, const char *path, unsigned slot)
{
        switch (opener->part) {
        case STEPS_WHOLE:
                place(opener, path, slot)->is_system = true;
                return;
        case STEPS_JOB:
                opener_init(opener, INIT_TMPFS, path)->value = opener->noexec ? MS_NOEXEC : 0;
                return;
        case STEPS_WORLD:
        case STEPS_WRAP:
        case STEPS_INSIDE:
                return;
        }
}

static void place_tmp(struct opener *opener)
{
        place_private(opener, "/tmp", opener->tmp_slot);
        if (opener->part == STEPS_JOB)
                place_trees_in_tmp(opener);
}

static void place_root(struct opener *opener)
{
        opener_init(opener, INIT_COVER, opener->root)->target = "root";
        /* The kernel lets nobody mount a /proc where there is none. */
        if (opener->part == STEPS_WORLD)
                place(opener, "/proc", opener->proc_slot)->is_system = true;
}

static void place_devices(struct opener *opener)
{
        for (unsigned i = 0; i < COUNT(device_nodes); i++)
                place(opener, device_nodes[i], opener->node_slot + i)->is_system = true;
}

static void mount_terminals(struct opener *opener)
{
        bool has_new_root = plan_has(opener->plan, PLAN_NEW_ROOT);
        struct stat status;

        if (!has_new_root && opener_kind_of("/dev/pts") != PATH_DIRECTORY)
                return;
        opener_init(opener, INIT_TERMINALS, in_root(opener, "/dev/pts"));
        /* A node of the host's devpts would open the host's terminals; a link leads to ours by itself. */
        if (!has_new_root && !lstat("/dev/ptmx", &status) && S_ISCHR(status.st_mode))
                opener_init(opener, INIT_PTMX, "/dev/ptmx")->target = "/dev/pts/ptmx";
}

static void finish_proc(struct opener *opener)
{
        /* The ground has one at /proc, which a new root leaves behind. That of a world is the host's. */
        if (*opener->root || opener->part == STEPS_JOB)
                opener_init(opener, INIT_PROC, in_root(opener, "/proc"))->value = MS_RDONLY;
        for (size_t i = 0; view_root_proc_files[i] && !opener->host->uid; i++)
                if (opener_kind_of(view_root_proc_files[i]) != PATH_ABSENT)
                        opener_init(opener, INIT_COVER, in_root(opener, view_root_proc_files[i]))->target =
                                "f";
}

#define DATA_MARGIN (UINT64_C(1) << 30)

static void set_limit(struct opener *opener, unsigned resource, uint64_t soft, uint64_t hard)
{
        struct command_step *step = opener_command(opener, COMMAND_LIMIT);

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
                case LIMIT_CONNECTIONS:
                case LIMIT_CONNECTION_RATE:
                case LIMIT_TRAFFIC:
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
        return opener_keep(opener, options, "");
}

/* Rights go to what stands in a directory, and not to what comes there later: a list that was made ahead would be too old. Where
 * Landlock holds all by itself, the keeper sees to that. */
static bool lists_entries(const struct plan *plan)
{
        return plan_has(plan, PLAN_LANDLOCK) && plan->avoided.count && !plan_has(plan, PLAN_SWEEP);
}

static void restrict_paths(struct opener *opener)
{
        opener_command(opener, COMMAND_RULES);
        opener_command(opener, COMMAND_LANDLOCK);
}

static void begin_landlock(struct opener *opener)
{
        if (opener->part == STEPS_WHOLE)
                opener_command(opener, COMMAND_RULES);
        else if (!lists_entries(opener->plan))
                restrict_paths(opener);
}

/* What is left for the command when its filter is loaded. */
static void finish_command(struct opener *opener)
{
        if (opener->part == STEPS_WHOLE) {
                opener_command(opener, COMMAND_DESCRIPTORS);
                opener_command(opener, COMMAND_WAIT);
                if (plan_has(opener->plan, PLAN_LANDLOCK))
                        opener_command(opener, COMMAND_LANDLOCK);
        } else {
                /* Init has the listener, and answers. */
                if (plan_has(opener->plan, PLAN_BROKER))
                        opener_command(opener, COMMAND_WAIT);
                opener_command(opener, COMMAND_TAKE);
                if (lists_entries(opener->plan))
                        restrict_paths(opener);
        }
        opener_command(opener, COMMAND_CHDIR);
        opener_command(opener, COMMAND_REOPEN);
        set_limits(opener);
}

/* Of files there can be many, and each in a slot is a descriptor. */
static void expose(struct opener *opener, const struct step *step)
{
        if (copies_are_for(step))
                place(opener, step->path, opener->tree_slot++);
        else
                opener_init(opener, INIT_EXPOSE, in_root(opener, step->path))->value =
                        ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV;
}

static void place_shm(struct opener *opener)
{
        if (*opener->root || opener->has_shm)
                place_private(opener, "/dev/shm", opener->shm_slot);
        if (opener->part != STEPS_JOB && shows_host_queues(opener))
                opener_init(opener, INIT_COVER, "/dev/mqueue")->target = "d";
}

static void cover_hosts(struct opener *opener)
{
        if (opener->has_hosts)
                opener_init(opener, INIT_COVER, "/etc/hosts")->target = "hosts";
}

static void bind_again(struct opener *opener, const struct step *step)
{
        struct init_step *child = opener_init(opener, INIT_BIND, in_root(opener, step->path));

        child->value = step->op == PLAN_PROTECT ? ATTR_RDONLY : 0;
        child->is_kept = true;
}

static void hide(struct opener *opener, const struct step *step)
{
        struct init_step *child = opener_init(opener, INIT_COVER, in_root(opener, step->path));

        child->target = step->value == PATH_DIRECTORY || step->value == PATH_ABSENT ? "d" : "f";
        child->is_kept = true;
}

/* What the job has for itself at a place that every job has. */
static void make_private(struct opener *opener, enum plan_op op)
{
        if (op == PLAN_DEVICES)
                place_devices(opener);
        else if (op == PLAN_TERMINALS)
                mount_terminals(opener);
        else if (op == PLAN_PRIVATE_SHM)
                place_shm(opener);
        else if (op == PLAN_PRIVATE_TMP)
                place_tmp(opener);
        else
                finish_proc(opener);
}

/* One step of the plan after the world became read-only. */
static void translate(struct opener *opener, const struct step *step)
{
        switch (step->op) {
        case PLAN_SWEEP:
        case PLAN_OWN_TMP:
        case PLAN_NAMESPACES:
        case PLAN_MAP_IDS:
        case PLAN_STAGE:
        case PLAN_PRIVATE_IPC:
        case PLAN_NETWORK:
        case PLAN_STREAMS:
        case PLAN_LOOPBACK:
        case PLAN_LOOPBACK_AT_ONCE:
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
        case PLAN_PORTER:
        case PLAN_DEADLINE:
        case PLAN_OUTPUT:
        case PLAN_BROKER:
        case PLAN_CALLS:
        case PLAN_PROFILE:
        case PLAN_CONTAINER:
        case PLAN_CLOSED:
        case PLAN_SUSPENDED:
        case PLAN_JOB_OBJECT:
        case PLAN_RESUME:
                return; /* done elsewhere: with the ground, before, or by the parent */
        case PLAN_NEW_ROOT:
                place_root(opener);
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
        case PLAN_TERMINALS:
        case PLAN_PRIVATE_SHM:
        case PLAN_PRIVATE_TMP:
        case PLAN_PROC:
                make_private(opener, step->op);
                return;
        case PLAN_PIN:
        case PLAN_PROTECT:
                bind_again(opener, step);
                return;
        case PLAN_HIDE:
                hide(opener, step);
                return;
        case PLAN_HOSTS:
                cover_hosts(opener);
                return;
        case PLAN_ENTER_ROOT:
                opener_init(opener, INIT_PIVOT, opener->root);
                return;
        case PLAN_LANDLOCK:
                begin_landlock(opener);
                return;
        case PLAN_SECCOMP:
                opener_command(opener, COMMAND_SECCOMP);
                return;
        case PLAN_DESCRIPTORS:
                finish_command(opener);
                return;
        }
}

/* What each job must have afresh is left out of the world. The filter is its keeper's, unless a broker answers for it: that is of one
 * job. */
static bool is_in_part(const struct opener *opener, enum plan_op op)
{
        bool is_for_each = op == PLAN_TERMINALS || op == PLAN_PRIVATE_TMP || op == PLAN_PROC ||
                           op == PLAN_LANDLOCK || op == PLAN_DESCRIPTORS;

        switch (opener->part) {
        case STEPS_WHOLE:
                return true;
        case STEPS_WORLD:
                return !is_for_each && op != PLAN_SECCOMP;
        case STEPS_JOB:
                return is_for_each || op == PLAN_PRIVATE_SHM ||
                       (op == PLAN_SECCOMP && plan_has(opener->plan, PLAN_BROKER));
        case STEPS_WRAP:
        case STEPS_INSIDE:
                break;
        }
        return false;
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

/* The world, on the stage, before it becomes read-only. */
static void lay_out(struct opener *opener, const char *stage)
{
        opener->plan_op = PLAN_STAGE;
        opener_init(opener, INIT_STAGE, stage)->target = stage_options(opener);
        if (plan_has(opener->plan, PLAN_COUNT)) {
                opener->plan_op = PLAN_COUNT;
                opener_init(opener, INIT_COUNT, NULL);
                opener->plan_op = PLAN_STAGE;
        }
        opener_fill_stage(opener);
        grab_trees(opener);
        opener->plan_op = PLAN_READ_ONLY_WORLD;
        opener_init(opener, INIT_READ_ONLY, NULL)->value = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV |
                                                           opener->noexec |
                                                           (is_noexec(opener->plan) ? ATTR_NOEXEC : 0);
}

static int make_wrap(struct opener *opener, abatis_error *err)
{
        static const enum command_op ops[] = { COMMAND_STDIO,           COMMAND_PASS,        COMMAND_WAIT,
                                               COMMAND_SIGNALS_IGNORED, COMMAND_SIGNAL_MASK, COMMAND_EXEC };

        opener->plan_op = PLAN_NAMESPACES;
        for (size_t i = 0; i < COUNT(ops); i++)
                opener_command(opener, ops[i]);
        return opener->has_failed ? error_memory(err) : 0;
}

static void become_command(struct opener *opener)
{
        opener_command(opener, COMMAND_SIGNAL_MASK);
        opener->plan_op = PLAN_CALLS;
        /* A porter starts the commands, and these load it. */
        if (plan_has(opener->plan, PLAN_CALLS) && !plan_has(opener->plan, PLAN_PORTER))
                opener_command(opener, COMMAND_CALLS);
        opener_command(opener, COMMAND_EXEC);
}

static int make_inside(struct opener *opener, abatis_error *err)
{
        const bool has_landlock = plan_has(opener->plan, PLAN_LANDLOCK);

        opener->plan_op = PLAN_SESSION;
        opener_command(opener, COMMAND_SESSION);
        opener->plan_op = PLAN_PRIVILEGES;
        opener_command(opener, COMMAND_PRIVILEGES);
        opener->plan_op = PLAN_LANDLOCK;
        if (has_landlock)
                opener_command(opener, COMMAND_RULES);
        opener->plan_op = PLAN_DESCRIPTORS;
        opener_command(opener, COMMAND_DESCRIPTORS);
        if (has_landlock)
                opener_command(opener, COMMAND_LANDLOCK);
        opener_command(opener, COMMAND_CHDIR);
        opener_command(opener, COMMAND_REOPEN);
        set_limits(opener);
        become_command(opener);
        return opener->has_failed ? error_memory(err) : 0;
}

static int make_steps(struct opener *opener, abatis_error *err)
{
        if (opener->part == STEPS_WRAP)
                return make_wrap(opener, err);
        if (opener->part == STEPS_INSIDE)
                return make_inside(opener, err);
        if (plan_has(opener->plan, PLAN_READ_ONLY_WORLD)) {
                const char *stage = NULL;
                int r = find_stage(&stage, err);

                if (r < 0)
                        return r;
                opener->has_shm = !strcmp(stage, "/dev/shm"); /* it would be the first choice */
                opener->has_queues = opener_kind_of("/dev/mqueue") == PATH_DIRECTORY;
                opener->has_hosts = opener_kind_of("/etc/hosts") == PATH_FILE;
                if (plan_has(opener->plan, PLAN_NEW_ROOT) && opener->part != STEPS_JOB)
                        opener->root = opener_keep(opener, stage, "/root");
                opener->noexec = plan_has(opener->plan, PLAN_NOEXEC) ? ATTR_NOEXEC : 0;
                opener->plan_op = PLAN_STAGE;
                if (opener->part == STEPS_JOB) {
                        opener_init(opener, INIT_MASKS, stage);
                        grab_trees_in_tmp(opener);
                } else {
                        lay_out(opener, stage);
                }
        }
        opener->plan_op = PLAN_DESCRIPTORS;
        if (opener->part == STEPS_WHOLE)
                opener_command(opener, COMMAND_STDIO);
        for (size_t i = 0; i < opener->plan->step_count; i++) {
                opener->plan_op = opener->plan->steps[i].op;
                if (is_in_part(opener, opener->plan_op))
                        translate(opener, &opener->plan->steps[i]);
        }
        become_command(opener);
        return opener->has_failed ? error_memory(err) : 0;
}

/* What lies in /tmp is in the world where the host has it, and each job gets the trees among it. Nothing else is looked for. */
static bool is_out_of_tmp(const struct opener *opener, const struct step *step)
{
        if (!step->path || !opener_has_in_tmp(opener, step->path))
                return true;
        if (step->op == PLAN_LIBRARIES || step->op == PLAN_START || step->op == PLAN_LOADER ||
            opener_kind_of(step->path) == PATH_ABSENT)
                return false;
        for (size_t i = 0; i < opener->plan->step_count; i++)
                if (is_tree_in_tmp(opener, i) && path_is_below(step->path, opener->plan->steps[i].path))
                        return true;
        return false;
}

/* Root's /proc has files that are covered, and what covers them is behind a new root. A filter that asks a broker lets nobody make
 * rules of Landlock's, which a launch would have to. */
static bool can_be_staged(const struct plan *plan, const abatis_host *host)
{
        const char *stage = NULL;

        return host_has_mounts(host) && plan_has(plan, PLAN_READ_ONLY_WORLD) &&
               find_stage(&stage, NULL) >= 0 && !strcmp(stage, "/dev/shm") &&
               !(plan_has(plan, PLAN_NEW_ROOT) && !host->uid) &&
               !(plan_has(plan, PLAN_BROKER) && lists_entries(plan));
}

/* The kernel counts processes of a user namespace, which the jobs would share, and other limits of a tree need what is made when it
 * starts. */
bool steps_can_be_parted(const struct plan *plan, const abatis_policy *policy, const abatis_host *host)
{
        static const enum plan_op unfit[] = { PLAN_COUNT, PLAN_CGROUP };
        const struct opener opener = { .policy = policy, .plan = plan };

        if (plan_has(plan, PLAN_SWEEP) ? !plan_has(plan, PLAN_LANDLOCK) || !plan_has(plan, PLAN_BROKER)
                                       : !can_be_staged(plan, host))
                return false;
        for (size_t i = 0; i < COUNT(unfit); i++)
                if (plan_has(plan, unfit[i]))
                        return false;
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *step = &plan->steps[i];

                if ((step->op == PLAN_LIMIT && step->value == LIMIT_PROCESSES) ||
                    (host_has_mounts(host) && !is_out_of_tmp(&opener, step)))
                        return false;
        }
        return true;
}

int steps_make(enum steps_part part, const struct plan *plan, const abatis_policy *policy,
               const abatis_host *host, const struct copies *copies, struct strings *strings,
               struct steps *out, abatis_error *err)
{
        struct opener opener = { .part = part,
                                 .steps = out,
                                 .strings = strings,
                                 .copies = copies,
                                 .plan = plan,
                                 .policy = policy,
                                 .host = host,
                                 .root = "" };
        int r = make_steps(&opener, err);

        free(opener.made);
        out->root_length = strlen(opener.root);
        return r;
}

void steps_done(struct steps *steps)
{
        free(steps->init);
        free(steps->command);
}
