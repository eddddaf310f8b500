/* server.c: the loop that serves: it waits for clients, their requests, their commands and their patience, and never for one of them. */
#define _GNU_SOURCE
#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "server/client.h"
#include "server/clock.h"
#include "server/reply.h"
#include "server/socket.h"

enum {
        CLIENTS_MAX = 64,
        PATIENCE_MS = 5 * 1000, /* between a signal and the end of what is neither over nor read by then */
        PAUSE_MS = 100          /* after somebody could not be let in, for want of descriptors */
};

struct server {
        const struct server_options *options; /* borrowed */
        const struct dialect *dialect;        /* borrowed */
        struct cache cache;
        struct client *clients; /* owned */
        struct door door;
        struct pollfd *waits; /* owned */
        short **answers;      /* owned: where it belongs what poll() says to each; borrowed */
        size_t wait_count, wait_capacity;
        short signals_said, door_said;
        bool is_ending;
        int64_t deadline;   /* of that, in milliseconds */
        int64_t door_rests; /* until then */
        int failure;        /* errno: why somebody was not told everything, though he may still read */
};

/* ---- waiting -------------------------------------------------------------------------------------------- */

static bool has_room(struct server *server)
{
        size_t wanted = server->wait_capacity * 2 + 64;
        struct pollfd *waits;
        short **answers;

        if (server->wait_count < server->wait_capacity)
                return true;
        waits = realloc(server->waits, wanted * sizeof(*waits));
        if (waits)
                server->waits = waits;
        answers = realloc(server->answers, wanted * sizeof(*answers));
        if (answers)
                server->answers = answers;
        if (!waits || !answers)
                return false;
        server->wait_capacity = wanted;
        return true;
}

/* No descriptor twice, and none that nobody waits for: the kernel takes no more of them than a process may have open. */
static bool add_wait(struct server *server, int fd, short events, short *answer)
{
        *answer = 0;
        if (fd < 0)
                return true;
        if (!has_room(server))
                return false;
        server->waits[server->wait_count] = (struct pollfd){ fd, events, 0 };
        server->answers[server->wait_count++] = answer;
        return true;
}

static bool add_task_waits(struct server *server, struct task *task, bool wants_events)
{
        bool is_added = add_wait(server, task->state == TASK_RUNS ? abatis_job_fd(task->job) : -1, POLLIN,
                                 &task->job_said);

        for (int i = 0; i < 2; i++)
                is_added &= add_wait(server, wants_events ? task->flows[i].reads : -1, POLLIN,
                                     &task->flows_said[i]);
        return is_added;
}

/* Whether somebody still reads is asked also when there is nothing to write: that is an event of 0. */
static bool add_client_waits(struct server *server, struct client *client)
{
        bool is_socket = client->in == client->out, wants_input = client_wants_input(client);
        int events =
                (outlet_pending(&client->outlet) ? POLLOUT : 0) | (is_socket && wants_input ? POLLIN : 0);
        bool is_added =
                add_wait(server, wants_input && !is_socket ? client->in : -1, POLLIN, &client->in_said);

        is_added &= add_wait(server, client->is_gone ? -1 : client->out, (short)events, &client->out_said);
        for (struct task *task = client->tasks; task && is_added; task = task->next)
                is_added = add_task_waits(server, task, client_wants_events(client));
        return is_added;
}

static bool add_waits(struct server *server)
{
        bool is_added, is_door_open = clock_ms() >= server->door_rests;

        server->wait_count = 0;
        is_added = add_wait(server, server->options->signals, POLLIN, &server->signals_said) &&
                   add_wait(server, is_door_open ? server->door.fd : -1, POLLIN, &server->door_said);
        for (struct client *client = server->clients; client && is_added; client = client->next)
                is_added = add_client_waits(server, client);
        return is_added;
}

/* What poll() said, to whom it is about. */
static void take_readiness(struct server *server)
{
        for (size_t i = 0; i < server->wait_count; i++)
                *server->answers[i] = server->waits[i].revents;
        for (struct client *client = server->clients; client; client = client->next) {
                if (client->in == client->out)
                        client->in_said = client->out_said & POLLIN;
                client->outlet.is_broken |= client->out_said & (POLLERR | POLLHUP | POLLNVAL);
                if (client->out_said & POLLNVAL)
                        client->outlet.why = EBADF;
        }
}

/* How long, in milliseconds, when nothing happens; -1: for ever. Who has been given up on is only waited for. */
static int find_patience(const struct server *server)
{
        int64_t now = clock_ms(), left = server->is_ending && server->deadline ? server->deadline - now : -1;

        if (left < 0 && server->is_ending && server->deadline)
                left = 0;
        if (server->door.fd >= 0 && server->door_rests > now)
                left = server->door_rests - now;
        for (const struct client *client = server->clients; client; client = client->next) {
                int64_t due = client_due(client), wait = due > now ? due - now : 0;

                if (due >= 0 && (left < 0 || wait < left))
                        left = wait;
        }
        return (int)left;
}

