/* Measures abatis serve: its start, a command in a warm sandbox against posix_spawn, and a million lines that are no requests.
 *
 * serve DIR LINES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { STARTS = 100, ROUNDS = 400, HEAP = 64 * 1024 };

/* Each of them is refused for another reason. */
static const char *const malformed[] = {
        "\n",
        "not JSON\n",
        "{\"id\":1,\"method\":\"run\"\n",
        "{\"id\":2,\"method\":\"run\",\"command\":\"true\"}\n",
        "{\"id\":3,\"method\":\"run\",\"comand\":[\"true\"]}\n",
        "{\"id\":4,\"id\":5,\"method\":\"probe\"}\n",
        "{\"id\":\"\xff\xfe\",\"method\":\"probe\"}\n",
        "{\"id\":6,\"method\":\"check\",\"access\":\"read\",\"path\":\"relative\"}\n",
        "{\"id\":7,\"method\":\"run\",\"command\":[\"true\"],\"policy\":[[[[[[[[1]]]]]]]]}\n",
        "\x01\x02\x03\x7f[[[[{{{{\n",
};
enum { KINDS = sizeof malformed / sizeof *malformed };

struct server {
        pid_t pid;
        int to, from;
};

static struct server start(const struct place *place, const char *const *environment)
{
        const char *const words[] = { place->abatis, "serve", NULL };
        posix_spawn_file_actions_t actions;
        int to[2], from[2];
        struct server server;

        if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
                die("pipe: %s", strerror(errno));
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, to[0], 0);
        posix_spawn_file_actions_adddup2(&actions, from[1], 1);
        if (posix_spawn(&server.pid, place->abatis, &actions, NULL, (char *const *)words,
                        (char *const *)environment))
                die("cannot start %s", place->abatis);
        posix_spawn_file_actions_destroy(&actions);
        close(to[0]);
        close(from[1]);
        server.to = to[1];
        server.from = from[0];
        return server;
}

static void stop(struct server *server)
{
        int status;

        close(server->to);
        if (waitpid(server->pid, &status, 0) < 0 || status)
                die("the server ended with status %d", status);
        close(server->from);
}

/* Returns how many lines were in what was read. */
static size_t hear(const struct server *server)
{
        static char bytes[HEAP];
        ssize_t got = read(server->from, bytes, sizeof bytes);
        size_t lines = 0;

        if (got <= 0)
                die("the server has ended");
        for (ssize_t i = 0; i < got; i++)
                lines += bytes[i] == '\n';
        return lines;
}

static void ask(const struct server *server, const char *line)
{
        if (write(server->to, line, strlen(line)) < 0)
                die("the server does not read");
        while (!hear(server))
                ;
}

static double resident_kib(pid_t pid)
{
        char path[64], line[128];
        double kib = 0;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/status", pid);
        file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
                if (!strncmp(line, "VmRSS:", 6))
                        kib = strtod(line + 6, NULL);
        if (file)
                fclose(file);
        return kib;
}

/* Of the processor, user and system. */
static double used_us(pid_t pid)
{
        char path[64], line[1024], *at;
        unsigned long user = 0, system = 0;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file) || !(at = strrchr(line, ')')) ||
            sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
                die("cannot read %s", path);
        fclose(file);
        return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* ---- starts and commands -------------------------------------------------------------------------------- */

static double median(double *samples, size_t count)
{
        return quantile(samples, count, 0.5);
}

/* Until the first reply, to what needs nothing to be started. */
static void measure_start(const struct place *place, const char *const *environment)
{
        double samples[STARTS], ms;

        for (size_t i = 0; i < STARTS; i++) {
                double before = now_us();
                struct server server = start(place, environment);

                ask(&server, "{\"id\":1,\"method\":\"cancel\",\"target\":1}\n");
                samples[i] = now_us() - before;
                stop(&server);
        }
        ms = median(samples, STARTS) / 1e3;
        printf("start to the first reply  %.2f ms\n", ms);
        figure_write(place, "serve", "start to the first reply", "ms", ms, NULL);
        bar_at_most(place, "serve: ms to the first reply", ms, 5);
}

