/* Measures jobs of a prepared sandbox: one at a time against posix_spawn, and how many a second. */
#define _GNU_SOURCE
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        ROUNDS_DEFAULT = 500,
        ROUNDS_MIN = 20,
        WARM_UP_ROUNDS = 20,
        PAUSE_US = 1000, /* in which what was left to be done is done: the next must not pay for it */
        WIDTH_ROUNDS = 9,
        LAUNCHES = 1024, /* of each in one round of a width */
};
#define LAUNCHES_TEXT "1024"

static const char *const payload[] = { "{bin}/true", NULL };

/* ---- one at a time -------------------------------------------------------------------------------------- */

struct way {
        const char *name;
        abatis_sandbox *sandbox; /* NULL: posix_spawn */
        double *samples;
};

static double launch(const struct way *way, const struct command *command, const char *const *environment)
{
        const struct jobs jobs = {
                .sandbox = way->sandbox, .argv = command->words, .environment = environment, .at_once = 1
        };
        struct sample sample;
        if (way->sandbox != NULL)
                return jobs_run(&jobs, 1);
        launch_checked(way->name, command, environment, &sample);
        return sample.us;
}

static void print_way(const struct place *place, const char *part, const struct way *way,
                      const struct way *base, size_t rounds)
{
        double median = quantile(way->samples, rounds, 0.5), p90 = quantile(way->samples, rounds, 0.9),
               p99 = quantile(way->samples, rounds, 0.99),
               times = median / quantile(base->samples, rounds, 0.5);
        printf("%-36s %8.0f %8.0f %8.0f %8.2f\n", way->name, median, p90, p99, times);
        figure_write(place, part, way->name, "median_us", median, "p90_us", p90, "p99_us", p99,
                     "times_posix_spawn", times, NULL);
}

static void measure_alone(const struct place *place, size_t rounds, bool is_bare)
{
        static struct command command;
        const char *const *environment = bench_environment(place);
        struct way ways[] = {
                { "posix_spawn", NULL, NULL },
                { "a job of a prepared sandbox", jobs_open_sandbox_with(place, 1, "off"), NULL },
                { "the same without a loopback", jobs_open_sandbox_without_loopback(place, 1), NULL },
                { "the same with the audit log", jobs_open_sandbox_with(place, 1, NULL), NULL },
                { "a job of a shared session", jobs_open_session(place), NULL },
                { "a job that is begun from nothing", jobs_open_sandbox_with(place, -1, "off"), NULL },
                { "likewise without a loopback", jobs_open_sandbox_without_loopback(place, -1), NULL },
        };
        enum { WAYS = sizeof ways / sizeof *ways };
        size_t order[WAYS];
        uint64_t state = 0x9e3779b97f4a7c15u;
        command_init(&command, place, &plain_spawn, payload);
        for (size_t i = 0; i < WAYS; i++) {
                order[i] = i;
                ways[i].samples = calloc(rounds, sizeof(double));
                if (ways[i].samples == NULL)
                        die("out of memory");
        }
        for (size_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
                shuffle(order, WAYS, &state);
                for (size_t i = 0; i < WAYS; i++) {
                        double us = launch(&ways[order[i]], &command, environment);
                        if (round >= WARM_UP_ROUNDS)
                                ways[order[i]].samples[round - WARM_UP_ROUNDS] = us;
                        usleep(PAUSE_US);
                }
        }
        printf("%zu rounds of a static `true`, %d us apart%15s %8s %8s %8s\n", rounds, PAUSE_US, "median us",
               "p90", "p99", "ratio");
        for (size_t i = 0; i < WAYS; i++)
                print_way(place, is_bare ? "library without namespaces" : "library", &ways[i], &ways[0],
                          rounds);
        double median = quantile(ways[1].samples, rounds, 0.5);
        double times = median / quantile(ways[0].samples, rounds, 0.5);
        if (is_bare) {
                bar_at_most(place, "a prepared job without namespaces, median, times posix_spawn", times,
                            2.0);
        } else {
                bar_at_most(place, "a prepared job, median, times posix_spawn", times, 1.25);
                bar_at_most(place, "a prepared job, p99, times its own median",
                            quantile(ways[1].samples, rounds, 0.99) / median, 2.5);
                /* Of commands that open no socket: it must be lost in the noise. */
                bar_at_most(place, "the loopback, of a prepared job's median",
                            median / quantile(ways[2].samples, rounds, 0.5), 1.05);
                bar_at_most(place, "the loopback, of the median of one begun from nothing",
                            quantile(ways[5].samples, rounds, 0.5) / quantile(ways[6].samples, rounds, 0.5),
                            1.05);
        }
        for (size_t i = 0; i < WAYS; i++) {
                abatis_sandbox_free(ways[i].sandbox);
                free(ways[i].samples);
        }
}

/* ---- many a second -------------------------------------------------------------------------------------- */

