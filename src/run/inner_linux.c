/* inner_linux.c: PID 1 inside bubblewrap: a program of its own, without a libc.
 *
 *   inner                                ends at once: bubblewrap is tried with it
 *   inner SETTINGS REPORT CONTROL        the numbers of three descriptors: see inner_linux.h
 *
 * Bubblewrap has made the mounts and the namespaces and has loaded the filter. This looks whether what has to be covered is, at this
 * very path, and starts the command, which adds Landlock's rules and its limits. Then it waits: for the command's end, which it reports,
 * and for a cover that is lost, which ends everything. */
#define _GNU_SOURCE
#include "run/inner_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "plan/plan.h"
#include "run/child_linux.h"
#include "run/syscall_linux.h"

/* Of the whole program. */
static struct {
        const struct inner_settings *settings;
        const char *base, *texts;
        struct child_job job;
        struct child_ground ground;
        struct child_plan plan;
        long report, control;
        char stack[CHILD_STACK_SIZE] __attribute__((aligned(16)));
} inner;

static __attribute__((noreturn)) void leave(int code)
{
        for (;;)
                RAW(SYS_exit_group, code);
}

/* With us everybody inside ends. */
static __attribute__((noreturn)) void report(void)
{
        const struct child_job *job = &inner.job;
        const struct inner_report report = {
                .has_status = job->has_status,
                .status = job->status,
                .has_failed = job->has_failed,
                .failed_op = (int32_t)job->failed_op,
                .failed_plan_op = (int32_t)job->failed_plan_op,
                .failed_errno = job->failed_errno,
                .failed_path = job->failed_path ? (uint32_t)(job->failed_path - inner.texts) : 0
        };

        RAW(SYS_write, inner.report, &report, sizeof(report));
        leave(job->has_status && WIFEXITED(job->status) ? WEXITSTATUS(job->status) : 1);
}

static __attribute__((noreturn)) void fail(long r, enum plan_op op, const char *path)
{
        if (child_claim_report(&inner.job)) {
                inner.job.failed_in_init = true;
                inner.job.failed_op = COMMAND_WAIT;
                inner.job.failed_plan_op = op;
                inner.job.failed_path = path;
                inner.job.failed_errno = (int)-r;
        }
        report();
}

/* Whether the cover is there: 0, or a negative errno. No link is followed, on the way to it neither. */
static long look(const struct inner_cover *cover)
{
        struct statx status;
        long fd = child_walk(inner.texts + cover->path), r;

        if (fd < 0)
                return fd;
        r = RAW(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_INO, &status);
        RAW(SYS_close, fd);
        if (r < 0)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        if (!(status.stx_attributes & STATX_ATTR_MOUNT_ROOT))
                return -ESTALE;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): likewise */
        if (cover->is_mask && (status.stx_mode & 0777 || !cover->is_known))
                return status.stx_mode & 0777 ? -ESTALE : 0;
        /* Bubblewrap follows links to what it mounts, and whoever is inside another sandbox may have made one meanwhile. */
        return status.stx_ino == cover->inode && status.stx_dev_major == cover->major &&
                               status.stx_dev_minor == cover->minor
                       ? 0
                       : -ESTALE;
}

/* A path that is gone has nothing to cover, and may be back at any time. */
static bool look_at_all(bool is_first)
{
        const struct inner_cover *covers =
                (const struct inner_cover *)(const void *)(inner.base + inner.settings->covers);
        bool is_missing = false;

        for (uint32_t i = 0; i < inner.settings->cover_count; i++) {
                long r = look(&covers[i]);

                if (!is_first && (r == -ENOENT || r == -ENOTDIR))
                        is_missing = true;
                else if (r < 0)
                        fail(r, covers[i].is_mask ? PLAN_HIDE : PLAN_PROTECT, inner.texts + covers[i].path);
        }
        return is_missing;
}

static void open_to_all(const char *path, enum plan_op op)
{
        long r = RAW(SYS_fchmodat, AT_FDCWD, path, 01777);

        if (r < 0)
                fail(r, op, path);
}

static void reap(void)
{
        struct child_job *job = &inner.job;
        int status = 0;
        long pid;

        while ((pid = RAW(SYS_wait4, -1, &status, WNOHANG | __WALL, 0)) > 0)
                if (pid == job->command && !WIFSTOPPED(status)) {
                        job->status = status;
                        job->has_status = true;
                }
        if (job->has_status || pid == -ECHILD)
                report();
}

static void pass_signal(struct pollfd *control)
{
        unsigned char number = 0;

        if (RAW(SYS_read, control->fd, &number, 1) == 1) {
                if (RAW(SYS_kill, -inner.job.command, number) == -ESRCH)
                        RAW(SYS_kill, inner.job.command, number);
        } else
                control->fd = -1; /* whoever could write is gone, and ends us */
}

