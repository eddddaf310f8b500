/* Measures what the audit log adds to a launch: with it and without, in interleaved pairs. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS_MIN = 20, PAIRS_MAX = 100000, WARM_UP = 20 };

static double *new_samples(size_t count)
{
        double *samples = calloc(count, sizeof *samples);
        if (samples == NULL)
                die("out of memory");
        return samples;
}

/* How many times as long a launch of the program takes with the log: the median of the pairs' ratios, in which a machine that is slower
 * for a while takes no part. */
static double measure(const struct place *place, const char *program, size_t pairs)
{
        static const char *const words[][4] = { { "{abatis}", "run", "--no-audit", "--" },
                                                { "{abatis}", "run", "--" } };
        const char *const payload[] = { program, NULL };
        const char *const *environment = bench_environment(place);
        double *samples[2] = { new_samples(pairs), new_samples(pairs) };
        struct command commands[2];
        for (int i = 0; i < 2; i++) {
                const char *const list[] = { words[i][0], words[i][1], words[i][2], words[i][3], NULL };
                const struct contender contender = { .name = i ? "with the log" : "without", .words = list };
                command_init(&commands[i], place, &contender, payload);
        }
        for (size_t pair = 0; pair < WARM_UP + pairs; pair++)
                for (size_t turn = 0; turn < 2; turn++) {
                        size_t which = (pair + turn) % 2;
                        struct sample sample;
                        launch_checked("abatis", &commands[which], environment, &sample);
                        if (pair >= WARM_UP)
                                samples[which][pair - WARM_UP] = sample.us;
                }
        double without = quantile(samples[0], pairs, 0.5), with = quantile(samples[1], pairs, 0.5);
        for (size_t i = 0; i < pairs; i++)
                samples[1][i] /= samples[0][i];
        double ratio = quantile(samples[1], pairs, 0.5);
        printf("%-12s without the audit log %5.0f us, with it %5.0f us, %.3f times: medians of %zu pairs\n",
               program, without, with, ratio, pairs);
        free(samples[0]);
        free(samples[1]);
        return ratio;
}

int main(int argc, char **argv)
{
        static struct place place;
        if (argc != 3)
                die("usage: audit DIR PAIRS");
        size_t pairs = strtoul(argv[2], NULL, 10);
        if (pairs < PAIRS_MIN || pairs > PAIRS_MAX)
                die("PAIRS must be a number from %d to %d, not '%s'", PAIRS_MIN, PAIRS_MAX, argv[2]);
        place_init(&place, argv[1]);
        char workspace[PATH_SIZE + 16];
        snprintf(workspace, sizeof workspace, "%s/workspace", place.dir);
        if (chdir(workspace) < 0)
                die("cannot enter %s: %s", workspace, strerror(errno));
        /* What people launch is at least this; the bench's own program, which does nothing at all, is for orientation. */
        measure(&place, "{bin}/true", pairs);
        bar_at_most(&place, "audit: a launch of /bin/true with it, times one without",
                    measure(&place, "/bin/true", pairs), 1.05);
        return 0;
}
