/* shared.c: a shared session: what its commands have in common, what ends with each of them, and what with the session. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static abatis_sandbox *open_session(void)
{
        return open_box(0, "session", "shared");
}

/* How many processes have this word in their command lines, in this one's view. */
static int count_marked(const char *mark)
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

static bool await_marked(const char *mark, int count)
{
        for (int i = 0; i < 400; i++) {
                if (count_marked(mark) == count)
                        return true;
                usleep(5000);
        }
        return false;
}

/* The number that was printed. */
static int number(void)
{
        return atoi(text);
}

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
        test_policy();
        test_porter_is_out_of_reach();
        test_murder();
        test_standstill();
        test_copies_of_the_host();
        test_many();
        test_refusals();
}
