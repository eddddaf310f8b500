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
#include <sched.h>
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
                job->failed_plan_op = step->plan_op;
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

bool child_do_init_steps(struct child_job *job, const struct init_step *steps, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (!do_step(job, &steps[i]))
                        return false;
        return true;
}

void child_set(int *word, int value)
{
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
        RAW(SYS_futex, word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

int child_look_at_ground(const struct child_job *job)
{
        const struct timespec patience = { 0, 10 * 1000 * 1000 };

        if (__atomic_load_n(&job->ground_phase, __ATOMIC_ACQUIRE) == PHASE_NEW)
                RAW(SYS_futex, &job->ground_phase, FUTEX_WAIT, PHASE_NEW, &patience, 0, 0);
        return __atomic_load_n(&job->ground_phase, __ATOMIC_ACQUIRE);
}

void child_give_plan(struct child_job *job)
{
        child_set(&job->is_planned, WORD_GIVEN);
}

void child_summon(struct child_job *job, enum child_summons word)
{
        child_set(&job->summons, word);
}

void child_cancel(struct child_job *job)
{
        if (__atomic_load_n(&job->is_planned, __ATOMIC_ACQUIRE) == WORD_AWAITED)
                child_set(&job->is_planned, WORD_CANCELLED);
        __atomic_store_n(&job->is_called_off, true, __ATOMIC_RELEASE);
}

/* The kernel takes its time to take our namespaces apart, and the parent need not wait for that with what it has to do. */
static void tell_end(struct child_job *job)
{
        const uint64_t one = 1;
        long pid;

        do
                pid = RAW(SYS_wait4, -1, 0, WNOHANG | __WALL, 0);
        while (pid > 0);
        if (pid != -ECHILD)
                return;
        __atomic_store_n(&job->is_over, true, __ATOMIC_RELEASE);
        RAW(SYS_write, job->end_event, &one, sizeof(one));
}

/* Of PIDs: elsewhere this would be everybody. */
static void end_namespace(const struct child_job *job)
{
        long pid;

        if (!(job->ground->namespaces & CLONE_NEWPID))
                return;
        RAW(SYS_kill, -1, SIGKILL);
        do
                pid = RAW(SYS_wait4, -1, 0, __WALL, 0);
        while (pid > 0 || pid == -EINTR);
}

/* In a PID namespace the kernel ends the rest of the tree with us, unless there is something to be done after that; elsewhere we do. */
static __attribute__((noreturn)) void end(struct child_job *job, int code)
{
        if (!job->ground->namespaces)
                child_sweep(job);
        else if (job->leftover_count)
                end_namespace(job);
        child_leftovers_clear(job);
        child_tmp_remove(job);
        /* A broker may still do what somebody asked for who is dead. */
        if (job->end_event && !(job->plan && job->plan->broker))
                tell_end(job);
        for (;;)
                RAW(SYS_exit_group, code);
}

/* Its number, which is also that of its process group, stays taken until it is reaped. */
static bool has_ended(const struct child_job *job)
{
        siginfo_t info = { 0 };

        /* Also told of is that the broker holds it. */
        return !RAW(SYS_waitid, P_PID, job->command, &info, WEXITED | WNOHANG | WNOWAIT, 0) && info.si_pid &&
               info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED;
}

/* Collects every dead child; true when the command was among them. Before a sweep that is left to the sweep. */
static bool reap(struct child_job *job)
{
        int status = 0;
        long pid;

        /* A sweep of a part may have met it. */
        if (job->has_status || (!job->ground->namespaces && has_ended(job)))
                return true;
        while ((pid = RAW(SYS_wait4, -1, &status, WNOHANG, 0)) > 0) {
                if (pid != job->command || WIFSTOPPED(status))
                        continue;
                job->status = status;
                job->has_status = true;
                return true;
        }
        return pid == -ECHILD;
}

/* While nobody answers, look who is left: a host program that is gone changes nothing any more, nor does a command that
 * was killed before its exec. */
static bool is_alone(struct child_job *job, bool is_init)
{
        const struct timespec at_once = { 0, 0 };
        struct pollfd host = { job->host_pidfd, POLLIN, 0 };

        if (RAW(SYS_ppoll, &host, 1, &at_once, 0, 0) > 0 && host.revents & POLLIN)
                return true;
        return is_init && job->command && reap(job);
}

int child_wait(struct child_job *job, int *word, int value, bool is_init)
{
        const struct timespec patience = { 0, 10 * 1000 * 1000 };
        int now;

        while ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) == value) {
                long r = RAW(SYS_futex, word, FUTEX_WAIT, value, &patience, 0, 0);

                if (!r || r == -EAGAIN || r == -EINTR || !is_alone(job, is_init))
                        continue;
                if (is_init)
                        end(job, 125);
                RAW(SYS_exit_group, 125);
        }
        return now;
}

