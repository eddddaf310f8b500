/* who.c: knows whose a connection is, as the thread inside says it, and holds back what is told until then.
 *
 * No stream waits for that, only the word about it; and what is told keeps its order. Who is found out too late is not known. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/relay.h"

enum {
        PATIENCE_MS = 200,
        ASKED_MAX = 64,  /* at once; more are not asked */
        HELD_MAX = 1024, /* likewise: then the first goes as it is */
        PAUSE_MS = 5,
        PAUSES_A_SECOND = 20,
};

struct who {
        int references;
        uint64_t number;
        int64_t due;
        bool is_settled;
        uint32_t pid; /* 0: not known */
        char program[RELAY_TEXT_SIZE];
        struct who *next;
};

struct held {
        struct relay_event event;
        struct who *who; /* a reference; or NULL */
        struct held *next;
};

/* Of one relay, which lasts as long as its process. */
static struct relay *relay;
static struct watch watch = { .fd = -1 };
static struct timer patience;
static bool is_off;
static struct who *first_asked, **last_asked = &first_asked; /* in the order of their numbers; references */
static size_t asked_count;
static struct held *first_held, **last_held = &first_held;
static size_t held_count;

void who_drop(struct who *who)
{
        if (who && !--who->references)
                free(who);
}

/* ---- what is told --------------------------------------------------------------------------------------- */

static void send_first(void)
{
        struct held *held = first_held;

        first_held = held->next;
        if (!first_held)
                last_held = &first_held;
        held_count--;
        if (held->who) {
                held->event.pid = held->who->pid;
                snprintf(held->event.program, sizeof(held->event.program), "%s", held->who->program);
        }
        relay_send(relay, &held->event);
        who_drop(held->who);
        free(held);
}

static void send_settled(void)
{
        while (first_held && (!first_held->who || first_held->who->is_settled))
                send_first();
}

void who_tell(struct relay *of, const struct relay_event *event, struct who *who)
{
        struct held *held = calloc(1, sizeof(*held));

        relay = of;
        if (!held) {
                relay_send(relay, event);
                return;
        }
        held->event = *event;
        held->who = who;
        if (who)
                who->references++;
        *last_held = held;
        last_held = &held->next;
        if (++held_count > HELD_MAX)
                send_first();
        send_settled();
}

/* ---- what is asked -------------------------------------------------------------------------------------- */

static void settle_first(const struct who_answer *answer)
{
        struct who *who = first_asked;

        first_asked = who->next;
        if (!first_asked)
                last_asked = &first_asked;
        asked_count--;
        if (answer && answer->number == who->number) {
                who->pid = answer->pid;
                snprintf(who->program, sizeof(who->program), "%.*s", (int)sizeof(answer->program) - 1,
                         answer->program);
        }
        who->is_settled = true;
        who_drop(who);
}

static void give_up(void)
{
        is_off = true;
        loop_close(&relay->loop, &watch);
        while (first_asked)
                settle_first(NULL);
}

static void hear_answers(void)
{
        struct who_answer answer;
        ssize_t got = -1;

        while (!is_off && (got = recv(watch.fd, &answer, sizeof(answer), MSG_DONTWAIT)) == sizeof(answer))
                while (first_asked && first_asked->number <= answer.number)
                        settle_first(&answer);
        if (!is_off && (got >= 0 || (errno != EAGAIN && errno != EINTR)))
                give_up();
}

static void await_first(void)
{
        int64_t left = first_asked ? first_asked->due - loop_now(&relay->loop) : 0;

        if (!first_asked)
                loop_stop_timer(&relay->loop, &patience);
        else if (loop_set_timer(&relay->loop, &patience, left > 0 ? left : 1) < 0)
                give_up();
        send_settled();
}

static void answers_ready(struct watch *unused, uint32_t events)
{
        (void)unused;
        (void)events;
        hear_answers();
        await_first();
}

static void lose_patience(struct timer *unused)
{
        (void)unused;
        hear_answers();
        while (first_asked && first_asked->due <= loop_now(&relay->loop))
                settle_first(NULL);
        await_first();
}

/* With the first question: who connects to nothing has no such thread. */
static bool is_ready(void)
{
        const struct address any = { .is_v6 = false };

        if (is_off || watch.fd >= 0)
                return !is_off;
        patience.fire = lose_patience;
        watch.ready = answers_ready;
        watch.fd = inside_socket(relay, SOCKET_ASKS, &any, 0);
        if (watch.fd < 0 || loop_watch(&relay->loop, &watch, EPOLLIN) < 0)
                give_up();
        return !is_off;
}

struct who *who_ask(struct relay *of, const struct who_question *question)
{
        static uint64_t last_number;
        struct who_question sent;
        struct who *who;

        relay = of;
        /* Without a network of its own there is nobody inside to ask. */
        if (relay->settings.is_asked || asked_count >= ASKED_MAX || !is_ready())
                return NULL;
        /* Its gaps, too, cross to another process. */
        memset(&sent, 0, sizeof(sent));
        sent.number = ++last_number;
        sent.is_udp = question->is_udp;
        sent.client_port = question->client_port;
        sent.port = question->port;
        sent.client = question->client;
        sent.address = question->address;
        who = calloc(1, sizeof(*who));
        if (!who || send(watch.fd, &sent, sizeof(sent), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
                free(who);
                return NULL;
        }
        who->references = 2;
        who->number = sent.number;
        who->due = loop_now(&relay->loop) + PATIENCE_MS;
        *last_asked = who;
        last_asked = &who->next;
        asked_count++;
        await_first();
        return who;
}

void who_pause(struct who *who)
{
        static time_t second;
        static int pauses;
        struct pollfd wait = { watch.fd, POLLIN, 0 };
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec != second)
                pauses = 0;
        second = now.tv_sec;
        while (who && !who->is_settled && pauses++ < PAUSES_A_SECOND && poll(&wait, 1, PAUSE_MS) > 0)
                hear_answers();
}

void who_conclude(struct relay *of)
{
        relay = of;
        if (watch.fd >= 0)
                hear_answers();
        while (first_asked)
                settle_first(NULL);
        send_settled();
}
