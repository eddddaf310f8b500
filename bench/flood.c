/* Measures what a flood of output costs in memory: in a program that embeds the library, and in abatis run --json. */
#define _GNU_SOURCE
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB_PER_MIB = 1024, LIMIT_MIB = 2 /* the megabyte that is kept, and one more */ };

static const double flood_bytes = 1024.0 * 1024 * 1024;
static const char *const payload[] = { "{bin}/gush", NULL };

/* From now on VmHWM is the most since now. */
static void forget_peak(void)
{
        int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "5", 1) != 1)
                die("cannot reset the peak of this process's memory: %s", strerror(errno));
        close(fd);
}

static void print(const char *name, double seconds, long kib)
{
        printf("%-44s %10ld %10.1f\n", name, kib, flood_bytes / seconds / 1024 / 1024 / 1024);
}

static void measure_library(const struct place *place)
{
        static struct command command;
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_sandbox *sandbox = jobs_open_sandbox(place);
        abatis_result *result;
        abatis_error err;
        command_init(&command, place, &plain_spawn, payload);
        options.argv = command.words;
        options.capture = ABATIS_CAPTURE;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        long before = status_kib("VmRSS:");
        forget_peak();
        double start = now_us();
        if (abatis_run(sandbox, &options, &result, &err) < 0)
                die("the flood did not run: %s", err.message);
        double seconds = (now_us() - start) / 1e6;
        long kib = status_kib("VmHWM:") - before;
        size_t kept;
        abatis_result_stdout(result, &kept);
        if (abatis_result_exit_code(result) != 0 || !abatis_result_truncated(result) || kept != 1 << 20 ||
            (double)abatis_result_stdout_bytes(result) != flood_bytes)
                die("of the flood came %.0f bytes, and %zu were kept",
                    (double)abatis_result_stdout_bytes(result), kept);
        abatis_result_free(result);
        abatis_sandbox_free(sandbox);
        print("in the library, captured", seconds, kib);
        bar_at_most(place, "flood of 1 GiB: MiB held by the library", (double)kib / KIB_PER_MIB, LIMIT_MIB);
}

static long peak_of(pid_t pid)
{
        char path[64], text[8192];
        snprintf(path, sizeof path, "/proc/%d/status", pid);
        FILE *file = fopen(path, "re");
        size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        const char *at = strstr(text, "VmHWM:");
        if (file == NULL || at == NULL)
                die("cannot read the memory of process %d", pid);
        fclose(file);
        return strtol(at + strlen("VmHWM:"), NULL, 10);
}

/* Reads half of the object, when all but its end has been made, and looks then: the writer waits for us in a small pipe. */
static long peak_of_run(const struct place *place, const char *limit, size_t half, double *seconds)
{
        const char *const words[] = { "{abatis}", "run", "--json", "--max-output", limit, "--", NULL };
        const struct contender contender = { .name = "abatis run --json", .words = words };
        static struct command command;
        static char buffer[4096];
        posix_spawn_file_actions_t actions;
        int ends[2], status;
        size_t got = 0;
        long peak = 0;
        pid_t pid;
        command_init(&command, place, &contender, payload);
        if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[1], F_SETPIPE_SZ, sizeof buffer) < 0)
                die("cannot make a pipe: %s", strerror(errno));
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        double start = now_us();
        int r = posix_spawn(&pid, command.words[0], &actions, NULL, (char *const *)command.words,
                            (char *const *)bench_environment(place));
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (r != 0)
                die("cannot start %s: %s", command.words[0], strerror(r));
        for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0; got += (size_t)count)
                if (peak == 0 && got >= half)
                        peak = peak_of(pid);
        *seconds = (now_us() - start) / 1e6;
        close(ends[0]);
        if (waitpid(pid, &status, 0) < 0 || status != 0 || peak == 0)
                die("abatis run --json ended with wait status %d after %zu bytes", status, got);
        return peak;
}

static void measure_command(const struct place *place)
{
        double seconds;
        long small = peak_of_run(place, "16KiB", 8192, &seconds);
        long large = peak_of_run(place, "1MiB", 512 * 1024, &seconds);
        /* The smaller one has kept some of it too. */
        long kib = large - small + 16;
        print("abatis run --json, more than with 16 KiB", seconds, kib);
        bar_at_most(place, "flood of 1 GiB: MiB held by abatis run --json", (double)kib / KIB_PER_MIB,
                    LIMIT_MIB);
}

int main(int argc, char **argv)
{
        if (argc != 2)
                die("usage: flood DIR");
        static struct place place;
        place_init(&place, argv[1]);
        printf("%-44s %10s %10s\n", "1 GiB of output, of which 1 MiB is kept", "KiB held", "GiB/s");
        measure_library(&place);
        measure_command(&place);
        return 0;
}
