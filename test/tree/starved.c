/* starved.c: a host program that has no descriptor left, or one, or two: every call of the library fails with an error or
 * works, and afterwards nothing is missing and everything works again.
 *
 *   starved FLAGS PROGRAM ARGUMENT...       in the workspace; FLAGS: b: best effort
 *
 * Prints one line for each fact that is wrong, and at the end how many descriptors a launch needs. */
#define _GNU_SOURCE
#include <abatis.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 96, SPARE_MAX = 64 };

static bool is_best_effort;
static const char *const *command;

static unsigned count_descriptors(void)
{
        DIR *directory = opendir("/proc/self/fd");
        unsigned count = 0;

        while (directory && readdir(directory))
                count++;
        if (directory)
                closedir(directory);
        return count;
}

/* Takes all but so many; returns how many it took. */
static int take(int *taken, int spare)
{
        int count = 0;

        while (count < LIMIT && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
                count++;
        while (spare-- && count)
                close(taken[--count]);
        return count;
}

/* 0, or the error's code; the message is in err. */
static int run(int shape, abatis_error *err)
{
        abatis_policy_options policy_options = { .size = sizeof(policy_options) };
        abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options),
                                                   .best_effort = is_best_effort };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_policy *policy = NULL;
        abatis_sandbox *sandbox = NULL;
        abatis_result *result = NULL;
        int r = abatis_policy_new(&policy_options, &policy, err);

        if (r < 0)
                return r;
        options.argv = command;
        options.capture = shape == 1;
        options.terminal = shape == 2;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        r = abatis_sandbox_open(policy, &sandbox_options, &sandbox, err);
        if (!r)
                r = abatis_run(sandbox, &options, &result, err);
        if (!r && abatis_result_exit_code(result))
                printf("the command ended with %d\n", abatis_result_exit_code(result));
        abatis_result_free(result);
        if (sandbox)
                abatis_sandbox_free(sandbox);
        abatis_policy_free(policy);
        return r;
}

static int check(int shape, int spare)
{
        abatis_error err = { 0, 0, "" };
        int taken[LIMIT];
        unsigned before = count_descriptors(), after;
        int count = take(taken, spare), r = run(shape, &err);

        while (count)
                close(taken[--count]);
        after = count_descriptors();
        if (r < 0 && (err.code != r || !*err.message))
                printf("shape %d, %d left: code %d without a message\n", shape, spare, r);
        if (r < 0 && !strstr(err.message, strerror(EMFILE)))
                printf("shape %d, %d left: it says: %s\n", shape, spare, err.message);
        if (before != after)
                printf("shape %d, %d left: %u descriptors before, %u after\n", shape, spare, before, after);
        if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
                printf("shape %d, %d left: a child is left\n", shape, spare);
        if (r < 0 && run(shape, &err) < 0)
                printf("shape %d: it does not work again: %s\n", shape, err.message);
        return r;
}

int main(int argc, char **argv)
{
        const struct rlimit limit = { LIMIT, LIMIT };

        if (argc < 3 || setrlimit(RLIMIT_NOFILE, &limit))
                return 2;
        is_best_effort = strchr(argv[1], 'b');
        command = (const char *const *)argv + 2;
        for (int shape = 0; shape < 3; shape++) {
                int needed = -1;

                for (int spare = 0; spare < SPARE_MAX; spare++) {
                        int r = check(shape, spare);

                        if (!r && needed < 0)
                                needed = spare;
                        if (r < 0 && needed >= 0)
                                printf("shape %d: %d were enough, %d were not\n", shape, needed, spare);
                }
                if (needed <= 0)
                        printf("shape %d: %d descriptors are enough\n", shape, needed);
                printf("# shape %d needs %d descriptors\n", shape, needed);
        }
        return 0;
}
