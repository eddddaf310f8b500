/* changes.c: what the host program does to itself, and to its mounts, while jobs wait or run. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

/* In a process of its own, which has done something since it opened the sandbox; the script's output is what is compared. */
static void in_host(const char *name, int (*change)(void), const char *script, const char *expected)
{
        int status = -1, results[2];
        pid_t host;
        ssize_t got;

        begin(name);
        expect(!pipe2(results, O_CLOEXEC), "no pipe");
        host = fork();
        if (!host) {
                abatis_sandbox *box = open_box(1, NULL, NULL);

                alarm(20); /* nobody hangs */
                if (!await_keepers(getpid(), 2))
                        snprintf(text, sizeof(text), "nobody waits");
                else if (change())
                        snprintf(text, sizeof(text), "it could not change");
                else
                        for (int i = 0; i < 3; i++)
                                run(box, script);
                if (write(results[1], text, strlen(text)) < 0)
                        _exit(1);
                abatis_sandbox_free(box);
                _exit(0);
        }
        close(results[1]);
        got = read(results[0], text, sizeof(text) - 1);
        text[got > 0 ? got : 0] = '\0';
        close(results[0]);
        waitpid(host, &status, 0);
        expect(!status, "it ended with %x", status);
        expect(strstr(text, expected) == text, "%s", text);
        end();
}

static int lower_limits(void)
{
        return setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 60, 60 }) || nice(7) < 0;
}

static int give_up_user(void)
{
        return setgroups(0, NULL) || setresgid(4343, 4343, 4343) || setresuid(4343, 4343, 4343);
}

static int leave_network(void)
{
        return unshare(CLONE_NEWNET);
}

static int mount_in_workspace(void)
{
        return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
               mkdir("ws/sub", 0777) || mount("tmpfs", "ws/sub", "tmpfs", 0, NULL) ||
               mkdir("ws/sub/mounted", 0777);
}

static int unmount_again(void)
{
        return umount("ws/sub");
}

static void test_host_changes(void)
{
        in_host("limits_and_priority_of_the_host_are_those_of_now", lower_limits, "ulimit -n; nice",
                "60\n7\n");
        if (getuid())
                return;
        in_host("a_host_that_gave_up_its_user_starts_nobody_as_that", give_up_user,
                "id -u >uid; cat uid; rm uid", "cannot");
        in_host("a_host_that_left_its_network_starts_nobody_there", leave_network,
                "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo\n");
        in_host("what_the_host_has_mounted_is_there", mount_in_workspace, "ls sub", "mounted\n");
        expect(!system("rmdir ws/sub"), "nothing was written below it");
}

/* A job that is begun from nothing, and something that is mounted as soon as the start has come back; how often it was seen inside. */
static int see_later_mounts(abatis_sandbox *box)
{
        const char *const argv[] = { "/bin/sh", "-c", "test -e sub/mounted", NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        int seen = 0;

        options.argv = argv;
        options.cwd = workspace;
        for (int i = 0; i < 30; i++) {
                abatis_job *job;
                int done = 0;

                if (abatis_job_start(box, &options, &job, NULL) < 0 ||
                    mount("tmpfs", "ws/sub", "tmpfs", 0, NULL) || mkdir("ws/sub/mounted", 0777))
                        return -1;
                while (!done)
                        if (abatis_job_advance(job, &done, NULL) < 0)
                                return -1;
                seen += !finish_job(job);
                if (umount("ws/sub"))
                        return -1;
        }
        return seen;
}

static void test_later_mounts(void)
{
        int status = -1;
        pid_t host;

        if (getuid()) /* who may not mount needs no test */
                return;
        begin("what_is_mounted_after_the_start_is_not_there");
        host = fork();
        if (!host) {
                bool is_fine = !mount_in_workspace();
                abatis_sandbox *box = open_box(-1, NULL, NULL);

                is_fine = is_fine && run(box, "test -e sub/mounted") == 0; /* the control */
                is_fine = is_fine && !unmount_again() && see_later_mounts(box) == 0;
                abatis_sandbox_free(box);
                _exit(is_fine ? 0 : 1);
        }
        waitpid(host, &status, 0);
        expect(!status, "it ended with %x", status);
        expect(!system("rmdir ws/sub"), "nothing was written below it");
        end();
}

/* Nobody starts a job: what waits must not keep a file system in use. */
static void test_idle_keeper(void)
{
        int status = -1;
        pid_t host;

        begin("who_waits_ends_when_the_hosts_mounts_change");
        if (getuid()) /* who may not mount has nothing to unmount */
                return;
        host = fork();
        if (!host) {
                bool is_fine = !mount_in_workspace();
                abatis_sandbox *box = open_box(2, NULL, NULL);

                is_fine = is_fine && await_keepers(getpid(), 3) && !unmount_again() &&
                          await_keepers(getpid(), 0);
                is_fine = is_fine && run(box, "ls sub") == 0 && !*text;
                abatis_sandbox_free(box);
                _exit(is_fine ? 0 : 1);
        }
        waitpid(host, &status, 0);
        expect(!status, "it ended with %x", status);
        expect(!system("rmdir ws/sub"), "the control");
        end();
}

void test_changes_of_the_host(void)
{
        test_host_changes();
        test_later_mounts();
        test_idle_keeper();
}
