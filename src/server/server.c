/* server.c: the loop that serves: it waits for clients, their requests, their commands and their patience, and never for one of them. */
#define _GNU_SOURCE
#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "server/client.h"
#include "server/reply.h"
#include "server/socket.h"

enum {
        CLIENTS_MAX = 64,
        PATIENCE_MS = 5 * 1000 /* between a signal and the end of what is neither over nor read by then */
};

struct server {
        const struct server_options *options; /* borrowed */
        struct cache cache;
        struct client *clients; /* owned */
        struct door door;
        struct pollfd *waits; /* owned */
        size_t wait_count, wait_capacity;
        bool is_ending;
        int64_t deadline; /* of that, in milliseconds */
};

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- waiting -------------------------------------------------------------------------------------------- */

/* In the order in which take_readiness() asks. A negative descriptor is one that nobody waits for. */
static void add_wait(struct server *server, int fd, short events)
{
        server->waits[server->wait_count++] = (struct pollfd){ fd, events, 0 };
}

static bool has_room_for(struct server *server, size_t wanted)
{
        struct pollfd *waits;

        if (wanted <= server->wait_capacity)
                return true;
        waits = realloc(server->waits, wanted * 2 * sizeof(*waits));
        if (!waits)
                return false;
        server->waits = waits;
        server->wait_capacity = wanted * 2;
        return true;
}

static size_t count_waits(const struct server *server)
{
        size_t count = 2;

        for (const struct client *client = server->clients; client; client = client->next) {
                count += 2;
                for (const struct task *task = client->tasks; task; task = task->next)
                        count += 3;
        }
        return count;
}

static void add_task_waits(struct server *server, const struct task *task, bool wants_events)
{
        add_wait(server, task->state == TASK_RUNS ? abatis_job_fd(task->job) : -1, POLLIN);
        for (int i = 0; i < 2; i++)
                add_wait(server, wants_events ? task->flows[i].reads : -1, POLLIN);
}

/* Whether somebody still reads is asked also when there is nothing to write: that is an event of 0. */
static void add_waits(struct server *server)
{
        server->wait_count = 0;
        add_wait(server, server->options->signals, POLLIN);
        add_wait(server, server->door.fd, POLLIN);
        for (const struct client *client = server->clients; client; client = client->next) {
                add_wait(server, client_wants_input(client) ? client->in : -1, POLLIN);
                add_wait(server, client->is_gone ? -1 : client->out,
                         outlet_pending(&client->outlet) ? POLLOUT : 0);
                for (const struct task *task = client->tasks; task; task = task->next)
                        add_task_waits(server, task, client_wants_events(client));
        }
}

/* What poll() said, to whom it is about. */
static void take_readiness(struct server *server)
{
        const struct pollfd *wait = server->waits + 2;

        for (struct client *client = server->clients; client; client = client->next) {
                client->is_in_ready = wait++->revents;
                client->outlet.is_broken |= wait++->revents & (POLLERR | POLLHUP | POLLNVAL);
                for (struct task *task = client->tasks; task; task = task->next) {
                        task->is_job_ready = wait++->revents;
                        task->is_flow_ready[0] = wait++->revents;
                        task->is_flow_ready[1] = wait++->revents;
                }
        }
}

