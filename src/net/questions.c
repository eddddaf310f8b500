/* questions.c: answers the DNS questions of the sandbox, whatever server they were meant for.
 *
 * A name that the list allows exists, and has the address that stands for it; any other does not. Nothing else is said, so nothing
 * can be asked of the outside in this way. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns.h"
#include "net/relay.h"

enum {
        PORT = 53,
        TTL = 60,
        CLIENTS_MAX = 64, /* over TCP, at once; the one that came first goes */
        PATIENCE_MS = 10 * 1000,
        DATAGRAMS_AT_ONCE = 64,
        TOLD_MAX = 64, /* names that were refused last */
        LENGTH = 2,    /* bytes that stand before a message over TCP */
};

/* Who asks over TCP: hardly anybody does, so these are few. */
struct client {
        struct watch watch;
        struct timer patience;
        uint8_t bytes[LENGTH + 1024];
        size_t length;
        struct who *who; /* owned; or NULL */
};

/* Whose a question is. */
struct asker {
        bool is_datagram;
        struct who_question question; /* that would find him, by a datagram */
        struct who *who;              /* borrowed; or NULL: by a stream */
};

struct questions {
        struct relay *relay;       /* borrowed */
        struct watch datagrams[2]; /* IPv4, IPv6 */
        struct watch doors[2];
        struct client *clients[CLIENTS_MAX];
        size_t next;
};

/* Of one relay, which lasts as long as its process. */
static struct questions questions;

/* Most ask twice, for both families: that is one refusal. */
static bool was_told(const char *name)
{
        static char told[TOLD_MAX][HOST_NAME_SIZE];
        static size_t next;

        for (size_t i = 0; i < TOLD_MAX; i++)
                if (strcmp(told[i], name) == 0)
                        return true;
        snprintf(told[next], sizeof(told[next]), "%s", name);
        next = (next + 1) % TOLD_MAX;
        return false;
}

/* Programs ask of themselves whose an address is, and resolvers ask for one word alone, or for the machine's own name: nobody has meant
 * to connect there. */
static bool is_idle(const char *name)
{
        return !strchr(name, '.') || host_name_is_below(name, "in-addr.arpa") ||
               host_name_is_below(name, "ip6.arpa");
}

static void tell_refusal(struct relay *relay, const char *name, const struct asker *asker)
{
        struct relay_event event = { .kind = RELAY_REFUSED, .object = RELAY_NAME };
        struct who *found;

        /* A name that is no host's is read as "". It was written by hand. */
        if ((*name && is_idle(name)) || was_told(name))
                return;
        snprintf(event.name, sizeof(event.name), "%s", name);
        snprintf(event.problem, sizeof(event.problem), "no entry of network.connect has this name");
        found = asker->is_datagram ? who_ask(relay, &asker->question) : NULL;
        who_pause(found);
        relay_tell_of(relay, &event, asker->is_datagram ? found : asker->who);
        who_drop(found);
}

/* The sandbox has one of its own. */
static const struct address loopback[] = { { .bytes = { 127, 0, 0, 1 } },
                                           { .is_v6 = true, .bytes = { [15] = 1 } } };

static bool is_loopback(const char *name)
{
        return strcmp(name, "localhost") == 0 || host_name_is_below(name, "localhost");
}

