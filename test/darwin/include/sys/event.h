/* event.h: as much of a kqueue as src/run/job_loop_darwin.c uses, for test/darwin/kqueue.c. */
#ifndef TEST_DARWIN_SYS_EVENT_H
#define TEST_DARWIN_SYS_EVENT_H

#include <stdint.h>
#include <time.h>

struct kevent {
        uintptr_t ident;
        int16_t filter;
        uint16_t flags;
        uint32_t fflags;
        intptr_t data;
        void *udata;
};

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EVFILT_TIMER (-7)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_ONESHOT 0x0010
#define EV_SET(event, a, b, c, d, e, f) (*(event) = (struct kevent){ (a), (b), (c), (d), (e), (f) })

int kqueue(void);
int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count,
           const struct timespec *timeout);

#endif
