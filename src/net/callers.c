/* callers.c: where the sandbox has no network of its own: answers the broker's questions, and knows who comes in by what it tells.
 *
 * There is one door for each family, on the host's loopback, and anybody on the machine can come to it. A stream is the sandbox's if
 * the broker has told of its port: as long as it is open no other socket has the same one. The broker tells as soon as it has
 * connected, which may be after the stream was accepted. */
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

#include "net/list.h"
#include "net/relay.h"

enum {
        QUESTIONS_AT_ONCE = 32,
        CALLERS_MAX = 1024, /* who is half known, of each half */
        PATIENCE_MS = 3000, /* until the other half comes */
        BACKLOG = 512,
        DNS_PORT = 53,
};

/* One that was told of and has not come yet, or that came and was not told of yet. */
struct caller {
        struct link link;
        struct timer patience;
        struct peer from;
        struct peer to;  /* if it was told, as */
        struct who *who; /* whose it is: owned; or NULL */
        int fd;          /* owned; -1 if it was told and has not come */
};

struct half {
        struct link callers; /* the first came first */
        size_t count;
};

/* Of one relay, which lasts as long as its process. */
static struct relay *relay;
static struct watch broker, doors[2]; /* IPv4, IPv6 */
static uint16_t ports[2];
/* Who has come unannounced may be anybody on the machine: the first of those goes for the next, and nobody who was told of does. Of these,
 * too, the first goes: many connect and close before they have come. */
static struct half told, come;

/* ---- who is half known ----------------------------------------------------------------------------------- */

/* Its descriptor, if it has one, is whose this is. */
static int release(struct caller *caller)
{
        int fd = caller->fd;

        loop_stop_timer(&relay->loop, &caller->patience);
        list_remove(&caller->link);
        (fd < 0 ? &told : &come)->count--;
        who_drop(caller->who);
        free(caller);
        return fd;
}

static void forget(struct caller *caller)
{
        int fd = release(caller);

        if (fd >= 0)
                close(fd);
}

static void lose_patience(struct timer *timer)
{
        forget((struct caller *)(void *)((char *)timer - offsetof(struct caller, patience)));
}

static bool is_same(const struct peer *first, const struct peer *second)
{
        return first->port == second->port && address_equals(&first->address, &second->address);
}

/* The one from there, or NULL. */
static struct caller *find(const struct half *half, const struct peer *from)
{
        for (struct link *link = half->callers.next; link != &half->callers; link = link->next) {
                struct caller *caller = (struct caller *)(void *)link;

                if (is_same(&caller->from, from))
                        return caller;
        }
        return NULL;
}

/* Takes the descriptor, and who it is. */
static void add(struct half *half, const struct caller *as)
{
        struct caller *caller = malloc(sizeof(*caller));

        if (!caller) {
                if (as->fd >= 0)
                        close(as->fd);
                who_drop(as->who);
                return;
        }
        if (half->count == CALLERS_MAX)
                forget((struct caller *)(void *)half->callers.next);
        *caller = *as;
        caller->patience.fire = lose_patience;
        list_append(&half->callers, &caller->link);
        half->count++;
        if (loop_set_timer(&relay->loop, &caller->patience, PATIENCE_MS) < 0)
                forget(caller);
}

/* Takes the descriptor, and who it is. */
static void begin(int fd, const struct peer *from, const struct peer *to, struct who *who)
{
        if (to->port == DNS_PORT)
                questions_begin(relay, fd, who);
        else
                streams_begin(relay, fd, from, to, who);
}

/* ---- at the doors ---------------------------------------------------------------------------------------- */

static void come_in(int fd, const struct peer *from)
{
        struct caller *earlier = find(&come, from), *caller;

        /* One that came before from the same port has gone since. */
        if (earlier)
                forget(earlier);
        caller = find(&told, from);
        if (!caller) {
                add(&come, &(struct caller){ .from = *from, .fd = fd });
                return;
        }
        begin(fd, from, &caller->to, caller->who);
        caller->who = NULL;
        forget(caller);
}

static void accept_caller(struct watch *watch, uint32_t events)
{
        struct peer from;
        int fd = inside_accept(relay, watch->fd, &from);

        (void)events;
        if (fd >= 0)
                come_in(fd, &from);
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
        /* Those that are accepted have it, too: an urgent byte must not hide what the relay has to see, and nothing waits for more. */
        if (setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes)) < 0 ||
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 || bind(fd, &own.any, size) < 0 ||
            listen(fd, BACKLOG) < 0 || getsockname(fd, &own.any, &size) < 0) {
                int error = errno;

                close(fd);
                return -error;
        }
        ports[is_v6] = ntohs(is_v6 ? own.v6.sin6_port : own.v4.sin_port);
        doors[is_v6] = (struct watch){ .fd = fd, .ready = accept_caller };
        return loop_watch(&relay->loop, &doors[is_v6], EPOLLIN);
}

/* ---- the broker ------------------------------------------------------------------------------------------ */

static void tell_refusal(const struct peer *wanted, const struct name *name,
                         const struct stream_request *request)
{
        struct relay_event event = { .kind = RELAY_REFUSED,
                                     .object = RELAY_STREAM,
                                     .pid = request->pid,
                                     .port = wanted->port,
                                     .has_address = !name,
                                     .address = wanted->address };

        if (name)
                snprintf(event.name, sizeof(event.name), "%s", name->text);
        snprintf(event.problem, sizeof(event.problem),
                 "no entry of network.connect allows this address and port");
        if (!repeats_count(relay, &event))
                repeats_tell(relay, &event, who_known(request->pid, request->program));
}

/* It is judged again when it comes: this is for the caller, who is told at once. */
static bool may_come(const struct peer *wanted, const struct stream_request *request)
{
        const struct name *name = names_find(relay->names, &wanted->address);

        if (wanted->port == DNS_PORT ||
            (name ? allow_name_port(relay->allow, name->text, TRANSPORT_TCP, wanted->port)
                  : allow_address(relay->allow, &wanted->address, TRANSPORT_TCP, wanted->port)))
                return true;
        tell_refusal(wanted, name, request);
        return false;
}

static void answer(const struct peer *wanted, const struct stream_request *request)
{
        struct stream_verdict verdict = { .error = may_come(wanted, request) ? 0 : -ECONNREFUSED,
                                          .ports = { ports[0], ports[1] } };

        send(broker.fd, &verdict, sizeof(verdict), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Takes who it is. */
static void hear(const struct peer *from, const struct peer *to, struct who *who)
{
        struct caller *earlier = find(&told, from), *caller = find(&come, from);
        int fd;

        /* Told twice: what was told last is what it is. */
        if (earlier)
                forget(earlier);
        if (!caller) {
                add(&told, &(struct caller){ .from = *from, .to = *to, .who = who, .fd = -1 });
                return;
        }
        fd = release(caller);
        begin(fd, from, to, who);
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
                request.program[sizeof(request.program) - 1] = '\0';
                if (request.word == STREAM_WANTED)
                        answer(&wanted, &request);
                else
                        hear(&from, &wanted, who_known(request.pid, request.program));
        }
}

int callers_start(struct relay *of)
{
        int r, v6;

        relay = of;
        list_init(&told.callers);
        list_init(&come.callers);
        r = open_door(false);
        v6 = r < 0 ? 0 : open_door(true);
        if (r >= 0 && v6 != -EAFNOSUPPORT && v6 != -EADDRNOTAVAIL)
                r = v6;
        broker = (struct watch){ .fd = relay->inside, .ready = hear_broker };
        return r < 0 ? r : loop_watch(&relay->loop, &broker, EPOLLIN);
}
