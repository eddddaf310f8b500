/* What the relay of a list costs: net DIR CONNECTIONS
 *
 * A server on the host's loopback is asked by a client outside and by the same client in a sandbox, in turns: how long it takes from the
 * connect to the first byte, and how much one stream carries; then by the one inside alone: a thousand connections at once, and many one
 * after the other, over which the relay's memory and descriptors must not grow. Inside the server is `127.0.0.1` by an entry with that
 * address, and `host.abatis` by one with the name.
 *
 * All ways are asked in the same rounds, since a figure depends on which processors the scheduler gives to client and server: a connection
 * takes 35 us of two and 57 of one here, and where one part has two and the next has one the two say nothing together. The client outside
 * also asks by way of the least relay that there can be: it accepts, connects and copies, and judges and tells nothing. What that
 * takes no relay takes less than.
 *
 * As `net client` it is the client: it reads "WORD HOST PORT NUMBER" lines and answers each with a figure. */
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

/* Rounds and connects are few enough for the ports of the loopback: each rests for a minute, and without one that is free connect()
 * seeks for milliseconds. */
enum {
        ROUNDS = 24,
        STREAMS = 15,
        CONNECTS = 100,
        AT_ONCE = 1000,
        CONNECTS_MAX = 1000,
        DESCRIPTORS_MAX = 4096
};
#define STREAM_BYTES ((size_t)512 << 20)

enum { NATIVE, LEAST, BY_ADDRESS, BY_NAME, WAYS };
static const char *const names[WAYS] = { "native", "least", "127.0.0.1", "host.abatis" };
static const char *const hosts[WAYS] = { "127.0.0.1", "127.0.0.1", "127.0.0.1", "host.abatis" };

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

static void listen_anywhere(int *listener, unsigned *port)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t size = sizeof address;

        *listener = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(*listener, (struct sockaddr *)&address, size) < 0 || listen(*listener, 4096) < 0 ||
            getsockname(*listener, (struct sockaddr *)&address, &size) < 0)
                die("net: the server cannot listen");
        *port = ntohs(address.sin_port);
}

static pid_t start_server(unsigned *port)
{
        int listener;
        pid_t pid;

        listen_anywhere(&listener, port);
        pid = fork();
        if (!pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                serve(listener);
        }
        close(listener);
        return pid;
}

/* ---- the least relay ------------------------------------------------------------------------------------ */

struct least {
        int epoll, others[DESCRIPTORS_MAX]; /* of each descriptor; -1: it is closed */
        bool is_at_end[DESCRIPTORS_MAX];
};

/* One end says that it is done: the other may still have something to say. */
static void end_one(struct least *least, int from, int to)
{
        least->is_at_end[from] = true;
        if (!least->is_at_end[to]) {
                shutdown(to, SHUT_WR);
                epoll_ctl(least->epoll, EPOLL_CTL_DEL, from, NULL);
                return;
        }
        least->others[to] = least->others[from] = -1;
        close(from);
        close(to);
}

static void copy(struct least *least, int from)
{
        static char bytes[64 * 1024];
        int to = least->others[from];
        ssize_t got = to < 0 ? -1 : recv(from, bytes, sizeof bytes, MSG_DONTWAIT);

        if (got > 0)
                send(to, bytes, (size_t)got, MSG_NOSIGNAL);
        if (!got)
                end_one(least, from, to);
}

static void lead_on(struct least *least, int client, const struct sockaddr_in *server)
{
        struct epoll_event event = { .events = EPOLLIN };
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || fd >= DESCRIPTORS_MAX ||
            connect(fd, (const struct sockaddr *)server, sizeof *server) < 0)
                die("net: the least relay cannot connect");
        least->others[client] = fd;
        least->others[fd] = client;
        least->is_at_end[client] = least->is_at_end[fd] = false;
        for (int i = 0; i < 2; i++) {
                event.data.fd = i ? fd : client;
                epoll_ctl(least->epoll, EPOLL_CTL_ADD, event.data.fd, &event);
        }
        /* Mostly it is there by now. */
        copy(least, client);
}

static _Noreturn void relay(int listener, unsigned port)
{
        static struct least least;
        const struct sockaddr_in server = { .sin_family = AF_INET,
                                            .sin_port = htons((uint16_t)port),
                                            .sin_addr = { htonl(INADDR_LOOPBACK) } };
        struct epoll_event event = { .events = EPOLLIN, .data.fd = listener }, events[64];

        least.epoll = epoll_create1(0);
        epoll_ctl(least.epoll, EPOLL_CTL_ADD, listener, &event);
        for (;;) {
                int count = epoll_wait(least.epoll, events, 64, -1);

                for (int i = 0; i < count; i++)
                        if (events[i].data.fd == listener)
                                lead_on(&least, accept(listener, NULL, NULL), &server);
                        else
                                copy(&least, events[i].data.fd);
        }
}

