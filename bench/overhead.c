/* Measures how much slower ordinary work runs inside abatis than outside, in interleaved pairs. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        PAIRS = 21,
        LAUNCH_PAIRS = 60,
        REPEATS_MAX = 1000,
};

/* Long enough that the bar of 5 % stands far above what the scheduler does to a single run. */
static const double work_us = 0.4e6;
#define NOISE_MAX 0.02

/* Work of one kind; the command is repeated in a shell until it takes long enough. */
struct work {
        const char *name;
        const char *dir; /* below the scratch directory; the workspace of the run */
        const char *command;
};

static const struct work works[] = {
        { "make", "project", "make -s -B -j2" },
        { "git status", "repository", "git status --short" },
        { "find", "tree", "find . -type f -size +1 -newer first" },
        { "grep", "text", "grep -r -c needle . >/dev/null" },
        { "packages", "packages", "tar -xf ../packages.tar && rm -r node_modules" },
};

static const struct setting {
        const char *name;
        const struct contender *contender;
        double bar; /* 0: shown for orientation */
} settings[] = {
        /* Without namespaces, opens of directories are asked about; with a pattern, all opens. Each is followed by who is asked the
         * same and decides nothing: less it cannot cost. */
        { "", &run_abatis, 1.05 },
        { "", &run_asked_directories, 0 },
        { ", with a pattern", &run_with_pattern, 1.25 },
        { "", &run_asked_opens, 0 },
};

struct pairs {
        struct sample outside[LAUNCH_PAIRS], inside[LAUNCH_PAIRS];
        size_t count;
};

static double wall(struct sample sample)
{
        return sample.us;
}

static double cpu(struct sample sample)
{
        return sample.cpu_us;
}

static double median_of(const struct sample *samples, size_t count, double (*part)(struct sample))
{
        double values[LAUNCH_PAIRS];
        for (size_t i = 0; i < count; i++)
                values[i] = part(samples[i]);
        return quantile(values, count, 0.5);
}

/*
 * Inside against outside, pair by pair: both sides of a pair see nearly the same load of the machine, so the
 * median of these ratios holds still where a ratio of two medians jumps. `fixed` is taken off the inside.
 */
static double ratio_quantile(const struct pairs *pairs, double rank, double (*part)(struct sample),
                             double fixed)
{
        double ratios[LAUNCH_PAIRS];
        for (size_t i = 0; i < pairs->count; i++)
                ratios[i] = (part(pairs->inside[i]) - fixed) / part(pairs->outside[i]);
        return quantile(ratios, pairs->count, rank);
}

/* Half the distance between the quartiles of the ratios: how well their median is known. */
static double pairs_noise(const struct pairs *pairs)
{
        return (ratio_quantile(pairs, 0.75, wall, 0) - ratio_quantile(pairs, 0.25, wall, 0)) / 2;
}

/* The order within a pair alternates, so that neither side always runs on what the other left warm. */
static void pairs_measure(struct pairs *pairs, const char *name, const struct command *outside,
                          const struct command *inside, const char *const *environment)
{
        for (size_t i = 0; i < pairs->count; i++) {
                if (i % 2 == 0)
                        launch_checked(name, outside, environment, &pairs->outside[i]);
                launch_checked(name, inside, environment, &pairs->inside[i]);
                if (i % 2 == 1)
                        launch_checked(name, outside, environment, &pairs->outside[i]);
        }
}

static void commands_init(const struct place *place, const struct setting *setting, const char *script,
                          struct command *outside, struct command *inside)
{
        const char *const payload[] = { "/bin/sh", "-c", script, NULL };
        command_init(outside, place, &plain_spawn, payload);
        command_init(inside, place, setting->contender, payload);
}

/* The first run warms the caches; the quickest of the next ones says how often the work must be repeated. */
static size_t count_repeats(const struct work *work, const struct command *once,
                            const char *const *environment)
{
        struct sample sample;
        double quickest = INFINITY;
        launch_checked(work->name, once, environment, &sample);
        for (int i = 0; i < 3; i++) {
                launch_checked(work->name, once, environment, &sample);
                quickest = fmin(quickest, sample.us);
        }
        double repeats = ceil(work_us / quickest);
        return repeats > REPEATS_MAX ? REPEATS_MAX : (size_t)repeats;
}

