/* child_linux.c: init: it carries out its steps, starts the command, and stays until the command ends.
 *
 * Init and, until its exec, the command live in the host program's address space. They make raw system calls over
 * prepared data and touch nothing else: no allocation, no lock, no libc state. Init keeps its capabilities, which the
 * command does not have; that is why the kernel refuses every attempt of the command to trace it or to read its
 * memory. */
#define _GNU_SOURCE
#include "run/child_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "run/syscall_linux.h"

/* The first report stands: what fails later fails because of it. */
bool child_claim_report(struct child_job *job)
{
        return !__atomic_test_and_set(&job->has_failed, __ATOMIC_ACQ_REL);
}

static bool report(struct child_job *job, const struct init_step *step, long r)
{
        if (child_claim_report(job)) {
                job->failed_in_init = true;
                job->failed_step = step->plan_step;
                job->failed_path = step->path;
                job->failed_errno = (int)-r;
        }
        return false;
}

static bool do_step(struct child_job *job, const struct init_step *step)
{
        long r = child_mounts_do(job, step);

        return r >= 0 || report(job, step, r);
}

static bool do_steps(struct child_job *job)
{
        for (size_t i = 0; i < job->plan->init_count; i++)
                if (!do_step(job, &job->plan->init_steps[i]))
                        return false;
        return true;
}

static void announce(struct child_job *job, enum child_phase phase)
{
        __atomic_store_n(&job->phase, phase, __ATOMIC_RELEASE);
        RAW(SYS_futex, &job->phase, FUTEX_WAKE, 1, 0, 0, 0);
}

/* Collects every dead child; true when the command was among them. */
static bool reap(struct child_job *job)
{
        int status = 0;
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

/* The signal to pass on travels as the value of a real-time one, of which several can wait: init itself cannot be
 * stopped or killed by it. */
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
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return *exists && status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Covers one path again if it lost its cover. The event comes in the middle of the rename, when the path still leads to
 * the file that is going: the kernel refuses a mount on it with ENOENT, so the next try finds its successor. */
static bool restore_mask(struct child_job *job, const struct init_step *step, bool *is_missing)
{
        const struct timespec pause = { 0, 50 * 1000 };
        bool exists;

        const char *path = step->path + job->plan->root_length;

        for (int tries = 0; tries < 20000; tries++) {
                if (is_mount_point(path, &exists))
                        return true;
                if (!exists) {
                        *is_missing = true;
                        return true;
                }
                /* Behind a new root the stage is out of reach, and with it what a mask is made of. */
                if (job->plan->root_length)
                        return false;
                if (child_mounts_do(job, step) >= 0)
                        return true;
                RAW(SYS_nanosleep, &pause, 0);
        }
        return false;
}

/* The kernel drops a mask when somebody outside renames a new file over the one it covers. Put it back; what cannot be
 * covered again ends the job. */
static bool restore_masks(struct child_job *job, bool *is_missing)
{
        const struct child_plan *plan = job->plan;

        *is_missing = false;

        for (size_t i = 0; i < plan->init_count; i++) {
                const struct init_step *step = &plan->init_steps[i];

                if ((step->op == INIT_COVER || step->op == INIT_BIND) && step->is_kept &&
                    !restore_mask(job, step, is_missing))
                        return report(job, step, -ESTALE);
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

        bool is_missing = false;

        close_others(kept, 4);
        for (;;) {
                /* No event tells when a path that was removed outside is made again. */
                const struct timespec soon = { 0, 5 * 1000 * 1000 };
                struct signalfd_siginfo info;

                if (RAW(SYS_ppoll, waits, mounts < 0 ? 2 : 3, is_missing ? &soon : 0, 0, 0) < 0)
                        continue;
                if (waits[0].revents)
                        return;
                if (mounts >= 0 && (waits[2].revents || is_missing) && !restore_masks(job, &is_missing))
                        return;
                if (!waits[1].revents || RAW(SYS_read, signals, &info, sizeof(info)) != sizeof(info))
                        continue;
                /* From outside the namespace only: a process inside would have a number. */
                if (info.ssi_signo == CHILD_PASS_SIGNAL && !info.ssi_pid)
                        pass_signal(job, info.ssi_int);
                if (reap(job))
                        return;
        }
}

void child_init(void *argument)
{
        struct child_job *job = argument;
        const struct {
                uint64_t handler, flags, restorer, mask;
        } default_action = { 0, 0, 0, 0 };
        uint64_t all = ~0ull, wanted = 1ull << (SIGCHLD - 1) | 1ull << (CHILD_PASS_SIGNAL - 1);
        long signals;

        /* Before anything can end: a SIGCHLD that nobody blocked would be lost. */
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof(all));
        /* A caller that ignores SIGCHLD would have the kernel reap the command without telling us. */
        RAW(SYS_rt_sigaction, SIGCHLD, &default_action, 0, sizeof(all));
        job->umask = (int)RAW(SYS_umask, 0);
        signals = RAW(SYS_signalfd4, -1, &wanted, sizeof(wanted), SFD_CLOEXEC);
        if (signals >= 0 && do_steps(job)) {
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
