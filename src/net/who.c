/* who.c: knows whose a connection is, as the thread inside says it, and holds back what is told until then.
 *
 * The word about a stream waits for that, and what is told keeps its order. Of the stream itself only the first answer from outside waits, and
 * not for long: who has it may close his socket, and with that goes what he could be found by. Neither the answer nor the word is
 * hurried before: each would wake somebody just when the first bytes are on their way. */
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

#include "net/pool.h"
#include "net/relay.h"

enum {
        PATIENCE_MS = 200,
        WAIT_MS = 10, /* of a stream */
        PACE_MS = 2,  /* what comes meanwhile is told together */
        SLOW_MS = 8,
        TOLD_AT_ONCE = 16, /* or when there is so much: the host program has room for some times that */
        ASKED_MAX = 64,    /* at once; more are not asked */
        HELD_MAX = 1024,   /* likewise: then the first goes as it is */
        PAUSE_MS = 5,
        PAUSES_A_SECOND = 20,
};

struct who {
        int references;
        struct who_question question;
        int64_t due;
        bool is_settled;
        struct timer *waiter; /* whose stream waits for it; or NULL */
        uint32_t pid;         /* 0: not known */
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
static struct timer pace;
static size_t waiter_count;
static bool is_off;
static struct who *first_asked, **last_asked = &first_asked; /* in the order of their numbers; references */
static size_t asked_count;
static struct held *first_held, **last_held = &first_held;
static size_t held_count;
static struct pool whos = { .size = sizeof(struct who) }, helds = { .size = sizeof(struct held) };

struct who *who_known(uint32_t pid, const char *program)
{
        struct who *who = pid ? calloc(1, sizeof(*who)) : NULL;

        if (!who)
                return NULL;
        who->references = 1;
        who->is_settled = true;
        who->pid = pid;
        snprintf(who->program, sizeof(who->program), "%s", program);
        return who;
}

void who_drop(struct who *who)
{
        if (who && !--who->references)
                pool_give(&whos, who);
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
        pool_give(&helds, held);
}

static void send_settled(void)
{
        while (first_held && (!first_held->who || first_held->who->is_settled))
                send_first();
}

/* ---- what is asked -------------------------------------------------------------------------------------- */

static void forget_waiter(struct who *who)
{
        waiter_count -= who->waiter != NULL;
        who->waiter = NULL;
}

static void settle_first(const struct who_answer *answer)
{
        struct who *who = first_asked;

        first_asked = who->next;
        if (!first_asked)
                last_asked = &first_asked;
        asked_count--;
        if (answer && answer->number == who->question.number) {
                who->pid = answer->pid;
                snprintf(who->program, sizeof(who->program), "%.*s", (int)sizeof(answer->program) - 1,
                         answer->program);
        }
        who->is_settled = true;
        if (who->waiter)
                loop_set_timer(&relay->loop, who->waiter, 0);
        forget_waiter(who);
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

        if (watch.fd < 0)
                return;
        while (first_asked && (got = recv(watch.fd, &answer, sizeof(answer), MSG_DONTWAIT)) == sizeof(answer))
                while (first_asked && first_asked->question.number <= answer.number)
                        settle_first(&answer);
        if (first_asked && (got >= 0 || (errno != EAGAIN && errno != EINTR)))
                give_up();
}

/* Looks again later, or, if a stream waits or the first answer takes its time, when it is there. */
static int await_answers(void)
{
        int64_t left = first_asked ? first_asked->due - loop_now(&relay->loop) : 0;
        bool is_slow = first_asked && (waiter_count || left <= PATIENCE_MS - SLOW_MS);
        int r = loop_watch(&relay->loop, &watch, is_slow ? EPOLLIN : 0);

        loop_stop_timer(&relay->loop, &pace);
        return r || !first_asked ? r : loop_set_timer(&relay->loop, &pace, is_slow ? left : PACE_MS);
}

static void go_on(void)
{
        hear_answers();
        while (first_asked && first_asked->due <= loop_now(&relay->loop))
                settle_first(NULL);
        send_settled();
        if (!is_off && await_answers() < 0) {
                give_up();
                send_settled();
        }
}

static void answers_ready(struct watch *unused, uint32_t events)
{
        (void)unused;
        (void)events;
        go_on();
}

static void come_by(struct timer *unused)
{
        (void)unused;
        go_on();
}

/* By then there is something to hear, or to tell. */
static void go_on_soon(void)
{
        pace.fire = come_by;
        if ((!pace.due || pace.due > loop_now(&relay->loop) + PACE_MS) &&
            loop_set_timer(&relay->loop, &pace, PACE_MS) < 0)
                go_on();
}

void who_tell(struct relay *of, const struct relay_event *event, struct who *who)
{
        struct held *held = pool_take(&helds);

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
        if (held_count % TOLD_AT_ONCE == 0)
                go_on();
        else
                go_on_soon();
}

/* With the first question: who connects to nothing has no such thread. */
static bool is_ready(void)
{
        const struct address any = { .is_v6 = false };

        if (is_off || watch.fd >= 0)
                return !is_off;
        watch.ready = answers_ready;
        watch.fd = inside_socket(relay, SOCKET_ASKS, &any, 0);
        if (watch.fd < 0)
                give_up();
        return !is_off;
}

struct who *who_ask(struct relay *of, const struct who_question *question)
{
        static uint64_t last_number;
        struct who *who;

        relay = of;
        if (asked_count >= ASKED_MAX / 2)
                hear_answers();
        /* Without a network of its own there is nobody inside to ask. */
        if (relay->settings.is_asked || asked_count >= ASKED_MAX || !is_ready())
                return NULL;
        /* Its gaps, too, cross to another process: they are zeros. */
        who = pool_take(&whos);
        if (!who)
                return NULL;
        who->question.number = ++last_number;
        who->question.is_udp = question->is_udp;
        who->question.client_port = question->client_port;
        who->question.port = question->port;
        who->question.client = question->client;
        who->question.address = question->address;
        who->references = 2;
        who->due = loop_now(&relay->loop) + PATIENCE_MS;
        *last_asked = who;
        last_asked = &who->next;
        asked_count++;
        /* What cannot be sent is settled by the answer to a later one, or by time. */
        send(watch.fd, &who->question, sizeof(who->question), MSG_DONTWAIT | MSG_NOSIGNAL);
        go_on_soon();
        return who;
}

bool who_await(struct who *who, struct timer *waiter)
{
        if (who && !who->is_settled)
                hear_answers();
        if (!who || who->is_settled || loop_set_timer(&relay->loop, waiter, WAIT_MS) < 0)
                return false;
        forget_waiter(who);
        who->waiter = waiter;
        waiter_count++;
        if (await_answers() < 0)
                give_up();
        return true;
}

void who_leave(struct who *who)
{
        if (who)
                forget_waiter(who);
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

void who_hurry(struct relay *of)
{
        relay = of;
        go_on();
}

void who_conclude(struct relay *of)
{
        relay = of;
        hear_answers();
        while (first_asked)
                settle_first(NULL);
        send_settled();
}
