/* bwrap_linux.c: turns steps into bubblewrap's arguments, and tries whether they work. */
#define _GNU_SOURCE
#include "run/bwrap_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "run/host_linux.h"
#include "run/images.h"
#include "run/memory_linux.h"
#include "run/probe_linux.h"
#include "run/run.h"

enum { OLDEST_MINOR = 4, MINOR_WITH_MODES = 5, PATIENCE_MS = 5000 };

/* ---- arguments ------------------------------------------------------------------------------------------ */

struct writer {
        const struct bwrap_order *order;
        struct strings *out;
        size_t empties; /* that were used */
        abatis_error *err;
        int r; /* sticky */
};

static void add(struct writer *writer, const char *argument)
{
        if (!writer->r)
                writer->r = strings_add(writer->out, argument, writer->err);
}

static void add_number(struct writer *writer, int number)
{
        char text[16];

        snprintf(text, sizeof(text), "%d", number);
        add(writer, text);
}

static void add_two(struct writer *writer, const char *word, const char *path)
{
        add(writer, word);
        add(writer, path);
}

static void add_bind(struct writer *writer, const char *word, const char *path)
{
        add_two(writer, word, path);
        add(writer, path);
}

bool bwrap_has_modes(const struct host_bwrap *bwrap)
{
        return bwrap->minor >= MINOR_WITH_MODES;
}

/* Of what is made next. Of older ones' the program inside sets it, as far as it can be set then. */
static void add_mode(struct writer *writer, const char *mode)
{
        if (bwrap_has_modes(writer->order->bwrap))
                add_two(writer, "--perms", mode);
}

/* Something that is there already. */
static void cover(struct writer *writer, const char *name, const char *path)
{
        OWN_FREE char *mask = text_join(writer->order->masks, "/", name);

        if (!mask && !writer->r)
                writer->r = error_memory(writer->err);
        add_two(writer, "--ro-bind", mask);
        add(writer, path);
}

static void hide_file(struct writer *writer, const char *path)
{
        add_mode(writer, "0000");
        add(writer, "--ro-bind-data");
        add_number(writer, writer->order->empties[writer->empties++]);
        add(writer, path);
}

/* What is not in view is made in a place of the sandbox's own. */
static bool is_file(const struct step *step)
{
        return step->value != PATH_DIRECTORY && step->value != PATH_ABSENT;
}

const char *bwrap_mask_name(const struct step *step)
{
        return is_file(step) ? BWRAP_MASK_FILE : BWRAP_MASK_DIRECTORY;
}

static void hide(struct writer *writer, const struct step *step)
{
        if (writer->order->masks) {
                cover(writer, bwrap_mask_name(step), step->path);
                return;
        }
        if (is_file(step)) {
                hide_file(writer, step->path);
                return;
        }
        add_mode(writer, "0000");
        add_two(writer, "--tmpfs", step->path);
        add_two(writer, "--remount-ro", step->path);
}

/* What is not here is done by somebody else: outside, or inside. */
static void add_step(struct writer *writer, const struct step *step, bool has_new_root)
{
        if (step->op == PLAN_READ_ONLY_WORLD && !has_new_root)
                add_bind(writer, "--ro-bind", "/");
        else if (step->op == PLAN_DEVICES)
                add_two(writer, "--dev", "/dev");
        else if (step->op == PLAN_PRIVATE_SHM) {
                add_mode(writer, "1777");
                add_two(writer, "--tmpfs", "/dev/shm");
                add_two(writer, "--remount-ro", "/dev");
        } else if (step->op == PLAN_PRIVATE_TMP) {
                add_mode(writer, "1777");
                add_two(writer, "--tmpfs", "/tmp");
        } else if (step->op == PLAN_PROC)
                add_two(writer, "--proc", "/proc");
        else if (step->op == PLAN_LINK) {
                add_two(writer, "--symlink", step->target);
                add(writer, step->path);
        } else if (step->op == PLAN_SHOW || step->op == PLAN_PROTECT)
                add_bind(writer, "--ro-bind", step->path);
        else if (step->op == PLAN_WRITABLE || step->op == PLAN_PIN)
                add_bind(writer, "--bind", step->path);
        else if (step->op == PLAN_HIDE)
                hide(writer, step);
}

