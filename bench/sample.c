/* Takes one timing sample of a launch and summarises many of them. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

void die(const char *format, ...)
{
        va_list arguments;
        fflush(stdout);
        fputs("bench: ", stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        exit(1);
}

double now_us(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double timeval_us(struct timeval t)
{
        return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

/* As a program without posix_spawn does it: with a copy of its page tables, or in its own memory. */
static pid_t start_by_hand(const struct command *command, const char *const *environment)
{
        pid_t pid = command->start == START_FORK ? fork() : vfork();
        if (pid == 0) {
                execve(command->words[0], (char *const *)command->words, (char *const *)environment);
                _exit(127);
        }
        if (pid < 0)
                die("cannot fork: %s", strerror(errno));
        return pid;
}

/* Returns the wait status. Nothing but the launch and the wait lies between the two readings of the clock. */
int launch_once(const struct command *command, const char *const *environment, struct sample *out)
{
        struct rusage usage;
        pid_t pid;
        int status, r = 0;
        if (command->filter >= 0)
                lseek(command->filter, 0, SEEK_SET);
        double start = now_us();
        if (command->start == START_SPAWN)
                r = posix_spawn(&pid, command->words[0], NULL, NULL, (char *const *)command->words,
                                (char *const *)environment);
        else
                pid = start_by_hand(command, environment);
        if (r != 0)
                die("cannot start %s: %s", command->words[0], strerror(r));
        while (wait4(pid, &status, 0, &usage) < 0)
                if (errno != EINTR)
                        die("cannot wait for %s: %s", command->words[0], strerror(errno));
        out->us = now_us() - start;
        out->cpu_us = timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime);
        return status;
}

/* A launch that fails early would look fast, so every single one must have succeeded. */
void launch_checked(const char *name, const struct command *command, const char *const *environment,
                    struct sample *out)
{
        int status = launch_once(command, environment, out);
        if (WIFSIGNALED(status))
                die("%s was killed by signal %d", name, WTERMSIG(status));
        if (WEXITSTATUS(status) != 0)
                die("%s exits with %d, expected 0", name, WEXITSTATUS(status));
}

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

double spawn_many(const struct command *command, const char *const *environment, size_t total, size_t at_once)
{
        size_t started = 0, finished = 0;
        double start = now_us();
        while (finished < total) {
                int status;
                pid_t pid;
                if (started < total && started - finished < at_once) {
                        int r = posix_spawn(&pid, command->words[0], NULL, NULL,
                                            (char *const *)command->words, (char *const *)environment);
                        if (r != 0)
                                die("cannot start %s: %s", command->words[0], strerror(r));
                        started++;
                        continue;
                }
                if (waitpid(-1, &status, 0) < 0 || status != 0)
                        die("%s ended with wait status %d", command->words[0], status);
                finished++;
        }
        return now_us() - start;
}

/* Nearest rank: the smallest sample that at least `rank` of all samples do not exceed. */
double quantile(const double *samples, size_t count, double rank)
{
        double *sorted = malloc(count * sizeof *sorted);
        if (sorted == NULL || count == 0)
                die("no samples to summarise");
        memcpy(sorted, samples, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_doubles);
        size_t index = (size_t)(rank * (double)count);
        if ((double)index == rank * (double)count && index > 0)
                index--;
        double value = sorted[index < count ? index : count - 1];
        free(sorted);
        return value;
}

/* By how much the medians of the first and the second half differ: 0.1 is 10 %. */
double spread_of_halves(const double *samples, size_t count)
{
        double first = quantile(samples, count / 2, 0.5);
        double second = quantile(samples + count / 2, count - count / 2, 0.5);
        return first > second ? first / second - 1 : second / first - 1;
}

/* Fisher and Yates' shuffle with xorshift: the order must not repeat, it need not be unpredictable. */
void shuffle(size_t *order, size_t count, uint64_t *state)
{
        for (size_t i = count; i > 1; i--) {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                size_t j = (size_t)(*state % i);
                size_t kept = order[i - 1];
                order[i - 1] = order[j];
                order[j] = kept;
        }
}

static FILE *open_list(const struct place *place, const char *name, char path[PATH_SIZE + 16])
{
        snprintf(path, PATH_SIZE + 16, "%s/%s", place->dir, name);
        FILE *file = fopen(path, "ae");
        if (file == NULL)
                die("cannot write %s: %s", path, strerror(errno));
        return file;
}

/* run.sh prints the bars together at the end, so they are collected in a file; so are the figures, for publish.sh. */
static void bar_write(const struct place *place, const char *name, double value, const char *relation,
                      double limit, bool is_met)
{
        char path[PATH_SIZE + 16];
        FILE *file = open_list(place, "bars", path);
        fprintf(file, "%s  %-52s %9.3f %s %.4g\n", is_met ? "PASS" : "FAIL", name, value, relation, limit);
        if (fclose(file) != 0)
                die("cannot write %s: %s", path, strerror(errno));
}

void figure_write(const struct place *place, const char *part, const char *name, ...)
{
        char path[PATH_SIZE + 16];
        FILE *file = open_list(place, "figures", path);
        va_list pairs;
        const char *key;
        fprintf(file, "%s\t%s", part, name);
        va_start(pairs, name);
        while ((key = va_arg(pairs, const char *)) != NULL)
                fprintf(file, "\t%s=%.4g", key, va_arg(pairs, double));
        va_end(pairs);
        fprintf(file, "\n");
        if (fclose(file) != 0)
                die("cannot write %s: %s", path, strerror(errno));
}

void bar_at_most(const struct place *place, const char *name, double value, double limit)
{
        bar_write(place, name, value, "<=", limit, value <= limit);
}

void bar_at_least(const struct place *place, const char *name, double value, double limit)
{
        bar_write(place, name, value, ">=", limit, value >= limit);
}
