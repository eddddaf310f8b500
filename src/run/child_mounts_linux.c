/* child_mounts_linux.c: init's steps: the ids, the mounts, the masks. Raw system calls over prepared data.
 *
 * What they open stays open, unless it is a lot: when the steps are over, one call closes it all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "run/child_linux.h"
#include "run/syscall_linux.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define TREE_CLONE 1u
#define TREE_CLOEXEC O_CLOEXEC
#define MOVE_F_EMPTY 0x4u
#define MOVE_T_EMPTY 0x40u

/* What the command may not do, in the process that the command is started by. */
#define PASS(...) RAW_PASSING(job->pass, __VA_ARGS__)

struct mount_attributes {
        uint64_t set, clear, propagation, userns;
};

static long open_path(const struct child_job *job, const char *path)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_SYMLINKS };
        /* The path was resolved before; a link in it now means that somebody swapped it meanwhile. */
        long fd = PASS(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

        return fd == -ENAMETOOLONG ? child_walk(path) : fd;
}

/* A thousand rules must not run into the limit of open files. */
static void close_if_many(long fd)
{
        if (fd >= 128)
                RAW(SYS_close, fd);
}

static long change_attributes(const struct child_job *job, long fd, uint64_t set, uint64_t clear)
{
        struct mount_attributes change = { .set = set, .clear = clear, .propagation = MS_PRIVATE };

        return PASS(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change));
}

static long set_attributes(const struct child_job *job, long fd, uint64_t attributes)
{
        return change_attributes(job, fd, attributes, 0);
}