static bool has_step(const struct bwrap_order *order, enum plan_op op)
{
        for (size_t i = 0; i < order->step_count; i++)
                if (order->steps[i].op == op)
                        return true;
        return false;
}

static int terminate(struct strings *list, abatis_error *err)
{
        char **items = realloc(list->items, (list->count + 1) * sizeof(*items));

        if (!items)
                return error_memory(err);
        list->items = items;
        items[list->count] = NULL;
        return 0;
}

int bwrap_arguments(const struct bwrap_order *order, struct strings *out, abatis_error *err)
{
        /* PID 1 inside keeps one capability, of which it makes no use: the kernel lets nobody change how it is scheduled who has none. */
        static const char *const always[] = {
                "--unshare-user", "--unshare-pid",        "--unshare-ipc",
                "--unshare-uts",  "--unshare-cgroup-try", "--die-with-parent",
                "--as-pid-1",     "--cap-drop",           "ALL",
                "--cap-add",      "CAP_SYS_NICE",
        };
        struct writer writer = { .order = order, .out = out, .err = err };
        const bool has_new_root = has_step(order, PLAN_NEW_ROOT);

        add(&writer, "bwrap");
        for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
                add(&writer, always[i]);
        if (order->has_own_network)
                add(&writer, "--unshare-net");
        for (size_t i = 0; i < order->step_count; i++)
                add_step(&writer, &order->steps[i], has_new_root);
        /* It begins with an empty one that can be written. */
        if (has_new_root)
                add_two(&writer, "--remount-ro", "/");
        if (order->filter >= 0) {
                add(&writer, "--seccomp");
                add_number(&writer, order->filter);
        }
        add_two(&writer, "--", order->program);
        for (const char *const *argument = order->arguments; *argument; argument++)
                add(&writer, *argument);
        return writer.r ? writer.r : terminate(out, err);
}

size_t bwrap_count_empties(const struct plan *plan)
{
        size_t count = 0;

        for (size_t i = 0; i < plan->step_count; i++)
                count += plan->steps[i].op == PLAN_HIDE && is_file(&plan->steps[i]);
        return count;
}

/* ---- which one ------------------------------------------------------------------------------------------ */

int bwrap_check(const struct host_bwrap *bwrap, abatis_error *err)
{
        struct stat status;

        if (lstat(bwrap->path, &status) < 0)
                return error_os(err, errno, "cannot find '%s' again", bwrap->path);
        if (status.st_dev != bwrap->device || status.st_ino != bwrap->inode ||
            status.st_ctim.tv_sec != bwrap->changed_s || status.st_ctim.tv_nsec != bwrap->changed_ns)
                return error_set(err, ABATIS_E_BACKEND, "'%s' is another file than the one that was tried",
                                 bwrap->path);
        return 0;
}

static bool is_root_s(const struct stat *status)
{
        const bool is_sticky = S_ISDIR(status->st_mode) && status->st_mode & S_ISVTX;

        return !status->st_uid && (!(status->st_mode & (S_IWGRP | S_IWOTH)) || is_sticky);
}

static bool refuse(struct host_bwrap *bwrap, const char *path, const char *why)
{
        snprintf(bwrap->reason, sizeof(bwrap->reason), "%.120s %.120s", path, why);
        return false;
}

/* It runs outside of any sandbox, and is what holds one. The user's own files are what commands inside may have made: only what root
 * alone can change is run, the directories on the way to it included. */
