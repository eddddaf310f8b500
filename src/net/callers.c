/* callers.c: where the sandbox has no network of its own: answers the broker's questions, and knows who comes in by what it tells.
 *
 * There is one door for each family, on the host's loopback, and anybody on the machine can come to it. A stream is the sandbox's if
 * the broker has told of its port: as long as it is open no other socket has the same one. The broker tells as soon as it has
 * connected, which may be after the stream was accepted. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/list.h"
#include "net/relay.h"

enum {
        ACCEPTS_AT_ONCE = 32,
        QUESTIONS_AT_ONCE = 32,
        CALLERS_MAX = 1024, /* who is half known; beyond that the first of them goes */
        PATIENCE_MS = 3000, /* until the other half comes */
        BACKLOG = 512,
        DNS_PORT = 53,
};

/* One that was told of and has not come yet, or that came and was not told of yet. */
struct caller {
        struct link link;
        struct timer patience;
        struct peer from;
        struct peer to; /* if it was told */
        int fd;         /* owned; -1 if it was told and has not come */
};

/* Of one relay, which lasts as long as its process. */
static struct relay *relay;
static struct watch broker, doors[2]; /* IPv4, IPv6 */
static uint16_t ports[2];
static struct link callers;
static size_t caller_count;

/* ---- who is half known ----------------------------------------------------------------------------------- */

static void forget(struct caller *caller)
{
        loop_stop_timer(&relay->loop, &caller->patience);
        list_remove(&caller->link);
        caller_count--;
        if (caller->fd >= 0)
                close(caller->fd);
        free(caller);
}

static void lose_patience(struct timer *timer)
{
        forget((struct caller *)(void *)((char *)timer - offsetof(struct caller, patience)));
}

static bool is_same(const struct peer *first, const struct peer *second)
{
        return first->port == second->port && address_equals(&first->address, &second->address);
}

/* The one from there, of whichever half; or NULL. */
static struct caller *find(const struct peer *from)
{
        for (struct link *link = callers.next; link != &callers; link = link->next) {
                struct caller *caller = (struct caller *)(void *)link;

                if (is_same(&caller->from, from))
                        return caller;
        }
        return NULL;
}

/* Takes the descriptor. */
static void add(const struct peer *from, const struct peer *to, int fd)
{
        struct caller *caller = calloc(1, sizeof(*caller));

        if (!caller) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        if (caller_count == CALLERS_MAX)
                forget((struct caller *)(void *)callers.next);
        *caller = (struct caller){ .patience = { .fire = lose_patience }, .from = *from, .fd = fd };
        if (to)
                caller->to = *to;
        list_append(&callers, &caller->link);
        caller_count++;
        if (loop_set_timer(&relay->loop, &caller->patience, PATIENCE_MS) < 0)
                forget(caller);
}

/* Takes the descriptor. */
static void begin(int fd, const struct peer *to)
{
        if (to->port == DNS_PORT)
                questions_begin(relay, fd);
        else
                streams_begin(relay, fd, to);
}

/* ---- at the doors ---------------------------------------------------------------------------------------- */

static void come_in(int fd)
{
        struct peer from;
        struct caller *told;

        if (peer_read(fd, true, &from) < 0) {
                close(fd);
                return;
        }
        told = find(&from);
        /* One that came before from the same port has gone since. */
        if (told && told->fd >= 0) {
                forget(told);
                told = NULL;
        }
        if (!told) {
                add(&from, NULL, fd);
                return;
        }
        begin(fd, &told->to);
        forget(told);
}

static void accept_callers(struct watch *watch, uint32_t events)
{
        (void)events;
        for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
                int fd = inside_accept(relay, watch->fd);

                if (fd < 0)
                        return;
                come_in(fd);
        }
}