/* What to say, and to whom the name leads; 0 if nothing is to be said at all. */
static size_t answer(struct relay *relay, const uint8_t *bytes, size_t length, const struct asker *asker,
                     uint8_t *out, size_t size)
{
        struct dns_reply reply = { .rcode = DNS_NXDOMAIN, .ttl = TTL };
        struct dns_query query;
        struct name *name;

        if (!dns_read_query(bytes, length, &query))
                return 0;
        if (query.fault != DNS_NOERROR) {
                reply.rcode = query.fault;
        } else if (is_loopback(query.name)) {
                reply.rcode = DNS_NOERROR;
                reply.addresses = loopback;
                reply.count = 2;
        } else if (*query.name && allow_name(relay->allow, query.name)) {
                name = names_give(relay->names, query.name);
                /* Before the answer: whoever has it may connect at once. */
                reply.rcode = name && (relay->settings.is_asked || doors_open_for_name(relay, name) == 0)
                                      ? DNS_NOERROR
                                      : DNS_SERVFAIL;
                reply.addresses = name ? name->addresses : NULL;
                reply.count = name ? 2 : 0;
        } else {
                tell_refusal(relay, query.name, asker);
        }
        if (asker->is_datagram && size > query.payload)
                size = query.payload;
        return dns_write_reply(&query, &reply, out, size);
}

/* ---- datagrams ------------------------------------------------------------------------------------------ */

/* The answer must come from the address that was asked. */
static void answer_from(struct msghdr *message)
{
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
                if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
                        struct in_pktinfo *info = (void *)CMSG_DATA(header);

                        info->ipi_spec_dst = info->ipi_addr;
                        info->ipi_ifindex = 0;
                }
                if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
                        struct in6_pktinfo *info = (void *)CMSG_DATA(header);

                        info->ipi6_ifindex = 0;
                }
        }
}

/* After answer_from(): who has sent this, and to whom. */
static struct who_question read_asker(struct msghdr *message)
{
        const struct sockaddr_in *v4 = message->msg_name;
        const struct sockaddr_in6 *v6 = message->msg_name;
        const bool is_v6 = v6->sin6_family == AF_INET6;
        struct who_question asker = { .is_udp = true,
                                      .client = { .is_v6 = is_v6 },
                                      .address = { .is_v6 = is_v6 },
                                      .client_port = ntohs(is_v6 ? v6->sin6_port : v4->sin_port),
                                      .port = PORT };

        memcpy(asker.client.bytes, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, is_v6 ? 16 : 4);
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
                if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO)
                        memcpy(asker.address.bytes,
                               &((struct in_pktinfo *)(void *)CMSG_DATA(header))->ipi_addr, 4);
                if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO)
                        memcpy(asker.address.bytes,
                               &((struct in6_pktinfo *)(void *)CMSG_DATA(header))->ipi6_addr, 16);
        }
        return asker;
}

