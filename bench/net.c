/* What the relay of a list costs: net DIR CONNECTIONS
 *
 * A server on the host's loopback is asked by a client outside and by the same client in a sandbox, in turns: how long it takes from the
 * connect to the first byte, and how much one stream carries; then by the one inside alone: a thousand connections at once, and many one
 * after the other, over which the relay's memory and descriptors must not grow. Inside the server is `127.0.0.1` by an entry with that
 * address, and `host.abatis` by one with the name.
 *
 * As `net client PORT` it is the client: it reads "WORD HOST NUMBER" lines and answers each with a figure. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 15, CONNECTS = 100, AT_ONCE = 1000, CONNECTS_MAX = 1000, HOSTS = 2 };
#define STREAM_BYTES ((size_t)512 << 20)

static const char *const hosts[HOSTS] = { "127.0.0.1", "host.abatis" };

/* ---- the server ----------------------------------------------------------------------------------------- */

static void send_much(int fd)
{
        static char bytes[256 * 1024];

        for (size_t left = STREAM_BYTES; left;) {
                ssize_t gone = send(fd, bytes, left < sizeof bytes ? left : sizeof bytes, MSG_NOSIGNAL);

                if (gone <= 0)
                        _exit(1);
                left -= (size_t)gone;
        }
        _exit(0);
}

/* Whoever says "p" is answered, whoever says "g" is given much by a process of his own. */
static void answer(int epoll, int fd)
{
        char word;

        if (recv(fd, &word, 1, 0) == 1 && word == 'p') {
                send(fd, &word, 1, MSG_NOSIGNAL);
                return;
        }
        if (word == 'g' && !fork())
                send_much(fd);
        epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
        close(fd);
}

static _Noreturn void serve(int listener)
{
        struct epoll_event event = { .events = EPOLLIN, .data.fd = listener }, events[64];
        int epoll = epoll_create1(0);

        signal(SIGCHLD, SIG_IGN);
        epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
        for (;;) {
                int count = epoll_wait(epoll, events, 64, -1);

                for (int i = 0; i < count; i++) {
                        if (events[i].data.fd != listener) {
                                answer(epoll, events[i].data.fd);
                                continue;
                        }
                        event.data.fd = accept(listener, NULL, NULL);
                        if (event.data.fd >= 0)
                                epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
                }
        }
}

static pid_t start_server(unsigned *port)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t size = sizeof address;
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        pid_t pid;

        if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0 ||
            getsockname(listener, (struct sockaddr *)&address, &size) < 0)
                die("net: the server cannot listen");
        *port = ntohs(address.sin_port);
        pid = fork();
        if (!pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                serve(listener);
        }
        close(listener);
        return pid;
}

/* ---- the client ----------------------------------------------------------------------------------------- */

static int begin(const struct sockaddr_in *address, char word)
{
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
            send(fd, &word, 1, MSG_NOSIGNAL) != 1)
                die("net: a connection failed: %m");
        return fd;
}

static double time_connects(const struct sockaddr_in *address, size_t count)
{
        static double samples[CONNECTS_MAX];
        char word;

        for (size_t i = 0; i < count; i++) {
                double begun = now_us();
                int fd = begin(address, 'p');

                if (recv(fd, &word, 1, 0) != 1)
                        die("net: no answer");
                samples[i % CONNECTS_MAX] = now_us() - begun;
                close(fd);
        }
        return quantile(samples, count < CONNECTS_MAX ? count : CONNECTS_MAX, 0.5);
}

static double time_stream(const struct sockaddr_in *address)
{
        static char bytes[256 * 1024];
        size_t all = 0;
        double begun = now_us();
        int fd = begin(address, 'g');
        ssize_t got;

        while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0)
                all += (size_t)got;
        close(fd);
        if (all != STREAM_BYTES)
                die("net: %zu bytes came", all);
        return (double)all * 8 / 1000 / (now_us() - begun);
}

static double ask_at_once(const struct sockaddr_in *address, size_t count)
{
        static int fds[AT_ONCE];
        double answered = 0;
        char word;

        for (size_t i = 0; i < count; i++)
                fds[i] = begin(address, 'p');
        for (size_t i = 0; i < count; i++) {
                answered += recv(fds[i], &word, 1, 0) == 1;
                close(fds[i]);
        }
        return answered;
}

static int be_client(const char *port)
{
        char line[256], word, host[128];
        size_t count;

        while (fgets(line, sizeof line, stdin) && sscanf(line, "%c %127s %zu", &word, host, &count) == 3) {
                const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
                struct addrinfo *found;
                struct sockaddr_in address;

                if (getaddrinfo(host, port, &hints, &found))
                        die("net: %s is not found", host);
                memcpy(&address, found->ai_addr, sizeof address);
                freeaddrinfo(found);
                printf("%f\n", word == 'p'   ? time_connects(&address, count)
                               : word == 'g' ? time_stream(&address)
                                             : ask_at_once(&address, count));
                fflush(stdout);
        }
        return 0;
}

/* ---- the comparison ------------------------------------------------------------------------------------- */

struct client {
        pid_t pid;
        FILE *to, *from;
};

