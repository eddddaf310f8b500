/* embedder.c: a host program that starts one job and comes to an end of its own.
 *
 *   embedder WORD END FLAGS PROGRAM ARGUMENT...     in the workspace
 *
 * WORD names it in the list of processes; the last argument ends with a sign that the command does not get, so that it
 * names the command alone. FLAGS: letters, b: best effort, p: a terminal, c: captured output, i: something to
 * read on stdin, l: the user's files count, the log's place among them. It acts when "act-WORD" appears: END is what it does then. What it has to say it writes
 * to stdout, one word; an end that it survives is followed by a line from stdin, until which it stays. */
#define _GNU_SOURCE
#include <abatis.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *word, *flags;
static volatile int *nowhere;
static abatis_sandbox *sandbox;
static abatis_job *job;
static char feed[256 * 1024]; /* more than a pipe takes at once */
static abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;

static void fail(const char *what, const abatis_error *err)
{
        printf("failed: %s: %s\n", what, err->message);
        exit(3);
}

static bool has_flag(char flag)
{
        return strchr(flags, flag);
}

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

static void nap(long milliseconds)
{
        const struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

        nanosleep(&time, NULL);
}

static void open_sandbox(void)
{
        abatis_policy_options policy_options = { .size = sizeof(policy_options), .workspace = NULL };
        abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options),
                                                   .best_effort = has_flag('b') };
        abatis_policy *policy = NULL;
        abatis_error err = { 0, 0, "" };
        char cwd[4096];

        if (!getcwd(cwd, sizeof(cwd)))
                exit(3);
        policy_options.workspace = cwd;
        if (abatis_policy_new(&policy_options, &policy, &err) < 0)
                fail("policy", &err);
        if (abatis_sandbox_open(policy, &sandbox_options, &sandbox, &err) < 0)
                fail("sandbox", &err);
        abatis_policy_free(policy);
}

static void *start(void *unused)
{
        abatis_error err = { 0, 0, "" };

        (void)unused;
        if (abatis_job_start(sandbox, &options, &job, &err) < 0)
                fail("start", &err);
        return NULL;
}

static void wait_for_word(void)
{
        char path[256];

        snprintf(path, sizeof(path), "act-%s", word);
        for (int i = 0; i < 15000 && access(path, F_OK); i++)
                nap(2);
}

/* A job is not tied to the thread that started it: it must live on, and end with the process. */
static void start_in_thread(void)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, start, NULL) || pthread_join(thread, NULL))
                exit(3);
}

static void check_alive(void)
{
        int done = 1;

        nap(100);
        if (abatis_job_advance(job, &done, NULL) < 0 || done)
                printf("dead ");
}

/* Everything that the job took is given back when it is finished. */
static void finish(unsigned before)
{
        abatis_error err = { 0, 0, "" };
        unsigned after;

        /* A job whose init somebody has killed may never have begun. */
        abatis_job_finish(job, NULL, &err);
        abatis_sandbox_free(sandbox);
        after = count_descriptors();
        if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
                printf("a child is left ");
        if (after != before)
                printf("%u descriptors before, %u after ", before, after);
}

static void stay(void)
{
        char line[16];

        printf("acted\n");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin))
                exit(0);
        exit(0);
}

/* Before the command can have begun, or a little later: it never ends by itself, so no exit code is true. */
static void finish_at_once(void)
{
        for (int i = 0; i < 100; i++) {
                abatis_result *result = NULL;
                abatis_error err = { 0, 0, "" };

                start(NULL);
                if (i % 4 == 3)
                        nap(1);
                if (abatis_job_finish(job, &result, &err) < 0)
                        fail("finish", &err);
                if (abatis_result_exit_code(result) != -1 || abatis_result_signal(result) != SIGKILL)
                        printf("round %d: exit code %d, signal %d; ", i, abatis_result_exit_code(result),
                               abatis_result_signal(result));
                abatis_result_free(result);
        }
        stay();
}

static void *kill_process(void *unused)
{
        (void)unused;
        kill(getpid(), SIGKILL);
        return NULL;
}

static void act(const char *end, unsigned before)
{
        pthread_t thread;

        if (!strcmp(end, "finish") || !strcmp(end, "thread")) {
                finish(before);
                stay();
        } else if (!strcmp(end, "kill")) {
                kill(getpid(), SIGKILL);
        } else if (!strcmp(end, "kill_in_thread")) {
                pthread_create(&thread, NULL, kill_process, NULL);
                nap(10000);
        } else if (!strcmp(end, "abort")) {
                abort();
        } else if (!strcmp(end, "segv")) {
                *nowhere = 1;
        } else if (!strcmp(end, "exit")) {
                exit(0);
        } else if (!strcmp(end, "exec")) {
                /* Another program in the same process: when that has ended, so has the job. */
                execl("/bin/sleep", "sleep", "0.1", (char *)NULL);
        }
        exit(3);
}

int main(int argc, char **argv)
{
        const struct rlimit no_core = { 0, 0 };
        const char *arguments[16] = { NULL };
        unsigned before;

        if (argc < 6 || argc > 15)
                return 2;
        for (int i = 4; i < argc - 1; i++)
                arguments[i - 4] = argv[i];
        arguments[argc - 5] = strndup(argv[argc - 1], strlen(argv[argc - 1]) - 1);
        setrlimit(RLIMIT_CORE, &no_core);
        word = argv[1];
        flags = argv[3];
        options.argv = arguments;
        options.stdin_fd = -1;
        options.stdout_fd = options.stderr_fd = -1;
        options.capture = has_flag('c') ? ABATIS_CAPTURE : ABATIS_CAPTURE_NONE;
        options.terminal = has_flag('p');
        if (has_flag('i')) {
                options.stdin_data = feed;
                options.stdin_length = sizeof(feed);
        }
        before = count_descriptors();
        open_sandbox();
        if (!strcmp(argv[2], "finish_at_once"))
                finish_at_once();
        if (!strcmp(argv[2], "thread") || !strcmp(argv[2], "kill_in_thread"))
                start_in_thread();
        else
                start(NULL);
        if (!strcmp(argv[2], "thread"))
                check_alive();
        if (has_flag('p'))
                for (int i = 0, done; i < 10 && abatis_job_advance(job, &done, NULL) >= 0; i++)
                        nap(2);
        wait_for_word();
        act(argv[2], before);
}
