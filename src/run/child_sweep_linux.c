/* child_sweep_linux.c: the end of a tree that has no PID namespace: init kills until nobody is left.
 *
 * Init is the subreaper of the job, so whoever loses its parent becomes init's child: when wait4() says that there is
 * none, there is no descendant. Killing one by one would lose against a fork bomb, whose other members take the places
 * that become free. So all are stopped first: who is stopped, or is about to be, finishes no fork and still takes its
 * place. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "run/child_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum {
        FREEZE_PASSES = 100, /* then they are killed as they are */
        MOST_SWEEPS = 1000,  /* of a part; whoever wanted it ends the whole then */
        FAMILY_DEPTH = 10000,
        KNOWN_COUNT = 512,
};

struct sweeper {
        long proc; /* descriptor of /proc, or an error */
        int self;
        uint64_t start; /* when init started: nobody of the job is older */
        int signal;     /* what a pass sends */
        uint64_t found; /* by this pass: a sum over whom it met */
        struct {
                uint64_t pid, start;
        } known[KNOWN_COUNT]; /* some who are the job's: their children are too */
};

/* ---- who is it ------------------------------------------------------------------------------------------ */

struct family {
        uint64_t parent, threads, start;
        char state;
};

static const char *read_number(const char *at, const char *end, uint64_t *out)
{
        uint64_t number = 0;

        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        while (at < end && *at == ' ')
                at++;
        if (at == end || *at < '0' || *at > '9')
                return 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
                number = number * 10 + (uint64_t)(*at - '0');
        *out = number;
        return at;
}

static const char *skip_word(const char *at, const char *end)
{
        while (at < end && *at == ' ')
                at++;
        while (at < end && *at != ' ')
                at++;
        return at;
}

/* "PID (NAME) STATE PARENT ...", as the 20th word the number of threads, as the 22nd the time of its start. The name may
 * be anything. */
static bool parse_family(const char *text, long length, struct family *out)
{
        const char *end = text + length, *at = end;

        while (at > text && at[-1] != ')')
                at--;
        if (end - at < 3)
                return false;
        out->state = at[1];
        at = read_number(at + 2, end, &out->parent);
        for (int word = 5; at && word < 20; word++)
                at = skip_word(at, end);
        at = at ? read_number(at, end, &out->threads) : 0;
        return at && read_number(skip_word(at, end), end, &out->start);
}

static void write_path(char *path, uint64_t pid)
{
        text_write(text_write_number(path, pid), "/stat");
}

