/* tree_linux.c: one look at every process of a job, through a /proc of its PID namespace that hides nothing; where it has
 * no such namespace, through the host's, where kin_linux.c tells them from the others.
 *
 * Reading that directory misses no process: unlike /proc/PID/task/TID/children it goes by number, not by a list that
 * changes under the reader. Numbers come in ascending order, so a parent is mostly read before its children: one that
 * dies and is waited for in between is missed once, never counted twice. */
#define _GNU_SOURCE
#include "run/tree_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "run/syscall_linux.h"

enum {
        FLAG_NOT_EXECUTED = 0x40, /* PF_FORKNOEXEC */
        MOST_REFUSALS = 8,
        TWIN_TOLERANCE = 256 * 1024, /* what a vfork child may touch between two files being read */
        INODE_SIZE = 1024,           /* of a file on a tmpfs, about */
        MOMENT_NS = 200000,          /* in which most are through their exec */
};

/* ---- texts of the kernel -------------------------------------------------------------------------------- */

/* "PID (NAME) STATE PPID ...", where the name may contain anything. */
bool tree_parse_stat(const char *text, uint64_t tick_us, struct tree_process *out)
{
        const char *at = strrchr(text, ')');
        uint64_t fields[24] = { 0 };
        char *end;

        if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
                return false;
        at += 4;
        for (int i = 4; i <= 23; i++) {
                fields[i] = strtoull(at, &end, 10);
                if (end == at)
                        return false;
                at = end;
        }
        out->parent = (unsigned)fields[4];
        out->has_not_executed = fields[9] & FLAG_NOT_EXECUTED;
        out->waited = (fields[16] + fields[17]) * tick_us;
        out->cpu = (fields[14] + fields[15]) * tick_us + out->waited;
        out->threads = (unsigned)fields[20];
        out->start = fields[22];
        /* The first thread may be gone, and its memory in the hands of the others. */
        out->is_dead = !fields[23] && out->threads <= 1;
        return true;
}

/* The number after a name at the beginning of a line. */
static uint64_t value_of(const char *text, const char *name)
{
        size_t length = strlen(name);

        for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line)
                if (!strncmp(line, name, length) && line[length] == ':')
                        return strtoull(line + length + 1, NULL, 10);
        return 0;
}

/* Page tables too: a sparse mapping that is only read costs nothing else. Files do not count: their pages can be taken
 * back at any time. */
void tree_parse_status(const char *text, struct tree_process *out)
{
        const char *state = strstr(text, "\nState:\t");

        out->parent = (unsigned)value_of(text, "PPid");
        out->is_blocked = state && state[8] == 'D';
        out->size = value_of(text, "VmSize") << 10;
        out->memory = (value_of(text, "RssAnon") + value_of(text, "RssShmem") + value_of(text, "VmSwap") +
                       value_of(text, "VmPTE") + value_of(text, "HugetlbPages"))
                      << 10;
}

bool tree_parse_rollup(const char *text, uint64_t *out)
{
        if (!strstr(text, "\nPss_Anon:"))
                return false;
        *out = (value_of(text, "Pss_Anon") + value_of(text, "Pss_Shmem") + value_of(text, "SwapPss")) << 10;
        return true;
}

bool tree_parse_io(const char *text, uint64_t *out)
{
        if (!strstr(text, "\nwrite_bytes:"))
                return false;
        *out = value_of(text, "write_bytes");
        return true;
}

/* ---- what several looks say ----------------------------------------------------------------------------- */

