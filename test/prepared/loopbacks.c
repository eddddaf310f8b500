/* loopbacks.c: jobs that a keeper has begun have a loopback each, though they were begun in the same nests. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

/* A port is free, nobody listens there, and who then does is reached: prints "alone". */
#define MEET_AT(port)                                                                          \
        "/usr/bin/python3 -c 'import socket\n"                                                 \
        "assert socket.socket().connect_ex((\"127.0.0.1\", " port ")), \"somebody listens\"\n" \
        "server = socket.create_server((\"127.0.0.1\", " port "))\n"                           \
        "client = socket.create_connection(server.getsockname())\n"                            \
        "server.accept()[0].send(b\"alone\")\n"                                                \
        "print(client.recv(9).decode())'"

static bool meets(abatis_sandbox *box)
{
        return run(box, MEET_AT("7001")) == 0 && !strcmp(text, "alone\n");
}

/* Of the keeper's process, which waits for requests: its own and the nests'. */
static int count_threads(pid_t keeper)
{
        char path[64];
        struct dirent *entry;
        int count = 0;
        DIR *threads;

        snprintf(path, sizeof(path), "/proc/%d/task", keeper);
        threads = opendir(path);
        while (threads && (entry = readdir(threads)))
                count += *entry->d_name != '.';
        if (threads)
                closedir(threads);
        return count;
}

static pid_t find_keeper(void)
{
        pid_t pids[8], keeper = 0;
        int count = keepers(getpid(), pids, 8);

        /* The others are begun by it, later. */
        for (int i = 0; i < count && i < 8; i++)
                if (!keeper || pids[i] < keeper)
                        keeper = pids[i];
        return keeper;
}

static void test_one_after_the_other(void)
{
        abatis_sandbox *box = open_box(1, "network.mode", "deny");
        int met = 0, most = 0;

        begin("jobs_one_after_the_other_have_a_loopback_each");
        for (int i = 0; i < 30; i++) {
                int threads;

                met += meets(box);
                threads = await_keepers(getpid(), 2) ? count_threads(find_keeper()) : 0;
                most = threads > most ? threads : most;
        }
        expect(met == 30, "%d of 30 met: %s", met, text);
        expect(most > 1 && most < 6, "there were %d threads", most);
        abatis_sandbox_free(box);
        end();
}

static void test_at_once(void)
{
        enum { COUNT = 12 };
        abatis_sandbox *box = open_box(2, "network.mode", "deny");
        abatis_job *jobs[COUNT];
        int met, pipes[2], ended = 0;

        begin("jobs_at_once_have_a_loopback_each");
        expect(!pipe(pipes), "no pipe");
        /* All listen at once, until we have seen that each has met only itself. */
        for (int i = 0; i < COUNT; i++)
                jobs[i] = start_job(box,
                                    "/usr/bin/python3 -c 'import socket, sys\n"
                                    "server = socket.create_server((\"127.0.0.1\", 7001))\n"
                                    "client = socket.create_connection(server.getsockname())\n"
                                    "print(\"listening\", flush=True)\n"
                                    "sys.stdin.read()\n"
                                    "server.settimeout(1)\n"
                                    "server.accept()\n"
                                    "try: server.accept(); print(\"another came\")\n"
                                    "except TimeoutError: print(\"alone\")'",
                                    pipes[0]);
        met = meets(box);
        expect(met, "one beside them: %s", text);
        close(pipes[0]);
        close(pipes[1]);
        for (int i = 0; i < COUNT; i++)
                ended += jobs[i] && !end_job(jobs[i]) && strstr(text, "alone") && !strstr(text, "another");
        expect(ended == COUNT, "%d of %d were alone: %s", ended, COUNT, text);
        abatis_sandbox_free(box);
        end();
}

static void test_keeper_dies(void)
{
        abatis_sandbox *box = open_box(1, "network.mode", "deny");
        int pipes[2];
        abatis_job *job;
        pid_t keeper;

        begin("a_job_whose_keeper_was_killed_has_its_loopback");
        expect(!pipe(pipes), "no pipe");
        expect(await_keepers(getpid(), 2), "they are not there");
        job = start_job(box, "read line; " MEET_AT("7001"), pipes[0]);
        keeper = find_keeper();
        expect(keeper > 0 && !kill(keeper, SIGKILL), "it was not killed");
        expect(write(pipes[1], "\n", 1) == 1, "the control");
        expect(job && !end_job(job) && !strcmp(text, "alone\n"), "%s", text);
        close(pipes[0]);
        close(pipes[1]);
        /* And those that are begun by the next. */
        expect(meets(box) && meets(box) && meets(box), "%s", text);
        abatis_sandbox_free(box);
        end();
}

