/* prepared.c: jobs of one prepared sandbox: what each has to itself, and what becomes of those that wait. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static void test_jobs_are_begun_ahead(void)
{
        abatis_sandbox *box, *none;

        begin("jobs_are_begun_ahead_and_gone_with_the_sandbox");
        none = open_box(-1, NULL, NULL);
        expect(run(none, "true") == 0, "%s", text);
        expect(keepers(getpid(), NULL, 0) == 0, "one that nobody wanted is there");
        abatis_sandbox_free(none);
        box = open_box(3, NULL, NULL);
        expect(await_keepers(getpid(), 4), "there are %d, not a keeper and three inits",
               keepers(getpid(), NULL, 0));
        expect(run(box, "echo inside") == 0 && !strcmp(text, "inside\n"), "%s", text);
        expect(await_keepers(getpid(), 4), "no other was begun");
        abatis_sandbox_free(box);
        expect(keepers(getpid(), NULL, 0) == 0, "%d are left", keepers(getpid(), NULL, 0));
        end();
}

static void test_default(void)
{
        abatis_sandbox *box = open_box(0, NULL, NULL);

        begin("a_sandbox_is_prepared_when_it_is_used_again");
        expect(run(box, "true") == 0 && keepers(getpid(), NULL, 0) == 0, "after one job there are %d",
               keepers(getpid(), NULL, 0));
        expect(run(box, "true") == 0 && await_keepers(getpid(), 2), "after two jobs there are %d",
               keepers(getpid(), NULL, 0));
        expect(run(box, "echo third") == 0 && !strcmp(text, "third\n"), "%s", text);
        abatis_sandbox_free(box);
        expect(keepers(getpid(), NULL, 0) == 0, "%d are left", keepers(getpid(), NULL, 0));
        end();
}

/* Without namespaces: where the last job had its directory, and whether anything is left of it. */
static void test_nothing_of_the_last_bare(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        char command[sizeof(text) + 64], *first = command + sizeof("ls -d ") - 1;

        begin("nothing_of_one_job_is_there_for_the_next");
        expect(await_keepers(getpid(), 2), "nobody waits");
        expect(run(box, "touch $TMPDIR/left && ls $TMPDIR") == 0 && !strcmp(text, "left\n"),
               "the control: %s", text);
        expect(run(box, "touch $TMPDIR/left; setsid sleep 987654 & printf %s $TMPDIR") == 0, "%s", text);
        snprintf(command, sizeof(command), "ls -d %s", text);
        expect(access(first, F_OK), "%s is left", first);
        expect(run(box, command) != 0, "the next one sees: %s", text);
        expect(run(box, "ls -A $TMPDIR; test -w $TMPDIR && printf %s $TMPDIR") == 0, "%s", text);
        expect(strcmp(text, first) != 0 && !strncmp(text, "/tmp/abatis-", 12), "the next one has: %s", text);
        expect(system("pgrep -f '^sleep 987654' >/dev/null"), "a process is left");
        abatis_sandbox_free(box);
        end();
}

/* In /tmp and /dev/shm, but for a workspace that is shown there. */
#define LIST "{ ls -A /tmp; ls -A /dev/shm; } | grep -v ^abatis-prepared"

static void test_nothing_of_the_last(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        char first[sizeof(text)];

        begin("nothing_of_one_job_is_there_for_the_next");
        expect(run(box, "readlink /proc/self/ns/pid") == 0, "%s", text);
        memcpy(first, text, sizeof(first));
        /* The control: in the job itself all of it is there. */
        expect(run(box, "touch /tmp/left /dev/shm/left && ipcmk -M 64 >/dev/null && ipcmk -Q >/dev/null; "
                        "chmod 700 /tmp; sleep 1000 & " LIST "; ipcs -mq | grep -c ^0x; "
                        "ls /proc | grep -c '^[0-9]' | tr 3-9 y") == 0 &&
                       !strcmp(text, "left\nleft\n2\ny\n"),
               "the control: %s", text);
        expect(run(box, LIST
                   "; stat -c %a /tmp; ipcs -mq | grep -c ^0x; ls /proc | grep '^[0-9]*$' | sort -n | head -1; "
                   "readlink /proc/self/ns/pid") == 0,
               "%s", text);
        expect(strstr(text, "1777\n0\n2\npid:[") == text, "the next one sees: %s", text);
        expect(!strstr(text, first), "both have %s", first);
        abatis_sandbox_free(box);
        end();
}

