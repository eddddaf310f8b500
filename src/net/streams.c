/* streams.c: what came in at a door, from there to its end outside; and what came to a published port, from there to its end inside.
 *
 * A stream is judged three times: by the address that was connected to, by the name that its first bytes carry, and by the address
 * that the name leads to outside. Then its bytes pass. Of one to a published port all is known from the start. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dial.h"
#include "net/endpoint.h"
#include "net/hello.h"
#include "net/passage.h"
#include "net/pool.h"
#include "net/relay.h"
#include "net/request.h"

enum {
        PATIENCE_MS = 30 * 1000, /* from the accept until bytes pass */
        TLS_PORT = 443,
        HTTP_PORT = 80,
};

enum stage { STAGE_CHECK, STAGE_RESOLVE, STAGE_DIAL, STAGE_PASS };

struct stream {
        struct watch client, server; /* who has begun it, and with whom */
        struct relay *relay;         /* borrowed, as the name and the rule */
        const struct name *name;
        const char *rule;
        struct who *who; /* owned; or NULL */
        struct stream *previous, *next;
        uint64_t number;
        enum stage stage;
        struct address address; /* that was connected to: in the sandbox, or */
        bool is_outside;        /* the one that it leads to */
        uint16_t port, client_port;
        bool is_inward;          /* from the host to a published port */
        struct request *request; /* owned; only of plain HTTP */
        bool is_refused;         /* in the middle of it: that was told */
        bool is_held;            /* its first answer, until it is known whose it is */
        size_t peeked;           /* how many bytes of a hello have come so far */
        struct lookup *lookup;   /* while it is resolved */
        struct dial dial;
        struct timer patience;  /* until bytes pass, and of what is held */
        struct passage ways[2]; /* from the client, to it */
};

struct streams {
        struct stream *first;
        struct pool pool;
};

#define OWNER(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