static struct tree_process *find(struct tree_process *processes, size_t count, unsigned pid)
{
        size_t low = 0, high = count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (processes[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < count && processes[low].pid == pid ? &processes[low] : NULL;
}

static bool are_alike(const struct tree_process *a, const struct tree_process *b)
{
        uint64_t difference = a->memory > b->memory ? a->memory - b->memory : b->memory - a->memory;

        return a->size && a->size == b->size && difference <= TWIN_TOLERANCE;
}

/* Nobody waits for two vforks at once, so nobody has two twins: what a process could hide by this is no more than one
 * real child of the same size, for as long as it sleeps itself. */
void tree_find_twins(struct tree_process *processes, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct tree_process *parent = find(processes, count, processes[i].parent);

                if (!parent || parent == &processes[i] || !parent->is_blocked || parent->has_twin ||
                    !processes[i].has_not_executed || !are_alike(parent, &processes[i]))
                        continue;
                parent->has_twin = true;
                processes[i].is_twin = true;
        }
}

/* Mostly a process that vanished was waited for, and somebody has its numbers now. Where SIGCHLD is ignored they are
 * lost, and what was seen of them is kept here. Whoever waited may have been read too early: so the next look, too, has
 * a chance to find them, before they are given up. */
void tree_settle_losses(struct tree_losses *losses, uint64_t vanished, uint64_t grown)
{
        uint64_t late = losses->pending < grown ? losses->pending : grown;

        losses->lost += losses->pending - late;
        grown -= late;
        losses->pending = vanished > grown ? vanished - grown : 0;
}

/* ---- one look ------------------------------------------------------------------------------------------- */

ssize_t tree_read(int proc, unsigned pid, const char *name, char *out, size_t size)
{
        char path[64];
        OWN_FD int fd = -1;
        ssize_t length;

        *out = '\0';
        snprintf(path, sizeof(path), "%u/%s", pid, name);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        length = read(fd, out, size - 1);
        if (length < 0)
                return -errno;
        out[length] = '\0';
        return length ? length : -ESRCH;
}

/* Of a process whose first thread has ended, the kernel says nothing at its own path: any other thread will do. */
static void look_at_threads(const struct tree *tree, struct tree_process *process)
{
        char path[64], buffer[2048] __attribute__((aligned(8))), text[4096];
        OWN_FD int directory = -1;
        long got;

        snprintf(path, sizeof(path), "%u/task", process->pid);
        directory = openat(tree->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (directory >= 0 && (got = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        snprintf(path, sizeof(path), "task/%.16s/status", entry->name);
                        if (*entry->name != '.' &&
                            tree_read(tree->proc, process->pid, path, text, sizeof(text)) > 0) {
                                tree_parse_status(text, process);
                                if (process->size)
                                        return;
                        }
                        at += entry->length;
                }
}

/* Not told: it is dead and not waited for, in the middle of an exec or its end, or it hides. The first two pass; until
 * then what is known of it counts. That it lived is certain only if it does so still. */
static int remember(const struct tree *tree, struct tree_process *process)
{
        const struct tree_process *old = find(tree->before, tree->before_count, process->pid);
        struct tree_process again = { 0 };
        char text[1024];
        ssize_t r = tree_read(tree->proc, process->pid, "stat", text, sizeof(text));

        if (r < 0)
                return (int)r;
        if (!tree_parse_stat(text, 1, &again))
                return -EPROTO;
        process->is_dead |= again.is_dead;
        if (old && old->start == process->start) {
                process->written = old->written;
                process->refusals = old->refusals;
        }
        if (!process->is_dead)
                process->refusals++;
        return process->refusals > MOST_REFUSALS ? -EACCES : 0;
}

static int look_at(const struct tree *tree, struct tree_questions questions, struct tree_process *process)
{
        const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
        char text[4096];
        ssize_t r = tree_read(tree->proc, process->pid, "stat", text, sizeof(text));

        if (r < 0)
                return (int)r;
        if (!tree_parse_stat(text, tick_us, process))
                return -EPROTO;
        process->exact = process->cpu;
        /* Of a single thread, its first: in nanoseconds. Not every kernel has it. */
        if (questions.cpu && tree_read(tree->proc, process->pid, "schedstat", text, sizeof(text)) > 0) {
                uint64_t exact = strtoull(text, NULL, 10) / 1000 + process->waited;

                process->exact = exact > process->cpu ? exact : process->cpu;
        }
        if (questions.memory) {
                r = tree_read(tree->proc, process->pid, "status", text, sizeof(text));
                if (r < 0)
                        return (int)r;
                tree_parse_status(text, process);
                if (!process->size && process->threads > 1)
                        look_at_threads(tree, process);
        }
        if (questions.written) {
                r = tree_read(tree->proc, process->pid, "io", text, sizeof(text));
                if (r == -EACCES)
                        return remember(tree, process);
                if (r < 0)
                        return (int)r;
                if (!tree_parse_io(text, &process->written))
                        return -EPROTO;
        }
        return 0;
}

static int add(struct tree *tree, const struct tree_process *process)
{
        if (tree->count == tree->capacity) {
                size_t wanted = tree->capacity ? 2 * tree->capacity : 64;
                struct tree_process *grown = realloc(tree->now, wanted * sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                tree->now = grown;
                tree->capacity = wanted;
        }
        tree->now[tree->count++] = *process;
        return 0;
}

static int look_at_one(struct tree *tree, struct tree_process process, unsigned command,
                       struct tree_questions questions)
{
        uint64_t start = process.start;
        int r;

        /* Init is ours and uses nothing, but it waits for those who have no parent any more. */
        if (process.pid == tree->init)
                questions.cpu = questions.memory = false;
        r = look_at(tree, questions, &process);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (start && process.start != start)
                return 0; /* somebody else has the number now */
        kin_check(&tree->kin, process.pid, process.parent);
        if (process.pid == tree->init)
                process.exact = process.cpu = process.waited;
        if (process.pid == command && process.has_not_executed)
                return 0;
        return add(tree, &process);
}

static int look_at_namespace(struct tree *tree, unsigned command, struct tree_questions questions)
{
        char buffer[8192] __attribute__((aligned(8)));
        long got;

        if (lseek(tree->proc, 0, SEEK_SET) < 0)
                return -errno;
        while ((got = syscall(SYS_getdents64, tree->proc, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);
                        struct tree_process process = { 0 };
                        char *end;
                        int r;

                        at += entry->length;
                        process.pid = (unsigned)strtoul(entry->name, &end, 10);
                        if (*end || end == entry->name)
                                continue;
                        r = look_at_one(tree, process, command, questions);
                        if (r < 0)
                                return r;
                }
        return got < 0 ? -errno : 0;
}

static int look_at_kin(struct tree *tree, unsigned command, struct tree_questions questions)
{
        int r = kin_look(&tree->kin, tree->proc);

        for (size_t i = 0; i < tree->kin.count && !r; i++) {
                const struct kin_entry *entry = &tree->kin.now[i];

                if (entry->bond == KIN_OURS)
                        r = look_at_one(tree,
                                        (struct tree_process){ .pid = entry->pid, .start = entry->start },
                                        command, questions);
        }
        return r;
}

/* Who was in the middle of an exec is through it now. */
static int ask_hidden(struct tree *tree, bool *is_hidden)
{
        const struct timespec moment = { 0, MOMENT_NS };
        bool has_waited = false;

        *is_hidden = false;
        for (size_t i = 0; i < tree->count; i++) {
                struct tree_process *process = &tree->now[i];
                char text[4096];
                ssize_t r;

                if (!process->refusals || process->is_dead)
                        continue;
                if (!has_waited)
                        nanosleep(&moment, NULL);
                has_waited = true;
                r = tree_read(tree->proc, process->pid, "io", text, sizeof(text));
                if (r < 0 && r != -EACCES && r != -ESRCH)
                        return (int)r;
                if (r > 0 && tree_parse_io(text, &process->written))
                        process->refusals = 0;
                else
                        *is_hidden = true;
        }
        return 0;
}

/* What was there before and is not there now, and what the others got by waiting. */
static void compare(struct tree *tree)
{
        uint64_t gone_cpu = 0, gone_written = 0, grown_cpu = 0, grown_written = 0;

        for (size_t i = 0; i < tree->before_count; i++) {
                const struct tree_process *old = &tree->before[i],
                                          *now = find(tree->now, tree->count, old->pid);

                if (!now || now->start != old->start) {
                        gone_cpu += old->cpu;
                        gone_written += old->written;
                        continue;
                }
                grown_cpu += now->waited - old->waited;
                grown_written += now->written - old->written;
        }
        tree_settle_losses(&tree->cpu, gone_cpu, grown_cpu);
        tree_settle_losses(&tree->written, gone_written, grown_written);
}

static bool has_lost_hidden(struct tree *tree)
{
        for (size_t i = 0; i < tree->before_count; i++) {
                const struct tree_process *old = &tree->before[i],
                                          *now = find(tree->now, tree->count, old->pid);

                if (old->refusals && !old->is_dead && (!now || now->start != old->start || now->is_dead))
                        return true;
        }
        return false;
}

static int bound_unseen(struct tree *tree)
{
        uint64_t machine;
        bool is_hidden;
        int r = ask_hidden(tree, &is_hidden);

        if (r < 0)
                return r;
        if (unseen_read_machine(&machine)) {
                unseen_settle(&tree->unseen, machine, is_hidden, has_lost_hidden(tree));
                return 0;
        }
        return is_hidden ? -EACCES : 0;
}

/* What lies in the private directories, which are one tmpfs. */
static uint64_t stage_size(const struct tree *tree)
{
        struct statfs status;

        if (tree->stage < 0 || fstatfs(tree->stage, &status) < 0)
                return 0;
        return (uint64_t)(status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize +
               (uint64_t)(status.f_files - status.f_ffree) * INODE_SIZE;
}

int tree_look(struct tree *tree, unsigned command, struct tree_questions questions, struct tree_figures *out)
{
        struct tree_process *last = tree->before;
        size_t last_capacity = tree->before_capacity;
        int r;

        tree->before = tree->now;
        tree->before_count = tree->count;
        tree->before_capacity = tree->capacity;
        tree->now = last;
        tree->capacity = last_capacity;
        tree->count = 0;
        r = tree->kin.init ? look_at_kin(tree, command, questions)
                           : look_at_namespace(tree, command, questions);
        if (!r && questions.written)
                r = bound_unseen(tree);
        if (r < 0)
                return r;
        compare(tree);
        *out = (struct tree_figures){ .cpu = tree->cpu.lost + tree->cpu.pending,
                                      .written = tree->written.lost + tree->written.pending,
                                      .unseen = tree->unseen.lost + tree->unseen.pending,
                                      .processes = tree->count };
        if (questions.memory) {
                tree_find_twins(tree->now, tree->count);
                out->memory = stage_size(tree);
        }
        for (size_t i = 0; i < tree->count; i++) {
                out->cpu += tree->now[i].exact;
                out->written += tree->now[i].written;
                if (!tree->now[i].is_twin)
                        out->memory += tree->now[i].memory;
        }
        return 0;
}

/* Pages that several processes have are shared out among them; page tables and huge pages are not. */
static int look_closely_at(const struct tree *tree, const struct tree_process *seen, uint64_t *memory)
{
        struct tree_process process = { .pid = seen->pid };
        char text[4096];
        ssize_t r = tree_read(tree->proc, seen->pid, "smaps_rollup", text, sizeof(text));
        bool is_shared_out = r > 0 && tree_parse_rollup(text, memory);

        if (r < 0 && r != -ESRCH && r != -EACCES)
                return (int)r;
        if (is_shared_out) {
                r = tree_read(tree->proc, seen->pid, "status", text, sizeof(text));
                if (r > 0)
                        *memory += (value_of(text, "VmPTE") + value_of(text, "HugetlbPages")) << 10;
                return 0;
        }
        /* It is gone, its first thread is, or it may not be read: then all that it has is its own. */
        r = look_at(tree, (struct tree_questions){ .memory = true }, &process);
        *memory = r < 0 || process.start != seen->start ? 0 : process.memory;
        return 0;
}

int tree_look_closely(const struct tree *tree, uint64_t *memory)
{
        uint64_t sum = stage_size(tree), part;

        for (size_t i = 0; i < tree->count; i++) {
                int r;

                if (tree->now[i].pid == tree->init || tree->now[i].is_twin)
                        continue;
                r = look_closely_at(tree, &tree->now[i], &part);
                if (r < 0)
                        return r;
                sum += part;
        }
        *memory = sum;
        return 0;
}

int tree_open(struct tree *tree, int init, int proc, int stage)
{
        char path[64];

        tree->init = 1;
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", init, proc);
        tree->proc = fd_above_stdio(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (tree->proc < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", init, stage);
        tree->stage = fd_above_stdio(open(path, O_PATH | O_CLOEXEC));
        return tree->stage < 0 ? -errno : 0;
}

int tree_open_host(struct tree *tree, int init)
{
        tree->init = tree->kin.init = (unsigned)init;
        tree->proc = fd_above_stdio(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        return tree->proc < 0 ? -errno : 0;
}

void tree_done(struct tree *tree)
{
        if (tree->proc >= 0)
                close(tree->proc);
        if (tree->stage >= 0)
                close(tree->stage);
        free(tree->now);
        free(tree->before);
        kin_done(&tree->kin);
        *tree = (struct tree)TREE_INIT;
}
