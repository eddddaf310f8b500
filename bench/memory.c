/* Measures the memory that a sandbox holds beside a running command, each address space once. */
#define _GNU_SOURCE
#include "bench.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
        TREE_MAX = 64,
        READY_MS = 10000,
        SETTLE_MS = 300, /* what the launcher still does after exec, such as freeing, must be over */
        KIB_PER_MIB = 1024,
};

struct process {
        pid_t pid;
        char name[32];
        char memory[1024]; /* the Vm and Rss lines of its status: equal ones betray a shared address space */
        long rss, pss;     /* KiB; pss is -1 when the kernel does not let us read it */
};

struct tree {
        struct process processes[TREE_MAX];
        size_t count;
};

struct job {
        pid_t pid;
        int input; /* owned: closing it ends the command */
};

/* Returns the length, or -1: a process may end while we look. */
static ssize_t read_proc(pid_t pid, const char *file, char *out, size_t size)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
        FILE *stream = fopen(path, "re");
        if (stream == NULL)
                return -1;
        size_t length = fread(out, 1, size - 1, stream);
        fclose(stream);
        out[length] = '\0';
        return length > 0 ? (ssize_t)length : -1;
}

static long find_kib(const char *text, const char *key)
{
        const char *at = strstr(text, key);
        return at == NULL ? -1 : strtol(at + strlen(key), NULL, 10);
}

/* The name of a process stands in parentheses and may itself hold some: look from the last one. */
static pid_t parent_of(pid_t pid)
{
        char stat[1024];
        if (read_proc(pid, "stat", stat, sizeof stat) < 0)
                return -1;
        const char *at = strrchr(stat, ')');
        return at == NULL || strlen(at) < 4 ? -1 : (pid_t)strtol(at + 4, NULL, 10);
}

static bool tree_has(const struct tree *tree, pid_t pid)
{
        for (size_t i = 0; i < tree->count; i++)
                if (tree->processes[i].pid == pid)
                        return true;
        return false;
}

static void keep_memory_lines(const char *status, struct process *process)
{
        size_t used = 0;
        for (const char *line = status; *line != '\0';) {
                size_t length = strcspn(line, "\n");
                bool is_memory = strncmp(line, "Vm", 2) == 0 || strncmp(line, "Rss", 3) == 0;
                if (is_memory && used + length + 2 < sizeof process->memory) {
                        memcpy(process->memory + used, line, length);
                        used += length;
                        process->memory[used++] = '\n';
                }
                line += length;
                line += *line == '\n';
        }
        process->memory[used] = '\0';
}

static void tree_add(struct tree *tree, pid_t pid)
{
        char status[4096], rollup[4096];
        struct process *process = &tree->processes[tree->count];
        if (tree->count >= TREE_MAX)
                die("more than %d processes below the sandbox", TREE_MAX);
        if (read_proc(pid, "status", status, sizeof status) < 0 || find_kib(status, "VmRSS:") < 0)
                return;
        process->pid = pid;
        snprintf(process->name, sizeof process->name, "%.*s", (int)strcspn(status + 6, "\n"), status + 6);
        keep_memory_lines(status, process);
        process->rss = find_kib(status, "VmRSS:");
        process->pss = -1;
        if (read_proc(pid, "smaps_rollup", rollup, sizeof rollup) >= 0) {
                process->rss = find_kib(rollup, "\nRss:");
                process->pss = find_kib(rollup, "\nPss:");
        }
        tree->count++;
}

/* Children are found by their parents, one generation in each pass. */
static void tree_read(struct tree *tree, pid_t root)
{
        size_t before;
        tree->count = 0;
        tree_add(tree, root);
        do {
                before = tree->count;
                DIR *proc = opendir("/proc");
                if (proc == NULL)
                        die("cannot read /proc: %s", strerror(errno));
                for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
                        if (!isdigit((unsigned char)entry->d_name[0]))
                                continue;
                        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
                        if (!tree_has(tree, pid) && tree_has(tree, parent_of(pid)))
                                tree_add(tree, pid);
                }
                closedir(proc);
        } while (tree->count > before);
}

