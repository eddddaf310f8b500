/* Measures what it costs to launch a command: rounds of all contenders, interleaved and shuffled. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        ROUNDS_DEFAULT = 500,
        ROUNDS_MIN = 20,
        ROUNDS_EXTRA_MAX = 100, /* some extra rows take a hundred times as long as the judged ones */
        WARM_UP_ROUNDS = 20,
        ROWS_MAX = 16,
};

struct row {
        const struct contender *contender;
        struct command command;
        double *samples, *cpu;   /* owned; of the attempt under way */
        double *best, *best_cpu; /* owned; of the least noisy attempt so far */
};

/* Rows measured against each other; the first is always posix_spawn. */
struct group {
        struct row rows[ROWS_MAX];
        size_t count;
        size_t rounds;
        const char *const *environment;
};

static const char *const payload[] = { "{bin}/true", NULL };

static double *new_samples(size_t count)
{
        double *samples = calloc(count, sizeof *samples);
        if (samples == NULL)
                die("out of memory");
        return samples;
}

static bool group_add(struct group *group, const struct place *place, const struct contender *contender)
{
        struct row *row = &group->rows[group->count];
        if (group->count >= ROWS_MAX)
                die("too many contenders");
        if (!command_init(&row->command, place, contender, payload))
                return false;
        row->contender = contender;
        row->samples = new_samples(group->rounds);
        row->cpu = new_samples(group->rounds);
        row->best = new_samples(group->rounds);
        row->best_cpu = new_samples(group->rounds);
        group->count++;
        return true;
}

static void group_done(struct group *group)
{
        for (size_t i = 0; i < group->count; i++) {
                free(group->rows[i].samples);
                free(group->rows[i].cpu);
                free(group->rows[i].best);
                free(group->rows[i].best_cpu);
        }
}

/* Every round launches each contender once, in a new order: drift and leftovers hit all of them alike. */
static void group_measure(struct group *group)
{
        size_t order[ROWS_MAX];
        uint64_t state = 0x9e3779b97f4a7c15u;
        for (size_t i = 0; i < group->count; i++)
                order[i] = i;
        for (size_t round = 0; round < WARM_UP_ROUNDS + group->rounds; round++) {
                shuffle(order, group->count, &state);
                for (size_t i = 0; i < group->count; i++) {
                        struct row *row = &group->rows[order[i]];
                        struct sample sample;
                        launch_checked(row->contender->name, &row->command, group->environment, &sample);
                        if (round < WARM_UP_ROUNDS)
                                continue;
                        row->samples[round - WARM_UP_ROUNDS] = sample.us;
                        row->cpu[round - WARM_UP_ROUNDS] = sample.cpu_us;
                }
        }
}

/* How far the attempt is from usable: above 1 it is too noisy to be judged. */
static double group_noise(const struct group *group, double *out_tail, double *out_drift)
{
        const double *base = group->rows[0].samples;
        double tail = quantile(base, group->rounds, 0.9) / quantile(base, group->rounds, 0.5);
        double drift = 0;
        for (size_t i = 0; i < group->count; i++) {
                double spread = spread_of_halves(group->rows[i].samples, group->rounds);
                drift = spread > drift ? spread : drift;
        }
        *out_tail = tail;
        *out_drift = drift;
        return tail / 2 > drift / 0.10 ? tail / 2 : drift / 0.10;
}

static void group_keep(struct group *group)
{
        for (size_t i = 0; i < group->count; i++) {
                memcpy(group->rows[i].best, group->rows[i].samples, group->rounds * sizeof(double));
                memcpy(group->rows[i].best_cpu, group->rows[i].cpu, group->rounds * sizeof(double));
        }
}

/* The attempt is chosen by its noise alone, never by how well anybody did in it. */
static void group_measure_quietly(struct group *group)
{
        double least = 0;
        for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
                double tail, drift;
                group_measure(group);
                double noise = group_noise(group, &tail, &drift);
                printf("attempt %d: posix_spawn p90/median %.2f, halves differ by %.1f %%%s\n", attempt, tail,
                       drift * 100, noise <= 1 ? "" : ": too noisy");
                fflush(stdout);
                if (attempt == 1 || noise < least) {
                        least = noise;
                        group_keep(group);
                }
                if (noise <= 1)
                        return;
        }
        printf("still noisy after %d attempts: taking the least noisy one\n", ATTEMPTS_MAX);
}

static double best_quantile(const struct group *group, size_t row, double rank)
{
        return quantile(group->rows[row].best, group->rounds, rank);
}