static bool judge(struct host_bwrap *bwrap)
{
        char path[sizeof(bwrap->path)];
        struct stat status;

        if (lstat(bwrap->path, &status) < 0 || !S_ISREG(status.st_mode))
                return refuse(bwrap, bwrap->path, "is no file");
        bwrap->device = status.st_dev;
        bwrap->inode = status.st_ino;
        bwrap->changed_s = status.st_ctim.tv_sec;
        bwrap->changed_ns = status.st_ctim.tv_nsec;
        /* Who watches inside would have no capability, and so nothing that the command has not, too. */
        if (status.st_mode & (S_ISUID | S_ISGID))
                return refuse(bwrap, bwrap->path, "is set-uid; fix: chmod u-s, or the native backend");
        snprintf(path, sizeof(path), "%s", bwrap->path);
        for (;;) {
                char *slash = strrchr(path, '/');

                if (!is_root_s(&status))
                        return refuse(
                                bwrap, path,
                                "can be changed by others than root; fix: root's, and no write permission for others");
                if (!slash || !path[1])
                        return true;
                slash[slash == path] = '\0';
                if (stat(path, &status) < 0)
                        return refuse(bwrap, path, "cannot be looked at");
        }
}

/* The first in PATH that root alone can change; one that somebody has planted before it is passed over. */
static bool find(struct host_bwrap *bwrap)
{
        const char *at = getenv("PATH");

        refuse(bwrap, "bwrap", "is not in PATH; fix: install bubblewrap");
        while (at && *at) {
                size_t length = strcspn(at, ":");
                OWN_FREE char *directory = strndup(at, length), *path = NULL, *real = NULL;

                path = directory && *at == '/' ? text_join(directory, "/bwrap", "") : NULL;
                real = path ? realpath(path, NULL) : NULL;
                if (real && !access(real, X_OK) && strlen(real) < sizeof(bwrap->path)) {
                        memcpy(bwrap->path, real, strlen(real) + 1);
                        if (judge(bwrap))
                                return true;
                }
                at += length + (at[length] == ':');
        }
        *bwrap->path = '\0';
        return false;
}

/* ---- trials --------------------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until it closes its output, or is out of time. The first line is kept. */
static bool read_line(int fd, char *line, size_t size)
{
        const int64_t end = now_ms() + PATIENCE_MS;
        char rest[256];
        size_t length = 0;

        for (;;) {
                struct pollfd wait = { fd, POLLIN, 0 };
                int64_t left = end - now_ms();
                char *room = length + 1 < size ? line + length : rest;
                ssize_t got;

                if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
                        return false;
                got = read(fd, room, room == rest ? sizeof(rest) : size - 1 - length);
                if (got <= 0)
                        break;
                length += room == rest ? 0 : (size_t)got;
        }
        line[length] = '\0';
        line[strcspn(line, "\n")] = '\0';
        return true;
}

static __attribute__((noreturn)) void become(const struct host_bwrap *bwrap, char *const *argv, int kept,
                                             int output)
{
        char *const environment[] = { NULL };
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) >= 0 && null >= 0 && dup2(null, 0) == 0 &&
            dup2(output, 1) == 1 && dup2(output, 2) == 2 && (kept < 0 || fcntl(kept, F_SETFD, 0) >= 0))
                execve(bwrap->path, argv, environment);
        _exit(127);
}

