/* child_command_linux.c: the command's own steps, from its clone to its exec. Raw system calls over prepared data. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

static void child_close(long fd)
{
        RAW(SYS_close, fd);
}

static bool is_same_file(const struct stat *left, const struct stat *right)
{
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled both, as the analyzer cannot see */
        return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/* A descriptor that was opened outside leads through a mount of the host's, which is not read-only: the command could
 * change the file's mode or times, or open it again for writing. The same file opened in here leads through ours. */
static long open_again(long given, const char *path, bool is_must)
{
        /* A file was opened to be read, a device for anything. */
        const long flags = RAW(SYS_fcntl, given, F_GETFL);
        long fd = RAW(SYS_openat, AT_FDCWD, path,
                      (flags < 0 ? O_RDONLY : flags & O_ACCMODE) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
             r = 0;
        struct stat wanted, found;

        if (fd < 0)
                return is_must ? fd : 0; /* not in view */
        if (!RAW(SYS_fstat, given, &wanted) && !RAW(SYS_fstat, fd, &found) && is_same_file(&wanted, &found)) {
                RAW(SYS_lseek, fd, RAW(SYS_lseek, given, 0, SEEK_CUR), SEEK_SET);
                RAW(SYS_fcntl, fd, F_SETFL, flags & ~O_ACCMODE);
                r = RAW(SYS_dup3, fd, given, 0);
        } else if (is_must) {
                r = -ESTALE;
        }
        child_close(fd);
        return r < 0 ? r : 0;
}

static long reopen_stdio(const struct child_job *job)
{
        long r = 0;

        for (int i = 0; i < 3 && !r; i++)
                if (job->files[i])
                        r = open_again(i, job->files[i], job->must_reopen);
        return r;
}

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

static long empty_bounding_set(void)
{
        long r = 0;

        for (long capability = 0; !r && capability <= 63; capability++)
                r = RAW(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
        /* Past the kernel's last one, or not ours to drop. */
        return r == -EINVAL || r == -EPERM ? 0 : r;
}

static long drop_privileges(const struct command_step *step)
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
        if (!r && step->value)
                r = empty_bounding_set();
        /* The ambient set goes with the permitted one. */
        return r ? r : RAW(SYS_capset, &header, none);
}

static long allow(long ruleset, long fd, uint64_t allowed)
{
        struct ll_path_beneath attributes = { .allowed = allowed, .parent_fd = (int)fd };

        return RAW(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attributes, 0);
}

/* As strcmp() does it. */
static int compare(const char *left, const char *right)
{
        while (*left && *left == *right) {
                left++;
                right++;
        }
        return (unsigned char)*left - (unsigned char)*right;
}

/* The list is sorted, and may be as long as the directory. */
static bool is_excepted(const char *name, const char *const *except, size_t count)
{
        size_t first = 0, end = count;

        if (text_is_dots(name))
                return true;
        while (first < end) {
                size_t middle = first + (end - first) / 2;

                if (compare(except[middle], name) < 0)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first < count && !compare(except[first], name);
}

/* Files know fewer rights than directories. A link gets none; what it leads to has its own or none. */
static long allow_opened(long ruleset, long fd, uint64_t allowed)
{
        struct stat status;
        long r = RAW(SYS_fstat, fd, &status);

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!r && !S_ISDIR(status.st_mode))
                allowed &= LL_FILE_RIGHTS;
        if (r)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        if (S_ISLNK(status.st_mode) || !allowed)
                return 0;
        return allow(ruleset, fd, allowed);
}

/* An entry that cannot be opened gets no rights, and a link needs none. There can be a lot of them: what the list says of an
 * entry's type is taken for it, and if that has changed since, the kernel refuses the rights. */
static long allow_entry(long ruleset, long directory, const struct directory_entry *entry, uint64_t allowed)
{
        long fd, r;

        if (entry->type == DT_LNK)
                return 0;
        fd = RAW(SYS_openat, directory, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return 0;
        r = entry->type == DT_DIR                               ? allow(ruleset, fd, allowed)
            : entry->type == DT_REG && allowed & LL_FILE_RIGHTS ? allow(ruleset, fd, allowed & LL_FILE_RIGHTS)
                                                                : -EINVAL;
        if (r == -EINVAL)
                r = allow_opened(ruleset, fd, allowed);
        child_close(fd);
        return r;
}

/* Apart, so that its buffer is not part of every other frame: each page of a stack that is touched costs. */
static __attribute__((noinline)) long allow_entries(long ruleset, long place, const struct child_rule *rule)
{
        char buffer[8192] __attribute__((aligned(8)));
        long directory = RAW(SYS_openat, place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), got, r = 0;
        size_t excepted = 0;

        /* Nothing can appear below a file, so it has the rights itself; what takes its place has none. */
        if (directory == -ENOTDIR)
                return allow_opened(ruleset, place, rule->allowed);
        if (directory < 0)
                return directory;
        while (rule->except[excepted])
                excepted++;
        while (!r && (got = RAW(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0) {
                for (long at = 0; at < got && !r;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        if (!is_excepted(entry->name, rule->except, excepted))
                                r = allow_entry(ruleset, directory, entry, rule->allowed);
                        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
                        at += entry->length;
                }
        }
        child_close(directory);
        return r ? r : got;
}

static void take_stamp(struct child_stamp *stamp, long fd, const struct child_rule *rule)
{
        struct stat status;

        stamp->is_there = fd >= 0 && !RAW(SYS_fstat, fd, &status);
        if (!stamp->is_there)
                return;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        stamp->device = status.st_dev;
        stamp->inode = status.st_ino;
        stamp->changed_s = rule->except ? status.st_ctim.tv_sec : 0;
        stamp->changed_ns = rule->except ? status.st_ctim.tv_nsec : 0;
}

/* The descriptor is closed with all others, or by the exec, unless there are a lot. */
static long add_rule(long ruleset, long fd, const struct child_rule *rule)
{
        long r;

        if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
                return 0; /* gone, below a file, or out of the user's own reach */
        if (fd < 0)
                return fd;
        r = rule->except ? allow_entries(ruleset, fd, rule) : allow_opened(ruleset, fd, rule->allowed);
        if (fd >= 128)
                child_close(fd);
        return r;
}

static long open_rule(const struct child_job *job, const struct child_rule *rule)
{
        const struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                                      .resolve = RESOLVE_NO_SYMLINKS };
        long fd = RAW_PASSING(job->pass, SYS_openat2, AT_FDCWD, rule->path, &how, sizeof(how));

        /* Our own filter hides it, and so does that of an abatis around this one. */
        return fd == -ENOSYS || fd == -ENAMETOOLONG ? child_walk(rule->path) : fd;
}

/* Init mounts meanwhile, but what stands at these paths stays the same. */
static long make_ruleset(struct child_job *job)
{
        const struct child_plan *plan = job->plan;
        long ruleset = RAW(SYS_landlock_create_ruleset, &plan->ruleset, plan->ruleset_size, 0), r = 0;
        struct timespec now;

        if (ruleset < 0)
                return ruleset;
        if (job->stamps && !RAW(SYS_clock_gettime, CLOCK_REALTIME, &now)) {
                /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
                job->stamped_s = now.tv_sec;
                job->stamped_ns = now.tv_nsec;
        }
        for (size_t i = 0; i < plan->rule_count && !r; i++) {
                const struct child_rule *rule = &plan->rules[i];
                long fd = rule->is_inside ? -ENOENT : open_rule(job, rule);

                if (job->stamps)
                        take_stamp(&job->stamps[i], fd, rule);
                if (!rule->is_inside)
                        r = add_rule(ruleset, fd, rule);
        }
        if (!r && *job->own_tmp) {
                const struct child_rule rule = { .allowed = plan->tmp_rights, .path = job->own_tmp };

                r = add_rule(ruleset, open_rule(job, &rule), &rule);
        }
        job->ruleset = (int)ruleset;
        return r;
}

/* What lies in a place of init's may still be a tree of the host's, in which somebody outside can put a link. */
static long restrict_paths(const struct child_job *job)
{
        const struct child_plan *plan = job->plan;
        long r = 0;

        for (size_t i = 0; i < plan->rule_count && !r; i++) {
                const struct child_rule *rule = &plan->rules[i];

                if (rule->is_inside)
                        r = add_rule(job->ruleset, child_walk(rule->path), rule);
        }
        return r ? r : RAW(SYS_landlock_restrict_self, job->ruleset, 0);
}

/* Everything above 2, except the ruleset and what init takes from here, which the exec closes. */
static long close_descriptors(const struct child_job *job)
{
        long kept[2] = { job->ruleset, job->listener };

        return child_close_others(kept, 2, 3);
}

static long pass_descriptors(const struct child_job *job)
{
        long r = child_close_others(job->passed, job->passed_count, 3);

        for (int i = 0; i < job->passed_count && r >= 0; i++)
                r = RAW(SYS_fcntl, job->passed[i], F_SETFD, 0);
        return r;
}

/* Who is told that a launch comes soon stays awake for it: to wake up takes as long as what is left to be done before. The processor is
 * left to others all the same, should the parent be among them. Nobody is waited for in vain: init ends with the parent, and we with init. */
static void await_launch(struct child_job *job)
{
        int word;

        while ((word = __atomic_load_n(&job->summons, __ATOMIC_ACQUIRE)) != SUMMONS_SENT) {
                for (int tries = 0; word == SUMMONS_SOON && tries < 400; tries++) {
                        if (__atomic_load_n(&job->summons, __ATOMIC_ACQUIRE) == SUMMONS_SENT)
                                return;
                        RAW(SYS_sched_yield);
                }
                RAW(SYS_futex, &job->summons, FUTEX_WAIT, word, 0, 0, 0);
        }
}

/* The kernel gives the lowest numbers that are free. What is kept is closed by the exec, and is none of them. */
static long take_launch(struct child_job *job)
{
        /* The listener is init's to take, unless it was sent, or is a nest's. */
        long kept[2] = { job->launches, job->listener };
        long r = child_close_others(kept, job->listener ? 2 : 1, 0);
        char byte = 0;

        if (r >= 0) {
                await_launch(job);
                r = child_receive(job->launches, &byte, 1, job->stdio, 3, 0);
        }
        for (int i = 0; i < 3 && r >= 0; i++)
                if (job->stdio[i] != i)
                        r = -EBADF;
        return r;
}

static long set_limit(const struct child_job *job, const struct command_step *step)
{
        /* Of the loopback's thread, which is there from the beginning then. */
        const unsigned more = step->resource == RLIMIT_NPROC && job->loopback_stack;
        struct {
                uint64_t soft, hard;
        } wanted = { step->value + more, step->hard + more }, now = { 0, 0 };
        long r = RAW(SYS_prlimit64, 0, step->resource, 0, &now);

        if (r < 0)
                return r;
        /* A limit that is already stricter stays. */
        if (now.hard < wanted.hard)
                wanted.hard = now.hard;
        if (now.soft < wanted.soft)
                wanted.soft = now.soft;
        if (wanted.soft > wanted.hard)
                wanted.soft = wanted.hard;
        return RAW(SYS_prlimit64, 0, step->resource, &wanted, 0);
}

/* Not an exit: somebody could take that for one of the program's own, which never ran. */
static void give_up(void)
{
        RAW(SYS_kill, RAW(SYS_getpid), SIGKILL);
}

static long wait_for_init(struct child_job *job)
{
        /* Mostly init is some ten microseconds away, and to sleep and be woken takes as long. */
        for (int tries = 0; tries < 10000; tries++)
                if (__atomic_load_n(&job->phase, __ATOMIC_ACQUIRE) != PHASE_SETUP)
                        break;
        /* Init has reported already. */
        if (child_wait(job, &job->phase, PHASE_SETUP, false) == PHASE_FAILED)
                give_up();
        return job->has_terminal ? child_terminal_take(job) : 0;
}

static long enter(const char *directory)
{
        long r = RAW(SYS_chdir, directory), fd;

        if (r != -ENAMETOOLONG)
                return r;
        fd = child_walk(directory);
        r = fd < 0 ? fd : RAW(SYS_fchdir, fd);
        if (fd >= 0)
                RAW(SYS_close, fd);
        return r;
}

static long enter_directory(const struct child_job *job)
{
        long r = enter(job->cwd);

        return r < 0 && job->fallback_cwd ? enter(job->fallback_cwd) : r;
}

void child_reset_signals(void)
{
        const struct {
                uint64_t handler, flags, restorer, mask;
        } default_action = { 0, 0, 0, 0 };

        /* Handlers went when init was cloned; what the caller ignores would still be ignored. */
        for (long number = 1; number <= 64; number++)
                RAW(SYS_rt_sigaction, number, &default_action, 0, sizeof(uint64_t));
}

/* It is in the command's process group, and what is sent to that must not end it. It waits for its children, and stops with them. */
static long ignore_signals(void)
{
        static const uint64_t heard = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 1ull << (SIGCHLD - 1) |
                                      1ull << (SIGCONT - 1) | 1ull << (SIGTSTP - 1) | 1ull << (SIGTTIN - 1) |
                                      1ull << (SIGTTOU - 1);
        const struct {
                uint64_t handler, flags, restorer, mask;
        } ignored = { 1 /* SIG_IGN */, 0, 0, 0 };
        long r = 0;

        for (int number = 1; number <= 64 && !r; number++)
                if (!(heard & 1ull << (number - 1)))
                        r = RAW(SYS_rt_sigaction, number, &ignored, 0, sizeof(uint64_t));
        return r;
}

static long unblock_signals(void)
{
        uint64_t none = 0;

        return RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
}

static long do_step(struct child_job *job, const struct command_step *step)
{
        long r;

        switch (step->op) {
        case COMMAND_UMASK:
                RAW(SYS_umask, job->umask);
                return 0;
        case COMMAND_SESSION:
                r = RAW(SYS_setsid);
                return r < 0 ? r : 0;
        case COMMAND_LIMIT:
                return set_limit(job, step);
        case COMMAND_PRIVILEGES:
                return drop_privileges(step);
        case COMMAND_RULES:
                return make_ruleset(job);
        case COMMAND_LANDLOCK:
                return restrict_paths(job);
        case COMMAND_SECCOMP:
                if (child_asks_init(job))
                        return child_broker_give(job);
                return RAW(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0,
                           job->closed ? job->closed : &job->plan->filter);
        case COMMAND_WAIT:
                return wait_for_init(job);
        case COMMAND_CHDIR:
                return enter_directory(job);
        case COMMAND_TAKE:
                return take_launch(job);
        case COMMAND_STDIO:
                return set_stdio(job);
        case COMMAND_REOPEN:
                return reopen_stdio(job);
        case COMMAND_DESCRIPTORS:
                return close_descriptors(job);
        case COMMAND_PASS:
                return pass_descriptors(job);
        case COMMAND_SIGNALS_IGNORED:
                return ignore_signals();
        case COMMAND_SIGNAL_MASK:
                return unblock_signals();
        case COMMAND_CALLS:
                return job->plan->calls.len
                               ? RAW(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, &job->plan->calls)
                               : 0;
        case COMMAND_EXEC:
                if (job->runs_image)
                        return RAW(SYS_execveat, 1, "", job->argv, job->envp, AT_EMPTY_PATH);
                return RAW(SYS_execve, job->program, job->argv, job->envp);
        }
        return -ENOSYS;
}

static bool do_steps(struct child_job *job, const struct command_step *steps, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                long r = do_step(job, &steps[i]);

                if (r >= 0)
                        continue;
                if (child_claim_report(job)) {
                        job->failed_op = steps[i].op;
                        job->failed_plan_op = steps[i].plan_op;
                        job->failed_errno = (int)-r;
                }
                return false;
        }
        return true;
}

/* It lives in memory that is freed when init is gone. */
static bool depend_on_init(struct child_job *job)
{
        long r = job->ground->namespaces ? 0 : child_sweep_die_with_init(job);

        if (r < 0 && child_claim_report(job)) {
                job->failed_plan_op = job->ground->plan_op;
                job->failed_errno = (int)-r;
        }
        return r >= 0;
}

/* Before init mounts anything. The mounts are the sandbox's own already, and what is opened here leads through them when they are
 * read-only. */
static bool take_files(struct child_job *job)
{
        bool has_some = false;
        long r = 0;

        for (int i = 0; i < 3 && !r && job->ground->has_mounts; i++)
                if (job->files[i]) {
                        has_some = true;
                        r = open_again(job->stdio[i], job->files[i], false);
                }
        if (r < 0 && child_claim_report(job)) {
                job->failed_plan_op = job->ground->plan_op;
                job->failed_errno = (int)-r;
        }
        if (r >= 0 && has_some)
                child_set(&job->has_files, 1);
        return r >= 0;
}

/* While it still may. */
static bool enter_network(struct child_job *job)
{
        long r = job->plan->has_loopback_at_once && !job->plan->is_wrapped ? RAW(SYS_unshare, CLONE_NEWNET)
                                                                           : 0;

        if (r >= 0 && job->plan->has_loopback_at_once && !job->plan->is_wrapped)
                r = child_network_raise(0);
        if (r < 0 && child_claim_report(job)) {
                job->failed_plan_op = job->ground->plan_op;
                job->failed_errno = (int)-r;
        }
        return r >= 0;
}

static void run_command(void *argument)
{
        struct child_job *job = argument;
        const struct child_ground *ground = job->ground;

        if (depend_on_init(job) && take_files(job) && enter_network(job) &&
            do_steps(job, ground->command_steps, ground->command_count))
                do_steps(job, job->plan->command_steps, job->plan->command_count);
        give_up();
}

long child_command_start(struct child_job *job)
{
        struct clone3_arguments arguments = {
                /* Init stays outside: it has the host program's memory, so if the kernel killed it for want of memory in
                 * the cgroup, it would kill the host program with it. */
                .flags = CLONE_VM | (job->has_cgroup ? CLONE3_INTO_CGROUP : 0),
                .exit_signal = SIGCHLD,
                .stack = (uintptr_t)job->command_stack - CHILD_STACK_SIZE,
                .stack_size = CHILD_STACK_SIZE,
                .cgroup = (uint64_t)job->cgroup,
        };
        long pid = raw_clone(&arguments, run_command, job);

        if (pid < 0)
                return pid;
        job->command = (int)pid;
        return 0;
}