static bool find_family(const struct sweeper *sweeper, uint64_t pid, struct family *out)
{
        char text[512], path[32];
        long fd, length;

        write_path(path, pid);
        fd = RAW(SYS_openat, sweeper->proc, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        length = RAW(SYS_read, fd, text, sizeof(text));
        RAW(SYS_close, fd);
        return length > 0 && parse_family(text, length, out);
}

static bool is_known(const struct sweeper *sweeper, uint64_t pid, uint64_t start)
{
        return sweeper->known[pid % KNOWN_COUNT].pid == pid &&
               sweeper->known[pid % KNOWN_COUNT].start == start;
}

/* Who has just lost its parent is missed here, and found by the next pass. */
static bool is_descendant(struct sweeper *sweeper, uint64_t pid, const struct family *family)
{
        struct family above = *family;

        for (int depth = 0; depth < FAMILY_DEPTH && above.start >= sweeper->start; depth++) {
                uint64_t parent = above.parent;

                if (parent != (uint64_t)sweeper->self &&
                    (parent <= 1 || !find_family(sweeper, parent, &above)))
                        return false;
                if (parent == (uint64_t)sweeper->self || is_known(sweeper, parent, above.start)) {
                        sweeper->known[pid % KNOWN_COUNT].pid = pid;
                        sweeper->known[pid % KNOWN_COUNT].start = family->start;
                        return true;
                }
        }
        return false;
}

/* ---- one pass ------------------------------------------------------------------------------------------- */

/* A zombie is not, unless only its first thread has ended. */
static bool is_alive(const struct sweeper *sweeper, uint64_t pid, struct family *out)
{
        return find_family(sweeper, pid, out) && out->state != 'X' &&
               (out->state != 'Z' || out->threads > 1) && out->start >= sweeper->start;
}

static void strike(struct sweeper *sweeper, uint64_t pid)
{
        struct family family, again;
        long target;

        if (!is_alive(sweeper, pid, &family) || !is_descendant(sweeper, pid, &family))
                return;
        /* Who has the descriptor is looked at again, so that the signal never reaches somebody who has the number
         * since. */
        target = RAW(SYS_pidfd_open, pid, 0);
        if (target < 0)
                return;
        if (is_alive(sweeper, pid, &again) && again.start == family.start) {
                RAW(SYS_pidfd_send_signal, target, sweeper->signal, 0, 0);
                sweeper->found += (pid + 1) * 0x9e3779b97f4a7c15ull ^ pid << 7;
        }
        RAW(SYS_close, target);
}

/* False when there is no child left. */
static bool reap_all(struct child_job *job)
{
        long pid;
        int status = 0;

        while ((pid = RAW(SYS_wait4, -1, &status, WNOHANG | __WALL, 0)) > 0) {
                if (pid != job->command || WIFSTOPPED(status))
                        continue;
                job->status = status;
                job->has_status = true;
        }
        return pid != -ECHILD;
}

/* The dead are taken away on the way: each would make the next pass longer, and in a longer pass more of them die. */
static void strike_everybody(struct child_job *job, struct sweeper *sweeper)
{
        char buffer[4096] __attribute__((aligned(8)));
        long got;
        uint64_t pid;

        sweeper->found = 0;
        RAW(SYS_lseek, sweeper->proc, 0, 0);
        while ((got = RAW(SYS_getdents64, sweeper->proc, buffer, sizeof(buffer))) > 0) {
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
                        if (read_number(entry->name, (const char *)entry + entry->length, &pid))
                                strike(sweeper, pid);
                        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
                        at += entry->length;
                }
                reap_all(job);
        }
}