/* Of LAUNCHES programs, 64 at once, that get what each job must have of its own, and nobody decides or hears anything. */
static double least_took(const struct place *place, const char *const *environment)
{
        static const char *const words[] = { "{bin}/least", "-n", LAUNCHES_TEXT, "64", NULL };
        static const struct contender least = { .name = "least -n", .words = words };
        static struct command command;
        struct sample sample;
        command_init(&command, place, &least, payload);
        launch_checked(least.name, &command, environment, &sample);
        return sample.us;
}

static void measure_widths(const struct place *place)
{
        static const size_t widths[] = { 1, 2, 8, 64, 256 };
        static struct command command;
        enum { WIDTHS = sizeof widths / sizeof *widths, SIXTY_FOUR = 3 };
        const char *const *environment = bench_environment(place);
        abatis_sandbox *sandbox = jobs_open_sandbox_with(place, 4, "off"),
                       *closed = jobs_open_sandbox_without_loopback(place, 4);
        double spawned[WIDTHS][WIDTH_ROUNDS], inside[WIDTHS][WIDTH_ROUNDS], ratios[WIDTHS][WIDTH_ROUNDS],
                medians[WIDTHS], least[WIDTH_ROUNDS], loopback[WIDTH_ROUNDS];
        command_init(&command, place, &plain_spawn, payload);
        /* Each width once in a round, so that all see the same load of the machine. */
        for (size_t round = 0; round < WIDTH_ROUNDS; round++)
                for (size_t i = 0; i < WIDTHS; i++) {
                        const struct jobs jobs = { .sandbox = sandbox,
                                                   .argv = command.words,
                                                   .environment = environment,
                                                   .at_once = widths[i] },
                                          closed_jobs = { .sandbox = closed,
                                                          .argv = command.words,
                                                          .environment = environment,
                                                          .at_once = widths[i] };
                        spawned[i][round] =
                                LAUNCHES * 1e6 / spawn_many(&command, environment, LAUNCHES, widths[i]);
                        inside[i][round] = LAUNCHES * 1e6 / jobs_run(&jobs, LAUNCHES);
                        ratios[i][round] = inside[i][round] / spawned[i][round];
                        if (i != SIXTY_FOUR)
                                continue;
                        least[round] = LAUNCHES * 1e6 / least_took(place, environment) / spawned[i][round];
                        loopback[round] =
                                inside[i][round] * jobs_run(&closed_jobs, LAUNCHES) / 1e6 / LAUNCHES;
                }
        printf("launches a second, medians of %d rounds of %d\n%-12s %12s %12s %8s\n", WIDTH_ROUNDS, LAUNCHES,
               "at once", "posix_spawn", "prepared", "ratio");
        for (size_t i = 0; i < WIDTHS; i++) {
                medians[i] = quantile(inside[i], WIDTH_ROUNDS, 0.5);
                double spawns = quantile(spawned[i], WIDTH_ROUNDS, 0.5),
                       ratio = quantile(ratios[i], WIDTH_ROUNDS, 0.5);
                char name[32];
                snprintf(name, sizeof name, "%zu at once", widths[i]);
                printf("%-12zu %12.0f %12.0f %8.3f\n", widths[i], spawns, medians[i], ratio);
                figure_write(place, "launches a second", name, "posix_spawn", spawns, "prepared", medians[i],
                             "times_posix_spawn", ratio, NULL);
        }
        double least_ratio = quantile(least, WIDTH_ROUNDS, 0.5);
        printf("the same mounts and namespaces, no library, 64 at once: %.3f\n", least_ratio);
        figure_write(place, "launches a second", "the same mounts, 64 at once", "times_posix_spawn",
                     least_ratio, NULL);
        bar_at_least(place, "prepared jobs a second, 64 at once, times posix_spawn",
                     quantile(ratios[SIXTY_FOUR], WIDTH_ROUNDS, 0.5), 0.7);
        bar_at_least(place, "prepared jobs a second, 256 at once, times 8 at once", medians[4] / medians[2],
                     0.95);
        bar_at_least(place, "prepared jobs a second, 64 at once, times those without a loopback",
                     quantile(loopback, WIDTH_ROUNDS, 0.5), 0.9);
        abatis_sandbox_free(sandbox);
        abatis_sandbox_free(closed);
}

int main(int argc, char **argv)
{
        static struct place place;
        size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS_DEFAULT;
        bool is_bare = argc == 4 && strcmp(argv[3], "bare") == 0;
        if (argc < 2 || argc > 3 + is_bare || rounds < ROUNDS_MIN)
                die("usage: prepared DIR [ROUNDS [bare]], at least %d", ROUNDS_MIN);
        place_init(&place, argv[1]);
        raise_descriptor_limit();
        measure_alone(&place, rounds, is_bare);
        if (is_bare)
                return 0;
        printf("\n");
        measure_widths(&place);
        return 0;
}