/* Who executes a program tells its parent of its end by SIGCHLD, whatever it was started with. So that is not the host program. */
static __attribute__((noreturn)) void stand_between(const struct host_bwrap *bwrap, char *const *argv,
                                                    int kept, int output)
{
        int status = -1;
        pid_t pid = probe_fork();

        if (!pid)
                become(bwrap, argv, kept, output);
        if (pid > 0)
                probe_wait(pid, &status);
        _exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/* Runs it and returns whether it ended well; what it said is in `line`. It gets the descriptor `kept`, if there is one. */
static bool run(const struct host_bwrap *bwrap, char *const *argv, int kept, char *line, size_t size)
{
        int ends[2], status = -1;
        bool has_answered;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0 || fds_above_stdio(ends) < 0)
                return false;
        pid = probe_fork();
        if (!pid)
                stand_between(bwrap, argv, kept, ends[1]);
        close(ends[1]);
        has_answered = pid > 0 && read_line(ends[0], line, size);
        close(ends[0]);
        if (pid < 0)
                return false;
        if (!has_answered) {
                kill(pid, SIGKILL);
                snprintf(line, size, "it does not end");
        }
        probe_wait(pid, &status);
        return has_answered && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* "bubblewrap 0.8.0" */
static bool find_version(struct host_bwrap *bwrap)
{
        char *const argv[] = { (char *)"bwrap", (char *)"--version", NULL };
        static const char name[] = "bubblewrap 0.";
        char line[128] = "";

        if (!run(bwrap, argv, -1, line, sizeof(line)) || strncmp(line, name, strlen(name)) != 0) {
                snprintf(bwrap->reason, sizeof(bwrap->reason), "%.100s does not say its version: %.80s",
                         bwrap->path, line);
                return false;
        }
        bwrap->minor = (int)strtol(line + strlen(name), NULL, 10);
        snprintf(bwrap->version, sizeof(bwrap->version), "%.31s", line + strlen("bubblewrap "));
        if (bwrap->minor >= OLDEST_MINOR)
                return true;
        snprintf(bwrap->reason, sizeof(bwrap->reason), "%.100s is version %s; fix: 0.%d or newer",
                 bwrap->path, bwrap->version, OLDEST_MINOR);
        return false;
}

static bool try_out(const abatis_host *host, const char *program, int image, bool has_own_network,
                    char *reason, size_t size)
{
        static const struct step steps[] = { { .op = PLAN_NAMESPACES },  { .op = PLAN_READ_ONLY_WORLD },
                                             { .op = PLAN_DEVICES },     { .op = PLAN_PRIVATE_SHM },
                                             { .op = PLAN_PRIVATE_TMP }, { .op = PLAN_PROC } };
        static const char *const none[] = { NULL };
        const struct bwrap_order order = { .bwrap = &host->bwrap,
                                           .steps = steps,
                                           .step_count = sizeof(steps) / sizeof(*steps),
                                           .has_own_network = has_own_network,
                                           .filter = -1,
                                           .program = program,
                                           .arguments = none };
        struct strings arguments = { 0 };
        char line[160] = "";
        bool is_good = bwrap_arguments(&order, &arguments, NULL) >= 0 &&
                       run(&host->bwrap, arguments.items, image, line, sizeof(line));

        strings_done(&arguments);
        if (!is_good)
                snprintf(reason, size, "bubblewrap %s: %s",
                         has_own_network ? "makes no network" : "makes no sandbox",
                         *line ? line : "it ends with an error");
        return is_good;
}

void host_probe_bwrap(abatis_host *host)
{
        struct host_bwrap *bwrap = &host->bwrap;
        OWN_FD int image = -1;
        char program[32];

        *bwrap = (struct host_bwrap){ .is_probed = true };
        if (!find(bwrap) || !find_version(bwrap))
                return;
        image = memory_file(MEMORY_PROGRAM, "abatis inner", inner_image, inner_image_size,
                            "the backend bwrap", NULL);
        if (image < 0) {
                snprintf(bwrap->reason, sizeof(bwrap->reason),
                         "no program can be kept in memory (vm.memfd_noexec)");
                return;
        }
        snprintf(program, sizeof(program), "/proc/self/fd/%d", image);
        bwrap->is_available = try_out(host, program, image, false, bwrap->reason, sizeof(bwrap->reason));
        if (bwrap->is_available)
                bwrap->has_network = try_out(host, program, image, true, bwrap->network_reason,
                                             sizeof(bwrap->network_reason));
}