int streams_new(struct relay *relay, struct streams **out)
{
        (void)relay;
        *out = calloc(1, sizeof(**out));
        if (!*out)
                return -ENOMEM;
        (*out)->pool.size = sizeof(struct stream);
        return 0;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void tell(const struct stream *stream, enum relay_event_kind kind, const char *problem)
{
        struct relay_event event = { .kind = kind,
                                     .object = RELAY_STREAM,
                                     .stream = stream->number,
                                     .client_port = stream->client_port,
                                     .port = stream->port,
                                     .is_inward = stream->is_inward,
                                     .has_address = !stream->name || stream->is_outside,
                                     .address = stream->address,
                                     .sent = stream->ways[stream->is_inward].passed,
                                     .received = stream->ways[!stream->is_inward].passed };

        if (stream->name)
                snprintf(event.name, sizeof(event.name), "%s", stream->name->text);
        if (stream->rule)
                snprintf(event.rule, sizeof(event.rule), "%s", stream->rule);
        if (stream->is_inward)
                snprintf(event.rule, sizeof(event.rule), "%u", stream->port);
        snprintf(event.problem, sizeof(event.problem), "%s", problem);
        relay_tell_of(stream->relay, &event, stream->who);
}

/* As if nobody had been there. */
static void reset(int fd)
{
        const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void end(struct stream *stream, bool is_broken)
{
        struct relay *relay = stream->relay;
        struct streams *streams = relay->streams;

        if (stream->stage == STAGE_PASS) {
                if (!stream->is_refused)
                        tell(stream, RELAY_CLOSED, "");
                passage_done(&stream->ways[0]);
                passage_done(&stream->ways[1]);
        }
        if (stream->lookup)
                resolver_cancel(stream->lookup);
        dial_stop(&stream->dial);
        loop_stop_timer(&relay->loop, &stream->patience);
        for (int i = 0; i < 2 && is_broken; i++) {
                int fd = i ? stream->server.fd : stream->client.fd;

                if (fd >= 0)
                        reset(fd);
        }
        who_leave(stream->who);
        who_drop(stream->who);
        loop_close(&relay->loop, &stream->client);
        loop_close(&relay->loop, &stream->server);
        request_free(stream->request);
        if (stream->previous)
                stream->previous->next = stream->next;
        else
                streams->first = stream->next;
        if (stream->next)
                stream->next->previous = stream->previous;
        relay->limits.count--;
        pool_give(&streams->pool, stream);
}

void streams_end(struct relay *relay)
{
        while (relay->streams->first)
                end(relay->streams->first, true);
}

void streams_tell(const struct relay *relay)
{
        for (const struct stream *stream = relay->streams->first; stream; stream = stream->next)
                if (stream->ways[0].passed || stream->ways[1].passed)
                        tell(stream, RELAY_PASSING, "");
}

static void refuse(struct stream *stream, const char *problem)
{
        tell(stream, RELAY_REFUSED, problem);
        /* Whoever speaks plain HTTP can be told. */
        if (stream->request && stream->stage != STAGE_PASS) {
                char answer[512];
                int length = snprintf(answer, sizeof(answer),
                                      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
                                      "Connection: close\r\n\r\nabatis: %s\n",
                                      problem);

                send(stream->client.fd, answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
                end(stream, false);
                return;
        }
        end(stream, true);
}

static void fail(struct stream *stream, const char *problem)
{
        tell(stream, RELAY_BROKEN, problem);
        end(stream, true);
}

static void lose_patience(struct timer *timer)
{
        fail(OWNER(struct stream, patience, timer), "nothing came of it in time");
}

/* ---- passing -------------------------------------------------------------------------------------------- */

static uint32_t events_of(const struct passage *reads, const struct passage *writes)
{
        return (reads->wants_read ? EPOLLIN : 0u) | (writes->wants_write ? EPOLLOUT : 0u);
}

/* Tells why it may not go on, if that is why the pumps came back so. */
static bool tell_fault(struct stream *stream, int out, int in)
{
        char problem[RELAY_TEXT_SIZE];

        if (out == -EDQUOT || in == -EDQUOT)
                limits_tell_traffic(stream->relay, problem);
        else if (out == -EACCES && stream->request)
                snprintf(problem, sizeof(problem), "%s", request_problem(stream->request));
        else
                return false;
        tell(stream, RELAY_REFUSED, problem);
        stream->is_refused = true;
        return true;
}

static int watch_both(struct stream *stream)
{
        struct loop *loop = &stream->relay->loop;
        uint32_t held = stream->is_held ? EPOLLIN : 0;
        int r = loop_watch(loop, &stream->client, events_of(&stream->ways[0], &stream->ways[1]));

        return r ? r
                 : loop_watch(loop, &stream->server, events_of(&stream->ways[1], &stream->ways[0]) & ~held);
}

static void pump(struct stream *stream, bool is_out, bool is_in)
{
        int out = is_out ? passage_pump(&stream->ways[0]) : 0,
            in = is_in ? passage_pump(&stream->ways[1]) : 0;
        bool is_whole = !out && !in && stream->ways[0].has_ended && stream->ways[1].has_ended;

        if (tell_fault(stream, out, in) || out || in || is_whole || watch_both(stream) < 0)
                end(stream, !is_whole);
}

/* It was reset. What the server said before that is the client's: why it wants no more, perhaps. */
static void pass_last(struct stream *stream)
{
        uint64_t before;
        int r;

        do {
                before = stream->ways[1].passed;
                r = passage_pump(&stream->ways[1]);
        } while (!r && stream->ways[1].passed != before);
        tell_fault(stream, 0, r);
        end(stream, true);
}

/* Only the way that is ready: what the other waits for has not come. */
static void client_passes(struct stream *stream, uint32_t events)
{
        if (events & EPOLLERR)
                pass_last(stream);
        else
                pump(stream, events & (EPOLLIN | EPOLLHUP), events & (EPOLLOUT | EPOLLHUP));
}

static void release(struct timer *timer)
{
        struct stream *stream = OWNER(struct stream, patience, timer);

        who_leave(stream->who);
        stream->is_held = false;
        pump(stream, false, true);
}

/* Who has his answer may be gone the next moment, and nobody finds out any more who he was. */
static bool hold(struct stream *stream)
{
        if (stream->is_held || stream->ways[1].passed)
                return stream->is_held;
        stream->patience.fire = release;
        stream->is_held = who_await(stream->who, &stream->patience);
        return stream->is_held;
}

static void server_ready(struct watch *watch, uint32_t events)
{
        struct stream *stream = OWNER(struct stream, server, watch);

        if (events & EPOLLERR)
                pass_last(stream);
        else if (events & EPOLLHUP)
                pump(stream, true, true);
        else
                pump(stream, events & EPOLLOUT, events & EPOLLIN && !hold(stream));
}

static void begin_to_pass(struct dial *dial, int fd, const struct address *address)
{
        struct stream *stream = OWNER(struct stream, dial, dial);
        struct allowance *allowance = &stream->relay->limits.allowance;
        const int yes = 1;

        if (fd < 0) {
                fail(stream, strerror(-fd));
                return;
        }
        loop_stop_timer(&stream->relay->loop, &stream->patience);
        if (!stream->is_inward) {
                stream->address = *address;
                stream->is_outside = true;
        }
        stream->server = (struct watch){ .fd = fd, .ready = server_ready };
        stream->stage = STAGE_PASS;
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        passage_init(&stream->ways[0], stream->client.fd, fd, stream->request, allowance);
        passage_init(&stream->ways[1], fd, stream->client.fd, NULL, allowance);
        tell(stream, RELAY_OPENED, "");
        /* Mostly the client has said something by now, and the server has not. */
        pump(stream, true, false);
}

/* ---- whom to connect to --------------------------------------------------------------------------------- */

static void dial(struct stream *stream)
{
        stream->stage = STAGE_DIAL;
        stream->dial.port = stream->port;
        stream->dial.done = begin_to_pass;
        dial_start(&stream->relay->loop, &stream->dial);
}

static void take_addresses(void *user, enum resolver_result result, const struct address *addresses,
                           size_t count)
{
        struct stream *stream = user;
        struct dial *to = &stream->dial;
        char problem[RELAY_TEXT_SIZE];

        stream->lookup = NULL;
        for (size_t i = 0; i < count && result == RESOLVER_FOUND; i++)
                if (targets_allow(stream->relay, true, &addresses[i], TRANSPORT_TCP, stream->port, problem))
                        to->addresses[to->count++] = addresses[i];
        if (to->count) {
                dial(stream);
        } else if (result == RESOLVER_FOUND && count) {
                stream->address = addresses[count - 1];
                stream->is_outside = true;
                refuse(stream, problem);
        } else {
                fail(stream, result == RESOLVER_NO_NAME ? "there is no such name outside"
                                                        : "the host's name servers do not answer");
        }
}

/* A loopback, the host's or the sandbox's own, by whatever family somebody listens there. */
static void dial_loopback(struct stream *stream)
{
        stream->dial.addresses[0] = (struct address){ .bytes = { 127, 0, 0, 1 } };
        stream->dial.addresses[1] = (struct address){ .is_v6 = true, .bytes = { [15] = 1 } };
        stream->dial.count = 2;
        dial(stream);
}

static void find_addresses(struct stream *stream)
{
        char problem[RELAY_TEXT_SIZE];

        if (loop_watch(&stream->relay->loop, &stream->client, 0) < 0) {
                end(stream, true);
                return;
        }
        if (!stream->name) {
                if (!targets_allow(stream->relay, false, &stream->address, TRANSPORT_TCP, stream->port,
                                   problem)) {
                        refuse(stream, problem);
                        return;
                }
                stream->dial.addresses[0] = stream->address;
                stream->dial.count = 1;
                dial(stream);
        } else if (strcmp(stream->name->text, PLACE_HOST) == 0) {
                dial_loopback(stream);
        } else {
                stream->stage = STAGE_RESOLVE;
                stream->lookup =
                        resolver_ask(stream->relay->resolver, stream->name->text, take_addresses, stream);
                if (!stream->lookup)
                        end(stream, true);
        }
}

/* ---- what its first bytes say --------------------------------------------------------------------------- */

static const char *find_problem(const struct stream *stream, const struct hello *hello)
{
        switch (hello->kind) {
        case HELLO_NEEDS_MORE:
                return NULL;
        case HELLO_NO_NAME:
                return "a TLS client that names nobody";
        case HELLO_MALFORMED:
                return hello->reason;
        case HELLO_TOO_LONG:
                return "the first message of TLS is too long";
        case HELLO_NAME:
                break;
        }
        return strcmp(hello->name, stream->name->text) == 0
                       ? NULL
                       : "a TLS client that names another host than was asked for";
}

/* They stay in the socket, to be passed on. */
static void look_at_hello(struct stream *stream)
{
        static uint8_t bytes[HELLO_MAX + 1];
        ssize_t got = recv(stream->client.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        struct hello hello;
        const char *problem;
        int more;

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) {
                end(stream, true);
                return;
        }
        hello = hello_read(bytes, (size_t)got);
        problem = find_problem(stream, &hello);
        /* Nothing more comes. */
        if (hello.kind == HELLO_NEEDS_MORE && (size_t)got <= stream->peeked) {
                refuse(stream, "the first message of TLS is not whole");
                return;
        }
        stream->peeked = (size_t)got;
        /* Or it would be ready all the time. */
        more = hello.kind == HELLO_NEEDS_MORE ? (int)got + 1 : 1;
        setsockopt(stream->client.fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more));
        if (problem)
                refuse(stream, problem);
        else if (hello.kind != HELLO_NEEDS_MORE)
                find_addresses(stream);
}

static void look_at_request(struct stream *stream)
{
        int r = request_read(stream->request, stream->client.fd);

        if (r == -EACCES)
                refuse(stream, request_problem(stream->request));
        else if (r < 0 || (request_is_at_end(stream->request) && !request_is_good(stream->request)))
                end(stream, true);
        else if (request_is_good(stream->request))
                find_addresses(stream);
}

static void client_ready(struct watch *watch, uint32_t events)
{
        struct stream *stream = OWNER(struct stream, client, watch);

        if (stream->stage == STAGE_PASS)
                client_passes(stream, events);
        else if (events & (EPOLLERR | EPOLLHUP))
                end(stream, true);
        else if (stream->request)
                look_at_request(stream);
        else
                look_at_hello(stream);
}

/* ---- the beginning -------------------------------------------------------------------------------------- */

static void find_rule(struct stream *stream, const struct peer *from, const struct peer *to)
{
        stream->address = to->address;
        stream->port = to->port;
        stream->client_port = from->port;
        if (!stream->who)
                stream->who = who_ask(stream->relay, &(struct who_question){ .client = from->address,
                                                                             .client_port = from->port,
                                                                             .address = to->address,
                                                                             .port = to->port });
        stream->name = names_find(stream->relay->names, &stream->address);
        stream->rule = stream->name ? allow_name_port(stream->relay->allow, stream->name->text, TRANSPORT_TCP,
                                                      stream->port)
                                    : allow_address(stream->relay->allow, &stream->address, TRANSPORT_TCP,
                                                    stream->port);
}

static struct stream *add(struct relay *relay, int client)
{
        struct streams *streams = relay->streams;
        struct stream *stream = pool_take(&streams->pool);

        if (!stream)
                return NULL;
        *stream = (struct stream){ .relay = relay,
                                   .client = { .fd = client, .ready = client_ready },
                                   .server = { .fd = -1 },
                                   .number = ++relay->limits.last_number,
                                   .patience = { .fire = lose_patience },
                                   .next = streams->first };
        if (streams->first)
                streams->first->previous = stream;
        streams->first = stream;
        relay->limits.count++;
        return stream;
}

/* Its first bytes are looked at: 1. They need not be: 0. Or a negative errno. */
static int begin_check(struct stream *stream)
{
        struct relay *relay = stream->relay;
        int r;

        if (!stream->name || !relay->settings.checks_names ||
            (stream->port != HTTP_PORT && stream->port != TLS_PORT))
                return 0;
        if (stream->port == HTTP_PORT) {
                stream->request = request_new(stream->name->text, stream->port);
                if (!stream->request)
                        return -ENOMEM;
        }
        r = loop_watch(&relay->loop, &stream->client, EPOLLIN);
        return r < 0 ? r : 1;
}

void streams_begin(struct relay *relay, int client, const struct peer *from, const struct peer *to,
                   struct who *who)
{
        struct stream *stream = add(relay, client);
        char problem[RELAY_TEXT_SIZE];
        int r;

        if (!stream) {
                close(client);
                who_drop(who);
                return;
        }
        stream->who = who;
        find_rule(stream, from, to);
        if (loop_set_timer(&relay->loop, &stream->patience, PATIENCE_MS) < 0) {
                end(stream, true);
                return;
        }
        if (!stream->rule) {
                refuse(stream, "no entry of network.connect allows this address and port");
                return;
        }
        if (!limits_begin(relay, problem)) {
                refuse(stream, problem);
                return;
        }
        r = begin_check(stream);
        if (r < 0)
                end(stream, true);
        else if (!r)
                find_addresses(stream);
}

/* ---- from the host -------------------------------------------------------------------------------------- */

static int begin_inside(struct dial *dial, const struct address *address)
{
        return inside_socket(OWNER(struct stream, dial, dial)->relay, SOCKET_CONNECTS, address, dial->port);
}

void streams_admit(struct relay *relay, int client, const struct peer *from, uint16_t port)
{
        struct stream *stream = add(relay, client);
        char problem[RELAY_TEXT_SIZE];

        if (!stream) {
                close(client);
                return;
        }
        stream->is_inward = true;
        stream->port = port;
        stream->dial.begin = begin_inside;
        stream->address = from->address;
        stream->client_port = from->port;
        if (loop_set_timer(&relay->loop, &stream->patience, PATIENCE_MS) < 0) {
                end(stream, true);
                return;
        }
        if (limits_begin(relay, problem))
                dial_loopback(stream);
        else
                refuse(stream, problem);
}