/* Where a kernel has none of this family there is no door. */
static int open_door(bool is_v6)
{
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } own = { .v6 = { .sin6_family = AF_UNSPEC } };
        const int yes = 1;
        socklen_t size = is_v6 ? sizeof(own.v6) : sizeof(own.v4);
        int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        own.any.sa_family = is_v6 ? AF_INET6 : AF_INET;
        if (is_v6)
                own.v6.sin6_addr = in6addr_loopback;
        else
                own.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        /* Those that are accepted have it, too: an urgent byte must not hide what the relay has to see. */
        if (setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes)) < 0 || bind(fd, &own.any, size) < 0 ||
            listen(fd, BACKLOG) < 0 || getsockname(fd, &own.any, &size) < 0) {
                int error = errno;

                close(fd);
                return -error;
        }
        ports[is_v6] = ntohs(is_v6 ? own.v6.sin6_port : own.v4.sin_port);
        doors[is_v6] = (struct watch){ .fd = fd, .ready = accept_callers };
        return loop_watch(&relay->loop, &doors[is_v6], EPOLLIN);
}

/* ---- the broker ------------------------------------------------------------------------------------------ */

static void tell_refusal(const struct peer *wanted, const struct name *name)
{
        struct relay_event event = { .kind = RELAY_REFUSED,
                                     .object = RELAY_STREAM,
                                     .port = wanted->port,
                                     .has_address = !name,
                                     .address = wanted->address };

        if (name)
                snprintf(event.name, sizeof(event.name), "%s", name->text);
        snprintf(event.problem, sizeof(event.problem),
                 "no entry of network.connect allows this address and port");
        relay_tell(relay, &event);
}

/* It is judged again when it comes: this is for the caller, who is told at once. */
static bool may_come(const struct peer *wanted)
{
        const struct name *name = names_find(relay->names, &wanted->address);

        if (wanted->port == DNS_PORT ||
            (name ? allow_name_port(relay->allow, name->text, TRANSPORT_TCP, wanted->port)
                  : allow_address(relay->allow, &wanted->address, TRANSPORT_TCP, wanted->port)))
                return true;
        tell_refusal(wanted, name);
        return false;
}

static void answer(const struct peer *wanted)
{
        struct stream_verdict verdict = { .error = may_come(wanted) ? 0 : -ECONNREFUSED,
                                          .ports = { ports[0], ports[1] } };

        send(broker.fd, &verdict, sizeof(verdict), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void hear(const struct peer *from, const struct peer *to)
{
        struct caller *come = find(from);
        int fd;

        /* Told twice: what was told last is what it is. */
        if (come && come->fd < 0) {
                forget(come);
                come = NULL;
        }
        if (!come) {
                add(from, to, -1);
                return;
        }
        fd = come->fd;
        come->fd = -1;
        forget(come);
        begin(fd, to);
}

static void hear_broker(struct watch *watch, uint32_t events)
{
        (void)events;
        for (int i = 0; i < QUESTIONS_AT_ONCE; i++) {
                struct stream_request request;
                ssize_t got = recv(watch->fd, &request, sizeof(request), MSG_DONTWAIT);
                struct peer wanted, from;

                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                /* Nobody is left who could ask. */
                if (got != sizeof(request)) {
                        loop_close(&relay->loop, watch);
                        return;
                }
                wanted = (struct peer){ address_unmapped(&request.address), request.port };
                from = (struct peer){ address_unmapped(&request.from), request.from_port };
                if (request.word == STREAM_WANTED)
                        answer(&wanted);
                else
                        hear(&from, &wanted);
        }
}

int callers_start(struct relay *of)
{
        int r, v6;

        relay = of;
        list_init(&callers);
        r = open_door(false);
        v6 = r < 0 ? 0 : open_door(true);
        if (r >= 0 && v6 != -EAFNOSUPPORT && v6 != -EADDRNOTAVAIL)
                r = v6;
        broker = (struct watch){ .fd = relay->inside, .ready = hear_broker };
        return r < 0 ? r : loop_watch(&relay->loop, &broker, EPOLLIN);
}