static void start_client(struct client *client, const char *const *words)
{
        int in[2], out[2];

        if (pipe(in) < 0 || pipe(out) < 0)
                die("net: no pipe");
        client->pid = fork();
        if (!client->pid) {
                dup2(in[0], 0);
                dup2(out[1], 1);
                for (int fd = 3; fd < 64; fd++)
                        close(fd);
                execv(words[0], (char **)words);
                _exit(127);
        }
        close(in[0]);
        close(out[1]);
        client->to = fdopen(in[1], "w");
        client->from = fdopen(out[0], "r");
}

static double ask(struct client *client, char word, const char *host, size_t count)
{
        double figure;

        fprintf(client->to, "%c %s %zu\n", word, host, count);
        fflush(client->to);
        if (fscanf(client->from, "%lf", &figure) != 1)
                die("net: a client does not answer");
        return figure;
}

/* A line of a process's status, as a number. */
static double read_status(pid_t pid, const char *key)
{
        char path[64], line[256];
        double value = -1;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
                if (!strncmp(line, key, strlen(key)))
                        value = strtod(line + strlen(key), NULL);
        if (file)
                fclose(file);
        return value;
}

static pid_t find_relay(pid_t parent)
{
        char line[256];
        int relay = 0;
        FILE *list;

        snprintf(line, sizeof line, "pgrep -P %d -x 'abatis relay'", (int)parent);
        list = popen(line, "r");
        if (!list || fscanf(list, "%d", &relay) != 1)
                die("net: there is no relay");
        pclose(list);
        return relay;
}

static void compare(const struct place *place, struct client *outside, struct client *inside,
                    const char *host)
{
        double first[2][ROUNDS], stream[2][ROUNDS], connects[2], speeds[2];
        char text[4][32], name[128];

        for (size_t i = 0; i < ROUNDS; i++) {
                first[0][i] = ask(outside, 'p', hosts[0], CONNECTS);
                first[1][i] = ask(inside, 'p', host, CONNECTS);
        }
        for (size_t i = 0; i < ROUNDS; i++) {
                stream[0][i] = ask(outside, 'g', hosts[0], 1);
                stream[1][i] = ask(inside, 'g', host, 1);
        }
        for (size_t i = 0; i < 2; i++) {
                connects[i] = quantile(first[i], ROUNDS, 0.5);
                speeds[i] = quantile(stream[i], ROUNDS, 0.5);
                snprintf(text[i], sizeof *text, "%.1f", connects[i]);
                snprintf(text[2 + i], sizeof *text, "%.1f", speeds[i]);
        }
        printf("net: %-12s connect to first byte %6.1f us, native %6.1f; one stream %5.1f Gbit/s, native %5.1f\n",
               host, connects[1], connects[0], speeds[1], speeds[0]);
        figure_write(place, "net", host, "first_byte_us", text[1], "native_first_byte_us", text[0], "gbit_s",
                     text[3], "native_gbit_s", text[2], NULL);
        snprintf(name, sizeof name, "net: connect to first byte by %s, of native loopback", host);
        bar_at_most(place, name, connects[1] / connects[0], 3);
        snprintf(name, sizeof name, "net: one stream by %s, of native loopback", host);
        bar_at_least(place, name, speeds[1] / speeds[0], 0.5);
}

static void endure(const struct place *place, struct client *inside, size_t connections)
{
        pid_t relay = find_relay(inside->pid);
        double memory, descriptors;

        bar_at_least(place, "net: of 1000 connections at once are answered",
                     ask(inside, 'm', hosts[0], AT_ONCE), AT_ONCE);
        ask(inside, 'p', hosts[0], CONNECTS_MAX);
        memory = read_status(relay, "VmRSS:");
        descriptors = read_status(relay, "FDSize:");
        ask(inside, 'p', hosts[0], connections);
        printf("net: relay %.0f KiB, after %zu connections more %.0f KiB\n", memory, connections,
               read_status(relay, "VmRSS:"));
        bar_at_most(place, "net: KiB by which the relay grew", read_status(relay, "VmRSS:") - memory, 256);
        bar_at_most(place, "net: growth of its table of descriptors",
                    read_status(relay, "FDSize:") - descriptors, 0);
}

int main(int argc, char **argv)
{
        struct place place;
        struct client outside, inside;
        char port[16], entries[HOSTS][64];
        unsigned number;
        pid_t server;

        if (argc == 3 && !strcmp(argv[1], "client"))
                return be_client(argv[2]);
        if (argc != 3)
                die("usage: net DIR CONNECTIONS");
        place_init(&place, argv[1]);
        server = start_server(&number);
        snprintf(port, sizeof port, "%u", number);
        for (size_t i = 0; i < HOSTS; i++)
                snprintf(entries[i], sizeof *entries, "%s:%u", hosts[i], number);
        start_client(&outside, (const char *const[]){ argv[0], "client", port, NULL });
        start_client(&inside,
                     (const char *const[]){ place.abatis, "run", "--no-audit", "--connect", entries[0],
                                            "--connect", entries[1], "--", argv[0], "client", port, NULL });
        for (size_t i = 0; i < HOSTS; i++)
                compare(&place, &outside, &inside, hosts[i]);
        endure(&place, &inside, strtoul(argv[2], NULL, 10));
        fclose(outside.to);
        fclose(inside.to);
        waitpid(outside.pid, NULL, 0);
        waitpid(inside.pid, NULL, 0);
        kill(server, SIGKILL);
        return 0;
}