/* A /proc with hidepid does not show processes that have made themselves undumpable, but it always names our own. */
static void strike_children(const struct sweeper *sweeper)
{
        char text[1024];
        long fd = RAW(SYS_openat, sweeper->proc, "thread-self/children", O_RDONLY | O_CLOEXEC), length;
        const char *at = text;
        uint64_t pid;

        length = fd < 0 ? fd : RAW(SYS_read, fd, text, sizeof(text));
        if (fd >= 0)
                RAW(SYS_close, fd);
        /* The last number may be cut off; what follows it is not. */
        while (length > 0 && (at = read_number(at, text + length, &pid)) && at < text + length)
                RAW(SYS_kill, pid, sweeper->signal);
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

/* Most of a bomb is in the command's process group, which stops at one blow. Its number is the job's as long as the
 * command has not been reaped. */
static void strike_group(const struct child_job *job, int number)
{
        if (job->command > 0 && !job->has_status && RAW(SYS_kill, -job->command, number) < 0)
                RAW(SYS_kill, job->command, number); /* not in a group of its own yet */
}

/* Until a pass meets the same processes as the one before: then each of them has been told, and none has come since.
 * Whether they have stopped yet does not matter. */
static void freeze(struct child_job *job, struct sweeper *sweeper)
{
        uint64_t before = 0;

        sweeper->signal = SIGSTOP;
        for (int pass = 0; pass < FREEZE_PASSES; pass++, before = sweeper->found) {
                if (sweeper->self == job->init)
                        strike_group(job, SIGSTOP);
                strike_everybody(job, sweeper);
                if (sweeper->found == before || !reap_all(job))
                        return;
        }
}

long child_sweep_prepare(struct child_job *job)
{
        /* Out of the host program's process group: who kills that whole group, as timeout(1) does, must not take away
         * the one who ends the others. */
        long r = RAW(SYS_setsid);

        job->init = (int)RAW(SYS_getpid);
        return r < 0 ? r : RAW(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

long child_sweep_die_with_init(const struct child_job *job)
{
        long r = RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

        /* It may have died before the call. */
        return r < 0 || RAW(SYS_getppid) == job->init ? r : -ESRCH;
}

/* For who is below this process. */
static void begin(const struct child_job *job, struct sweeper *sweeper, int self)
{
        struct family own;

        /* The policy may deny the other one. */
        sweeper->proc = job->has_proc
                                ? RAW(SYS_openat, job->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                : RAW(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        sweeper->self = self;
        sweeper->start = 0;
        /* Not a call of memset(), which would be somebody else's. */
        for (int i = 0; i < KNOWN_COUNT; i++)
                *(volatile uint64_t *)&sweeper->known[i].pid = 0;
        if (sweeper->proc >= 0 && find_family(sweeper, (uint64_t)self, &own))
                sweeper->start = own.start;
}

/* Who forks and ends faster than a pass reads is not met, but named there. */
static bool has_children(const struct sweeper *sweeper)
{
        char path[64], byte;
        long fd, length;

        text_write(text_write_number(text_write(text_write_number(path, (uint64_t)sweeper->self), "/task/"),
                                     (uint64_t)sweeper->self),
                   "/children");
        fd = RAW(SYS_openat, sweeper->proc, path, O_RDONLY | O_CLOEXEC);
        length = fd < 0 ? fd : RAW(SYS_read, fd, &byte, 1);
        if (fd >= 0)
                RAW(SYS_close, fd);
        return length > 0;
}

/* That process is a subreaper, too: who loses its parent stays below it, and it collects the dead. */
void child_sweep_below(struct child_job *job, int pid)
{
        const struct timespec soon = { 0, 200 * 1000 };
        struct sweeper sweeper;
        struct family usher;

        begin(job, &sweeper, pid);
        if (sweeper.proc < 0)
                return;
        /* Somebody else may have the number by now, where there is no PID namespace anybody of the user's. */
        if (!find_family(&sweeper, (uint64_t)pid, &usher) || usher.start != sweeper.start ||
            usher.parent != (uint64_t)job->command) {
                RAW(SYS_close, sweeper.proc);
                return;
        }
        /* Somebody may have stopped it, and who reaps must not stand still. */
        RAW(SYS_kill, pid, SIGCONT);
        /* Of who is gone there is no start, and nobody is below. */
        for (int tries = 0; sweeper.start && tries < MOST_SWEEPS; tries++) {
                freeze(job, &sweeper);
                sweeper.signal = SIGKILL;
                strike_everybody(job, &sweeper);
                if (!sweeper.found && !has_children(&sweeper))
                        break;
                RAW(SYS_ppoll, 0, 0, &soon, 0, 0);
        }
        RAW(SYS_close, sweeper.proc);
}

void child_sweep(struct child_job *job)
{
        const struct timespec soon = { 0, 200 * 1000 };
        struct sweeper sweeper;

        /* Mostly it has left nobody behind. */
        strike_group(job, SIGSTOP);
        if (!reap_all(job))
                return;
        begin(job, &sweeper, job->init);
        do {
                if (sweeper.proc >= 0)
                        freeze(job, &sweeper);
                strike_group(job, SIGKILL);
                sweeper.signal = SIGKILL;
                if (sweeper.proc >= 0) {
                        strike_everybody(job, &sweeper);
                        strike_children(&sweeper);
                }
                RAW(SYS_ppoll, 0, 0, &soon, 0, 0);
                /* Without /proc nobody can tell who else there is. */
        } while (reap_all(job) && (sweeper.proc >= 0 || !job->has_status));
}