static void measure_commands(const struct place *place, const char *const *environment)
{
        static double plain[ROUNDS], warm[ROUNDS];
        static struct command command;
        static const char *const payload[] = { "{bin}/true", NULL };
        char request[PATH_SIZE * 3];
        struct server server = start(place, environment);
        struct sample sample;
        double times;

        snprintf(request, sizeof request,
                 "{\"id\":1,\"method\":\"run\",\"command\":[\"%s/bin/true\"],\"cwd\":\"%s/workspace\"}\n",
                 place->dir, place->dir);
        if (!command_init(&command, place, &plain_spawn, payload))
                die("no command");
        for (size_t i = 0; i < 20; i++)
                ask(&server, request);
        for (size_t i = 0; i < ROUNDS; i++) {
                double before;

                launch_checked("posix_spawn", &command, environment, &sample);
                plain[i] = sample.us;
                before = now_us();
                ask(&server, request);
                warm[i] = now_us() - before;
        }
        stop(&server);
        times = median(warm, ROUNDS) / median(plain, ROUNDS);
        printf("a warm command            %.0f us, posix_spawn %.0f us: %.2f times\n", median(warm, ROUNDS),
               median(plain, ROUNDS), times);
        figure_write(place, "serve", "a warm command", "us", median(warm, ROUNDS), "times_posix_spawn", times,
                     NULL);
}

/* ---- a million lines ------------------------------------------------------------------------------------ */

/* As many as a heap holds; returns how many. */
static size_t fill(char *heap, size_t *length, size_t first, size_t most)
{
        size_t lines = 0;

        *length = 0;
        while (lines < most) {
                const char *line = malformed[(first + lines) % KINDS];

                if (*length + strlen(line) > HEAP)
                        break;
                memcpy(heap + *length, line, strlen(line));
                *length += strlen(line);
                lines++;
        }
        return lines;
}

/* Sends and reads at the same time, as a client does. Returns lines in a second. */
static double flood(const struct server *server, size_t lines)
{
        static char heap[HEAP];
        size_t sent = 0, heard = 0, at = 0, length = 0;
        double before = now_us();

        fcntl(server->to, F_SETFL, O_NONBLOCK);
        while (heard < lines) {
                struct pollfd waits[] = { { server->from, POLLIN, 0 },
                                          { sent < lines || at < length ? server->to : -1, POLLOUT, 0 } };

                if (at == length && sent < lines) {
                        sent += fill(heap, &length, sent, lines - sent);
                        at = 0;
                }
                if (poll(waits, 2, 60 * 1000) <= 0)
                        die("the server is silent after %zu of %zu lines", heard, lines);
                if (waits[0].revents)
                        heard += hear(server);
                if (waits[1].revents) {
                        ssize_t written = write(server->to, heap + at, length - at);

                        at += written > 0 ? (size_t)written : 0;
                }
        }
        fcntl(server->to, F_SETFL, 0);
        if (heard != lines)
                die("%zu replies to %zu lines", heard, lines);
        return (double)lines / (now_us() - before) * 1e6;
}

static void measure_flood(const struct place *place, const char *const *environment, size_t lines)
{
        struct server server = start(place, environment);
        double speed, first, last, before, after, start_us;

        flood(&server, lines / 10);
        before = resident_kib(server.pid);
        /* By the server's own time: whatever else the machine does. */
        start_us = used_us(server.pid);
        speed = flood(&server, lines / 10 * 4);
        first = (used_us(server.pid) - start_us) / ((double)lines / 10 * 4);
        flood(&server, lines / 10);
        start_us = used_us(server.pid);
        flood(&server, lines / 10 * 4);
        last = (used_us(server.pid) - start_us) / ((double)lines / 10 * 4);
        after = resident_kib(server.pid);
        ask(&server, "{\"id\":1,\"method\":\"cancel\",\"target\":1}\n");
        stop(&server);
        printf("%zu malformed lines   %.0f a second; %.2f us of the processor each at first, %.2f in the end; %.0f KiB, then %.0f KiB\n",
               lines, speed, first, last, before, after);
        figure_write(place, "serve", "malformed lines", "lines", (double)lines, "per_second", speed,
                     "first_cpu_us", first, "last_cpu_us", last, "first_kib", before, "last_kib", after,
                     NULL);
        /* 4 MiB may wait for a client, and as much was moved when there was more; the allocator may keep it. */
        bar_at_most(place, "serve: KiB more after all malformed lines", after - before, 8 * 1024);
        bar_at_most(place, "serve: cost of a line in the end in that at first", last / first, 1.25);
}

int main(int argc, char **argv)
{
        struct place place;
        const char *const *environment;

        if (argc != 3)
                die("usage: serve DIR LINES");
        place_init(&place, argv[1]);
        environment = bench_environment(&place);
        measure_start(&place, environment);
        measure_commands(&place, environment);
        measure_flood(&place, environment, strtoul(argv[2], NULL, 10));
        return 0;
}