/* The signal to pass on travels as the value of a real-time one, of which several can wait: init itself cannot be
 * stopped or killed by it. A process whose descendants are to end does likewise, as a negative number. */
static void pass_signal(struct child_job *job, int number)
{
        const unsigned char byte = (unsigned char)number;

        if (number < 0)
                child_sweep_below(job, -number);
        else if (job->control)
                RAW(SYS_write, job->control, &byte, 1);
        else if (number > 0 && number < 65 && RAW(SYS_kill, -job->command, number) == -ESRCH)
                RAW(SYS_kill, job->command, number);
}

static void sort(long *values, int count)
{
        for (int i = 1; i < count; i++) {
                long value = values[i];
                int j = i;

                for (; j && values[j - 1] > value; j--)
                        values[j] = values[j - 1];
                values[j] = value;
        }
}

long child_close_others(long *kept, int count, long first)
{
        long r = 0;

        sort(kept, count);
        for (int i = 0; i < count && r >= 0; i++) {
                if (kept[i] > first)
                        r = RAW(SYS_close_range, first, kept[i] - 1, 0);
                if (kept[i] >= first)
                        first = kept[i] + 1;
        }
        return r < 0 ? r : RAW(SYS_close_range, first, UINT_MAX, 0);
}

/* What init holds while the command runs. Nothing of the host program is among it: its pipes must see their ends. */
struct held {
        struct pollfd
                waits[5]; /* the host program, signals, and mounts, questions and the keeper, if there are */
        int wait_count;
        int mounts, questions, keeper;  /* which of them; 0: none */
        long masks, proc, end, control; /* another one twice where there is none */
};

static void close_others(const struct held *held)
{
        long kept[9] = { held->masks, held->proc, held->end, held->control };

        for (int i = 0; i < held->wait_count; i++)
                kept[4 + i] = held->waits[i].fd;
        child_close_others(kept, 4 + held->wait_count, 0);
}

bool child_is_mount_point(const char *path, bool *exists)
{
        struct statx status;
        long r = RAW(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status);

        if (r == -ENAMETOOLONG) {
                long fd = child_walk(path);

                r = fd < 0 ? fd : RAW(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &status);
                if (fd >= 0)
                        RAW(SYS_close, fd);
        }
        *exists = !r;
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
                if (child_is_mount_point(path, &exists))
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

        for (size_t i = 0; i < plan->kept_count; i++) {
                const struct init_step *step = &plan->kept_steps[i];

                if ((step->op == INIT_COVER || step->op == INIT_BIND) && step->is_kept &&
                    !restore_mask(job, step, is_missing))
                        return report(job, step, -ESTALE);
        }
        return true;
}

/* Nobody has started it, and nobody will. */
static bool is_spare(struct child_job *job)
{
        int nobody = CLAIM_OPEN;

        return __atomic_compare_exchange_n(&job->claim, &nobody, CLAIM_ENDS, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE);
}

/* The first, and with it all others; or nobody is left to ask any. Who has no thread for it answers this one himself: a nest has the
 * listener, too, so the kernel would not. */
static void leave_questions(struct child_job *job, struct pollfd *questions)
{
        if (questions->revents & POLLIN && child_loopback_start(job) < 0) {
                child_loopback_refuse(job);
                return;
        }
        RAW(SYS_close, questions->fd);
        questions->fd = -1;
}

