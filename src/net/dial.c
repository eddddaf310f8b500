/* dial.c: connects to one of several addresses. */
#define _GNU_SOURCE
#include "net/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PACE_MS = 250 };

static socklen_t make_address(const struct address *address, uint16_t port, struct sockaddr_storage *out)
{
        memset(out, 0, sizeof(*out));
        if (address->is_v6) {
                struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

                v6->sin6_family = AF_INET6;
                v6->sin6_port = htons(port);
                memcpy(&v6->sin6_addr, address->bytes, 16);
                return sizeof(*v6);
        }
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;

        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, address->bytes, 4);
        return sizeof(*v4);
}

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

static bool is_waiting(const struct dial *dial)
{
        for (size_t i = 0; i < DIAL_AT_ONCE; i++)
                if (dial->attempts[i].dial)
                        return true;
        return false;
}

static void look(struct watch *watch, uint32_t events)
{
        struct dial_attempt *attempt = (struct dial_attempt *)(void *)watch;
        struct dial *dial = attempt->dial;
        int problem = 0, fd = watch->fd;
        socklen_t size = sizeof(problem);

        (void)events;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0)
                problem = errno;
        if (!problem) {
                struct address address = dial->addresses[attempt->address];

                fd = loop_release(dial->loop, watch);
                attempt->dial = NULL;
                finish(dial, fd, &address);
                return;
        }
        dial->problem = -problem;
        loop_close(dial->loop, watch);
        attempt->dial = NULL;
        /* At once: there is nobody to wait for. */
        loop_set_timer(dial->loop, &dial->pace, 0);
}

static int try_next(struct dial *dial, struct dial_attempt *attempt)
{
        struct sockaddr_storage address;
        const struct address *wanted = &dial->addresses[dial->next];
        socklen_t size = make_address(wanted, dial->port, &address);
        int fd = socket(wanted->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

        if (fd < 0)
                return -errno;
        *attempt = (struct dial_attempt){ .watch = { .fd = fd, .ready = look },
                                          .dial = dial,
                                          .address = dial->next };
        r = connect(fd, (struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS ? -errno : 0;
        if (!r)
                r = loop_watch(dial->loop, &attempt->watch, EPOLLOUT);
        if (r < 0) {
                loop_close(dial->loop, &attempt->watch);
                attempt->dial = NULL;
        }
        return r;
}

static void go_on(struct timer *timer)
{
        struct dial *dial = (struct dial *)(void *)((char *)timer - offsetof(struct dial, pace));

        for (size_t i = 0; i < DIAL_AT_ONCE && dial->next < dial->count; i++) {
                if (dial->attempts[i].dial)
                        continue;
                int r = try_next(dial, &dial->attempts[i]);

                dial->next++;
                if (!r) {
                        if (dial->next < dial->count)
                                loop_set_timer(dial->loop, timer, PACE_MS);
                        return;
                }
                dial->problem = r;
        }
        if (!is_waiting(dial))
                finish(dial, dial->problem ? dial->problem : -EHOSTUNREACH, NULL);
}

void dial_start(struct loop *loop, struct dial *dial)
{
        dial->loop = loop;
        dial->pace.fire = go_on;
        loop_set_timer(loop, &dial->pace, 0);
}
