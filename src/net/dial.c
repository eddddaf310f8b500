/* dial.c: connects to one of several addresses. */
#define _GNU_SOURCE
#include "net/dial.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/endpoint.h"

enum { PACE_MS = 250 };

void dial_stop(struct dial *dial)
{
        if (!dial->loop)
                return;
        for (size_t i = 0; i < DIAL_AT_ONCE; i++)
                if (dial->attempts[i].dial)
                        loop_close(dial->loop, &dial->attempts[i].watch);
        for (size_t i = 0; i < DIAL_AT_ONCE; i++)
                dial->attempts[i].dial = NULL;
        loop_stop_timer(dial->loop, &dial->pace);
        dial->loop = NULL;
}

static void finish(struct dial *dial, int fd, const struct address *address)
{
        dial_stop(dial);
        dial->done(dial, fd, address);
}

static void go_on(struct dial *dial);

static bool is_waiting(const struct dial *dial)
{
        for (size_t i = 0; i < DIAL_AT_ONCE; i++)
                if (dial->attempts[i].dial)
                        return true;
        return false;
}

static void succeed(struct dial_attempt *attempt)
{
        struct dial *dial = attempt->dial;
        struct address address = dial->addresses[attempt->address];
        int fd = loop_release(dial->loop, &attempt->watch);

        attempt->dial = NULL;
        finish(dial, fd, &address);
}

static void look(struct watch *watch, uint32_t events)
{
        struct dial_attempt *attempt = (struct dial_attempt *)(void *)watch;
        struct dial *dial = attempt->dial;
        int problem = 0;
        socklen_t size = sizeof(problem);

        (void)events;
        if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0)
                problem = errno;
        if (!problem) {
                succeed(attempt);
                return;
        }
        dial->problem = -problem;
        loop_close(dial->loop, watch);
        attempt->dial = NULL;
        go_on(dial);
}

static int make_socket(const struct address *address)
{
        int fd = socket(address->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        return fd < 0 ? -errno : fd;
}

/* 1 if it is connected already, 0 if that is waited for, or a negative errno. */
static int try_next(struct dial *dial, struct dial_attempt *attempt)
{
        union endpoint address;
        const struct address *wanted = &dial->addresses[dial->next];
        socklen_t size = endpoint_write(wanted, dial->port, &address);
        int fd = dial->begin ? dial->begin(dial, wanted) : make_socket(wanted), r = -EINPROGRESS;

        if (fd < 0)
                return fd;
        *attempt = (struct dial_attempt){ .watch = { .fd = fd, .ready = look },
                                          .dial = dial,
                                          .address = dial->next };
        if (!dial->begin)
                r = connect(fd, &address.any, size) < 0 ? -errno : 1;
        /* On this machine it is over by now; the second call says how it ended. */
        if (r == -EINPROGRESS)
                r = connect(fd, &address.any, size) < 0 ? -errno : 1;
        if (r == -EISCONN)
                r = 1;
        if (r == -EALREADY)
                r = loop_watch(dial->loop, &attempt->watch, EPOLLOUT);
        if (r < 0) {
                loop_close(dial->loop, &attempt->watch);
                attempt->dial = NULL;
        }
        return r;
}

static struct dial_attempt *find_free(struct dial *dial)
{
        for (size_t i = 0; i < DIAL_AT_ONCE; i++)
                if (!dial->attempts[i].dial)
                        return &dial->attempts[i];
        return NULL;
}

/* Tries the next address, and those behind it as long as nobody has to be waited for. */
static void go_on(struct dial *dial)
{
        struct dial_attempt *attempt;

        while (dial->next < dial->count && (attempt = find_free(dial))) {
                int r = try_next(dial, attempt);

                dial->next++;
                if (r > 0) {
                        succeed(attempt);
                        return;
                }
                if (!r) {
                        if (dial->next < dial->count)
                                loop_set_timer(dial->loop, &dial->pace, PACE_MS);
                        return;
                }
                dial->problem = r;
        }
        if (!is_waiting(dial))
                finish(dial, dial->problem ? dial->problem : -EHOSTUNREACH, NULL);
}

static void lose_patience(struct timer *timer)
{
        go_on((struct dial *)(void *)((char *)timer - offsetof(struct dial, pace)));
}

void dial_start(struct loop *loop, struct dial *dial)
{
        dial->loop = loop;
        dial->pace.fire = lose_patience;
        go_on(dial);
}