static pid_t start_least(unsigned server, unsigned *port)
{
        int listener;
        pid_t pid;

        listen_anywhere(&listener, port);
        pid = fork();
        if (!pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                relay(listener, server);
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

static int be_client(void)
{
        char line[256], word, host[128], port[16];
        size_t count;

        while (fgets(line, sizeof line, stdin) &&
               sscanf(line, "%c %127s %15s %zu", &word, host, port, &count) == 4) {
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

static double ask(struct client *client, char word, const char *host, unsigned port, size_t count)
{
        double figure;

        fprintf(client->to, "%c %s %u %zu\n", word, host, port, count);
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

/* Who is asked by each way, and by which port. */
struct ways {
        struct client *clients[WAYS];
        unsigned ports[WAYS];
};

/* Another is the first in each round: who comes after another finds the processors as that one has left them. */
static void take_turns(const struct ways *ways, char word, size_t rounds, size_t count, double *samples[WAYS])
{
        for (size_t i = 0; i < rounds; i++)
                for (size_t k = 0; k < WAYS; k++) {
                        size_t way = (i + k) % WAYS;

                        samples[way][i] = ask(ways->clients[way], word, hosts[way], ways->ports[way], count);
                }
}

static void compare(const struct place *place, const struct ways *ways)
{
        static double first[WAYS][ROUNDS], stream[WAYS][STREAMS];
        double connects[WAYS], speeds[WAYS];
        char text[2][32], name[128];

        take_turns(ways, 'p', ROUNDS, CONNECTS, (double *[WAYS]){ first[0], first[1], first[2], first[3] });
        take_turns(ways, 'g', STREAMS, 1, (double *[WAYS]){ stream[0], stream[1], stream[2], stream[3] });
        for (size_t i = 0; i < WAYS; i++) {
                connects[i] = quantile(first[i], ROUNDS, 0.5);
                speeds[i] = quantile(stream[i], STREAMS, 0.5);
                printf("net: %-12s connect to first byte %6.1f us (quartiles %.1f and %.1f); one stream %5.1f Gbit/s\n",
                       names[i], connects[i], quantile(first[i], ROUNDS, 0.25),
                       quantile(first[i], ROUNDS, 0.75), speeds[i]);
                snprintf(text[0], sizeof *text, "%.1f", connects[i]);
                snprintf(text[1], sizeof *text, "%.1f", speeds[i]);
                figure_write(place, "net", names[i], "first_byte_us", text[0], "gbit_s", text[1], NULL);
        }
        for (size_t i = BY_ADDRESS; i < WAYS; i++) {
                snprintf(name, sizeof name, "net: connect to first byte by %s, of native loopback", names[i]);
                bar_at_most(place, name, connects[i] / connects[NATIVE], 3);
                snprintf(name, sizeof name, "net: one stream by %s, of native loopback", names[i]);
                bar_at_least(place, name, speeds[i] / speeds[NATIVE], 0.5);
        }
}

static void endure(const struct place *place, struct client *inside, unsigned port, size_t connections)
{
        const char *host = hosts[BY_ADDRESS];
        pid_t relay = find_relay(inside->pid);
        double memory, descriptors;

        bar_at_least(place, "net: of 1000 connections at once are answered",
                     ask(inside, 'm', host, port, AT_ONCE), AT_ONCE);
        ask(inside, 'p', host, port, CONNECTS_MAX);
        memory = read_status(relay, "VmRSS:");
        descriptors = read_status(relay, "FDSize:");
        ask(inside, 'p', host, port, connections);
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
        struct ways ways = { { &outside, &outside, &inside, &inside }, { 0 } };
        char entries[WAYS][64];
        unsigned port, least_port;
        pid_t server, least;

        if (argc == 2 && !strcmp(argv[1], "client"))
                return be_client();
        if (argc != 3)
                die("usage: net DIR CONNECTIONS");
        place_init(&place, argv[1]);
        server = start_server(&port);
        least = start_least(port, &least_port);
        for (size_t i = 0; i < WAYS; i++) {
                ways.ports[i] = i == LEAST ? least_port : port;
                snprintf(entries[i], sizeof *entries, "%s:%u", hosts[i], port);
        }
        start_client(&outside, (const char *const[]){ argv[0], "client", NULL });
        start_client(&inside, (const char *const[]){ place.abatis, "run", "--no-audit", "--connect",
                                                     entries[BY_ADDRESS], "--connect", entries[BY_NAME], "--",
                                                     argv[0], "client", NULL });
        compare(&place, &ways);
        endure(&place, &inside, port, strtoul(argv[2], NULL, 10));
        fclose(outside.to);
        fclose(inside.to);
        waitpid(outside.pid, NULL, 0);
        waitpid(inside.pid, NULL, 0);
        kill(server, SIGKILL);
        kill(least, SIGKILL);
        return 0;
}
