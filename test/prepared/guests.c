/* guests.c: one command of a shared session: what goes in and comes out, and what ends with it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

/* Processes that a command leaves in every way there is, and which its deadline ends; those of others stay. */
static void test_ends_of_commands(void)
{
        static const char leaves[] =
                "sleep 615243 & (setsid sleep 615243 &); (setsid sh -c 'trap \"\" TERM; exec setsid sleep 615243' &); "
                "sh -c 'kill -STOP $$; exec sleep 615243' & ";
        abatis_sandbox *box = open_session();
        char script[1000];
        abatis_job *job;

        begin("a_command_of_a_shared_session_is_ended_with_all_that_it_started");
        expect(run(box, "sleep 514233 >/dev/null 2>&1 & (setsid sleep 514233 &) >/dev/null 2>&1") == 0, "%s",
               text);
        expect(await_marked("514233", 2), "they do not run");
        snprintf(script, sizeof(script), "%s trap '' TERM; sleep 615243", leaves);
        job = start_job(box, script, -1);
        expect(await_marked("615243", 6), "they do not run");
        if (job) {
                abatis_job_cancel(job);
                expect(end_job(job) == -SIGKILL, "it ended otherwise: %s", text);
        }
        expect(count_marked("615243") == 0, "%d are left", count_marked("615243"));
        expect(count_marked("514233") == 2, "those of another command were ended, too");
        job = start_job(box, script, -1);
        if (job) {
                usleep(50000);
                abatis_job_cancel(job);
                finish_job(job);
        }
        expect(count_marked("615243") == 0, "%d are left of one that was not waited for",
               count_marked("615243"));
        job = start_job(box, script, -1);
        if (job)
                finish_job(job);
        expect(count_marked("615243") == 0, "%d are left of one that had hardly begun",
               count_marked("615243"));
        expect(count_marked("514233") == 2, "those of another command were ended at last");
        expect(run(box, "echo on") == 0 && !strcmp(text, "on\n"), "%s", text);
        abatis_sandbox_free(box);
        end();
}

/* Of a command that does as it is asked, and leaves others behind; and of one that first gets rid of who would end them. */
static void test_obedience(void)
{
        static const char *const scripts[] = {
                "(setsid sleep 101112 &); sleep 101112 & sleep 101112 & wait",
                "trap 'kill -9 $PPID; exit' TERM; (setsid sleep 101112 &); sleep 101112 & wait",
        };

        begin("what_a_command_leaves_when_it_is_asked_to_end_ends_too");
        for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
                abatis_sandbox *box = open_session();
                abatis_job *job = start_job(box, scripts[i], -1);

                expect(await_marked("101112", i ? 3 : 4), "they do not run");
                if (job) {
                        abatis_job_cancel(job);
                        expect(end_job(job) < 0, "it ended otherwise: %s", text);
                }
                expect(count_marked("101112") == 0, "%d are left", count_marked("101112"));
                expect((run(box, "true") == 0) == !i, "the session afterwards: %s", text);
                abatis_sandbox_free(box);
        }
        end();
}

static void ignore(int number)
{
        (void)number;
}

/* A host that is interrupted all the time. */
static void test_interruptions(void)
{
        const struct sigaction action = { .sa_handler = ignore };
        const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
        abatis_sandbox *box = open_session();

        begin("signals_of_the_host_do_not_end_a_shared_session");
        expect(run(box, "sleep 121314 >/dev/null 2>&1 &") == 0, "%s", text);
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < 10; i++) {
                abatis_job *job = start_job(box, "sleep 131415 & sleep 131415", -1);

                if (job)
                        finish_job(job);
                expect(count_marked("131415") == 0, "%d are left", count_marked("131415"));
        }
        setitimer(ITIMER_REAL, &never, NULL);
        expect(count_marked("121314") == 1, "the session has ended");
        abatis_sandbox_free(box);
        end();
}

static void listen_slowly(void *user, int descriptor, const char *bytes, size_t length)
{
        (void)user, (void)descriptor, (void)bytes, (void)length;
        usleep(3000);
}

/* Who is left writes faster than the host reads. */
static void test_flood(void)
{
        abatis_sandbox *box = open_session();
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result = NULL;
        abatis_error err;

        begin("a_flood_of_those_left_does_not_keep_the_host");
        options.argv =
                (const char *const[]){ "/bin/sh", "-c", "for i in 1 2 3 4; do yes 141516 & done", NULL };
        options.cwd = workspace;
        options.capture = ABATIS_CAPTURE;
        options.on_output = listen_slowly;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        alarm(20);
        if (abatis_run(box, &options, &result, &err) >= 0)
                abatis_result_free(result);
        else
                expect(false, "%s", err.message);
        alarm(0);
        abatis_sandbox_free(box);
        expect(await_marked("141516", 0), "%d are left", count_marked("141516"));
        end();
}