static void receive_datagrams(struct watch *watch, uint32_t events)
{
        (void)events;
        for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
                uint8_t question[DNS_PAYLOAD_MAX + 1], reply[DNS_PAYLOAD_MAX];
                char control[128] __attribute__((aligned(8)));
                struct sockaddr_storage from;
                struct asker asker = { .is_datagram = true };
                struct iovec part = { question, sizeof(question) };
                struct msghdr message = { .msg_name = &from,
                                          .msg_namelen = sizeof(from),
                                          .msg_iov = &part,
                                          .msg_iovlen = 1,
                                          .msg_control = control,
                                          .msg_controllen = sizeof(control) };
                ssize_t got = recvmsg(watch->fd, &message, MSG_DONTWAIT);

                if (got < 0)
                        return;
                answer_from(&message);
                asker.question = read_asker(&message);
                part.iov_len = answer(questions.relay, question, (size_t)got, &asker, reply, sizeof(reply));
                part.iov_base = reply;
                if (part.iov_len)
                        sendmsg(watch->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
}

/* ---- streams -------------------------------------------------------------------------------------------- */

static void dismiss(struct client *client)
{
        struct loop *loop = &questions.relay->loop;

        for (size_t i = 0; i < CLIENTS_MAX; i++)
                if (questions.clients[i] == client)
                        questions.clients[i] = NULL;
        who_drop(client->who);
        loop_stop_timer(loop, &client->patience);
        loop_close(loop, &client->watch);
        free(client);
}

static void lose_patience(struct timer *timer)
{
        dismiss((struct client *)(void *)((char *)timer - offsetof(struct client, patience)));
}

/* True if it goes on. A reply is short, so the socket takes it whole or the client does not read. */
static bool answer_client(struct client *client)
{
        const struct asker asker = { .who = client->who };
        uint8_t reply[LENGTH + DNS_PAYLOAD_MAX];
        size_t wanted = LENGTH + ((size_t)client->bytes[0] << 8 | client->bytes[1]), length;

        if (wanted > sizeof(client->bytes))
                return false;
        if (client->length < LENGTH || client->length < wanted)
                return true;
        length = answer(questions.relay, client->bytes + LENGTH, wanted - LENGTH, &asker, reply + LENGTH,
                        sizeof(reply) - LENGTH);
        reply[0] = (uint8_t)(length >> 8);
        reply[1] = (uint8_t)length;
        client->length -= wanted;
        memmove(client->bytes, client->bytes + wanted, client->length);
        return length && send(client->watch.fd, reply, LENGTH + length, MSG_DONTWAIT | MSG_NOSIGNAL) ==
                                 (ssize_t)(LENGTH + length);
}

static void read_client(struct watch *watch, uint32_t events)
{
        struct client *client = (struct client *)(void *)((char *)watch - offsetof(struct client, watch));
        ssize_t got = recv(watch->fd, client->bytes + client->length, sizeof(client->bytes) - client->length,
                           MSG_DONTWAIT);

        (void)events;
        if (got < 0 && errno == EAGAIN)
                return;
        if (got > 0)
                client->length += (size_t)got;
        while (got > 0) {
                size_t before = client->length;

                if (before >= LENGTH && !answer_client(client))
                        got = 0;
                else if (client->length == before)
                        return;
        }
        dismiss(client);
}

void questions_begin(struct relay *relay, int fd, struct who *who)
{
        struct loop *loop = &relay->loop;
        struct client *client = calloc(1, sizeof(*client));

        questions.relay = relay;
        if (!client) {
                close(fd);
                who_drop(who);
                return;
        }
        if (questions.clients[questions.next])
                dismiss(questions.clients[questions.next]);
        *client = (struct client){ .watch = { .fd = fd, .ready = read_client },
                                   .who = who,
                                   .patience = { .fire = lose_patience } };
        questions.clients[questions.next] = client;
        questions.next = (questions.next + 1) % CLIENTS_MAX;
        if (loop_watch(loop, &client->watch, EPOLLIN) < 0 ||
            loop_set_timer(loop, &client->patience, PATIENCE_MS) < 0)
                dismiss(client);
}

static void accept_client(struct watch *watch, uint32_t events)
{
        struct peer from;
        int fd = inside_accept(questions.relay, watch->fd, &from);

        (void)events;
        if (fd >= 0)
                questions_begin(questions.relay, fd, NULL);
}

/* ---- the start ------------------------------------------------------------------------------------------ */

static int listen_for(struct relay *relay, enum socket_purpose purpose, bool is_v6, struct watch *watch)
{
        const struct address any = { .is_v6 = is_v6 };

        watch->ready = purpose == SOCKET_LISTENS ? accept_client : receive_datagrams;
        watch->fd = inside_socket(relay, purpose, &any, PORT);
        /* A kernel without IPv6 asks by IPv4 alone. */
        if (watch->fd == -EAFNOSUPPORT && is_v6)
                return 0;
        return watch->fd < 0 ? watch->fd : loop_watch(&relay->loop, watch, EPOLLIN);
}

int questions_start(struct relay *relay)
{
        int r = 0;

        questions.relay = relay;
        for (int is_v6 = 0; is_v6 < 2 && !r; is_v6++) {
                r = listen_for(relay, SOCKET_RECEIVES, is_v6, &questions.datagrams[is_v6]);
                if (!r)
                        r = listen_for(relay, SOCKET_LISTENS, is_v6, &questions.doors[is_v6]);
        }
        return r;
}
