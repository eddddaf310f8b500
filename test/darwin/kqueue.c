/* kqueue.c: a kqueue made of an epoll set and timers, with as much of it as macOS's run layer uses. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/event.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { QUEUES = 16 };

/* One timer for each queue is enough. */
static struct {
        int queue, fd;
        uintptr_t ident;
} timers[QUEUES];

int kqueue(void)
{
        int queue = epoll_create1(EPOLL_CLOEXEC);

        for (int i = 0; i < QUEUES && queue >= 0; i++)
                if (timers[i].fd && timers[i].queue == queue) {
                        close(timers[i].fd); /* of one that was closed, and had this number */
                        timers[i].fd = 0;
                }
        return queue;
}

static int set_timer(int queue, const struct kevent *change)
{
        const struct itimerspec when = { .it_value = { change->data / 1000, change->data % 1000 * 1000000 } };
        struct epoll_event event = { .events = EPOLLIN };
        int at = 0;

        while (at < QUEUES && timers[at].fd && timers[at].queue != queue)
                at++;
        if (at == QUEUES) {
                errno = ENOMEM;
                return -1;
        }
        if (!timers[at].fd) {
                timers[at].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
                event.data.u64 = (uint64_t)(uint16_t)EVFILT_TIMER << 32 | (uint32_t)at;
                if (timers[at].fd < 0 || epoll_ctl(queue, EPOLL_CTL_ADD, timers[at].fd, &event) < 0)
                        return -1;
        }
        timers[at].queue = queue;
        timers[at].ident = change->ident;
        return timerfd_settime(timers[at].fd, 0, &when, NULL);
}

static int apply(int queue, const struct kevent *change)
{
        struct epoll_event event = { .events = change->filter == EVFILT_READ ? EPOLLIN : EPOLLOUT,
                                     .data.u64 = (uint64_t)(uint16_t)change->filter << 32 |
                                                 (uint32_t)change->ident };

        if (change->filter == EVFILT_TIMER)
                return set_timer(queue, change);
        if (!epoll_ctl(queue, change->flags & EV_DELETE ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, (int)change->ident,
                       &event))
                return 0;
        /* A kqueue is told a second time what it knows, and nothing is wrong. */
        return change->flags & EV_ADD && errno == EEXIST ? 0 : -1;
}

int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count,
           const struct timespec *timeout)
{
        struct epoll_event found[8];
        int count = 0;

        for (int i = 0; i < change_count; i++)
                if (apply(queue, &changes[i]) < 0)
                        return -1;
        if (event_count)
                count = epoll_wait(queue, found, event_count < 8 ? event_count : 8, timeout ? 0 : -1);
        for (int i = 0; i < count; i++) {
                int16_t filter = (int16_t)(found[i].data.u64 >> 32);
                uint32_t number = (uint32_t)found[i].data.u64;
                uint64_t times;

                if (filter == EVFILT_TIMER && read(timers[number].fd, &times, sizeof(times)) > 0)
                        number = (uint32_t)timers[number].ident;
                events[i] = (struct kevent){ .ident = number, .filter = filter };
        }
        return count;
}
