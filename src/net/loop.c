/* loop.c: one epoll descriptor, and a heap of timers. */
#define _GNU_SOURCE
#include "net/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, TIMERS_FIRST = 64 };

static int64_t read_clock(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int loop_init(struct loop *loop)
{
        *loop = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC), .now = read_clock() };
        return loop->epoll < 0 ? -errno : 0;
}

void loop_done(struct loop *loop)
{
        if (loop->epoll >= 0)
                close(loop->epoll);
        free(loop->timers);
        *loop = (struct loop){ .epoll = -1 };
}

/* ---- descriptors ---------------------------------------------------------------------------------------- */

int loop_watch(struct loop *loop, struct watch *watch, uint32_t events)
{
        struct epoll_event event = { .events = events, .data.ptr = watch };
        int operation = !events ? EPOLL_CTL_DEL : watch->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

        if (events == (watch->is_watched ? watch->events : 0))
                return 0;
        if (epoll_ctl(loop->epoll, operation, watch->fd, &event) < 0)
                return -errno;
        watch->is_watched = events;
        watch->events = events;
        return 0;
}

int loop_release(struct loop *loop, struct watch *watch)
{
        int fd = watch->fd;

        for (int i = 0; i < loop->round_count; i++)
                if (loop->round[i].data.ptr == watch)
                        loop->round[i].data.ptr = NULL;
        /* By hand: a copy of the descriptor that somebody else has would keep it in there. */
        if (watch->is_watched)
                epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
        watch->fd = -1;
        watch->is_watched = false;
        return fd;
}

void loop_close(struct loop *loop, struct watch *watch)
{
        int fd = loop_release(loop, watch);

        if (fd >= 0)
                close(fd);
}

/* ---- times ---------------------------------------------------------------------------------------------- */

static void put(struct loop *loop, size_t place, struct timer *timer)
{
        loop->timers[place] = timer;
        timer->place = place;
}

static void rise(struct loop *loop, size_t place, struct timer *timer)
{
        while (place && loop->timers[(place - 1) / 2]->due > timer->due) {
                put(loop, place, loop->timers[(place - 1) / 2]);
                place = (place - 1) / 2;
        }
        put(loop, place, timer);
}

static void sink(struct loop *loop, size_t place, struct timer *timer)
{
        for (;;) {
                size_t child = 2 * place + 1;

                if (child + 1 < loop->timer_count && loop->timers[child + 1]->due < loop->timers[child]->due)
                        child++;
                if (child >= loop->timer_count || loop->timers[child]->due >= timer->due)
                        break;
                put(loop, place, loop->timers[child]);
                place = child;
        }
        put(loop, place, timer);
}

void loop_stop_timer(struct loop *loop, struct timer *timer)
{
        struct timer *last;

        if (!timer->due)
                return;
        timer->due = 0;
        last = loop->timers[--loop->timer_count];
        if (last == timer)
                return;
        if (timer->place && loop->timers[(timer->place - 1) / 2]->due > last->due)
                rise(loop, timer->place, last);
        else
                sink(loop, timer->place, last);
}

int loop_set_timer(struct loop *loop, struct timer *timer, int64_t milliseconds)
{
        loop_stop_timer(loop, timer);
        if (loop->timer_count == loop->timer_capacity) {
                size_t capacity = loop->timer_capacity ? 2 * loop->timer_capacity : TIMERS_FIRST;
                struct timer **timers = realloc(loop->timers, capacity * sizeof(struct timer *));

                if (!timers)
                        return -ENOMEM;
                loop->timers = timers;
                loop->timer_capacity = capacity;
        }
        timer->due = loop->now + (milliseconds > 0 ? milliseconds : 0);
        rise(loop, loop->timer_count++, timer);
        return 0;
}

/* ---- rounds --------------------------------------------------------------------------------------------- */

static void fire_timers(struct loop *loop)
{
        /* Those that are set meanwhile wait for the next round, so that none starves the descriptors. */
        for (size_t most = loop->timer_count; most && loop->timer_count && !loop->is_over; most--) {
                struct timer *first = loop->timers[0];

                if (first->due > loop->now)
                        break;
                loop_stop_timer(loop, first);
                first->fire(first);
        }
}

static int find_patience(const struct loop *loop)
{
        int64_t left;

        if (!loop->timer_count)
                return -1;
        left = loop->timers[0]->due - read_clock();
        return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

int loop_run(struct loop *loop)
{
        struct epoll_event events[EVENTS_MAX];

        while (!loop->is_over) {
                int count = epoll_wait(loop->epoll, events, EVENTS_MAX, find_patience(loop));

                if (count < 0 && errno != EINTR)
                        return -errno;
                loop->now = read_clock();
                loop->round = events;
                for (loop->round_count = count > 0 ? count : 0; loop->round_count && !loop->is_over;) {
                        struct watch *watch = loop->round->data.ptr;
                        uint32_t came = loop->round->events;

                        loop->round++;
                        loop->round_count--;
                        if (watch)
                                watch->ready(watch, came);
                }
                loop->round_count = 0;
                fire_timers(loop);
        }
        return 0;
}

void loop_end(struct loop *loop)
{
        loop->is_over = true;
}
