/* name_server.c: two DNS servers in a thread, for the tests of who asks them. */
#define _GNU_SOURCE
#include "name_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/dns.h"
#include "scratch.h"

enum { SERVERS = 2, LATE_MAX = 8 };

struct late {
        int64_t due;
        int fd;
        struct sockaddr_in to;
        uint8_t bytes[DNS_PAYLOAD_MAX];
        size_t length;
};

/* Two of datagrams, two that listen, and the one that ends the thread. */
static struct pollfd fds[2 * SERVERS + 1];
static uint16_t port;
static pthread_t thread;
static atomic_uint asked[SERVERS], asked_by_stream[SERVERS];
static struct late lates[LATE_MAX];
static size_t late_count;

static int64_t clock_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what to say ---------------------------------------------------------------------------------------- */

static bool has_label(const char *name, const char *label)
{
        size_t length = strlen(label);

        for (const char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
                if (!strncmp(at, label, length) && (at[length] == '.' || !at[length]))
                        return true;
        return false;
}

static bool has_label_of(const char *name, const char *label, size_t server)
{
        char numbered[16] = "";

        strncat(numbered, label, sizeof(numbered) - 2);
        numbered[strlen(numbered)] = (char)('0' + server);
        return has_label(name, numbered);
}

static size_t list_addresses(const char *name, struct address *out)
{
        size_t each = has_label(name, "many") ? DNS_ADDRESSES_MAX : 1, count = 0;

        for (size_t i = 0; i < each && has_label(name, "v4"); i++)
                out[count++] = (struct address){ .bytes = { 127, 1, 2, (uint8_t)(3 + i) } };
        for (size_t i = 0; i < each && has_label(name, "v6"); i++)
                out[count++] = (struct address){
                        .is_v6 = true,
                        .bytes = { 0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)(1 + i) },
                };
        return count;
}

/* 0 for silence. */
static size_t write_answer(const struct dns_query *query, size_t server, uint8_t *out, size_t size)
{
        struct address addresses[2 * DNS_ADDRESSES_MAX];
        struct dns_reply reply = { .addresses = addresses, .ttl = 60 };
        const char *name = query->name;
        size_t length;

        if (has_label(name, "silent") || has_label_of(name, "silent", server))
                return 0;
        reply.count = list_addresses(name, addresses);
        if (has_label(name, "ttl0") || has_label(name, "ttl1"))
                reply.ttl = has_label(name, "ttl1");
        if (has_label(name, "nx"))
                reply.rcode = DNS_NXDOMAIN;
        if (has_label_of(name, "fail", server))
                reply.rcode = DNS_SERVFAIL;
        if (has_label_of(name, "refuse", server))
                reply.rcode = DNS_REFUSED;
        length = dns_write_reply(query, &reply, out, size);
        /* More answers than there are, the OPT record included. */
        if (has_label_of(name, "garbage", server))
                out[7] = (uint8_t)(out[7] + 2);
        return length;
}

/* ---- datagrams ------------------------------------------------------------------------------------------ */

static void send_to(int fd, const uint8_t *bytes, size_t length, const struct sockaddr_in *to)
{
        sendto(fd, bytes, length, MSG_NOSIGNAL, (const struct sockaddr *)to, sizeof(*to));
}

/* With another address in it, which nobody may believe. */
static void send_forged(int fd, const uint8_t *bytes, size_t length, const struct sockaddr_in *to)
{
        int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        uint8_t forged[DNS_PAYLOAD_MAX];

        memcpy(forged, bytes, length);
        /* Without an OPT record behind it, the address comes last; with it, eleven bytes before. */
        forged[length - 11 - 1] ^= 0x55;
        send_to(stranger, forged, length, to);
        close(stranger);
        send_to(fd, forged, 3, to);
        forged[0] ^= 1; /* another id */
        send_to(fd, forged, length, to);
        forged[0] ^= 1;
        forged[13] ^= 2; /* another name */
        send_to(fd, forged, length, to);
        forged[13] ^= 2;
        forged[2] &= 0x7f; /* a question */
        send_to(fd, forged, length, to);
}

static void answer_datagram(size_t server)
{
        uint8_t bytes[DNS_PAYLOAD_MAX], reply[DNS_PAYLOAD_MAX];
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        int fd = fds[server].fd;
        ssize_t got = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size);
        struct dns_query query;
        size_t length;

        if (got < 0 || !dns_read_query(bytes, (size_t)got, &query))
                return;
        atomic_fetch_add(&asked[server], 1);
        length = write_answer(&query, server, reply, query.payload);
        if (!length || (query.type == DNS_AAAA && has_label(query.name, "mute6")))
                return;
        if (has_label(query.name, "long")) {
                reply[2] |= 0x02; /* truncated */
                reply[7] = 0;
                length = 12 + query.question_length;
                reply[11] = 0;
        }
        if (has_label(query.name, "forged"))
                send_forged(fd, reply, length, &from);
        if (query.type == DNS_AAAA && has_label(query.name, "late6") && late_count < LATE_MAX) {
                struct late *late = &lates[late_count++];

                *late = (struct late){ .due = clock_ms() + LATE_MS, .fd = fd, .to = from, .length = length };
                memcpy(late->bytes, reply, length);
                return;
        }
        send_to(fd, reply, length, &from);
}