static int wait_for_something(struct server *server, abatis_error *err)
{
        int64_t left = server->deadline - now_ms();
        int timeout = !server->is_ending ? -1 : left > 0 ? (int)left : 0;

        /* Who has been given up on is only waited for. */
        if (server->is_ending && !server->deadline)
                timeout = -1;
        if (!has_room_for(server, count_waits(server)))
                return error_memory(err);
        add_waits(server);
        while (poll(server->waits, (nfds_t)server->wait_count, timeout) < 0)
                if (errno != EINTR)
                        return error_os(err, errno, "cannot wait for clients");
        take_readiness(server);
        return 0;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void begin_end(struct server *server)
{
        door_close(&server->door);
        for (struct client *client = server->clients; client; client = client->next) {
                client->is_deaf = true;
                client_cancel(client);
                if (server->is_ending)
                        client_kill(client); /* asked for a second time */
        }
        if (!server->is_ending)
                server->deadline = now_ms() + PATIENCE_MS;
        server->is_ending = true;
}

static void give_up(struct server *server)
{
        server->deadline = 0;
        for (struct client *client = server->clients; client; client = client->next) {
                client_kill(client);
                client_leave(client, &server->cache);
        }
}

static void look_at_end(struct server *server)
{
        const struct server_options *options = server->options;

        if (server->waits[0].revents && options->take_signal(options->signals, options->held))
                begin_end(server);
        if (server->is_ending && server->deadline && now_ms() >= server->deadline)
                give_up(server);
}

/* ---- clients -------------------------------------------------------------------------------------------- */

static void refuse_client(int fd)
{
        OWN_TEXT struct text text = { 0 };
        abatis_error err;

        error_set(&err, PROTOCOL_BUSY, "there are %d clients already", CLIENTS_MAX);
        reply_error(&text, NULL, &err);
        if (!text.has_failed)
                (void)!write(fd, text.data, text.length); /* fits into a new socket */
        close(fd);
}

static void let_in(struct server *server)
{
        int fd = server->waits[1].revents && server->door.fd >= 0 ? door_accept(&server->door) : -1;
        struct client **end = &server->clients;
        unsigned count = 0;

        if (fd < 0)
                return;
        for (; *end; end = &(*end)->next)
                count++;
        if (count >= CLIENTS_MAX) {
                refuse_client(fd);
                return;
        }
        *end = client_new(fd, fd, true);
        if (!*end)
                close(fd);
}

static unsigned count_started(const struct server *server)
{
        unsigned count = 0;

        for (const struct client *client = server->clients; client; client = client->next)
                count += client_count_started(client);
        return count;
}

/* One of each client in turn, so that nobody waits for all of another's. */
static void start_tasks(struct server *server)
{
        unsigned started = count_started(server);
        bool has_started = true;

        while (has_started) {
                has_started = false;
                for (struct client *client = server->clients; client; client = client->next) {
                        struct task *task = client_next(client);

                        if (!task || started >= server->options->jobs)
                                continue;
                        task_start(task, server->options->program, client, &server->cache);
                        started++;
                        has_started = true;
                }
        }
}

static void drop_finished(struct server *server)
{
        for (struct client **at = &server->clients; *at;) {
                struct client *client = *at;

                if (!client_is_finished(client)) {
                        at = &client->next;
                        continue;
                }
                client_leave(client, &server->cache); /* its sessions */
                *at = client->next;
                client_free(client);
        }
}

static void serve_clients(struct server *server)
{
        for (struct client *client = server->clients; client; client = client->next) {
                if (client->outlet.is_broken && !client->is_gone)
                        client_leave(client, &server->cache);
                if (!client->is_gone && !client->is_deaf)
                        client_hear(client, server->options->program, &server->cache);
                client_advance(client, &server->cache);
        }
        start_tasks(server);
        for (struct client *client = server->clients; client; client = client->next) {
                /* What could not be started is answered, and makes room for others. */
                client_advance(client, &server->cache);
                outlet_flush(&client->outlet);
        }
        drop_finished(server);
}

/* Something can be done though nobody has become ready: there is room again for what was held back. */
static bool has_more(const struct server *server)
{
        bool has_place = count_started(server) < server->options->jobs;

        for (const struct client *client = server->clients; client; client = client->next)
                if (client_has_more(client) || (has_place && client_next(client)))
                        return true;
        return false;
}

int server_run(const struct server_options *options, abatis_error *err)
{
        struct server server = { .options = options, .door.fd = -1 };
        int r = 0;

        if (options->socket)
                r = door_open(&server.door, options->socket, err);
        else if (!(server.clients = client_new(0, 1, false)))
                r = error_memory(err);
        while (!r && (server.clients || server.door.fd >= 0)) {
                r = wait_for_something(&server, err);
                if (r < 0)
                        break;
                look_at_end(&server);
                let_in(&server);
                do
                        serve_clients(&server);
                while (has_more(&server));
        }
        door_close(&server.door);
        cache_done(&server.cache);
        free(server.waits);
        return r;
}