static void print_rows(const struct place *place, const char *part, const struct group *group, size_t first)
{
        for (size_t i = first; i < group->count; i++) {
                const char *name = group->rows[i].contender->name;
                double median = best_quantile(group, i, 0.5), p90 = best_quantile(group, i, 0.9),
                       p99 = best_quantile(group, i, 0.99),
                       cpu = quantile(group->rows[i].best_cpu, group->rounds, 0.5),
                       times = median / best_quantile(group, 0, 0.5);
                printf("%-28s %10.0f %10.0f %10.0f %10.0f %10.2f\n", name, median, p90, p99, cpu, times);
                figure_write(place, part, name, "median_us", median, "p90_us", p90, "p99_us", p99, "cpu_us",
                             cpu, "times_posix_spawn", times, NULL);
        }
}

static void judge(const struct place *place, const struct group *group)
{
        double spawn = best_quantile(group, 0, 0.5);
        double abatis = best_quantile(group, 1, 0.5);
        double bwrap = best_quantile(group, 2, 0.5);
        bar_at_most(place, "launch: median, times posix_spawn", abatis / spawn, 3.3);
        bar_at_least(place, "launch: median, times faster than bubblewrap", bwrap / abatis, 3.5);
        bar_at_most(place, "launch: p99, times bubblewrap's median", best_quantile(group, 1, 0.99) / bwrap,
                    1);
}

/* Rounds of their own: what a slow one leaves the kernel to clean up must not disturb a judged one. */
static void measure_extras(const struct place *place, const struct group *judged)
{
        static struct group extras;
        static struct command probe;
        extras.rounds = judged->rounds < ROUNDS_EXTRA_MAX ? judged->rounds : ROUNDS_EXTRA_MAX;
        extras.environment = judged->environment;
        group_add(&extras, place, &plain_spawn);
        for (size_t i = 0; i < extra_contender_count; i++) {
                struct sample sample;
                if (!command_init(&probe, place, &extra_contenders[i], payload))
                        continue;
                if (launch_once(&probe, extras.environment, &sample) == 0)
                        group_add(&extras, place, &extra_contenders[i]);
                else
                        printf("%-28s does not work here\n", extra_contenders[i].name);
        }
        fflush(stdout);
        group_measure(&extras);
        group_keep(&extras);
        print_rows(place, "launch, not judged", &extras, 1);
        group_done(&extras);
}

static size_t parse_rounds(const char *text)
{
        char *end;
        errno = 0;
        unsigned long rounds = strtoul(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || rounds < ROUNDS_MIN || rounds > 1000000)
                die("ROUNDS must be a number from %d to 1000000, not '%s'", ROUNDS_MIN, text);
        return rounds;
}

int main(int argc, char **argv)
{
        if (argc < 2 || argc > 4 || (argc == 4 && strcmp(argv[3], "bare") != 0))
                die("usage: launch DIR [ROUNDS [bare]]");
        /* Where there are no namespaces, and so no bubblewrap. */
        bool is_bare = argc == 4;
        static struct place place;
        static struct group group;
        char workspace[PATH_SIZE + 16];
        place_init(&place, argv[1]);
        group.rounds = argc > 2 ? parse_rounds(argv[2]) : ROUNDS_DEFAULT;
        group.environment = bench_environment(&place);
        snprintf(workspace, sizeof workspace, "%s/workspace", place.dir);
        if (chdir(workspace) < 0)
                die("cannot enter %s: %s", workspace, strerror(errno));
        if (!group_add(&group, &place, &plain_spawn) || !group_add(&group, &place, &run_unlogged))
                die("cannot find %s", place.abatis);
        if (is_bare && !group_add(&group, &place, &run_floor))
                die("cannot find the program floor");
        if (!is_bare && !group_add(&group, &place, &bubblewrap))
                die("bubblewrap is not on PATH: install the package bubblewrap");
        if (!is_bare && !group_add(&group, &place, &run_least))
                die("cannot find the program least");

        printf("launching a static `true`%s, %zu rounds\n", is_bare ? " without namespaces" : "",
               group.rounds);
        group_measure_quietly(&group);
        printf("\n%-28s %10s %10s %10s %10s %10s\n", "microseconds", "median", "p90", "p99", "cpu",
               "x spawn");
        print_rows(&place, is_bare ? "launch without namespaces" : "launch", &group, 0);
        if (!is_bare) {
                printf("\nfor orientation, not judged\n");
                measure_extras(&place, &group);
        }
        /* Else the bar is that of a prepared job: see floor.c. */
        if (!is_bare)
                judge(&place, &group);
        group_done(&group);
        return 0;
}