static void send_late(void)
{
        size_t kept = 0;

        for (size_t i = 0; i < late_count; i++) {
                if (lates[i].due <= clock_ms()) {
                        send_to(lates[i].fd, lates[i].bytes, lates[i].length, &lates[i].to);
                        continue;
                }
                /* To copy it onto itself is not defined. */
                if (kept != i)
                        lates[kept] = lates[i];
                kept++;
        }
        late_count = kept;
}

/* ---- streams -------------------------------------------------------------------------------------------- */

static void answer_stream(size_t server)
{
        int fd = accept4(fds[SERVERS + server].fd, NULL, NULL, SOCK_CLOEXEC);
        struct timeval patience = { .tv_sec = 1 };
        uint8_t bytes[512], reply[2 + 4096];
        struct dns_query query;
        ssize_t got;
        size_t length;

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        /* It is so short that it comes in one piece. */
        got = recv(fd, bytes, sizeof(bytes), 0);
        if (got > 2 && got == 2 + (bytes[0] << 8 | bytes[1]) &&
            dns_read_query(bytes + 2, (size_t)got - 2, &query)) {
                atomic_fetch_add(&asked_by_stream[server], 1);
                length = write_answer(&query, server, reply + 2, sizeof(reply) - 2);
                reply[0] = (uint8_t)(length >> 8);
                reply[1] = (uint8_t)length;
                length = has_label_of(query.name, "cut", server) ? length / 2 : 2 + length;
                for (size_t i = 0; i < length; i++) {
                        send(fd, reply + i, 1, MSG_NOSIGNAL);
                        /* The length's halves, and some of what follows, come in pieces. */
                        if (i < 4)
                                usleep(2000);
                }
        }
        close(fd);
}

static void *serve(void *argument)
{
        (void)argument;
        for (;;) {
                poll(fds, 2 * SERVERS + 1, late_count ? 20 : -1);
                if (fds[2 * SERVERS].revents)
                        return NULL;
                for (size_t i = 0; i < SERVERS; i++) {
                        if (fds[i].revents)
                                answer_datagram(i);
                        if (fds[SERVERS + i].revents)
                                answer_stream(i);
                }
                send_late();
        }
}

/* ---- start and end -------------------------------------------------------------------------------------- */

static bool open_sockets(void)
{
        struct sockaddr_in here = { .sin_family = AF_INET };
        socklen_t size = sizeof(here);

        for (size_t i = 0; i < 2 * SERVERS; i++) {
                int type = i < SERVERS ? SOCK_DGRAM : SOCK_STREAM;

                here.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(i % SERVERS));
                fds[i] = (struct pollfd){ socket(AF_INET, type | SOCK_CLOEXEC, 0), POLLIN, 0 };
                if (bind(fds[i].fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
                    (type == SOCK_STREAM && listen(fds[i].fd, 16) < 0))
                        return false;
                /* The first has any port, the others the same. */
                assert_int_equal(getsockname(fds[i].fd, (struct sockaddr *)&here, &size), 0);
        }
        port = ntohs(here.sin_port);
        return true;
}

static void close_sockets(void)
{
        for (size_t i = 0; i < 2 * SERVERS; i++) {
                if (fds[i].fd >= 0)
                        close(fds[i].fd);
                fds[i].fd = -1;
        }
}

void name_server_start(void)
{
        int tries = 0;

        for (size_t i = 0; i < 2 * SERVERS; i++)
                fds[i].fd = -1;
        /* Somebody else may have the port on the other address. */
        while (!open_sockets()) {
                close_sockets();
                assert_true(++tries < 100);
        }
        fds[2 * SERVERS] = (struct pollfd){ eventfd(0, EFD_CLOEXEC), POLLIN, 0 };
        for (size_t i = 0; i < SERVERS; i++)
                asked[i] = asked_by_stream[i] = 0;
        late_count = 0;
        assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

void name_server_stop(void)
{
        assert_int_equal(write(fds[2 * SERVERS].fd, &(uint64_t){ 1 }, 8), 8);
        pthread_join(thread, NULL);
        close(fds[2 * SERVERS].fd);
        close_sockets();
}

uint16_t name_server_port(void)
{
        return port;
}

unsigned name_server_asked(unsigned server)
{
        return asked[server] + asked_by_stream[server];
}

unsigned name_server_asked_by_stream(unsigned server)
{
        return asked_by_stream[server];
}