static void enter(const struct place *place, const char *name)
{
        char path[PATH_SIZE + 64];
        snprintf(path, sizeof path, "%s/%s", place->dir, name);
        if (chdir(path) < 0)
                die("cannot enter %s: %s", path, strerror(errno));
}

/* What a launch inside costs more than one outside, in microseconds. */
static double launch_cost(const struct place *place, const struct setting *setting,
                          const char *const *environment)
{
        static const char *const payload[] = { "{bin}/true", NULL };
        static struct command outside, inside;
        static struct pairs pairs = { .count = LAUNCH_PAIRS };
        enter(place, "workspace");
        command_init(&outside, place, &plain_spawn, payload);
        command_init(&inside, place, setting->contender, payload);
        pairs_measure(&pairs, "launch", &outside, &inside, environment);
        return median_of(pairs.inside, pairs.count, wall) - median_of(pairs.outside, pairs.count, wall);
}

/* Like a launch, work that came out too noisy is measured again, and chosen by its noise alone. */
static void measure_quietly(struct pairs *best, const char *name, const struct command *outside,
                            const struct command *inside, const char *const *environment)
{
        static struct pairs pairs;
        double least = INFINITY;
        pairs.count = PAIRS;
        for (int attempt = 1; attempt <= ATTEMPTS_MAX && least > NOISE_MAX; attempt++) {
                pairs_measure(&pairs, name, outside, inside, environment);
                double noise = pairs_noise(&pairs);
                if (noise > NOISE_MAX)
                        printf("%s, attempt %d: the quartiles lie %.1f %% off the median: too noisy\n", name,
                               attempt, noise * 100);
                if (noise < least) {
                        least = noise;
                        *best = pairs;
                }
        }
}

static void measure_work(const struct place *place, const struct setting *setting, const char *where,
                         const struct work *work, double launch_us)
{
        static struct command outside, inside;
        static struct pairs best;
        const char *const *environment = bench_environment(place);
        char script[512], bar[128];
        enter(place, work->dir);
        commands_init(place, setting, work->command, &outside, &inside);
        size_t repeats = count_repeats(work, &outside, environment);
        snprintf(script, sizeof script, "i=0; while [ $i -lt %zu ]; do %s || exit; i=$((i+1)); done", repeats,
                 work->command);
        commands_init(place, setting, script, &outside, &inside);
        measure_quietly(&best, work->name, &outside, &inside, environment);
        double ratio = ratio_quantile(&best, 0.5, wall, 0);
        printf("%-12s %7zu %11.1f %11.1f %9.3f %15.3f %9.3f\n", work->name, repeats,
               median_of(best.outside, PAIRS, wall) / 1e3, median_of(best.inside, PAIRS, wall) / 1e3, ratio,
               ratio_quantile(&best, 0.5, wall, launch_us), ratio_quantile(&best, 0.5, cpu, 0));
        fflush(stdout);
        if (setting->bar == 0)
                return;
        snprintf(bar, sizeof bar, "running overhead%s%s: %s", where, setting->name, work->name);
        bar_at_most(place, bar, ratio, setting->bar);
}

/* WHERE stands in the names of the bars: what is measured may be another machine. */
int main(int argc, char **argv)
{
        if (argc != 2 && argc != 3)
                die("usage: overhead DIR [WHERE]");
        const char *where = argc == 3 ? argv[2] : "";
        static struct place place;
        place_init(&place, argv[1]);
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
                double launch_us = launch_cost(&place, &settings[i], bench_environment(&place));
                printf("%s%s%s: medians of %d pairs; a launch costs %.2f ms more inside\n", i ? "\n" : "",
                       settings[i].contender->name, where, PAIRS, launch_us / 1e3);
                printf("%-12s %7s %11s %11s %9s %15s %9s\n", "work", "repeats", "outside ms", "inside ms",
                       "ratio", "without launch", "cpu ratio");
                for (size_t j = 0; j < sizeof works / sizeof *works; j++)
                        measure_work(&place, &settings[i], where, &works[j], launch_us);
        }
        return 0;
}