static void test_side_by_side(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        abatis_job *job;
        int gate[2];

        begin("two_jobs_at_once_are_out_of_each_others_sight");
        expect(!pipe2(gate, O_CLOEXEC), "no pipe");
        job = start_job(box,
                        "echo a >/tmp/a; echo a >/dev/shm/a; ipcmk -M 64 >/dev/null; touch started; read x; "
                        "cat /tmp/a /dev/shm/a",
                        gate[0]);
        for (int i = 0; i < 400 && access("ws/started", F_OK); i++)
                usleep(5000);
        expect(!access("ws/started", F_OK), "the first did not begin");
        expect(run(box, LIST
                   "; ipcs -m | grep -c ^0x; ls /proc | grep -c '^[0-9]*$' | tr 2-9 x; kill -9 -1 2>/dev/null; true") ==
                               0 &&
                       !strcmp(text, "0\nx\n"),
               "the second sees: %s", text);
        expect(write(gate[1], "\n", 1) == 1, "the gate");
        expect(end_job(job) == 0, "the first ended with: %s", text);
        expect(!strcmp(text, "a\na\n"), "the first has: %s", text);
        close(gate[0]);
        close(gate[1]);
        abatis_sandbox_free(box);
        end();
}

/* The same without namespaces. */
static void test_side_by_side_bare(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        abatis_job *job;
        int gate[2];

        begin("two_jobs_at_once_are_out_of_each_others_reach");
        expect(!pipe2(gate, O_CLOEXEC), "no pipe");
        expect(await_keepers(getpid(), 2), "nobody waits");
        job = start_job(
                box,
                "echo a >$TMPDIR/a; printf %s $TMPDIR >where; printf %s $$ >who; touch started; read x; "
                "cat $TMPDIR/a",
                gate[0]);
        for (int i = 0; i < 400 && access("ws/started", F_OK); i++)
                usleep(5000);
        expect(!access("ws/started", F_OK), "the first did not begin");
        expect(run(box,
                   "w=$(cat where); test $w != $TMPDIR; echo $?; cat $w/a; ls $w; echo b >$w/a; rm -r $w; "
                   "kill -9 $(cat who); cat /proc/$(cat who)/environ; true") == 0 &&
                       !strncmp(text, "0\n", 2) && !strstr(text, "\na\n") && !strstr(text, "TMPDIR="),
               "the second sees: %s", text);
        expect(write(gate[1], "\n", 1) == 1, "the gate");
        expect(end_job(job) == 0 && !strcmp(text, "a\n"), "the first has: %s", text);
        close(gate[0]);
        close(gate[1]);
        expect(!system("rm ws/started ws/where ws/who"), "the control");
        abatis_sandbox_free(box);
        end();
}

/* Somebody kills what waits. */
static void test_killed(void)
{
        abatis_sandbox *box = open_box(2, NULL, NULL);
        pid_t pids[8];
        int count;

        begin("a_keeper_or_a_spare_that_was_killed_is_replaced");
        for (int which = 0; which < 3; which++) {
                expect(await_keepers(getpid(), 3), "they are not there");
                count = keepers(getpid(), pids, 8);
                if (which < count)
                        kill(pids[which], SIGKILL);
                usleep(20000);
                /* A spare that is dead is found when it is its turn. */
                for (int i = 0; i < 2; i++)
                        expect(run(box, "echo fine") == 0 && !strcmp(text, "fine\n"),
                               "after the death of %d: %s", which, text);
                expect(await_keepers(getpid(), 3), "%d did not come back", which);
        }
        count = keepers(getpid(), pids, 8);
        for (int i = 0; i < count && i < 8; i++)
                kill(pids[i], SIGKILL);
        usleep(20000);
        expect(run(box, "echo fine") == 0 && !strcmp(text, "fine\n"), "after the death of all: %s", text);
        abatis_sandbox_free(box);
        expect(keepers(getpid(), NULL, 0) == 0, "some are left");
        end();
}

/* What was drafted for one keeper is begun by the next. */
static void test_drafted(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        int file = open("ws/.git/HEAD", O_RDONLY | O_CLOEXEC);
        abatis_job *job;

        begin("a_job_that_was_drafted_for_one_keeper_waits_with_the_next");
        for (int round = 0; round < 3; round++) {
                expect(await_keepers(getpid(), 2), "they are not there");
                /* With a file to read it is begun from nothing, and takes no spare. */
                job = start_job(box, "cat >/dev/null; echo file", file);
                expect(job && end_job(job) == 0 && !strcmp(text, "file\n"), "%s", text);
                expect(!system("cd ws/.git && cp config new && mv new config"), "the control");
                expect(run(box, "echo fine") == 0 && !strcmp(text, "fine\n"), "round %d: %s", round, text);
                expect(await_keepers(getpid(), 2), "there are %d", keepers(getpid(), NULL, 0));
                usleep(50000);
                expect(keepers(getpid(), NULL, 0) == 2, "there are only %d", keepers(getpid(), NULL, 0));
        }
        close(file);
        abatis_sandbox_free(box);
        end();
}

