/* streams.c: a host program that has both streams of a command copied to one descriptor, whose reader is slow; prints what that one got.
 *
 *   streams WORKSPACE */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abatis.h"

static void read_slowly(int fd)
{
        const struct timespec moment = { .tv_nsec = 300 * 1000 *
                                                    1000 }; /* until the pipe is full, by both streams */
        const struct timespec interval = { .tv_nsec = 1000 * 1000 }; /* until it is again */
        char piece[4096];
        size_t length = 0;
        ssize_t got;

        nanosleep(&moment, NULL);
        while ((got = read(fd, piece, sizeof(piece))) > 0) {
                length += (size_t)got;
                nanosleep(&interval, NULL);
        }
        printf("%zu\n", length);
}

static int run(const char *workspace, int copy, abatis_error *err)
{
        static const char script[] = "head -c 70000 /dev/zero; head -c 530000 /dev/zero >&2";
        const char *const argv[] = { "sh", "-c", script, NULL };
        abatis_policy_options options = { .size = sizeof(options), .preset = "dev", .workspace = workspace };
        abatis_sandbox_options chosen = { .size = sizeof(chosen) };
        abatis_job_options job = ABATIS_JOB_OPTIONS_INIT;
        abatis_policy *policy;
        abatis_sandbox *sandbox;
        abatis_result *result;
        int r = abatis_policy_new(&options, &policy, err);

        if (!r)
                r = abatis_policy_set(policy, "audit.log", "off", err);
        if (!r)
                r = abatis_sandbox_open(policy, &chosen, &sandbox, err);
        job.argv = argv;
        job.capture = ABATIS_CAPTURE;
        job.stdout_fd = job.stderr_fd = copy;
        if (!r)
                r = abatis_run(sandbox, &job, &result, err);
        if (r < 0)
                fprintf(stderr, "%s\n", err->message);
        return r < 0;
}

int main(int argc, char **argv)
{
        abatis_error err = { 0 };
        int ends[2], r;
        pid_t reader;

        if (argc != 2 || pipe(ends) < 0 || (reader = fork()) < 0)
                return 1;
        if (!reader) {
                close(ends[1]);
                read_slowly(ends[0]);
                return 0;
        }
        close(ends[0]);
        r = run(argv[1], ends[1], &err);
        close(ends[1]);
        waitpid(reader, NULL, 0);
        return r;
}