/* What is passed on is whole, the end too, whoever else still has the pipe. */
static void test_output_is_whole(void)
{
        static const char *const scripts[] = { "seq 1 130000", "seq 1 130000; sleep 151617 &" };
        abatis_sandbox *box = open_session();
        char path[4300];

        begin("the_output_of_a_guest_is_passed_on_whole");
        snprintf(path, sizeof(path), "%s/output", workspace);
        for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
                const char *const argv[] = { "/bin/sh", "-c", scripts[i], NULL };
                int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
                abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
                abatis_result *result = NULL;
                abatis_error err = { 0 };

                options.argv = argv;
                options.cwd = workspace;
                options.capture = ABATIS_CAPTURE;
                options.stdin_fd = options.stderr_fd = -1;
                options.stdout_fd = fd;
                expect(abatis_run(box, &options, &result, &err) >= 0, "%s", err.message);
                expect(lseek(fd, 0, SEEK_END) == 798895, "%d bytes of script %zu",
                       (int)lseek(fd, 0, SEEK_END), i);
                expect(result && !abatis_result_truncated(result), "it is said to be cut");
                abatis_result_free(result);
                close(fd);
                unlink(path);
        }
        abatis_sandbox_free(box);
        end();
}

/* A descriptor of the host's leads through a mount that can be written. */
static void test_files_to_read(void)
{
        abatis_sandbox *box = open_session();
        char paths[2][5000];

        begin("a_file_that_a_guest_is_given_to_read_is_not_changed");
        snprintf(paths[0], sizeof(paths[0]), "%s.input", secrets); /* beside them, where nothing is denied */
        snprintf(paths[1], sizeof(paths[1]), "/tmp/abatis-input.%d", (int)getpid());
        for (int i = 0; i < 2; i++) {
                int fd = open(paths[i], O_CREAT | O_RDWR | O_CLOEXEC, 0600);
                struct stat status;
                abatis_job *job;

                if (fd < 0 || write(fd, "input\n", 6) != 6)
                        expect(false, "cannot make %s", paths[i]);
                close(fd);
                fd = open(paths[i], O_RDONLY | O_CLOEXEC);
                job = start_job(box, "cat; chmod 777 /proc/self/fd/0; touch -d 2001-01-01 /proc/self/fd/0",
                                fd);
                if (job)
                        end_job(job);
                expect(i || strstr(text, "input"), "the control: %s", text);
                expect(!fstat(fd, &status) && (status.st_mode & 0777) == 0600 && status.st_mtime > 1000000000,
                       "%s was changed", paths[i]);
                close(fd);
                unlink(paths[i]);
        }
        abatis_sandbox_free(box);
        end();
}

/* What the host names as 0, 1 and 2 may be numbers that it has closed. */
static void test_closed_descriptors(void)
{
        static const char *const sessions[] = { "private", "shared" };

        begin("a_host_without_descriptors_of_its_own_gives_none_of_ours");
        for (int i = 0; i < 2; i++) {
                int status = 0, ends[2];
                pid_t host;

                expect(!pipe2(ends, O_CLOEXEC), "no pipe");
                fflush(stdout);
                host = fork();
                if (!host) {
                        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
                        int out = fcntl(ends[1], F_DUPFD_CLOEXEC, 20), code = 0;
                        abatis_sandbox *box;
                        abatis_error err;

                        for (int fd = 0; fd < 10; fd++)
                                close(fd);
                        box = open_box(2, "session", sessions[i]);
                        options.argv = (const char *const[]){
                                "/bin/sh", "-c", "! ls -l /proc/self/fd 2>/dev/null 0<&0 | grep socket >seen",
                                NULL
                        };
                        options.cwd = workspace;
                        for (int n = 0; n < 6 && !code; n++) {
                                abatis_result *result = NULL;

                                options.stdin_fd = 0;
                                options.stdout_fd = 1;
                                options.stderr_fd = 2;
                                if (abatis_run(box, &options, &result, &err) < 0) {
                                        dprintf(out, "%s", err.message);
                                        code = 3;
                                        break;
                                }
                                code = abatis_result_exit_code(result) ? 4 : 0;
                                abatis_result_free(result);
                        }
                        abatis_sandbox_free(box);
                        _exit(code);
                }
                close(ends[1]);
                waitpid(host, &status, 0);
                memset(text, 0, 200);
                if (read(ends[0], text, 199) < 0)
                        *text = '\0';
                close(ends[0]);
                expect(WIFEXITED(status) && !WEXITSTATUS(status), "%s: %d %s", sessions[i],
                       WEXITSTATUS(status), text);
        }
        end();
}

