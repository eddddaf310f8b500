/* Runs jobs through the library, many at once, and looks at what this process has of them. */
#define _GNU_SOURCE
#include "jobs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

static abatis_sandbox *open_sandbox(const struct place *place, int spares, const char *log, const char *key,
                                    const char *value)
{
        char workspace[PATH_SIZE + 16];
        const abatis_policy_options policy_options = { .size = sizeof policy_options,
                                                       .preset = "dev",
                                                       .workspace = workspace };
        const abatis_sandbox_options options = { .size = sizeof options, .spares = spares };
        abatis_policy *policy;
        abatis_sandbox *sandbox;
        abatis_error err;
        snprintf(workspace, sizeof workspace, "%s/workspace", place->dir);
        if (abatis_policy_new(&policy_options, &policy, &err) < 0 ||
            abatis_policy_set(policy, "limits.timeout", "10m", &err) < 0 ||
            (key != NULL && abatis_policy_set(policy, key, value, &err) < 0) ||
            (log != NULL && abatis_policy_set(policy, "audit.log", log, &err) < 0) ||
            abatis_sandbox_open(policy, &options, &sandbox, &err) < 0)
                die("no sandbox: %s", err.message);
        abatis_policy_free(policy);
        if (chdir(workspace) < 0)
                die("cannot enter %s: %s", workspace, strerror(errno));
        return sandbox;
}

abatis_sandbox *jobs_open_sandbox_with(const struct place *place, int spares, const char *log)
{
        return open_sandbox(place, spares, log, NULL, NULL);
}

abatis_sandbox *jobs_open_session(const struct place *place)
{
        return open_sandbox(place, 0, "off", "session", "shared");
}

abatis_sandbox *jobs_open_sandbox_without_loopback(const struct place *place, int spares)
{
        return open_sandbox(place, spares, "off", "network.loopback", "false");
}

abatis_sandbox *jobs_open_sandbox(const struct place *place)
{
        return jobs_open_sandbox_with(place, 0, NULL);
}

void jobs_watch(int epoll, abatis_job *job, uint32_t index)
{
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = index };
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, abatis_job_fd(job), &event) < 0)
                die("cannot watch a job: %s", strerror(errno));
}

void jobs_unwatch(int epoll, const abatis_job *job)
{
        if (epoll_ctl(epoll, EPOLL_CTL_DEL, abatis_job_fd(job), NULL) < 0)
                die("cannot leave off watching a job: %s", strerror(errno));
}

static abatis_job *start(const struct jobs *jobs, int epoll, uint32_t index)
{
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_job *job;
        abatis_error err;
        options.argv = jobs->argv;
        options.envp = jobs->environment;
        if (jobs->output != NULL) {
                options.capture = ABATIS_CAPTURE;
                options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        }
        if (abatis_job_start(jobs->sandbox, &options, &job, &err) < 0)
                die("a job did not start: %s", err.message);
        jobs_watch(epoll, job, index);
        return job;
}

/* A job that fails early would look fast. */
static void finish(const struct jobs *jobs, abatis_job *job)
{
        abatis_result *result;
        abatis_error err;
        if (abatis_job_finish(job, &result, &err) < 0)
                die("a job has no result: %s", err.message);
        if (abatis_result_exit_code(result) != 0)
                die("a job exits with %d, signal %d", abatis_result_exit_code(result),
                    abatis_result_signal(result));
        if (jobs->output != NULL && strcmp(abatis_result_stdout(result, NULL), jobs->output) != 0)
                die("a job wrote '%s'", abatis_result_stdout(result, NULL));
        abatis_result_free(result);
}

double jobs_run(const struct jobs *jobs, size_t total)
{
        abatis_job *running[JOBS_AT_ONCE_MAX];
        size_t started = 0, finished = 0;
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        abatis_error err;
        if (epoll < 0)
                die("no epoll: %s", strerror(errno));
        double start_us = now_us();
        for (; started < total && started < jobs->at_once; started++)
                running[started] = start(jobs, epoll, (uint32_t)started);
        while (finished < total) {
                struct epoll_event events[64];
                int count = epoll_wait(epoll, events, 64, 60000);
                if (count <= 0)
                        die("nothing happens any more: %zu of %zu jobs are done", finished, total);
                for (int i = 0; i < count; i++) {
                        uint32_t index = events[i].data.u32;
                        int done = 0;
                        if (abatis_job_advance(running[index], &done, &err) < 0)
                                die("a job cannot go on: %s", err.message);
                        if (!done)
                                continue;
                        jobs_unwatch(epoll, running[index]);
                        finish(jobs, running[index]);
                        finished++;
                        if (started < total) {
                                running[index] = start(jobs, epoll, index);
                                started++;
                        }
                }
        }
        double us = now_us() - start_us;
        close(epoll);
        return us;
}

long status_kib(const char *key)
{
        char text[8192];
        FILE *file = fopen("/proc/self/status", "re");
        size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        const char *at = strstr(text, key);
        if (file == NULL || at == NULL)
                die("cannot read %s of this process", key);
        fclose(file);
        return strtol(at + strlen(key) + 1, NULL, 10);
}

unsigned count_descriptors(void)
{
        DIR *list = opendir("/proc/self/fd");
        unsigned count = 0;
        if (list == NULL)
                die("cannot list descriptors: %s", strerror(errno));
        while (readdir(list) != NULL)
                count++;
        closedir(list);
        return count - 3; /* itself, and two dots */
}

void raise_descriptor_limit(void)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
            (limit.rlim_cur = limit.rlim_max, setrlimit(RLIMIT_NOFILE, &limit) < 0))
                die("cannot raise the limit of open files: %s", strerror(errno));
}