/* Until the command or the host program ends. */
static void hold(struct child_job *job, long signals)
{
        /* No event tells when a path that was removed outside is made again. */
        const struct timespec soon = { 0, 5 * 1000 * 1000 };
        struct held held = { .waits = { { job->host_pidfd, POLLIN, 0 }, { (int)signals, POLLIN, 0 } },
                             .wait_count = 2,
                             .masks = job->ground->has_mounts ? job->masks : signals,
                             .proc = job->has_proc ? job->proc : signals,
                             .end = job->end_event ? job->end_event : signals,
                             .control = job->control ? job->control : signals };
        bool is_missing = false;

        /* Readable, in poll's sense, whenever a mount of this namespace comes or goes. */
        if (job->plan->keeps_masks) {
                long mounts = RAW(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

                if (mounts >= 0) {
                        held.mounts = held.wait_count++;
                        held.waits[held.mounts] = (struct pollfd){ (int)mounts, POLLPRI, 0 };
                }
        }
        if (child_asks_init(job) && !job->plan->broker && !job->loopback_stack) {
                held.questions = held.wait_count++;
                held.waits[held.questions] = (struct pollfd){ job->questions, POLLIN, 0 };
        }
        if (job->launches) {
                held.keeper = held.wait_count++;
                held.waits[held.keeper] = (struct pollfd){ job->life, 0, 0 };
        }
        close_others(&held);
        /* The signal that comes with the word is lost if it came before our first instruction: the kernel drops it when we
         * say what to do about such signals. So the word is looked at first. */
        while (!__atomic_load_n(&job->is_called_off, __ATOMIC_ACQUIRE)) {
                struct signalfd_siginfo info;

                if (RAW(SYS_ppoll, held.waits, held.wait_count, is_missing ? &soon : 0, 0, 0) < 0)
                        continue;
                if (held.waits[0].revents)
                        return;
                if (held.keeper && held.waits[held.keeper].revents) {
                        if (is_spare(job))
                                return;
                        held.waits[held.keeper].fd = -1;
                }
                if (held.questions && held.waits[held.questions].revents)
                        leave_questions(job, &held.waits[held.questions]);
                if (held.mounts && (held.waits[held.mounts].revents || is_missing)) {
                        if (!restore_masks(job, &is_missing))
                                return;
                        close_others(&held);
                }
                /* Mostly it is the command's end: everybody waits for us, and nobody for what we leave unread. */
                if (!held.waits[1].revents)
                        continue;
                if (reap(job))
                        return;
                if (RAW(SYS_read, signals, &info, sizeof(info)) != sizeof(info))
                        continue;
                /* From outside the namespace only: a process inside would have a number. */
                if (info.ssi_signo == CHILD_PASS_SIGNAL && !info.ssi_pid)
                        pass_signal(job, info.ssi_int);
                /* What was read may stand for a death since. */
                if (reap(job))
                        return;
        }
}

static bool make_terminal(struct child_job *job)
{
        const struct init_step step = { .path = "/dev/ptmx", .plan_op = job->ground->terminal_op };
        long r = job->has_terminal ? child_terminal_make(job) : 0;

        return r >= 0 || report(job, &step, r);
}

/* Returns the descriptor that signals come through, or an error. */
static long open_signals(struct child_job *job, const struct init_step *start)
{
        const uint64_t wanted = 1ull << (SIGCHLD - 1) | 1ull << (CHILD_PASS_SIGNAL - 1);
        long signals = RAW(SYS_signalfd4, -1, &wanted, sizeof(wanted), SFD_CLOEXEC);

        if (signals < 0)
                report(job, start, signals);
        return signals;
}

static bool start_broker(struct child_job *job)
{
        const struct init_step start = { .op = INIT_START, .plan_op = job->ground->plan_op };
        long r = child_asks_init(job) && !job->questions ? child_broker_take(job) : job->questions;

        if (job->plan->broker && r >= 0)
                r = child_broker_start(job, r);
        else if (r >= 0)
                job->questions = (int)r;
        if (job->loopback_stack && r >= 0)
                r = child_loopback_start(job);
        /* Unless the command has said why it gave none. */
        return r >= 0 || report(job, &start, r);
}

/* What needs no plan. The command is started on it afterwards: begun earlier, it would often get the parent's processor, and
 * wait there until the plan is made. */
static bool lay_ground(struct child_job *job)
{
        const struct child_ground *ground = job->ground;
        bool is_laid = child_do_init_steps(job, ground->init_steps, ground->init_count);

        child_set(&job->ground_phase, is_laid ? PHASE_READY : PHASE_FAILED);
        return is_laid;
}

/* What lies where the private /tmp will be has no path afterwards. The command opens it: a file system that does not answer must not
 * keep us from our end. */
static void let_files_be_taken(struct child_job *job)
{
        if (job->ground->has_mounts && (job->files[0] || job->files[1] || job->files[2]))
                child_wait(job, &job->has_files, 0, true);
}

/* Where no PID namespace ends the tree, and nobody can look into the command to take the listener. */
static long do_without_namespaces(struct child_job *job)
{
        long r = job->ground->namespaces ? 0 : child_sweep_prepare(job);

        if (!job->ground->namespaces && r >= 0)
                r = child_broker_prepare(job);
        if (!job->ground->namespaces && r >= 0)
                r = child_broker_mark();
        return job->ground->has_scope && r >= 0 ? child_broker_scope() : r;
}

/* The part of the setup that is init's own; likewise. */
static long set_up(struct child_job *job)
{
        const struct init_step start = { .op = INIT_START, .plan_op = job->ground->plan_op };
        long signals = do_without_namespaces(job);

        if (signals < 0) {
                report(job, &start, signals);
                return signals;
        }
        if (!lay_ground(job))
                return -ECANCELED;
        /* All signals are blocked since before the clone. What the caller ignores, the command does not, nor do we: with
         * SIGCHLD ignored, the kernel would reap the command without telling us. The parent waits for the ground, not for this. */
        child_reset_signals();
        signals = open_signals(job, &start);
        if (signals < 0)
                return signals;
        if (child_wait(job, &job->is_planned, WORD_AWAITED, true) == WORD_CANCELLED ||
            !child_do_init_steps(job, &start, 1))
                return -ECANCELED;
        let_files_be_taken(job);
        if (!child_do_init_steps(job, job->plan->init_steps, job->plan->init_count) || !make_terminal(job))
                return -ECANCELED;
        return start_broker(job) ? signals : -ECANCELED;
}

/* Who kills the host program with its process group leaves us to clear up. Without namespaces we have a session of our own. */
static void leave_group(const struct child_job *job)
{
        if (job->ground->namespaces)
                RAW(SYS_setpgid, 0, 0);
}

void child_init(void *argument)
{
        struct child_job *job = argument;
        long signals;

        leave_group(job);
        /* While we lay the ground, on another processor, the parent makes the plan. */
        job->phase = PHASE_SETUP;
        job->umask = (int)RAW(SYS_umask, 0);
        signals = set_up(job);
        child_set(&job->phase, signals < 0 ? PHASE_FAILED : PHASE_READY);
        if (signals >= 0)
                hold(job, signals);
        end(job, 0);
}

/* The keeper has done all that jobs of one sandbox have in common. Nobody waits for us yet, so one thing is done after the
 * other, and the command finds all mounts in place. */
void child_init_ready(void *argument)
{
        struct child_job *job = argument;
        const struct init_step start = { .op = INIT_START, .plan_op = job->ground->plan_op };
        const struct child_broker *broker = job->plan->broker;
        long kept[5] = { job->host_pidfd, job->launches, job->life,
                         broker && broker->sockets ? broker->host : job->life,
                         job->questions ? job->questions : job->life };
        long signals, r;

        leave_group(job);
        /* What the keeper holds of other jobs; the command must not be the one that lets go of it. */
        child_close_others(kept, 5, 3);
        r = do_without_namespaces(job);
        if (r >= 0 && *job->own_tmp) {
                r = RAW(SYS_mkdirat, AT_FDCWD, job->own_tmp, 0700);
                job->has_own_tmp = r >= 0;
        }
        if (r < 0)
                report(job, &start, r);
        signals = r < 0 ? r : open_signals(job, &start);
        job->phase = PHASE_SETUP;
        if (signals < 0 || !child_do_init_steps(job, job->plan->init_steps, job->plan->init_count) ||
            !child_do_init_steps(job, &start, 1) || !start_broker(job)) {
                child_set(&job->phase, PHASE_FAILED);
                end(job, 0);
        }
        child_set(&job->phase, PHASE_READY);
        hold(job, signals);
        end(job, 0);
}