static __attribute__((noreturn)) void hold(long signals)
{
        /* No event tells when a path that was removed outside is made again. */
        const struct timespec soon = { 0, 5 * 1000 * 1000 };
        /* Readable, in poll's sense, whenever a mount of this namespace comes or goes. */
        const long mounts = RAW(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        struct pollfd waits[] = { { (int)signals, POLLIN, 0 },
                                  { (int)mounts, POLLPRI, 0 },
                                  { (int)inner.control, POLLIN, 0 } };
        long kept[] = { signals, mounts, inner.report, inner.control };
        bool is_missing = false;

        if (mounts < 0)
                fail(mounts, PLAN_PROC, 0);
        child_close_others(kept, 4, 0);
        /* What was lost before we looked. */
        is_missing = look_at_all(false);
        for (;;) {
                struct signalfd_siginfo info;

                reap();
                if (RAW(SYS_ppoll, waits, 3, is_missing ? &soon : 0, 0, 0) < 0)
                        continue;
                if (waits[1].revents || is_missing)
                        is_missing = look_at_all(false);
                if (waits[0].revents)
                        RAW(SYS_read, signals, &info, sizeof(info));
                if (waits[2].revents)
                        pass_signal(&waits[2]);
        }
}

/* ---- the settings --------------------------------------------------------------------------------------- */

static long read_settings(long fd)
{
        struct stat status;
        long r = RAW(SYS_fstat, fd, &status), base;

        if (r < 0)
                return r;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        base = child_map((uint64_t)status.st_size, PROT_READ, MAP_PRIVATE, fd);
        if (base <= 0 && base > -4096)
                return base;
        inner.base = (const char *)base;
        inner.settings = (const struct inner_settings *)base;
        inner.texts = inner.base + inner.settings->texts;
        return 0;
}

static long take_rules(void)
{
        const struct inner_settings *settings = inner.settings;
        const struct inner_rule *told =
                (const struct inner_rule *)(const void *)(inner.base + settings->rules);
        uint64_t texts = 0;
        struct child_rule *rules;
        const char **list;
        long room;

        for (uint32_t i = 0; i < settings->rule_count; i++)
                texts += told[i].except ? told[i].except_count + 1 : 0;
        room = child_map(settings->rule_count * sizeof(*rules) + texts * sizeof(char *) + 1,
                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (room <= 0 && room > -4096)
                return room;
        rules = (struct child_rule *)room;
        list = (const char **)(void *)(rules + settings->rule_count);
        for (uint32_t i = 0; i < settings->rule_count; i++) {
                rules[i] =
                        (struct child_rule){ .allowed = told[i].allowed, .path = inner.texts + told[i].path };
                if (!told[i].except)
                        continue;
                rules[i].except = list;
                list = child_request_list(inner.texts + told[i].except, told[i].except_count, list);
        }
        inner.plan.rules = rules;
        inner.plan.rule_count = settings->rule_count;
        return 0;
}

static long take_settings(void)
{
        const struct inner_settings *settings = inner.settings;
        struct child_job *job = &inner.job;
        long r = child_request_take(&settings->request, inner.texts, job);

        inner.ground.namespaces = 1; /* it has them */
        inner.plan.ruleset = settings->ruleset;
        inner.plan.ruleset_size = settings->ruleset_size;
        inner.plan.command_steps = (const struct command_step *)(const void *)(inner.base + settings->steps);
        inner.plan.command_count = settings->step_count;
        inner.plan.calls = child_request_calls(&settings->request, inner.texts);
        job->plan = &inner.plan;
        job->ground = &inner.ground;
        job->must_reopen = true;
        job->command_stack = inner.stack + CHILD_STACK_SIZE;
        return r < 0 ? r : take_rules();
}

static long read_number(const char *text)
{
        long number = 0;

        while (*text >= '0' && *text <= '9')
                number = number * 10 + (*text++ - '0');
        return number;
}

/* Called by the code below, with what the kernel has put on the stack: the number of arguments, and these. */
__attribute__((noreturn)) void inner_main(const long *stack);

void inner_main(const long *stack)
{
        const char *const *argv = (const char *const *)(const void *)(stack + 1);
        const uint64_t all = ~0ull, deaths = 1ull << (SIGCHLD - 1);
        long r, signals;

        if (stack[0] < 4)
                leave(0);
        RAW(SYS_prctl, PR_SET_NAME, "abatis inner", 0, 0, 0);
        inner.report = read_number(argv[2]);
        inner.control = read_number(argv[3]);
        RAW(SYS_fcntl, inner.report, F_SETFD, FD_CLOEXEC);
        RAW(SYS_fcntl, inner.control, F_SETFD, FD_CLOEXEC);
        /* What is not dumpable is nobody's to trace; the exec of the command makes it dumpable again. */
        r = RAW(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
        if (r >= 0)
                r = read_settings(read_number(argv[1]));
        /* Without them there is not even a word for what is wrong. */
        if (r < 0)
                leave(1);
        child_reset_signals();
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof(all));
        signals = RAW(SYS_signalfd4, -1, &deaths, sizeof(deaths), SFD_CLOEXEC | SFD_NONBLOCK);
        if (signals < 0)
                fail(signals, PLAN_NAMESPACES, 0);
        r = take_settings();
        if (r < 0)
                fail(r, PLAN_NAMESPACES, 0);
        if (inner.settings->opens_tmp)
                open_to_all("/tmp", PLAN_PRIVATE_TMP);
        if (inner.settings->opens_shm)
                open_to_all("/dev/shm", PLAN_PRIVATE_SHM);
        look_at_all(true);
        r = child_command_start(&inner.job);
        if (r < 0)
                fail(r, PLAN_NAMESPACES, 0);
        hold(signals);
}

#if defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tmov x0, sp\n\tbl inner_main\n\tbrk #1\n");
#elif defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall inner_main\n\tud2\n");
#endif
