/* session.c: runs scripts as commands of a shared session that reaches open.example:7, and prints their results, a line of JSON each.
 *
 *   session [--together] SCRIPT...      one after the other, or all at once */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <abatis.h>

enum { SCRIPTS_MAX = 16 };

static void check(int r, const abatis_error *err)
{
        if (r >= 0)
                return;
        fprintf(stderr, "%s\n", err->message);
        exit(125);
}

static abatis_sandbox *open_box(void)
{
        const abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                       .preset = "dev",
                                                       .workspace = "." };
        const abatis_sandbox_options options = { .size = sizeof(options) };
        abatis_policy *policy;
        abatis_sandbox *box;
        abatis_error err;

        check(abatis_policy_new(&policy_options, &policy, &err), &err);
        check(abatis_policy_set(policy, "audit.log", "off", &err), &err);
        check(abatis_policy_set(policy, "session", "shared", &err), &err);
        check(abatis_policy_set(policy, "network.mode", "list", &err), &err);
        check(abatis_policy_set(policy, "network.connect", "open.example:7", &err), &err);
        check(abatis_sandbox_open(policy, &options, &box, &err), &err);
        abatis_policy_free(policy);
        return box;
}

static abatis_job *start(abatis_sandbox *box, const char *script)
{
        const char *const argv[] = { "/bin/bash", "-c", script, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_error err;
        abatis_job *job;

        options.argv = argv;
        options.capture = ABATIS_CAPTURE;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        check(abatis_job_start(box, &options, &job, &err), &err);
        return job;
}

/* Whether it is over; then its result is printed. */
static int advance(abatis_job *job)
{
        abatis_result *result;
        abatis_error err;
        int is_done;
        char *json;

        check(abatis_job_advance(job, &is_done, &err), &err);
        if (!is_done)
                return 0;
        check(abatis_job_finish(job, &result, &err), &err);
        check(abatis_result_print(result, &json, &err), &err);
        printf("%s\n", json);
        free(json);
        abatis_result_free(result);
        return 1;
}

static void finish(abatis_job **jobs, int count)
{
        struct pollfd waits[SCRIPTS_MAX];
        int left = count;

        for (int i = 0; i < count; i++)
                waits[i] = (struct pollfd){ abatis_job_fd(jobs[i]), POLLIN, 0 };
        while (left) {
                poll(waits, (nfds_t)count, -1);
                for (int i = 0; i < count; i++)
                        if (waits[i].revents && advance(jobs[i])) {
                                waits[i] = (struct pollfd){ -1, 0, 0 };
                                left--;
                        }
        }
}

int main(int argc, char **argv)
{
        const int is_together = argc > 1 && !strcmp(argv[1], "--together");
        abatis_sandbox *box = open_box();
        abatis_job *jobs[SCRIPTS_MAX];
        int count = 0;

        for (int i = 1 + is_together; i < argc && count < SCRIPTS_MAX; i++) {
                jobs[count++] = start(box, argv[i]);
                if (!is_together)
                        finish(jobs, count--);
        }
        finish(jobs, count);
        abatis_sandbox_free(box);
        return 0;
}
