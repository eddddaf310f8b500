/* resolver_question.c: asks the name servers in turn, over UDP, and over TCP where the answer is too long for that.
 *
 * Every try has a socket, a port and an id of its own: who cannot see the question has to guess both to forge an answer. */
#define _GNU_SOURCE
#include "net/resolver_question.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
        DATAGRAMS_AT_ONCE = 16, /* so that a flood of forged ones leaves time for everybody else */
        STREAM_MAX = 2 + DNS_MESSAGE_MAX,
};

static void ask_next(struct timer *timer);

int question_start(struct question *question, struct loop *loop, const struct question_options *options)
{
        *question = (struct question){
                .watch.fd = -1,
                .timer.fire = ask_next,
                .loop = loop,
                .servers = *options->servers,
                .port = options->port,
                .deadline = loop_now(loop) + options->patience_ms,
                .asked = { .name = options->name, .type = options->type },
                .done = options->done,
        };
        /* From there, so that nobody is called before this has returned. */
        return loop_set_timer(loop, &question->timer, 0);
}

static void close_socket(struct question *question)
{
        loop_close(question->loop, &question->watch);
        free(question->reply);
        question->reply = NULL;
}

void question_stop(struct question *question)
{
        close_socket(question);
        loop_stop_timer(question->loop, &question->timer);
}

/* The last thing that anybody does with it: it may be freed then. */
static void end(struct question *question, const struct dns_answer *answer)
{
        question_stop(question);
        question->done(question, answer);
}

/* Also the last thing: there may be nobody left to ask. */
static void leave_server(struct question *question)
{
        question->is_out[question->server] = true;
        ask_next(&question->timer);
}

/* ---- asking --------------------------------------------------------------------------------------------- */

static bool write_message(struct question *question)
{
        size_t length;

        if (getrandom(&question->asked.id, sizeof(question->asked.id), GRND_NONBLOCK) !=
            (ssize_t)sizeof(question->asked.id))
                return false;
        length = dns_write_query(&question->asked, question->message + 2, DNS_QUERY_MAX);
        question->message[0] = (uint8_t)(length >> 8);
        question->message[1] = (uint8_t)length;
        question->length = 2 + length;
        question->sent = 0;
        question->received = 0;
        return length;
}

/* Connected, so that the kernel chooses the port, and drops what comes from anybody else. */
static bool open_socket(struct question *question, int type)
{
        const struct address *server = &question->servers.addresses[question->server];
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(question->port) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(question->port) };
        const struct sockaddr *to = server->is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;

        memcpy(&v4.sin_addr, server->bytes, sizeof(v4.sin_addr));
        memcpy(&v6.sin6_addr, server->bytes, sizeof(v6.sin6_addr));
        question->watch.fd = socket(to->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return question->watch.fd >= 0 &&
               (!connect(question->watch.fd, to, server->is_v6 ? sizeof(v6) : sizeof(v4)) ||
                errno == EINPROGRESS);
}

/* What is left of the time is shared by the tries that are left, so that the last server is asked too. */
static bool set_timer(struct question *question)
{
        int64_t left = question->deadline - loop_now(question->loop);
        int64_t share, tries = 1;

        for (size_t i = question->tries; i < question->servers.count * question->servers.attempts; i++)
                tries += !question->is_out[i % question->servers.count];
        share = left / tries;
        if (share > question->servers.timeout_ms)
                share = question->servers.timeout_ms;
        return left > 0 && !loop_set_timer(question->loop, &question->timer, share);
}

static void read_datagrams(struct watch *watch, uint32_t events);
static void move_stream(struct watch *watch, uint32_t events);

static bool ask_by_datagram(struct question *question)
{
        size_t length;

        if (!write_message(question) || !open_socket(question, SOCK_DGRAM))
                return false;
        question->is_stream = false;
        question->watch.ready = read_datagrams;
        length = question->length - 2;
        return send(question->watch.fd, question->message + 2, length, MSG_NOSIGNAL) == (ssize_t)length &&
               !loop_watch(question->loop, &question->watch, EPOLLIN) && set_timer(question);
}

static bool ask_by_stream(struct question *question)
{
        close_socket(question);
        if (!write_message(question) || !open_socket(question, SOCK_STREAM))
                return false;
        question->is_stream = true;
        question->watch.ready = move_stream;
        question->reply = malloc(STREAM_MAX);
        return question->reply && !loop_watch(question->loop, &question->watch, EPOLLOUT) &&
               set_timer(question);
}

static void ask_next(struct timer *timer)
{
        struct question *question = (void *)((char *)timer - offsetof(struct question, timer));
        size_t most = question->servers.count * question->servers.attempts;

        while (question->tries < most) {
                close_socket(question);
                question->server = question->tries++ % question->servers.count;
                if (question->is_out[question->server])
                        continue;
                if (ask_by_datagram(question))
                        return;
                question->is_out[question->server] = true;
        }
        end(question, NULL);
}

/* ---- being answered ------------------------------------------------------------------------------------- */

static void take_response(struct question *question, const struct dns_answer *answer)
{
        bool is_known = answer->rcode == DNS_NOERROR || answer->rcode == DNS_NXDOMAIN;

        if (is_known && !answer->is_truncated)
                end(question, answer);
        else if (!is_known || question->is_stream || !ask_by_stream(question))
                leave_server(question);
}

static void read_datagrams(struct watch *watch, uint32_t events)
{
        struct question *question = (void *)((char *)watch - offsetof(struct question, watch));
        uint8_t bytes[DNS_PAYLOAD_MAX];

        (void)events;
        for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
                ssize_t length = recv(watch->fd, bytes, sizeof(bytes), 0);
                struct dns_answer answer;

                if (length < 0) {
                        /* Nobody listens there, or there is no way to it. */
                        if (errno != EAGAIN && errno != EINTR)
                                leave_server(question);
                        return;
                }
                switch (dns_read_response(bytes, (size_t)length, &question->asked, &answer)) {
                case DNS_RESPONSE:
                        take_response(question, &answer);
                        return;
                case DNS_NOT_OURS:
                        break;
                case DNS_MALFORMED:
                        leave_server(question);
                        return;
                }
        }
}

/* How many bytes of the reply have to be there: its length, and then the rest. */
static size_t find_expected(const struct question *question)
{
        return question->received < 2 ? 2
                                      : 2 + ((size_t)question->reply[0] << 8 | (size_t)question->reply[1]);
}

static void read_stream(struct question *question)
{
        struct dns_answer answer;

        while (question->received < find_expected(question)) {
                ssize_t got = recv(question->watch.fd, question->reply + question->received,
                                   find_expected(question) - question->received, 0);

                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (got <= 0) {
                        leave_server(question);
                        return;
                }
                question->received += (size_t)got;
        }
        /* Nothing but our answer belongs on a connection of our own. */
        if (dns_read_response(question->reply + 2, question->received - 2, &question->asked, &answer) ==
            DNS_RESPONSE)
                take_response(question, &answer);
        else
                leave_server(question);
}

static void move_stream(struct watch *watch, uint32_t events)
{
        struct question *question = (void *)((char *)watch - offsetof(struct question, watch));

        (void)events;
        while (question->sent < question->length) {
                ssize_t sent = send(watch->fd, question->message + question->sent,
                                    question->length - question->sent, MSG_NOSIGNAL);

                if (sent < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (sent < 0) {
                        leave_server(question);
                        return;
                }
                question->sent += (size_t)sent;
        }
        if (loop_watch(question->loop, watch, EPOLLIN) < 0)
                leave_server(question);
        else
                read_stream(question);
}
