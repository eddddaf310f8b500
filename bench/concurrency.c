/* Measures many jobs of one process at once: 256 that wait for each other, and how many a second 64 places do. */
#define _GNU_SOURCE
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
        WAITING = 256,
        PLACES = 64,
        ROUNDS = 15,
        LAUNCHES = 1024, /* of each in one round */
};

/* ---- 256 at once ---------------------------------------------------------------------------------------- */

/* One of those that all run before the first may end. */
struct waiting {
        abatis_job *job;
        char script[96];
        const char *argv[4];
        bool has_spoken;
};

static size_t spoken;

static void hear(void *user, int descriptor, const char *bytes, size_t length)
{
        struct waiting *waiting = user;
        (void)descriptor;
        (void)bytes;
        spoken += length > 0 && !waiting->has_spoken;
        waiting->has_spoken = true;
}

static void start_waiting(struct waiting *waiting, abatis_sandbox *sandbox, int epoll, uint32_t index,
                          int gate)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_error err;
        snprintf(waiting->script, sizeof waiting->script, "echo begin %u; read x; echo end %u; exit %u",
                 index, index, index % 200);
        waiting->argv[0] = "/bin/sh";
        waiting->argv[1] = "-c";
        waiting->argv[2] = waiting->script;
        options.argv = waiting->argv;
        options.capture = ABATIS_CAPTURE;
        options.stdin_fd = gate;
        options.stdout_fd = options.stderr_fd = -1;
        options.on_output = hear;
        options.user = waiting;
        if (abatis_job_start(sandbox, &options, &waiting->job, &err) < 0)
                die("job %u did not start: %s", index, err.message);
        jobs_watch(epoll, waiting->job, index);
}

static void finish_waiting(struct waiting *waiting, unsigned index)
{
        char expected[64];
        abatis_result *result;
        abatis_error err;
        if (abatis_job_finish(waiting->job, &result, &err) < 0)
                die("job %u has no result: %s", index, err.message);
        snprintf(expected, sizeof expected, "begin %u\nend %u\n", index, index);
        if (strcmp(abatis_result_stdout(result, NULL), expected) != 0 ||
            abatis_result_exit_code(result) != (int)(index % 200))
                die("job %u wrote '%s' and exits with %d", index, abatis_result_stdout(result, NULL),
                    abatis_result_exit_code(result));
        abatis_result_free(result);
}

static void measure_waiting(const struct place *place, abatis_sandbox *sandbox)
{
        static struct waiting waiting[WAITING];
        unsigned before = count_descriptors();
        long rss = status_kib("VmRSS:"), rss_beside = 0;
        int gate[2], epoll = epoll_create1(EPOLL_CLOEXEC);
        size_t left = WAITING;
        abatis_error err;
        if (epoll < 0 || pipe2(gate, O_CLOEXEC) < 0)
                die("no epoll or no pipe: %s", strerror(errno));
        double start = now_us(), all_run = 0;
        for (uint32_t i = 0; i < WAITING; i++)
                start_waiting(&waiting[i], sandbox, epoll, i, gate[0]);
        while (left > 0) {
                struct epoll_event events[64];
                int count = epoll_wait(epoll, events, 64, 60000);
                if (count <= 0)
                        die("nothing happens any more: %zu of %d run, %zu are left", spoken, WAITING, left);
                for (int i = 0; i < count; i++) {
                        uint32_t index = events[i].data.u32;
                        int done = 0;
                        if (abatis_job_advance(waiting[index].job, &done, &err) < 0)
                                die("job %u cannot go on: %s", index, err.message);
                        if (done) {
                                jobs_unwatch(epoll, waiting[index].job);
                                finish_waiting(&waiting[index], index);
                                left--;
                        }
                }
                if (spoken == WAITING && all_run == 0) {
                        all_run = now_us() - start;
                        rss_beside = status_kib("VmRSS:") - rss;
                        close(gate[1]); /* now they may end */
                }
        }
        double us = now_us() - start;
        close(gate[0]);
        close(epoll);
        unsigned after = count_descriptors();
        printf("%d jobs at once on one epoll: all run after %.0f ms, all done after %.0f ms, %.0f us each\n",
               WAITING, all_run / 1e3, us / 1e3, us / WAITING);
        /* Init has no memory of its own. */
        printf("beside each of them %.1f KiB, and what the kernel has of two processes\n",
               (double)rss_beside / WAITING);
        figure_write(place, "memory", "beside a job of the library", "kib", (double)rss_beside / WAITING,
                     NULL);
        bar_at_most(place, "256 jobs at once: KiB beside each running command", (double)rss_beside / WAITING,
                    64);
        bar_at_most(place, "256 jobs at once: descriptors left over", (double)after - before, 0);
}

/* ---- against posix_spawn -------------------------------------------------------------------------------- */

/* Rounds of one and of the other by turns, so that both see the same load of the machine. */
static void measure_throughput(const struct place *place, abatis_sandbox *sandbox)
{
        static const char *const payload[] = { "{bin}/true", NULL };
        static struct command command;
        const char *const *environment = bench_environment(place);
        double spawned[ROUNDS], inside[ROUNDS], ratios[ROUNDS];
        command_init(&command, place, &plain_spawn, payload);
        const struct jobs jobs = {
                .sandbox = sandbox, .argv = command.words, .environment = environment, .at_once = PLACES
        };
        spawn_many(&command, environment, LAUNCHES / 4, PLACES);
        jobs_run(&jobs, LAUNCHES / 4);
        for (size_t i = 0; i < ROUNDS; i++) {
                spawned[i] = LAUNCHES * 1e6 / spawn_many(&command, environment, LAUNCHES, PLACES);
                inside[i] = LAUNCHES * 1e6 / jobs_run(&jobs, LAUNCHES);
                ratios[i] = inside[i] / spawned[i];
        }
        double ratio = quantile(ratios, ROUNDS, 0.5);
        printf("launches of a static `true` a second, %d at once, medians of %d rounds of %d\n", PLACES,
               ROUNDS, LAUNCHES);
        printf("%-28s %10.0f\n%-28s %10.0f %21.3f x posix_spawn (%.3f to %.3f)\n", "posix_spawn and waitpid",
               quantile(spawned, ROUNDS, 0.5), "jobs of the library", quantile(inside, ROUNDS, 0.5), ratio,
               quantile(ratios, ROUNDS, 0), quantile(ratios, ROUNDS, 1));
        bar_at_least(place, "jobs a second, 64 at once, times posix_spawn", ratio, 0.33);
}

int main(int argc, char **argv)
{
        if (argc != 2)
                die("usage: concurrency DIR");
        static struct place place;
        place_init(&place, argv[1]);
        raise_descriptor_limit();
        abatis_sandbox *sandbox = jobs_open_sandbox(&place);
        /* What a sandbox opens for its first jobs, its audit log and what begins the next ones, it keeps. */
        const char *const first[] = { "/bin/true", NULL };
        jobs_run(&(struct jobs){ .sandbox = sandbox, .argv = first, .at_once = 1 }, 4);
        measure_waiting(&place, sandbox);
        measure_throughput(&place, sandbox);
        abatis_sandbox_free(sandbox);
        return 0;
}