static int wait_for_something(struct server *server, bool is_busy, abatis_error *err)
{
        int timeout = is_busy ? 0 : find_patience(server);

        if (!add_waits(server))
                return error_memory(err);
        while (poll(server->waits, (nfds_t)server->wait_count, timeout) < 0)
                if (errno != EINTR)
                        return error_os(err, errno, "cannot wait for clients");
        take_readiness(server);
        return 0;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void give_up(struct server *server)
{
        server->deadline = 0;
        for (struct client *client = server->clients; client; client = client->next) {
                client_kill(client);
                client_leave(client, &server->cache);
        }
}

static void begin_end(struct server *server)
{
        door_close(&server->door);
        if (server->is_ending) { /* asked for a second time: nobody's reading is waited for, either */
                give_up(server);
                return;
        }
        for (struct client *client = server->clients; client; client = client->next) {
                client->is_deaf = true;
                client_cancel(client);
        }
        server->deadline = clock_ms() + PATIENCE_MS;
        server->is_ending = true;
}

static void look_at_end(struct server *server)
{
        const struct server_options *options = server->options;

        if (server->signals_said && options->take_signal(options->signals, options->held))
                begin_end(server);
        if (server->is_ending && server->deadline && clock_ms() >= server->deadline)
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
        bool has_come = server->door_said && server->door.fd >= 0, is_short = false;
        int fd = has_come ? door_accept(&server->door, &is_short) : -1;
        struct client **end = &server->clients;
        unsigned count = 0;

        /* Who waits at the door goes on doing so, and would wake us at once. */
        if (is_short)
                server->door_rests = clock_ms() + PAUSE_MS;
        if (fd < 0)
                return;
        for (; *end; end = &(*end)->next)
                count++;
        if (count >= CLIENTS_MAX) {
                refuse_client(fd);
                return;
        }
        *end = client_new(server->dialect, fd, fd, true);
        if (!*end)
                close(fd);
}

static bool has_place(const struct server *server)
{
        unsigned count = 0;

        for (const struct client *client = server->clients; client; client = client->next)
                count += client_count_running(client);
        return count < server->options->jobs;
}

/* One of each client, so that nobody waits for all of another's: a start takes milliseconds. Who was first is last the next time. */
static void start_tasks(struct server *server)
{
        struct client **end = &server->clients, *first = server->clients;

        for (struct client *client = server->clients; client; client = client->next) {
                struct task *task = has_place(server) ? client_next(client) : NULL;

                if (task)
                        task_start(task, server->dialect, server->options, client, &server->cache);
        }
        if (!first || !first->next)
                return;
        while (*end)
                end = &(*end)->next;
        *end = first;
        server->clients = first->next;
        first->next = NULL;
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
                server->failure = client->outlet.why;
                *at = client->next;
                client_free(client, &server->cache);
        }
}

static void serve_clients(struct server *server)
{
        for (struct client *client = server->clients; client; client = client->next) {
                if (client->outlet.is_broken && !client->is_gone)
                        client_leave(client, &server->cache);
                if (!client->is_gone && !client->is_deaf)
                        client_hear(client, server->options, &server->cache);
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
        bool can_start = has_place(server);

        for (const struct client *client = server->clients; client; client = client->next)
                if (client_has_more(client) || (can_start && client_next(client)))
                        return true;
        return false;
}

static void end(struct server *server)
{
        door_close(&server->door);
        while (server->clients) {
                struct client *client = server->clients;

                server->clients = client->next;
                client_leave(client, &server->cache);
                client_free(client, &server->cache);
        }
        cache_done(&server->cache);
        free(server->waits);
        free(server->answers);
}

int server_run(const struct server_options *options, abatis_error *err)
{
        struct server server = { .options = options, .door.fd = -1 };
        int r = 0;

        server.dialect = options->language == SERVER_MCP ? &mcp_dialect : &lines_dialect;
        if (options->socket)
                r = door_open(&server.door, options->socket, err);
        else if (!(server.clients = client_new(server.dialect, 0, 1, false)))
                r = error_memory(err);
        while (!r && (server.clients || server.door.fd >= 0)) {
                r = wait_for_something(&server, has_more(&server), err);
                if (r < 0)
                        break;
                look_at_end(&server);
                let_in(&server);
                serve_clients(&server);
        }
        /* Of a socket it is the one client's loss. */
        if (!r && server.failure && !options->socket)
                r = error_os(err, server.failure, "cannot write what was answered");
        end(&server);
        return r;
}