/* kcmp needs the right to trace both; without it, memory lines that agree to the last page decide. */
static bool share_memory(const struct process *a, const struct process *b)
{
        long order = syscall(SYS_kcmp, a->pid, b->pid, KCMP_VM, 0, 0);
        if (order >= 0)
                return order == 0;
        return strcmp(a->memory, b->memory) == 0;
}

static bool is_counted_already(const struct tree *tree, size_t index)
{
        for (size_t i = 0; i < index; i++)
                if (share_memory(&tree->processes[i], &tree->processes[index]))
                        return true;
        return false;
}

static void job_start(struct job *job, const struct command *command, const char *const *environment)
{
        int input[2], output[2];
        char byte;
        if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0)
                die("cannot make pipes: %s", strerror(errno));
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
        int r = posix_spawn(&job->pid, command->words[0], &actions, NULL, (char *const *)command->words,
                            (char *const *)environment);
        posix_spawn_file_actions_destroy(&actions);
        if (r != 0)
                die("cannot start %s: %s", command->words[0], strerror(r));
        close(input[0]);
        close(output[1]);
        job->input = input[1];
        struct pollfd ready = { .fd = output[0], .events = POLLIN };
        if (poll(&ready, 1, READY_MS) != 1 || read(output[0], &byte, 1) != 1)
                die("%s did not start its command", command->words[0]);
        close(output[0]);
        nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000L }, NULL);
}

static void job_end(struct job *job, const char *name)
{
        int status;
        close(job->input);
        if (waitpid(job->pid, &status, 0) < 0 || status != 0)
                die("%s ended with wait status %d, expected 0", name, status);
}

/* Prints each process; returns the KiB held beside the command. */
static long report(const char *name, const struct tree *tree)
{
        long total = 0, rss = 0;
        bool has_command = false;
        for (size_t i = 0; i < tree->count; i++) {
                const struct process *process = &tree->processes[i];
                const char *note = "";
                if (strcmp(process->name, "bench-hold") == 0) {
                        has_command = true;
                        note = "the command: not counted";
                } else if (is_counted_already(tree, i)) {
                        note = "shares its memory with one above";
                } else {
                        if (process->pss < 0)
                                note = "Pss not readable: counted by its Rss, an upper bound";
                        total += process->pss < 0 ? process->rss : process->pss;
                        rss += process->rss;
                }
                char pss[24] = "-";
                if (process->pss >= 0)
                        snprintf(pss, sizeof pss, "%ld", process->pss);
                printf("  %-26s %10s %10ld  %s\n", process->name, pss, process->rss, note);
        }
        if (!has_command)
                die("the command is not among the processes of %s", name);
        printf("%-28s %10ld %10ld\n", name, total, rss);
        return total;
}

/* `prefix` drops the sandbox's privileges, not ours: an undumpable process shows its Pss to root only. */
static long measure(const struct place *place, const struct contender *contender, char **prefix)
{
        static const char *const payload[] = { "{bin}/bench-hold", NULL };
        static struct command sandbox, command;
        static struct tree tree;
        struct job job;
        if (!command_init(&sandbox, place, contender, payload))
                return -1;
        command.count = command.used = 0;
        for (; *prefix != NULL; prefix++)
                command_add(&command, place, *prefix);
        for (size_t i = 0; i < sandbox.count; i++)
                command_add(&command, place, sandbox.words[i]);
        job_start(&job, &command, bench_environment(place));
        tree_read(&tree, job.pid);
        job_end(&job, contender->name);
        return report(contender->name, &tree);
}

int main(int argc, char **argv)
{
        if (argc < 2)
                die("usage: memory DIR [PREFIX...]");
        static struct place place;
        char workspace[PATH_SIZE + 16];
        place_init(&place, argv[1]);
        snprintf(workspace, sizeof workspace, "%s/workspace", place.dir);
        if (chdir(workspace) < 0)
                die("cannot enter %s: %s", workspace, strerror(errno));
        printf("%-28s %10s %10s\n", "memory beside a command, KiB", "Pss", "Rss");
        long abatis = measure(&place, &run_abatis, argv + 2);
        measure(&place, &bubblewrap, argv + 2);
        bar_at_most(&place, "memory beside the command, MiB", (double)abatis / KIB_PER_MIB, 1);
        return 0;
}