static void test_bombs(void)
{
        abatis_sandbox *box = open_session();
        abatis_job *job;

        begin("a_fork_bomb_in_a_shared_session_can_be_ended");
        expect(run(box, "sleep 413223 >/dev/null 2>&1 &") == 0, "%s", text);
        job = start_job(box, "ulimit -u 400; b() { b 312213 | b & sleep 0.01; }; b; sleep 312213", -1);
        usleep(300000);
        if (job) {
                abatis_job_cancel(job);
                expect(end_job(job) != 0, "it ended by itself: %s", text);
        }
        expect(await_marked("312213", 0), "%d are left", count_marked("312213"));
        expect(count_marked("413223") == 1, "what another command had started is gone");
        expect(run(box, "echo on") == 0 && !strcmp(text, "on\n"), "%s", text);
        abatis_sandbox_free(box);
        end();
}

/* Its pipe has no reader any more when the command has ended. */
static void test_output_of_those_left(void)
{
        abatis_sandbox *box = open_session();

        begin("what_is_left_of_a_command_can_go_on_writing");
        expect(run(box,
                   "(while :; do echo 0123456789012345678901234567890123456789; echo x >&2; done; : 211203) & echo $!") ==
                       0,
               "%s", text);
        expect(atoi(text) > 0 || *text, "nothing came");
        usleep(300000);
        expect(run(box,
                   "n=0; for p in /proc/[0-9]*; do grep -q 'x >&2' $p/cmdline && n=$((n+1)); done 2>/dev/null; echo $n") ==
                               0 &&
                       number() >= 1,
               "it was killed: %s", text);
        abatis_sandbox_free(box);
        expect(await_marked("211203", 0), "%d are left", count_marked("211203"));
        end();
}

static void test_what_ends_how(void)
{
        static const char *const absent[] = { "/nowhere/to/be/found", NULL };
        abatis_sandbox *box = open_session();
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result = NULL;
        abatis_error err;
        int r;

        begin("a_shared_session_tells_how_each_command_ended");
        expect(run(box, "exit 7") == 7, "an exit code: %s", text);
        expect(run(box, "kill -SEGV $$") == -SIGSEGV, "a signal: %s", text);
        options.argv = absent;
        options.capture = ABATIS_CAPTURE;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        r = abatis_run(box, &options, &result, &err);
        expect(r == ABATIS_E_NOT_FOUND, "what is not there: %d", r);
        options.argv = (const char *const[]){ "/etc/passwd", NULL };
        r = abatis_run(box, &options, &result, &err);
        expect(r == ABATIS_E_NOT_EXECUTABLE, "what is no program: %d", r);
        options.argv = (const char *const[]){ "/bin/true", NULL };
        options.cwd = "/nowhere";
        r = abatis_run(box, &options, &result, &err);
        expect(r < 0 && strstr(err.message, "working directory '/nowhere'"), "a directory: %s", err.message);
        options.cwd = NULL;
        options.terminal = 1;
        r = abatis_run(box, &options, &result, &err);
        expect(r == ABATIS_E_UNENFORCEABLE, "a terminal: %d", r);
        expect(run(box, "echo on") == 0, "%s", text);
        abatis_sandbox_free(box);
        end();
}

static void test_what_comes_in(void)
{
        abatis_sandbox *box = open_session();
        static char much[120000];
        const char *const argv[] = {
                "/bin/sh",
                "-c",
                "cat; printf %s \"$MUCH\" | wc -c; printf %s $1 | wc -c; ls /proc/self/fd | wc -l",
                "sh",
                much,
                NULL
        };
        const char *envp[] = { much - 0, "PATH=/usr/bin:/bin", NULL };
        static char variable[120010] = "MUCH=";
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result = NULL;
        abatis_error err;
        int r;

        begin("commands_of_a_shared_session_get_what_is_theirs");
        memset(much, 'a', sizeof(much) - 1);
        memset(variable + 5, 'b', 100000);
        envp[0] = variable;
        options.argv = argv;
        options.envp = envp;
        options.capture = ABATIS_CAPTURE;
        options.stdin_data = "input\n";
        options.stdin_length = 6;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        r = abatis_run(box, &options, &result, &err);
        expect(r >= 0, "%s", r < 0 ? err.message : "");
        if (r >= 0) {
                /* ls has one more open, the directory. */
                expect(!strcmp(abatis_result_stdout(result, NULL), "input\n100000\n119999\n4\n"), "%s",
                       abatis_result_stdout(result, NULL));
                abatis_result_free(result);
        }
        abatis_sandbox_free(box);
        end();
}

void test_guests(void)
{
        test_ends_of_commands();
        test_obedience();
        test_interruptions();
        test_flood();
        test_output_is_whole();
        test_files_to_read();
        test_closed_descriptors();
        test_bombs();
        test_output_of_those_left();
        test_what_ends_how();
        test_what_comes_in();
}
