/* child_linux.c: the code that runs between clone and exec, and init's loop after it.
 *
 * Both processes live in the host program's address space. They make raw system calls over prepared data and touch
 * nothing else: no allocation, no lock, no libc state. Init keeps its capabilities, which the command does not have;
 * that is why the kernel refuses every attempt of the command to trace it or to read its memory. */
#define _GNU_SOURCE
#include "run/child_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "run/syscall_linux.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define TREE_CLONE 1u
#define TREE_CLOEXEC O_CLOEXEC
#define MOVE_F_EMPTY 0x4u
#define MOVE_T_EMPTY 0x40u

struct mount_attributes {
        uint64_t set, clear, propagation, userns;
};

/* ---- small calls ---------------------------------------------------------------------------------------- */

static long open_path(const char *path)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_SYMLINKS };

        /* The path was resolved before; a link in it now means that somebody swapped it meanwhile. */
        return RAW(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static long close_fd(long fd)
{
        return RAW(SYS_close, fd);
}

static long set_attributes(long fd, uint64_t attributes)
{
        struct mount_attributes change = { .set = attributes, .propagation = MS_PRIVATE };

        return RAW(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change));
}

/* A detached copy of the mounts at `name` below `directory`. */
static long copy_tree(long directory, const char *name)
{
        return RAW(SYS_open_tree, directory, name, TREE_CLONE | TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
}

static long attach(long tree, long target)
{
        return RAW(SYS_move_mount, tree, "", target, "", MOVE_F_EMPTY | MOVE_T_EMPTY);
}

static long attach_at(long tree, const char *path)
{
        long target = open_path(path), r;

        if (target < 0)
                return target;
        r = attach(tree, target);
        close_fd(target);
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
        close_fd(fd);
        return r < 0 ? r : 0;
}

/* ---- init's steps --------------------------------------------------------------------------------------- */

static long map_ids(const struct child_step *step)
{
        long r = write_file("/proc/self/setgroups", "deny");

        if (!r)
                r = write_file("/proc/self/uid_map", step->path);
        return r ? r : write_file("/proc/self/gid_map", step->target);
}

static long make_stage(struct child_job *job, const struct child_step *step)
{
        long r = RAW(SYS_mount, "tmpfs", step->path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");

        if (r < 0)
                return r;
        r = RAW(SYS_openat, AT_FDCWD, step->path, O_PATH | O_CLOEXEC | O_DIRECTORY);
        if (r < 0)
                return r;
        job->stage = (int)r;
        return 0;
}

static long make_file(const struct child_job *job, const struct child_step *step)
{
        long fd = RAW(SYS_openat, job->stage, step->path, O_WRONLY | O_CREAT | O_CLOEXEC, step->value);

        return fd < 0 ? fd : close_fd(fd);
}

static long make_directory(const struct child_job *job, const struct child_step *step)
{
        long r = RAW(SYS_mkdirat, job->stage, step->path, step->value);

        if (r == -EEXIST)
                r = 0;
        /* The caller's umask took bits away that a place for everybody must have. */
        return !r && step->value == 01777 ? RAW(SYS_fchmodat, job->stage, step->path, 01777) : r;
}

static long grab(struct child_job *job, const struct child_step *step)
{
        long place = open_path(step->path), tree, r = 0;

        if (place < 0)
                return place;
        tree = copy_tree(place, "");
        close_fd(place);
        if (tree < 0)
                return tree;
        if (step->value)
                r = set_attributes(tree, step->value);
        job->slots[step->slot] = (int)tree;
        return r;
}

static long grab_staged(struct child_job *job, const struct child_step *step)
{
        long tree = copy_tree(job->stage, step->path);

        if (tree < 0)
                return tree;
        job->slots[step->slot] = (int)tree;
        return 0;
}

static long place(const struct child_job *job, const struct child_step *step)
{
        long r = attach_at(job->slots[step->slot], step->path);

        close_fd(job->slots[step->slot]);
        return r;
}

static long cover(const struct child_job *job, const struct child_step *step)
{
        long tree = copy_tree(job->stage, step->target), r;

        if (tree < 0)
                return tree;
        r = attach_at(tree, step->path);
        close_fd(tree);
        return r;
}

static long bind_again(const struct child_step *step, const char *source)
{
        long from = open_path(source), tree, r = 0;

        if (from < 0)
                return from;
        tree = copy_tree(from, "");
        if (tree >= 0 && step->value)
                r = set_attributes(tree, step->value);
        if (tree >= 0 && !r)
                r = source == step->path ? attach(tree, from) : attach_at(tree, step->path);
        close_fd(from);
        if (tree < 0)
                return tree;
        close_fd(tree);
        return r;
}

static long pivot(const struct child_step *step)
{
        long r = RAW(SYS_chdir, step->path);

        if (!r)
                r = RAW(SYS_pivot_root, ".", ".");
        /* Both roots are now stacked on "/": the upper one is the old. */
        if (!r)
                r = RAW(SYS_umount2, ".", MNT_DETACH);
        return r ? r : RAW(SYS_chdir, "/");
}

static void run_command(void *argument);

static long start_command(struct child_job *job)
{
        struct clone3_arguments arguments = {
                .flags = CLONE_VM,
                .exit_signal = SIGCHLD,
                .stack = (uintptr_t)job->command_stack - CHILD_STACK_SIZE,
                .stack_size = CHILD_STACK_SIZE,
        };
        long pid = raw_clone(&arguments, run_command, job);

        if (pid < 0)
                return pid;
        job->command = (int)pid;
        return 0;
}

/* ---- the command's steps -------------------------------------------------------------------------------- */

static long set_stdio(const struct child_job *job)
{
        long moved[3], r;

        /* First out of the way: one of them may be a number that another is about to take. */
        for (int i = 0; i < 3; i++) {
                moved[i] = job->stdio[i];
                if (moved[i] != i && moved[i] < 3) {
                        moved[i] = RAW(SYS_fcntl, moved[i], F_DUPFD_CLOEXEC, 3);
                        if (moved[i] < 0)
                                return moved[i];
                }
        }
        for (int i = 0; i < 3; i++) {
                if (moved[i] == i)
                        r = RAW(SYS_fcntl, i, F_SETFD, 0);
                else
                        r = RAW(SYS_dup3, moved[i], i, 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

static long drop_privileges(void)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
        const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
        long r = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

        /* Without the right to set these there is no capability to lose either. */
        if (!r) {
                r = RAW(SYS_prctl, PR_SET_SECUREBITS, bits, 0, 0, 0);
                if (r == -EPERM)
                        r = 0;
        }
        for (long capability = 0; !r && capability <= 63; capability++)
                if (RAW(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
                        break; /* past the kernel's last one, or not ours to drop */
        if (!r)
                r = RAW(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        return r ? r : RAW(SYS_capset, &header, none);
}

static long allow(long ruleset, long fd, uint64_t allowed)
{
        struct ll_path_beneath attributes = { .allowed = allowed, .parent_fd = (int)fd };

        return RAW(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attributes, 0);
}

static bool is_same(const char *left, const char *right)
{
        while (*left && *left == *right) {
                left++;
                right++;
        }
        return *left == *right;
}

static bool is_excepted(const char *name, const char *const *except)
{
        if (is_same(name, ".") || is_same(name, ".."))
                return true;
        for (; *except; except++)
                if (is_same(name, *except))
                        return true;
        return false;
}

/* An entry that cannot be opened, or is a link, gets no rights; what a link leads to has its own or none. */
static long allow_entry(long ruleset, long directory, const char *name, uint64_t allowed)
{
        long fd = RAW(SYS_openat, directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), r;
        struct stat status;

        if (fd < 0)
                return 0;
        r = RAW(SYS_fstat, fd, &status);
        if (!r && !S_ISDIR(status.st_mode))
                allowed &= LL_FILE_RIGHTS;
        if (!r && !S_ISLNK(status.st_mode) && allowed)
                r = allow(ruleset, fd, allowed);
        close_fd(fd);
        return r;
}

struct directory_entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
};

static long allow_entries(long ruleset, const struct child_rule *rule)
{
        char buffer[8192] __attribute__((aligned(8)));
        /* Opened anew: jobs that start at the same time must not share a position. */
        long directory = RAW(SYS_openat, rule->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), got, r = 0;

        if (directory < 0)
                return directory;
        while (!r && (got = RAW(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0) {
                for (long at = 0; at < got && !r;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        if (!is_excepted(entry->name, rule->except))
                                r = allow_entry(ruleset, directory, entry->name, rule->allowed);
                        at += entry->length;
                }
        }
        close_fd(directory);
        return r ? r : got;
}

static long add_rule(const struct child_job *job, long ruleset, const struct child_rule *rule)
{
        long fd, r;

        if (rule->except)
                return allow_entries(ruleset, rule);
        if (!rule->staged)
                return allow(ruleset, rule->fd, rule->allowed);
        fd = RAW(SYS_openat, job->stage, rule->staged, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return fd;
        r = allow(ruleset, fd, rule->allowed);
        close_fd(fd);
        return r;
}

static long restrict_paths(const struct child_job *job)
{
        const struct child_plan *plan = job->plan;
        long ruleset = RAW(SYS_landlock_create_ruleset, &plan->ruleset, plan->ruleset_size, 0), r = 0;

        if (ruleset < 0)
                return ruleset;
        for (size_t i = 0; i < plan->rule_count && !r; i++)
                r = add_rule(job, ruleset, &plan->rules[i]);
        if (!r)
                r = RAW(SYS_landlock_restrict_self, ruleset, 0);
        close_fd(ruleset);
        return r;
}

static long set_limit(const struct child_step *step)
{
        struct {
                uint64_t soft, hard;
        } wanted = { step->value, step->value }, now;
        long r = RAW(SYS_prlimit64, 0, step->slot, 0, &now);

        if (r < 0)
                return r;
        /* A limit that is already stricter stays. */
        if (now.hard < wanted.hard)
                wanted.hard = now.hard;
        if (now.soft < wanted.soft)
                wanted.soft = now.soft;
        if (wanted.soft > wanted.hard)
                wanted.soft = wanted.hard;
        return RAW(SYS_prlimit64, 0, step->slot, &wanted, 0);
}

static long wait_for_init(struct child_job *job)
{
        int phase;

        while ((phase = __atomic_load_n(&job->phase, __ATOMIC_ACQUIRE)) == PHASE_SETUP)
                RAW(SYS_futex, &job->phase, FUTEX_WAIT, PHASE_SETUP, 0, 0, 0);
        if (phase == PHASE_READY)
                return 0;
        /* Init has reported already. */
        RAW(SYS_exit_group, 125);
        return -ECANCELED;
}

static long enter_directory(const struct child_job *job)
{
        long r = RAW(SYS_chdir, job->cwd);

        return r < 0 && job->fallback_cwd ? RAW(SYS_chdir, job->fallback_cwd) : r;
}

static long reset_signals(void)
{
        const struct {
                uint64_t handler, flags, restorer, mask;
        } default_action = { 0, 0, 0, 0 };
        uint64_t none = 0;

        /* Handlers went when init was cloned; what the caller ignores would still be ignored. */
        for (long number = 1; number <= 64; number++)
                RAW(SYS_rt_sigaction, number, &default_action, 0, sizeof(none));
        return RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
}

/* ---- the loops ------------------------------------------------------------------------------------------ */

static long do_step(struct child_job *job, const struct child_step *step)
{
        const struct child_plan *plan = job->plan;

        switch (step->op) {
        case CHILD_MAP_IDS:
                return map_ids(step);
        case CHILD_PRIVATE:
                return RAW(SYS_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
        case CHILD_STAGE:
                return make_stage(job, step);
        case CHILD_MAKE_DIR:
                return make_directory(job, step);
        case CHILD_MAKE_FILE:
                return make_file(job, step);
        case CHILD_MAKE_LINK:
                return RAW(SYS_symlinkat, step->target, job->stage, step->path);
        case CHILD_GRAB:
                return grab(job, step);
        case CHILD_GRAB_STAGED:
                return grab_staged(job, step);
        case CHILD_START:
                return start_command(job);
        case CHILD_READ_ONLY: {
                struct mount_attributes change = { .set = step->value };

                return RAW(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof(change));
        }
        case CHILD_PLACE:
                return place(job, step);
        case CHILD_COVER:
                return cover(job, step);
        case CHILD_BIND:
                return bind_again(step, step->path);
        case CHILD_BIND_FILE:
                return bind_again(step, step->target);
        case CHILD_TERMINALS:
                return RAW(SYS_mount, "devpts", step->path, "devpts", MS_NOSUID | MS_NOEXEC,
                           "newinstance,ptmxmode=0666,mode=0620");
        case CHILD_PROC:
                return RAW(SYS_mount, "proc", step->path, "proc",
                           MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "hidepid=4");
        case CHILD_PIVOT:
                return pivot(step);
        case CHILD_STDIO:
                return set_stdio(job);
        case CHILD_SESSION: {
                long r = RAW(SYS_setsid);

                return r < 0 ? r : 0;
        }
        case CHILD_IPC:
                return RAW(SYS_unshare, CLONE_NEWIPC);
        case CHILD_RLIMIT:
                return set_limit(step);
        case CHILD_PRIVILEGES:
                return drop_privileges();
        case CHILD_LANDLOCK:
                return restrict_paths(job);
        case CHILD_SECCOMP:
                return RAW(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, &plan->filter);
        case CHILD_WAIT:
                return wait_for_init(job);
        case CHILD_CHDIR:
                return enter_directory(job);
        case CHILD_DESCRIPTORS:
                return RAW(SYS_close_range, 3, UINT_MAX, 0);
        case CHILD_SIGNALS:
                return reset_signals();
        case CHILD_EXEC:
                return RAW(SYS_execve, job->program, job->argv, job->envp);
        }
        return -ENOSYS;
}

static bool do_steps(struct child_job *job, const struct child_step *steps, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                long r = do_step(job, &steps[i]);

                if (r >= 0)
                        continue;
                /* The first report stands: what fails later fails because of it. */
                if (!__atomic_test_and_set(&job->has_failed, __ATOMIC_ACQ_REL)) {
                        job->failed_op = steps[i].op;
                        job->failed_step = steps[i].plan_step;
                        job->failed_path = steps[i].path;
                        job->failed_errno = (int)-r;
                }
                return false;
        }
        return true;
}

static void run_command(void *argument)
{
        struct child_job *job = argument;

        do_steps(job, job->plan->command_steps, job->plan->command_count);
        RAW(SYS_exit_group, 125);
}

static void announce(struct child_job *job, enum child_phase phase)
{
        __atomic_store_n(&job->phase, phase, __ATOMIC_RELEASE);
        RAW(SYS_futex, &job->phase, FUTEX_WAKE, 1, 0, 0, 0);
}

/* Collects every dead child; true when the command was among them. */
static bool reap(struct child_job *job)
{
        int status;
        long pid;

        while ((pid = RAW(SYS_wait4, -1, &status, WNOHANG, 0)) > 0) {
                if (pid != job->command)
                        continue;
                job->status = status;
                job->has_status = true;
                return true;
        }
        return pid == -ECHILD;
}

/* The signal to pass on travels as the value of a queued SIGUSR1: init itself cannot be stopped or killed by one. */
static void pass_signal(const struct child_job *job, int number)
{
        if (number > 0 && number < 65 && RAW(SYS_kill, -job->command, number) == -ESRCH)
                RAW(SYS_kill, job->command, number);
}

/* Nothing of the host program stays open in here while the command runs: its pipes must see their ends. */
static void close_others(long *kept, int count)
{
        long next = 0;

        for (int i = 1; i < count; i++)
                for (int j = i; j && kept[j - 1] > kept[j]; j--) {
                        long swapped = kept[j];

                        kept[j] = kept[j - 1];
                        kept[j - 1] = swapped;
                }
        for (int i = 0; i < count; i++) {
                if (kept[i] > next)
                        RAW(SYS_close_range, next, kept[i] - 1, 0);
                if (kept[i] >= next)
                        next = kept[i] + 1;
        }
        RAW(SYS_close_range, next, UINT_MAX, 0);
}

static bool is_mount_point(const char *path, bool *exists)
{
        struct statx status;

        *exists = !RAW(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status);
        return *exists && status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Covers one path again if it lost its cover. The event comes in the middle of the rename, when the path still leads to
 * the file that is going: the kernel refuses a mount on it with ENOENT, so the next try finds its successor. */
static bool restore_mask(struct child_job *job, const struct child_step *step)
{
        const struct timespec pause = { 0, 50 * 1000 };
        bool exists;

        for (int tries = 0; tries < 20000; tries++) {
                if (is_mount_point(step->path, &exists) || !exists || do_step(job, step) >= 0)
                        return true;
                RAW(SYS_nanosleep, &pause, 0);
        }
        return false;
}

/* The kernel drops a mask when somebody outside renames a new file over the one it covers. Put it back; what cannot be
 * covered again ends the job. */
static bool restore_masks(struct child_job *job)
{
        const struct child_plan *plan = job->plan;

        for (size_t i = 0; i < plan->init_count; i++) {
                const struct child_step *step = &plan->init_steps[i];

                if ((step->op == CHILD_COVER || step->op == CHILD_BIND) && !restore_mask(job, step))
                        return do_steps(job, step, 1); /* reports it */
        }
        return true;
}

/* Until the command or the host program ends. */
static void hold(struct child_job *job, long signals)
{
        /* Readable, in poll's sense, whenever a mount of this namespace comes or goes. */
        long mounts = job->plan->keeps_masks
                              ? RAW(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
                              : -1;
        long kept[4] = { job->host_pidfd, signals, mounts < 0 ? signals : mounts,
                         mounts < 0 ? signals : job->stage };
        struct pollfd waits[3] = { { job->host_pidfd, POLLIN, 0 },
                                   { (int)signals, POLLIN, 0 },
                                   { (int)mounts, POLLPRI, 0 } };

        close_others(kept, 4);
        for (;;) {
                struct signalfd_siginfo info;

                if (RAW(SYS_ppoll, waits, mounts < 0 ? 2 : 3, 0, 0, 0) < 0)
                        continue;
                if (waits[0].revents)
                        return;
                if (mounts >= 0 && waits[2].revents && !restore_masks(job))
                        return;
                if (!waits[1].revents || RAW(SYS_read, signals, &info, sizeof(info)) != sizeof(info))
                        continue;
                if (info.ssi_signo == SIGUSR1)
                        pass_signal(job, info.ssi_int);
                if (reap(job))
                        return;
        }
}

void child_init(void *argument)
{
        struct child_job *job = argument;
        uint64_t all = ~0ull, wanted = 1ull << (SIGCHLD - 1) | 1ull << (SIGUSR1 - 1);
        long signals;

        /* Before anything can end: a SIGCHLD that nobody blocked would be lost. */
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof(all));
        signals = RAW(SYS_signalfd4, -1, &wanted, sizeof(wanted), SFD_CLOEXEC);
        if (signals >= 0 && do_steps(job, job->plan->init_steps, job->plan->init_count)) {
                announce(job, PHASE_READY);
                hold(job, signals);
        } else {
                announce(job, PHASE_FAILED);
        }
        /* In a PID namespace the kernel ends the rest of the tree with us; elsewhere this is the best there is. */
        if (!job->plan->namespaces && job->command > 0)
                RAW(SYS_kill, -job->command, SIGKILL);
        RAW(SYS_exit_group, 0);
}
