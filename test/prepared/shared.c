/* shared.c: a shared session: what its commands have in common, and what ends with it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static void test_what_is_kept(void)
{
        abatis_sandbox *box = open_session(), *other = open_session();
        char script[200];
        int pid;

        begin("a_shared_session_keeps_files_and_processes");
        expect(run(box, "echo kept >${TMPDIR:-/tmp}/file") == 0, "%s", text);
        expect(run(box, "cat ${TMPDIR:-/tmp}/file") == 0 && !strcmp(text, "kept\n"), "/tmp: %s", text);
        expect(run(other, "cat ${TMPDIR:-/tmp}/file") != 0, "another session has it: %s", text);
        expect(run(box, "setsid sleep 918273 >/dev/null 2>&1 & echo $!") == 0, "%s", text);
        pid = number();
        expect(await_marked("918273", 1), "it does not run");
        /* In the middle of an exec it has no words. */
        snprintf(script, sizeof(script),
                 "kill -0 %d || exit; until tr '\\0' ' ' </proc/%d/cmdline | grep sleep; do sleep 0.05; done",
                 pid, pid);
        expect(run(box, script) == 0 && strstr(text, "sleep 918273"), "the next command does not see it: %s",
               text);
        expect(run(other, script) != 0, "another session reaches it: %s", text);
        snprintf(script, sizeof(script), "kill %d", pid);
        expect(run(box, script) == 0 && await_marked("918273", 0), "it cannot be ended: %s", text);
        abatis_sandbox_free(box);
        abatis_sandbox_free(other);
        end();
}

static void test_end_of_the_session(void)
{
        abatis_sandbox *box = open_session();
        abatis_job *job;

        begin("a_shared_session_ends_with_its_sandbox");
        expect(run(box,
                   "sleep 817263 >/dev/null 2>&1 & (setsid sleep 817263 &) >/dev/null 2>&1; mkdir ${TMPDIR:-/tmp}/left") ==
                       0,
               "%s", text);
        expect(await_marked("817263", 2), "they do not run");
        job = start_job(box, "sleep 0.3; echo done", -1);
        abatis_sandbox_free(box);
        expect(await_marked("817263", 2), "they end before the last command");
        expect(job && end_job(job) == 0 && !strcmp(text, "done\n"), "%s", text);
        expect(count_marked("817263") == 0, "%d are left", count_marked("817263"));
        end();
}

static void test_death_of_the_host(void)
{
        int pipe_ends[2];
        pid_t host;
        char byte;

        begin("a_shared_session_ends_with_its_host");
        expect(!pipe(pipe_ends), "no pipe");
        host = fork();
        if (!host) {
                abatis_sandbox *box = open_session();

                run(box, "sleep 716253 >/dev/null 2>&1 & (setsid sleep 716253 &) >/dev/null 2>&1");
                if (write(pipe_ends[1], "", 1) == 1)
                        pause();
                _exit(0);
        }
        close(pipe_ends[1]);
        expect(read(pipe_ends[0], &byte, 1) == 1 && await_marked("716253", 2), "they do not run");
        kill(host, SIGKILL);
        waitpid(host, NULL, 0);
        expect(await_marked("716253", 0), "%d are left", count_marked("716253"));
        close(pipe_ends[0]);
        end();
}

static void test_policy(void)
{
        abatis_sandbox *box = open_session();
        char script[5000];

        begin("the_policy_holds_in_a_shared_session");
        snprintf(script, sizeof(script), "%s/key", secrets);
        expect(!access(script, R_OK), "the control: the key is not there");
        snprintf(script, sizeof(script), "cat '%s/key'", secrets);
        expect(run(box, script) != 0 && !strstr(text, "secret-1"), "a denied file was read: %s", text);
        expect(run(box, "echo x >shared-file && cat shared-file && rm shared-file") == 0, "the control: %s",
               text);
        snprintf(script, sizeof(script), "echo x >'%s.escaped'", secrets);
        expect(run(box, script) != 0, "a file was made outside");
        expect(run(box, "kill -0 1") != 0 || getenv("ABATIS_TEST_NAMESPACES"), "init can be signalled");
        abatis_sandbox_free(box);
        end();
}