static bool is_gone(const char *marker)
{
        char command[300];

        snprintf(command, sizeof(command), "pgrep -f '[%c]%s' >/dev/null", *marker, marker + 1);
        return system(command) != 0;
}

static void test_host_dies(void)
{
        char marker[64];
        int pipes[2], status;
        pid_t host, pids[8];
        char byte;
        int count;

        begin("nothing_is_left_of_a_host_that_was_killed");
        snprintf(marker, sizeof(marker), "sleep 7%d.5", getpid());
        expect(!pipe2(pipes, O_CLOEXEC), "no pipe");
        host = fork();
        if (!host) {
                char script[200];

                snprintf(script, sizeof(script), "setsid %s & %s", marker, marker);
                start_job(open_box(2, NULL, NULL), script, -1);
                usleep(200000);
                if (write(pipes[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        expect(read(pipes[0], &byte, 1) == 1, "it did not begin");
        expect(!is_gone(marker), "the control: nothing runs");
        count = keepers(host, pids, 8);
        expect(count >= 2, "the control: nobody waits");
        kill(host, SIGKILL);
        waitpid(host, &status, 0);
        for (int i = 0; i < 200 && !is_gone(marker); i++)
                usleep(5000);
        expect(is_gone(marker), "the command lives");
        for (int i = 0; i < count && i < 8; i++) {
                for (int j = 0; j < 200 && is_alive(pids[i]); j++)
                        usleep(5000);
                expect(!is_alive(pids[i]), "process %d lives", i);
        }
        close(pipes[0]);
        close(pipes[1]);
        end();
}

/* The world is a copy of what was there. What has been put in its place is judged as if it had been there from the beginning. */
static void test_what_changes(void)
{
        char key[sizeof(secrets) + 16];
        abatis_sandbox *box = open_box(1, NULL, NULL);

        begin("what_has_taken_the_place_of_a_secret_is_denied");
        snprintf(key, sizeof(key), "cat '%s/key'", secrets);
        expect(run(box, key) != 0 && !strstr(text, "secret-"), "denied from the beginning: %s", text);
        expect(!system("mv $SECRETS $SECRETS.old && mkdir $SECRETS && echo secret-2 >$SECRETS/key && cat $SECRETS/key >/dev/null"),
               "the control");
        expect(run(box, key) != 0 && !strstr(text, "secret-"), "another directory: %s", text);
        expect(!system("rm -r $SECRETS && mv $SECRETS.old $SECRETS"), "the third");
        expect(run(box, key) != 0 && !strstr(text, "secret-"), "the first again: %s", text);
        end();

        begin("a_protected_file_that_was_replaced_is_protected");
        expect(run(box, "echo hacked >>.git/config") != 0, "the old one was written");
        expect(!system("echo new >ws/.git/config.new && mv ws/.git/config.new ws/.git/config"),
               "the control");
        expect(run(box, "cat .git/config; echo hacked >>.git/config") != 0 && strstr(text, "new\n"), "%s",
               text);
        expect(system("grep -q hacked ws/.git/config"), "it was written");
        expect(run(box, "echo x >written && cat written") == 0, "the control, a file that may be written: %s",
               text);
        end();

        begin("a_workspace_that_was_replaced_is_the_new_one");
        expect(!rename("ws", "old") && !mkdir("ws", 0755) && !system("cp -r old/.git ws/"), "not replaced");
        expect(run(box, "echo new >file && ls") == 0 && !strcmp(text, "file\n"), "%s", text);
        expect(!system("test -f ws/file && ! test -e old/file && rm -r ws && mv old ws"),
               "it was written elsewhere");
        expect(run(box, "test -d .git") == 0, "the first again: %s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_fork(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        int status = 0;
        pid_t child;

        begin("a_fork_of_the_host_leaves_its_keeper_alone");
        expect(await_keepers(getpid(), 2), "it is not there");
        child = fork();
        if (!child) {
                bool is_fine = run(box, "echo fork") == 0 && !strcmp(text, "fork\n");

                abatis_sandbox_free(box);
                _exit(is_fine ? 0 : 1);
        }
        expect(waitpid(child, &status, 0) == child && !status, "its job failed");
        expect(keepers(getpid(), NULL, 0) == 2, "there are %d", keepers(getpid(), NULL, 0));
        expect(run(box, "echo fine") == 0 && !strcmp(text, "fine\n"), "%s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_descriptors(void)
{
        abatis_sandbox *box;
        char link[64], target[4300], own[64], byte;
        int secret, pipes[2], count;
        pid_t pids[8];

        begin("no_descriptor_of_the_host_is_held_or_seen");
        secret = open(getenv("KEY"), O_RDONLY);
        expect(secret >= 0 && !pipe(pipes), "the control");
        snprintf(link, sizeof(link), "/proc/self/fd/%d", pipes[0]);
        own[readlink(link, own, sizeof(own) - 1)] = '\0';
        box = open_box(1, NULL, NULL);
        expect(await_keepers(getpid(), 2), "it is not there");
        count = keepers(getpid(), pids, 8);
        for (int i = 0; i < count && i < 8; i++)
                for (int fd = 0; fd < 64; fd++) {
                        ssize_t length;

                        snprintf(link, sizeof(link), "/proc/%d/fd/%d", pids[i], fd);
                        length = readlink(link, target, sizeof(target) - 1);
                        target[length > 0 ? length : 0] = '\0';
                        expect(!strstr(target, "/key") && strcmp(target, own) != 0, "%s is %s", link, target);
                }
        close(pipes[1]);
        expect(poll(&(struct pollfd){ pipes[0], POLLIN, 0 }, 1, 0) == 1 && read(pipes[0], &byte, 1) == 0,
               "somebody has the other end of a pipe");
        expect(run(box, "for f in /proc/self/fd/*; do echo ${f##*/}; done; true </dev/null") == 0, "%s",
               text);
        expect(!strcmp(text, "0\n1\n2\n") || !strcmp(text, "0\n1\n2\n3\n"), "the command has: %s", text);
        close(secret);
        close(pipes[0]);
        abatis_sandbox_free(box);
        end();
}

static void test_limits(void)
{
        abatis_sandbox *box;

        begin("limits_and_umask_hold_in_a_prepared_job");
        umask(027);
        box = open_box(1, "limits.open_files", "77");
        umask(022);
        expect(await_keepers(getpid(), 2), "it is not there");
        expect(run(box, "ulimit -n; umask") == 0 && !strcmp(text, "77\n0027\n"), "%s", text);
        abatis_sandbox_free(box);
        box = open_box(1, "limits.timeout", "300ms");
        expect(run(box, "sleep 500 & sleep 400") == -SIGTERM, "it was not ended: %s", text);
        expect(run(box, "exit 7") == 7, "the next: %s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_failures(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        static const struct {
                const char *program;
                int code;
        } cases[] = { { "/nowhere/program", ABATIS_E_NOT_FOUND },
                      { "/etc/passwd", ABATIS_E_NOT_EXECUTABLE },
                      { "no-such-program", ABATIS_E_NOT_FOUND } };

        begin("a_program_that_cannot_be_run_is_reported");
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *const argv[] = { cases[i].program, NULL };
                abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
                abatis_result *result = NULL;
                abatis_error err;
                int r;

                options.argv = argv;
                r = abatis_run(box, &options, &result, &err);
                expect(r == cases[i].code, "%s: %d", cases[i].program, r);
                expect(run(box, "echo fine") == 0, "the next: %s", text);
        }
        abatis_sandbox_free(box);
        end();
}

static void *run_some(void *argument)
{
        const char *const argv[] = { "/bin/sh", "-c",
                                     "t=${TMPDIR:-/tmp}; test ! -e $t/mine && touch $t/mine && exit 9",
                                     NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        long good = 0;

        options.argv = argv;
        options.stdin_fd = -1;
        for (int i = 0; i < 25; i++) {
                abatis_result *result = NULL;

                if (abatis_run(argument, &options, &result, NULL) == 0)
                        good += abatis_result_exit_code(result) == 9;
                abatis_result_free(result);
        }
        return (void *)good;
}

static void test_threads(void)
{
        abatis_sandbox *box = open_box(4, NULL, NULL);
        pthread_t threads[6];
        long good = 0;
        int before;

        begin("threads_share_a_prepared_sandbox");
        for (int i = 0; i < 6; i++)
                pthread_create(&threads[i], NULL, run_some, box);
        for (int i = 0; i < 6; i++) {
                void *result;

                pthread_join(threads[i], &result);
                good += (long)result;
        }
        expect(good == 150, "%ld of 150 went well", good);
        end();

        begin("a_thousand_jobs_leave_nothing_behind");
        expect(run(box, "true") == 0 && await_keepers(getpid(), 5), "%s", text);
        before = open_descriptors();
        for (int i = 0; i < 1000; i++)
                expect(run(box, "exit 3") == 3, "%s", text);
        expect(await_keepers(getpid(), 5), "there are %d processes", keepers(getpid(), NULL, 0));
        expect(open_descriptors() == before, "%d descriptors instead of %d", open_descriptors(), before);
        abatis_sandbox_free(box);
        end();
}

static void test_stopped(void)
{
        abatis_sandbox *box = open_box(1, NULL, NULL);
        pid_t pids[4];
        int count;

        begin("a_keeper_that_was_stopped_is_not_waited_for");
        expect(await_keepers(getpid(), 2), "they are not there");
        count = keepers(getpid(), pids, 4);
        for (int i = 0; i < count && i < 4; i++)
                expect(!kill(pids[i], SIGSTOP), "not stopped");
        alarm(30);
        /* The spare among them is started, and only its time limit ends it. */
        for (int i = 0; i < 3; i++) {
                abatis_job *job = start_job(box, "echo fine", -1);

                if (i && job)
                        expect(end_job(job) == 0 && !strcmp(text, "fine\n"), "%s", text);
                else if (job)
                        abatis_job_finish(job, NULL, NULL);
        }
        alarm(0);
        abatis_sandbox_free(box);
        expect(keepers(getpid(), NULL, 0) == 0, "some are left");
        end();
}

/* Rights were given to what stood in a directory when the job was begun. */
static void test_appears(void)
{
        char deny[sizeof(secrets) + 16], key[2 * sizeof(deny) + 64];
        abatis_sandbox *box;

        snprintf(deny, sizeof(deny), "%s.later/key", secrets);
        snprintf(key, sizeof(key), "cat '%s'; cat '%s.later/other'", deny, secrets);
        begin("what_has_appeared_since_a_job_was_begun_is_judged_by_its_name");
        expect(!system("mkdir $SECRETS.later && echo secret-3 >$SECRETS.later/tmp"), "the control");
        box = open_box(1, "filesystem.deny", deny);
        expect(await_keepers(getpid(), 2), "they are not there");
        expect(!system("mv $SECRETS.later/tmp $SECRETS.later/key && echo other >$SECRETS.later/other"),
               "the control");
        run(box, key);
        expect(!strstr(text, "secret-") && strstr(text, "other\n"), "%s", text);
        expect(!system("rm -r $SECRETS.later"), "the control");
        abatis_sandbox_free(box);
        end();

        begin("a_protected_file_that_got_another_name_and_its_own_again_is_protected");
        expect(!system("cp ws/.git/config ws/.git/config.was"), "the control");
        box = open_box(1, NULL, NULL);
        expect(await_keepers(getpid(), 2), "they are not there");
        expect(!system("cd ws/.git && mv config config.old && ln config.old config"), "the control");
        expect(run(box, "echo hacked >>.git/config") != 0, "it was written");
        expect(!system("cd ws/.git && ! grep hacked config && rm config.old && mv config.was config"),
               "it was written");
        abatis_sandbox_free(box);
        end();
}

/* DIRECTORY for the workspace, DIRECTORY for secrets, absolute; "bare" where there are no namespaces. */
int main(int argc, char **argv)
{
        char key[sizeof(secrets) + 8];
        bool is_bare = argc == 4 && !strcmp(argv[3], "bare");

        if (argc != 3 + is_bare || chdir(argv[1]) || !getcwd(base, sizeof(base)))
                return 2;
        snprintf(workspace, sizeof(workspace), "%s/ws", base);
        snprintf(secrets, sizeof(secrets), "%s/secrets", argv[2]);
        snprintf(key, sizeof(key), "%s/key", secrets);
        setenv("PATH", "/usr/bin:/bin", 1);
        setenv("SECRETS", secrets, 1);
        setenv("KEY", key, 1);
        if (system("mkdir $SECRETS ws && git init -q ws && echo secret-1 >$SECRETS/key"))
                return 2;
        test_jobs_are_begun_ahead();
        test_default();
        (is_bare ? test_nothing_of_the_last_bare : test_nothing_of_the_last)();
        (is_bare ? test_side_by_side_bare : test_side_by_side)();
        test_killed();
        test_drafted();
        test_host_dies();
        test_what_changes();
        test_fork();
        test_descriptors();
        test_limits();
        test_failures();
        test_changes_of_the_host();
        test_stopped();
        test_appears();
        if (is_bare)
                test_rules_made_ahead();
        else /* there is no network without a namespace */
                test_loopbacks();
        test_shared_sessions();
        test_guests();
        test_threads();
        return summary();
}