/* A detached copy of the mounts at `name` below `directory`. */
static long copy_tree(const struct child_job *job, long directory, const char *name)
{
        return PASS(SYS_open_tree, directory, name, TREE_CLONE | TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
}

static long attach(const struct child_job *job, long tree, long target)
{
        return PASS(SYS_move_mount, tree, "", target, "", MOVE_F_EMPTY | MOVE_T_EMPTY);
}

static long attach_at(const struct child_job *job, long tree, const char *path)
{
        long target = open_path(job, path), r;

        if (target < 0)
                return target;
        r = attach(job, tree, target);
        close_if_many(target);
        return r;
}

static long write_file(const char *path, const char *text)
{
        long fd = RAW(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC), length = 0, r;

        if (fd < 0)
                return fd;
        while (text[length])
                length++;
        r = RAW(SYS_write, fd, text, length);
        /* A mount with a file open for writing cannot become read-only. */
        RAW(SYS_close, fd);
        return r < 0 ? r : 0;
}

static long map_ids(const struct init_step *step)
{
        long r = write_file("/proc/self/setgroups", "deny");

        if (!r)
                r = write_file("/proc/self/uid_map", step->path);
        return r ? r : write_file("/proc/self/gid_map", step->target);
}

static long make_stage(struct child_job *job, const struct init_step *step)
{
        long r = PASS(SYS_mount, "tmpfs", step->path, "tmpfs", MS_NOSUID | MS_NODEV, step->target);

        if (!r)
                r = RAW(SYS_openat, AT_FDCWD, step->path, O_PATH | O_CLOEXEC | O_DIRECTORY);
        if (r < 0)
                return r;
        job->stage = job->masks = (int)r;
        return 0;
}

static long find_masks(struct child_job *job, const struct init_step *step)
{
        long fd = RAW(SYS_openat, AT_FDCWD, step->path, O_PATH | O_CLOEXEC | O_DIRECTORY);

        if (fd < 0)
                return fd;
        job->masks = (int)fd;
        return 0;
}

static long find_root(struct child_job *job)
{
        long fd = RAW(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC | O_DIRECTORY);

        if (fd < 0)
                return fd;
        job->stage = (int)fd;
        return 0;
}

/* The command's own /proc does not show whom it may not trace. This one is found through a descriptor of init's only,
 * which is out of the command's reach. */
static long open_proc(struct child_job *job)
{
        const unsigned close_on_exec = 1, create = 6; /* of fsopen and fsmount, of fsconfig */
        long context = PASS(SYS_fsopen, "proc", close_on_exec), r;

        if (context < 0)
                return context;
        r = PASS(SYS_fsconfig, context, create, 0, 0, 0);
        if (!r)
                r = PASS(SYS_fsmount, context, close_on_exec,
                         ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV | ATTR_NOEXEC);
        RAW(SYS_close, context);
        if (r < 0)
                return r;
        job->proc = (int)r;
        job->has_proc = true;
        return 0;
}

/* A directory, a file or a link on the stage, in `directory`. */
static long make_in(long directory, const char *name, const struct init_step *step)
{
        long r;

        if (step->op == INIT_MAKE_LINK)
                return RAW(SYS_symlinkat, step->target, directory, name);
        if (step->op == INIT_MAKE_FILE)
                return RAW(SYS_mknodat, directory, name, S_IFREG | step->value, 0);
        r = RAW(SYS_mkdirat, directory, name, step->value);
        return r == -EEXIST ? 0 : r;
}

static long make_staged(const struct child_job *job, const struct init_step *step)
{
        long r = make_in(job->stage, step->path, step), directory;
        const char *name;

        if (r != -ENAMETOOLONG)
                return r;
        directory = child_walk_to_last(job->stage, step->path, &name);
        r = directory < 0 ? directory : make_in(directory, name, step);
        if (directory != job->stage)
                close_if_many(directory);
        return r;
}

/* Closed at once: nobody starts a program that is open for writing, and no mount with one becomes read-only. */
static long make_copy(const struct child_job *job, const struct init_step *step)
{
        long fd = RAW(SYS_openat, job->stage, step->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555),
             r = 0;
        uint64_t done = 0;

        if (fd < 0)
                return fd;
        while (done < step->value) {
                r = RAW(SYS_write, fd, step->target + done, step->value - done);
                if (r <= 0)
                        break;
                done += (uint64_t)r;
        }
        RAW(SYS_close, fd);
        if (done < step->value)
                return r ? r : -EIO;
        return 0;
}

static long grab(struct child_job *job, const struct init_step *step)
{
        long place = open_path(job, step->path), tree, r = 0;

        if (place < 0)
                return place;
        tree = copy_tree(job, place, "");
        close_if_many(place);
        if (tree < 0)
                return tree;
        if (step->value)
                r = set_attributes(job, tree, step->value);
        job->slots[step->slot] = (int)tree;
        return r;
}

static long grab_staged(struct child_job *job, const struct init_step *step)
{
        long tree = copy_tree(job, job->stage, step->path);

        if (tree < 0)
                return tree;
        job->slots[step->slot] = (int)tree;
        return step->value ? set_attributes(job, tree, step->value) : 0;
}

static long grab_node(struct child_job *job, const struct init_step *step)
{
        long tree = PASS(SYS_open_tree, AT_FDCWD, step->path, TREE_CLONE | TREE_CLOEXEC);

        job->slots[step->slot] = (int)tree;
        if (tree >= 0 && step->value)
                return set_attributes(job, tree, step->value);
        return tree == -ENOENT ? 0 : tree;
}

static long place(const struct child_job *job, const struct init_step *step)
{
        long tree = job->slots[step->slot];

        if (tree == -ENOENT)
                return 0;
        if (!step->is_system)
                return attach_at(job, tree, step->path);
        return PASS(SYS_move_mount, tree, "", AT_FDCWD, step->path, MOVE_F_EMPTY);
}

static long cover(const struct child_job *job, const struct init_step *step)
{
        long tree = copy_tree(job, job->masks, step->target), r;

        if (tree < 0)
                return tree;
        r = attach_at(job, tree, step->path);
        close_if_many(tree);
        return r;
}

static long bind_again(const struct child_job *job, const struct init_step *step, uint64_t cleared)
{
        long place = open_path(job, step->path), tree, r = 0;

        if (place < 0)
                return place;
        tree = copy_tree(job, place, "");
        if (tree < 0)
                return tree;
        if (step->value)
                r = change_attributes(job, tree, step->value, cleared);
        if (!r)
                r = attach(job, tree, place);
        close_if_many(place);
        close_if_many(tree);
        return r;
}

static long bind_ptmx(const struct child_job *job, const struct init_step *step)
{
        long tree = PASS(SYS_open_tree, AT_FDCWD, step->target, TREE_CLONE | TREE_CLOEXEC);

        return tree < 0 ? tree : PASS(SYS_move_mount, tree, "", AT_FDCWD, step->path, MOVE_F_EMPTY);
}

/* The command may be listing a directory for its Landlock rules: as long as that moves the directory's access time, the
 * kernel calls the mount busy. */
static long restrict_world(const struct child_job *job, const struct init_step *step)
{
        const struct mount_attributes change = { .set = step->value, .propagation = MS_PRIVATE };
        const struct timespec pause = { 0, 20 * 1000 };
        long r = -EBUSY;

        for (int tries = 0; r == -EBUSY && tries < 1000; tries++) {
                if (tries)
                        RAW(SYS_nanosleep, &pause, 0);
                r = PASS(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof(change));
        }
        return r;
}

static long pivot(const struct init_step *step)
{
        long r = RAW(SYS_chdir, step->path);

        if (!r)
                r = RAW(SYS_pivot_root, ".", ".");
        /* Both roots are now stacked on "/": the upper one is the old. */
        if (!r)
                r = RAW(SYS_umount2, ".", MNT_DETACH);
        return r ? r : RAW(SYS_chdir, "/");
}

long child_mounts_do(struct child_job *job, const struct init_step *step)
{
        switch (step->op) {
        case INIT_MAP_IDS:
                return map_ids(step);
        case INIT_NETWORK:
                return child_network_open(job);
        case INIT_UNSHARE:
                return RAW(SYS_unshare, step->value);
        case INIT_PRIVATE:
                return PASS(SYS_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
        case INIT_MASKS:
                return find_masks(job, step);
        case INIT_ROOT:
                return find_root(job);
        case INIT_STAGE:
                return make_stage(job, step);
        case INIT_MAKE_DIR:
        case INIT_MAKE_FILE:
        case INIT_MAKE_LINK:
                return make_staged(job, step);
        case INIT_MAKE_COPY:
                return make_copy(job, step);
        case INIT_COUNT:
                return open_proc(job);
        case INIT_GRAB:
                return grab(job, step);
        case INIT_GRAB_NODE:
                return grab_node(job, step);
        case INIT_GRAB_STAGED:
                return grab_staged(job, step);
        case INIT_START:
                return child_command_start(job);
        case INIT_READ_ONLY:
                return restrict_world(job, step);
        case INIT_PLACE:
                return place(job, step);
        case INIT_COVER:
                return cover(job, step);
        case INIT_BIND:
                return bind_again(job, step, 0);
        case INIT_EXPOSE:
                return bind_again(job, step, ATTR_NOEXEC);
        case INIT_PTMX:
                return bind_ptmx(job, step);
        case INIT_TMPFS:
                return PASS(SYS_mount, "tmpfs", step->path, "tmpfs", MS_NOSUID | MS_NODEV | step->value,
                            "mode=1777");
        case INIT_TERMINALS:
                return PASS(SYS_mount, "devpts", step->path, "devpts", MS_NOSUID | MS_NOEXEC,
                            "ptmxmode=0666");
        case INIT_PROC:
                return PASS(SYS_mount, "proc", step->path, "proc",
                            MS_NOSUID | MS_NODEV | MS_NOEXEC | step->value, "hidepid=4");
        case INIT_PIVOT:
                return pivot(step);
        }
        return -ENOSYS;
}