/* Whoever can look into them could change what they say of other commands. */
static void test_porter_is_out_of_reach(void)
{
        abatis_sandbox *box = open_session();

        begin("the_porter_cannot_be_looked_into");
        expect(run(box,
                   "sleep 100 & cat /proc/$!/environ >/dev/null && dd if=/proc/$!/mem of=/dev/null bs=1 count=0 2>/dev/null && "
                   "readlink /proc/$!/exe; kill $!") == 0 &&
                       *text == '/',
               "the control: %s", text);
        expect(run(box, "cat /proc/$PPID/environ") != 0, "the usher's environment: %s", text);
        expect(run(box, "readlink /proc/$PPID/exe") != 0, "the usher's program: %s", text);
        expect(run(box, "ls /proc/$PPID/fd/") != 0, "the usher's descriptors: %s", text);
        expect(run(box, "dd if=/proc/$PPID/mem of=/dev/null bs=1 count=1") != 0, "the usher's memory: %s",
               text);
        expect(run(box, "p=$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat 2>/dev/null); p=${p:-2}; "
                        "! ls /proc/$p/fd && ! readlink /proc/$p/exe") == 0,
               "the porter: %s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_murder(void)
{
        abatis_sandbox *box = open_session();

        begin("who_kills_the_porter_ends_the_session");
        expect(run(box, "kill -9 $PPID; exec sleep 112203") == -SIGKILL, "without its usher: %s", text);
        expect(await_marked("112203", 0), "it goes on without its usher");
        expect(run(box, "echo on") == 0 && !strcmp(text, "on\n"), "the control: %s", text);
        expect(run(box,
                   "sleep 112204 >/dev/null 2>&1 & p=$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat 2>/dev/null); p=${p:-2}; kill -9 $p; sleep 5") ==
                       -SIGKILL,
               "without its porter: %s", text);
        expect(await_marked("112204", 0), "somebody is left");
        expect(run(box, "echo on") == -1000 && strstr(text, "session has ended"), "another command: %s",
               text);
        abatis_sandbox_free(box);
        end();
}

/* Who cannot be asked any more takes the session along. */
static void test_standstill(void)
{
        abatis_sandbox *box = open_session();
        abatis_job *job;

        begin("an_usher_that_was_stopped_does_not_keep_a_command_alive");
        job = start_job(box, "kill -STOP $PPID; trap '' TERM; sleep 112205", -1);
        expect(await_marked("112205", 2) || count_marked("112205"), "it does not run");
        if (job) {
                abatis_job_cancel(job);
                expect(end_job(job) == -SIGKILL, "it ended otherwise: %s", text);
        }
        expect(await_marked("112205", 0), "%d are left", count_marked("112205"));
        abatis_sandbox_free(box);
        end();
}

static void test_copies_of_the_host(void)
{
        abatis_sandbox *box = open_session();
        int status = 0;
        pid_t copy;

        begin("a_shared_session_is_of_one_process");
        expect(run(box, "true") == 0, "%s", text);
        copy = fork();
        if (!copy) {
                int code = run(box, "true");

                abatis_sandbox_free(box);
                _exit(code == -1000 && strstr(text, "belongs to the process") ? 0 : 1);
        }
        waitpid(copy, &status, 0);
        expect(WIFEXITED(status) && !WEXITSTATUS(status), "a copy of the process could use it");
        expect(run(box, "echo on") == 0 && !strcmp(text, "on\n"), "%s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_many(void)
{
        enum { MANY = 60 };
        int before = open_descriptors();
        abatis_sandbox *box = open_session();
        abatis_job *jobs[MANY];
        char wanted[32], script[64];

        begin("a_shared_session_runs_many_commands_at_once");
        for (int i = 0; i < MANY; i++) {
                snprintf(script, sizeof(script), "sleep 0.2; echo %d", i);
                jobs[i] = start_job(box, script, -1);
        }
        for (int i = 0; i < MANY; i++) {
                snprintf(wanted, sizeof(wanted), "%d\n", i);
                expect(jobs[i] && end_job(jobs[i]) == 0 && !strcmp(text, wanted), "the %dth: %s", i, text);
        }
        for (int i = 0; i < MANY; i++)
                expect(run(box, "true") == 0, "%s", text);
        abatis_sandbox_free(box);
        expect(open_descriptors() == before, "%d descriptors more", open_descriptors() - before);
        end();
}

static void test_refusals(void)
{
        static const char *const limits[][2] = { { "limits.memory", "1GiB" },
                                                 { "limits.processes", "100" },
                                                 { "limits.cpu", "10s" },
                                                 { "limits.written", "1GiB" } };
        const abatis_policy_options policy_options = { .size = sizeof(policy_options),
                                                       .preset = "dev",
                                                       .workspace = workspace };
        const abatis_sandbox_options options = { .size = sizeof(options) };

        begin("limits_of_one_tree_are_refused_in_a_shared_session");
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
                abatis_policy *policy = NULL;
                abatis_sandbox *box = NULL;
                abatis_error err = { 0 };
                int r;

                if (abatis_policy_new(&policy_options, &policy, &err) < 0)
                        break;
                abatis_policy_set(policy, "session", "shared", &err);
                abatis_policy_set(policy, limits[i][0], limits[i][1], &err);
                r = abatis_sandbox_open(policy, &options, &box, &err);
                expect(r == ABATIS_E_UNENFORCEABLE && strstr(err.message, limits[i][0]), "%s: %d %s",
                       limits[i][0], r, err.message);
                if (r >= 0)
                        abatis_sandbox_free(box);
                abatis_policy_free(policy);
        }
        end();
}

void test_shared_sessions(void)
{
        test_what_is_kept();
        test_end_of_the_session();
        test_death_of_the_host();
        test_policy();
        test_porter_is_out_of_reach();
        test_murder();
        test_standstill();
        test_copies_of_the_host();
        test_many();
        test_refusals();
}
