/* Runs very many jobs in one process and measures what is left of them: memory, descriptors and objects of the kernel must not grow. */
#define _GNU_SOURCE
#include "jobs.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        AT_ONCE = 16,
        SETTLED = 1000, /* by then every pool, cache and table has its size */
        PIECE = 1000,   /* between two looks at the clock */
        USUAL = 100000, /* so many in no more than this time; who wants more waits for them */
        SLABS_FD = 8,   /* /proc/slabinfo, if root has opened it for us */
        SLABS_SIZE = 1 << 17,
        SETTLE_S = 3, /* for what the kernel puts off */
};

static const double most_us = 600e6;

/* What a job has of the kernel's while it runs. */
static const char *const slabs[] = { "task_struct",      "pid",           "pid_namespace",
                                     "nsproxy",          "mnt_cache",     "mm_struct",
                                     "files_cache",      "signal_cache",  "shmem_inode_cache",
                                     "sock_inode_cache", "eventpoll_epi", "user_namespace" };
enum { SLABS = sizeof slabs / sizeof *slabs };

/* How many objects each of them has; -1 where nobody says. */
static void count_objects(long counts[SLABS])
{
        static char text[SLABS_SIZE];
        ssize_t length = 0, got;
        for (int i = 0; i < SLABS; i++)
                counts[i] = -1;
        if (lseek(SLABS_FD, 0, SEEK_SET) < 0)
                return;
        while ((got = read(SLABS_FD, text + length, sizeof text - 1 - (size_t)length)) > 0)
                length += got;
        text[length] = '\0';
        for (int i = 0; i < SLABS; i++) {
                char start[64];
                snprintf(start, sizeof start, "\n%s ", slabs[i]);
                const char *at = strstr(text, start);
                if (at != NULL)
                        counts[i] = strtol(at + strlen(start), NULL, 10);
        }
}

/* The one that has grown most, for each thousand jobs. */
static void judge_objects(const struct place *place, const long before[SLABS], const long after[SLABS],
                          unsigned long jobs)
{
        double worst = -INFINITY;
        printf("%-28s", "objects of the kernel");
        for (int i = 0; i < SLABS; i++) {
                if (before[i] < 0 || after[i] < 0)
                        continue;
                printf(" %s %ld to %ld;", slabs[i], before[i], after[i]);
                worst = fmax(worst, (double)(after[i] - before[i]) * 1e3 / (double)jobs);
        }
        printf(isinf(worst) ? " not to be seen by this user\n" : "\n");
        if (!isinf(worst))
                bar_at_most(place, "soak: objects of the kernel more for every 1000 jobs, of the worst kind",
                            worst, 10);
}

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
        double start = now_us(), limit = wanted > USUAL ? INFINITY : most_us;
        long objects[SLABS], objects_after[SLABS];
        jobs_run(&jobs, SETTLED);
        sleep(SETTLE_S);
        count_objects(objects);
        long rss = status_kib("VmRSS:");
        unsigned descriptors = count_descriptors();
        while (done < wanted && now_us() - start < limit) {
                unsigned long piece = wanted - done < PIECE ? wanted - done : PIECE;
                jobs_run(&jobs, piece);
                done += piece;
        }
        double seconds = (now_us() - start) / 1e6;
        sleep(SETTLE_S);
        count_objects(objects_after);
        long rss_after = status_kib("VmRSS:");
        unsigned descriptors_after = count_descriptors();
        printf("soak: %lu of %lu jobs with captured output, %d at once, in %.0f s: %.0f a second\n", done,
               wanted, AT_ONCE, seconds, (double)done / seconds);
        printf("%-28s %10s %12s\n%-28s %10ld %12u\n%-28s %10ld %12u\n", "this process", "Rss KiB",
               "descriptors", "after 1000 jobs", rss, descriptors, "at the end", rss_after,
               descriptors_after);
        if (done < wanted)
                printf("the time was up\n");
        judge_objects(&place, objects, objects_after, done - SETTLED);
        bar_at_most(&place, "soak: descriptors more than after 1000 jobs",
                    (double)descriptors_after - descriptors, 0);
        bar_at_most(&place, "soak: KiB more than after 1000 jobs", (double)(rss_after - rss), 256);
        abatis_sandbox_free(jobs.sandbox);
        return 0;
}
