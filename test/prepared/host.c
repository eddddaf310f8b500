/* host.c: see host.h. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char base[4096], workspace[4200], secrets[4200], text[65536];

static char name_now[200], why[1000];
static int passed, failed;

void begin(const char *name)
{
        snprintf(name_now, sizeof(name_now), "%s_as_%s", name, getuid() ? "user" : "root");
        *why = '\0';
}

void expect(bool is_true, const char *format, ...)
{
        va_list list;

        if (is_true || *why)
                return;
        va_start(list, format);
        vsnprintf(why, sizeof(why), format, list);
        va_end(list);
}

void end(void)
{
        if (*why) {
                printf("not ok %s - %s\n", name_now, why);
                failed++;
        } else {
                printf("ok %s\n", name_now);
                passed++;
        }
        fflush(stdout);
}

int summary(void)
{
        printf("%d passed, %d failed, 0 skipped\n", passed, failed);
        return failed ? 1 : 0;
}

static void die(const char *what, const abatis_error *err)
{
        printf("not ok %s - %s: %s\n", name_now, what, err->message);
        printf("%d passed, %d failed, 0 skipped\n", passed, failed + 1);
        exit(1);
}

abatis_sandbox *open_box(int spares, const char *key, const char *value)
{
        const abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                       .preset = "dev",
                                                       .workspace = workspace };
        const abatis_sandbox_options options = { .size = sizeof(options), .spares = spares };
        abatis_policy *policy;
        abatis_sandbox *box;
        abatis_error err;

        if (abatis_policy_new(&policy_options, &policy, &err) < 0 ||
            abatis_policy_set(policy, "audit.log", "off", &err) < 0 ||
            abatis_policy_set(policy, "filesystem.deny", secrets, &err) < 0 ||
            (key && abatis_policy_set(policy, key, value, &err) < 0))
                die("no policy", &err);
        if (abatis_sandbox_open(policy, &options, &box, &err) < 0)
                die("no sandbox", &err);
        abatis_policy_free(policy);
        return box;
}

static int keep_result(abatis_result *result)
{
        size_t length;
        int code = abatis_result_signal(result) ? -abatis_result_signal(result)
                                                : abatis_result_exit_code(result);

        snprintf(text, sizeof(text), "%s", abatis_result_stdout(result, &length));
        abatis_result_free(result);
        return code;
}

int run(abatis_sandbox *box, const char *script)
{
        const char *const argv[] = { "/bin/sh", "-c", script, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result;
        abatis_error err;

        options.argv = argv;
        options.cwd = workspace;
        options.capture = ABATIS_CAPTURE_MERGED;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        if (abatis_run(box, &options, &result, &err) >= 0)
                return keep_result(result);
        snprintf(text, sizeof(text), "%s", err.message);
        return -1000;
}

int finish_job(abatis_job *job)
{
        abatis_result *result;
        abatis_error err;

        if (abatis_job_finish(job, &result, &err) >= 0)
                return keep_result(result);
        snprintf(text, sizeof(text), "%s", err.message);
        return -1000;
}

abatis_job *start_job(abatis_sandbox *box, const char *script, int input)
{
        const char *const argv[] = { "/bin/sh", "-c", script, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_job *job = NULL;
        abatis_error err;

        options.argv = argv;
        options.cwd = workspace;
        options.capture = ABATIS_CAPTURE_MERGED;
        options.stdin_fd = input;
        options.stdout_fd = options.stderr_fd = -1;
        if (abatis_job_start(box, &options, &job, &err) < 0)
                expect(false, "a job did not start: %s", err.message);
        return job;
}

int end_job(abatis_job *job)
{
        struct pollfd wait = { abatis_job_fd(job), POLLIN, 0 };
        abatis_error err;
        int done = 0;

        while (!done && poll(&wait, 1, 20000) > 0 && abatis_job_advance(job, &done, &err) >= 0)
                ;
        expect(done, "it did not end");
        return finish_job(job);
}

static pid_t parent_of(const char *pid, char comm[64])
{
        char path[300], line[512] = "";
        char *start, *stop;
        int fd, parent = 0;
        ssize_t got;

        *comm = '\0';
        snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        got = read(fd, line, sizeof(line) - 1);
        close(fd);
        start = got > 0 ? strchr(line, '(') : NULL;
        stop = got > 0 ? strrchr(line, ')') : NULL;
        if (!start || !stop || stop[2] == 'Z')
                return 0;
        snprintf(comm, 64, "%.*s", (int)(stop - start - 1), start + 1);
        sscanf(stop + 4, "%d", &parent);
        return parent;
}

int keepers(pid_t of, pid_t *pids, int most)
{
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        char comm[64];
        int count = 0;

        while (proc && (entry = readdir(proc)))
                if (*entry->d_name >= '0' && *entry->d_name <= '9' && parent_of(entry->d_name, comm) == of &&
                    !strcmp(comm, "abatis keeper")) {
                        if (count < most)
                                pids[count] = atoi(entry->d_name);
                        count++;
                }
        if (proc)
                closedir(proc);
        return count;
}

bool await_keepers(pid_t of, int count)
{
        for (int i = 0; i < 400; i++) {
                if (keepers(of, NULL, 0) == count)
                        return true;
                usleep(5000);
        }
        return false;
}

bool is_alive(pid_t pid)
{
        char number[24], comm[64];

        snprintf(number, sizeof(number), "%d", pid);
        return parent_of(number, comm) != 0;
}

int open_descriptors(void)
{
        DIR *directory = opendir("/proc/self/fd");
        int count = 0;

        while (directory && readdir(directory))
                count++;
        if (directory)
                closedir(directory);
        return count;
}

abatis_sandbox *open_session(void)
{
        return open_box(0, "session", "shared");
}

int count_marked(const char *mark)
{
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        int count = 0;

        while (proc && (entry = readdir(proc))) {
                char path[300], line[4096];
                ssize_t got;
                int fd;

                snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
                fd = *entry->d_name >= '0' && *entry->d_name <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
                if (fd < 0)
                        continue;
                got = read(fd, line, sizeof(line));
                close(fd);
                count += got > 0 && memmem(line, (size_t)got, mark, strlen(mark));
        }
        if (proc)
                closedir(proc);
        return count;
}

bool await_marked(const char *mark, int count)
{
        for (int i = 0; i < 400; i++) {
                if (count_marked(mark) == count)
                        return true;
                usleep(5000);
        }
        return false;
}

int number(void)
{
        return atoi(text);
}
