/* Runs very many jobs in one process and measures what it keeps of them: memory and descriptors must not grow. */
#define _GNU_SOURCE
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
        AT_ONCE = 16,
        SETTLED = 1000, /* by then every pool, cache and table has its size */
        PIECE = 1000,   /* between two looks at the clock */
};

static const double most_us = 600e6;

int main(int argc, char **argv)
{
        static const char *const payload[] = { "{bin}/bench-hold", NULL };
        static struct place place;
        static struct command command;
        if (argc != 3)
                die("usage: soak DIR JOBS");
        unsigned long wanted = strtoul(argv[2], NULL, 10), done = SETTLED;
        if (wanted <= SETTLED)
                die("JOBS must be more than %d, not '%s'", SETTLED, argv[2]);
        place_init(&place, argv[1]);
        raise_descriptor_limit();
        command_init(&command, &place, &plain_spawn, payload);
        const struct jobs jobs = { .sandbox = jobs_open_sandbox(&place),
                                   .argv = command.words,
                                   .environment = bench_environment(&place),
                                   .output = "\n",
                                   .at_once = AT_ONCE };
        double start = now_us();
        jobs_run(&jobs, SETTLED);
        long rss = status_kib("VmRSS:");
        unsigned descriptors = count_descriptors();
        while (done < wanted && now_us() - start < most_us) {
                unsigned long piece = wanted - done < PIECE ? wanted - done : PIECE;
                jobs_run(&jobs, piece);
                done += piece;
        }
        double seconds = (now_us() - start) / 1e6;
        long rss_after = status_kib("VmRSS:");
        unsigned descriptors_after = count_descriptors();
        printf("soak: %lu of %lu jobs with captured output, %d at once, in %.0f s: %.0f a second\n", done,
               wanted, AT_ONCE, seconds, (double)done / seconds);
        printf("%-28s %10s %12s\n%-28s %10ld %12u\n%-28s %10ld %12u\n", "this process", "Rss KiB",
               "descriptors", "after 1000 jobs", rss, descriptors, "at the end", rss_after,
               descriptors_after);
        if (done < wanted)
                printf("the time was up\n");
        bar_at_most(&place, "soak: descriptors more than after 1000 jobs",
                    (double)descriptors_after - descriptors, 0);
        bar_at_most(&place, "soak: KiB more than after 1000 jobs", (double)(rss_after - rss), 256);
        abatis_sandbox_free(jobs.sandbox);
        return 0;
}
