/* loop.h: waits for descriptors and for times, and calls whoever waits. One thread, nothing blocks. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of whatever waits; `events` and what comes are epoll's. */
struct watch {
        int fd; /* owned; -1: none */
        uint32_t events;
        bool is_watched;
        void (*ready)(struct watch *watch, uint32_t events);
};

struct timer {
        int64_t due; /* milliseconds of loop_now(); 0: it does not run */
        void (*fire)(struct timer *timer);
        size_t place; /* in the loop's heap */
};

struct loop {
        int epoll;
        int64_t now;               /* when the present round began */
        struct epoll_event *round; /* borrowed: what has come and is not delivered yet */
        int round_count;
        struct timer **timers; /* a heap by their times; owned, the timers are not */
        size_t timer_count, timer_capacity;
        bool is_over;
};

/* 0 or a negative errno. */
int loop_init(struct loop *loop);
void loop_done(struct loop *loop);
static inline int64_t loop_now(const struct loop *loop)
{
        return loop->now;
}

/* Watches, or watches for something else from now on. Without events it is not looked at at all: else the kernel would tell again and
 * again of an end that nobody is ready to hear of. 0 or a negative errno. */
int loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
/* What has come for it already in this round is not delivered, and the descriptor is the caller's. */
int loop_release(struct loop *loop, struct watch *watch);
/* The same, and closes the descriptor. */
void loop_close(struct loop *loop, struct watch *watch);
/* Sets it, anew if it runs. 0 or -ENOMEM. */
int loop_set_timer(struct loop *loop, struct timer *timer, int64_t milliseconds);
void loop_stop_timer(struct loop *loop, struct timer *timer);
/* Until loop_end(). 0 or a negative errno. */
int loop_run(struct loop *loop);
void loop_end(struct loop *loop);

#endif