/* Who asks while it is killed leaves no question behind for the next in its nest. */
static void test_killed_while_they_ask(void)
{
        abatis_sandbox *box = open_box(1, "network.mode", "deny");
        int met = 0;

        begin("jobs_that_are_killed_while_they_ask_leave_nothing");
        for (int i = 0; i < 10; i++) {
                abatis_job *job = start_job(box,
                                            "exec /usr/bin/python3 -c 'import socket, threading\n"
                                            "def ask():\n"
                                            "    while True: socket.socket().close()\n"
                                            "for _ in range(8): threading.Thread(target=ask).start()'",
                                            -1);

                usleep(150 * 1000);
                if (job)
                        abatis_job_cancel(job);
                if (job)
                        end_job(job);
                met += meets(box);
        }
        expect(met == 10, "%d of 10 met: %s", met, text);
        abatis_sandbox_free(box);
        end();
}

/* How many threads this user has. */
static int count_own(void)
{
        FILE *all = popen("ps -L -o lwp= -u $(id -u) | wc -l", "r");
        int count = 0;

        if (!all || fscanf(all, "%d", &count) != 1)
                count = 0;
        if (all)
                pclose(all);
        return count;
}

/* Init needs a thread to make sockets, and may have none left. */
static void test_no_thread(void)
{
        const rlim_t most = (rlim_t)count_own() + 60;
        const struct rlimit few = { most, most };
        int status = -1;
        pid_t host;

        if (!getuid()) /* has as many as it wants */
                return;
        begin("where_there_is_no_thread_for_a_loopback_sockets_are_refused_until_there_is");
        host = fork();
        if (!host) {
                bool is_fine = !setrlimit(RLIMIT_NPROC, &few);
                abatis_sandbox *box = open_box(1, "network.mode", "deny");

                alarm(60);
                is_fine = is_fine && meets(box) && meets(box) && meets(box);
                is_fine = is_fine && !run(box, "/usr/bin/python3 -c 'import os, socket, time\n"
                                               "others = []\n"
                                               "while True:\n"
                                               "    try: others.append(os.fork())\n"
                                               "    except OSError: break\n"
                                               "    if not others[-1]: time.sleep(60)\n"
                                               "try: socket.socket(); print(\"made\")\n"
                                               "except PermissionError: print(\"refused\")\n"
                                               "for other in others: os.kill(other, 9); os.wait()\n"
                                               "socket.socket(); print(\"made\")'");
                if (!is_fine || strcmp(text, "refused\nmade\n"))
                        fprintf(stderr, "%s\n", text);
                _exit(is_fine && !strcmp(text, "refused\nmade\n") ? 0 : 1);
        }
        waitpid(host, &status, 0);
        expect(!status, "it ended with %x", status);
        end();
}

/* Threads of many jobs at once are not kept for ever. */
static void test_many_and_then_few(void)
{
        enum { COUNT = 60 };
        abatis_sandbox *box = open_box(1, "network.mode", "deny");
        abatis_job *jobs[COUNT];
        int during, after = COUNT, pipes[2];

        begin("nests_of_many_jobs_go_with_them");
        expect(!pipe(pipes), "no pipe");
        expect(meets(box) && meets(box), "%s", text);
        for (int i = 0; i < COUNT; i++)
                jobs[i] = start_job(box, "cat", pipes[0]);
        during = count_threads(find_keeper());
        close(pipes[0]);
        close(pipes[1]);
        for (int i = 0; i < COUNT; i++)
                if (jobs[i])
                        end_job(jobs[i]);
        /* They are kept for some seconds, for others that may come. */
        for (int i = 0; i < 40 && after >= COUNT / 2; i++) {
                expect(meets(box), "%s", text);
                after = count_threads(find_keeper());
                usleep(500 * 1000);
        }
        expect(during >= COUNT && after > 0 && after < COUNT / 2, "%d, and then %d", during, after);
        expect(meets(box), "%s", text);
        abatis_sandbox_free(box);
        end();
}

void test_loopbacks(void)
{
        test_one_after_the_other();
        test_at_once();
        test_keeper_dies();
        test_killed_while_they_ask();
        test_no_thread();
        test_many_and_then_few();
}
