/* wasi_process.c: the functions of WASI that are not about files: arguments, clocks, waiting, chance, the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "skill/native/wasi.h"

/* ---- arguments and environment ---- */

static uint32_t put_sizes(struct wasi *self, const char *const *list, uint32_t count_at, uint32_t size_at)
{
        uint32_t count = 0, r;
        uint64_t size = 0;

        for (; list[count]; count++)
                size += strlen(list[count]) + 1;
        if (size > UINT32_MAX)
                return WASI_EOVERFLOW;
        r = wasi_put_u32(self, count_at, count);
        return r ? r : wasi_put_u32(self, size_at, (uint32_t)size);
}

static uint32_t put_list(struct wasi *self, const char *const *list, uint32_t pointers, uint32_t texts)
{
        for (uint64_t i = 0, at = texts; list[i]; i++) {
                const size_t size = strlen(list[i]) + 1;
                const uint64_t pointer = pointers + 4 * i;

                if (pointer > UINT32_MAX || at > UINT32_MAX ||
                    wasi_put_u32(self, (uint32_t)pointer, (uint32_t)at) ||
                    !wasi_put(self, (uint32_t)at, list[i], size))
                        return WASI_EFAULT;
                at += size;
        }
        return WASI_OK;
}

uint32_t WASI(args_get)(struct wasi *self, uint32_t pointers, uint32_t texts)
{
        return put_list(self, self->arguments, pointers, texts);
}

uint32_t WASI(args_sizes_get)(struct wasi *self, uint32_t count, uint32_t size)
{
        return put_sizes(self, self->arguments, count, size);
}

uint32_t WASI(environ_get)(struct wasi *self, uint32_t pointers, uint32_t texts)
{
        return put_list(self, self->environment, pointers, texts);
}

uint32_t WASI(environ_sizes_get)(struct wasi *self, uint32_t count, uint32_t size)
{
        return put_sizes(self, self->environment, count, size);
}

/* ---- clocks ---- */

static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                    CLOCK_THREAD_CPUTIME_ID };
enum { CLOCKS = sizeof clocks / sizeof *clocks, SECOND = 1000000000 };

static uint64_t nanoseconds(struct timespec time)
{
        return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

uint32_t WASI(clock_res_get)(struct wasi *self, uint32_t clock, uint32_t out)
{
        struct timespec time;

        if (clock >= CLOCKS)
                return WASI_EINVAL;
        return clock_getres(clocks[clock], &time) < 0 ? wasi_errno(errno)
                                                      : wasi_put_u64(self, out, nanoseconds(time));
}

uint32_t WASI(clock_time_get)(struct wasi *self, uint32_t clock, uint64_t precision, uint32_t out)
{
        struct timespec time;

        (void)precision;
        if (clock >= CLOCKS)
                return WASI_EINVAL;
        return clock_gettime(clocks[clock], &time) < 0 ? wasi_errno(errno)
                                                       : wasi_put_u64(self, out, nanoseconds(time));
}

/* ---- waiting ---- */

enum { WAITS_CLOCK, WAITS_READ, WAITS_WRITE };
enum { SUBSCRIPTION_SIZE = 48, EVENT_SIZE = 32 };

struct subscription {
        uint64_t userdata;
        uint8_t kind, padding[7];
        uint32_t subject, more_padding; /* a clock or a descriptor */
        uint64_t timeout, precision;
        uint16_t is_absolute, last_padding[3];
};

struct event {
        uint64_t userdata;
        uint16_t error;
        uint8_t kind, padding[5];
        uint64_t bytes;
        uint16_t flags, last_padding[3];
};

_Static_assert(sizeof(struct subscription) == SUBSCRIPTION_SIZE && sizeof(struct event) == EVENT_SIZE,
               "as the standard lays them out");

/* One thing that is waited for. */
struct wait {
        struct subscription asked;
        uint32_t error;
        uint64_t left; /* of a clock, nanoseconds */
};

static uint32_t time_left(const struct subscription *asked, uint64_t *out)
{
        struct timespec time;
        uint64_t now;

        if (asked->subject >= CLOCKS || asked->is_absolute > 1)
                return WASI_EINVAL;
        if (!asked->is_absolute) {
                *out = asked->timeout;
                return WASI_OK;
        }
        if (clock_gettime(clocks[asked->subject], &time) < 0)
                return wasi_errno(errno);
        now = nanoseconds(time);
        *out = asked->timeout > now ? asked->timeout - now : 0;
        return WASI_OK;
}

/* The descriptor to poll, or one that poll() passes over. */
static struct pollfd prepare(struct wasi *self, struct wait *wait)
{
        const struct wasi_fd *fd = NULL;

        if (wait->asked.kind == WAITS_CLOCK)
                wait->error = time_left(&wait->asked, &wait->left);
        else if (wait->asked.kind == WAITS_READ || wait->asked.kind == WAITS_WRITE)
                fd = wasi_find(self, wait->asked.subject, RIGHT_POLL_FD_READWRITE, &wait->error);
        else
                wait->error = WASI_EINVAL;
        return (struct pollfd){
                .fd = fd ? fd->host : -1,
                .events = wait->asked.kind == WAITS_READ ? POLLIN : POLLOUT,
        };
}

static bool has_happened(const struct wait *wait, const struct pollfd *poll, uint64_t waited)
{
        return wait->error || (wait->asked.kind == WAITS_CLOCK ? wait->left <= waited : poll->revents != 0);
}

static struct event tell(const struct wait *wait, const struct pollfd *poll)
{
        struct event event = {
                .userdata = wait->asked.userdata,
                .error = (uint16_t)wait->error,
                .kind = wait->asked.kind,
        };
        int bytes = 0;

        if (!wait->error && wait->asked.kind != WAITS_CLOCK) {
                if (wait->asked.kind == WAITS_READ && !ioctl(poll->fd, FIONREAD, &bytes) && bytes > 0)
                        event.bytes = (uint64_t)bytes;
                event.flags = poll->revents & POLLHUP ? 1 : 0;
        }
        return event;
}

uint32_t WASI(poll_oneoff)(struct wasi *self, uint32_t subscriptions, uint32_t events, uint32_t count,
                           uint32_t out)
{
        static struct wait waits[WASI_FDS_MAX];
        static struct pollfd polls[WASI_FDS_MAX];
        const uint8_t *list = wasi_at(self, subscriptions, (uint64_t)count * SUBSCRIPTION_SIZE);
        uint8_t *place = wasi_at(self, events, (uint64_t)count * EVENT_SIZE);
        uint64_t shortest = UINT64_MAX;
        struct timespec timeout;
        uint32_t told = 0;
        int ready;

        if (!list || !place || !wasi_at(self, out, 4))
                return WASI_EFAULT;
        if (!count || count > WASI_FDS_MAX)
                return WASI_EINVAL;
        for (uint32_t i = 0; i < count; i++) {
                waits[i] = (struct wait){ .error = WASI_OK };
                memcpy(&waits[i].asked, list + (size_t)i * SUBSCRIPTION_SIZE, SUBSCRIPTION_SIZE);
                polls[i] = prepare(self, &waits[i]);
                if (waits[i].error)
                        shortest = 0;
                else if (waits[i].asked.kind == WAITS_CLOCK && waits[i].left < shortest)
                        shortest = waits[i].left;
        }
        timeout = (struct timespec){ (time_t)(shortest / SECOND), (long)(shortest % SECOND) };
        ready = ppoll(polls, count, shortest == UINT64_MAX ? NULL : &timeout, NULL);
        if (ready < 0)
                return wasi_errno(errno);
        for (uint32_t i = 0; i < count; i++)
                if (has_happened(&waits[i], &polls[i], ready ? 0 : shortest)) {
                        const struct event event = tell(&waits[i], &polls[i]);

                        memcpy(place + (size_t)told++ * EVENT_SIZE, &event, EVENT_SIZE);
                }
        return wasi_put_u32(self, out, told);
}

uint32_t WASI(sched_yield)(struct wasi *self)
{
        (void)self;
        return sched_yield() < 0 ? wasi_errno(errno) : WASI_OK;
}

uint32_t WASI(random_get)(struct wasi *self, uint32_t out, uint32_t length)
{
        uint8_t *place = wasi_at(self, out, length);
        size_t filled = 0;

        if (!place)
                return WASI_EFAULT;
        while (filled < length) {
                const ssize_t got = getrandom(place + filled, length - filled, 0);

                if (got < 0 && errno != EINTR)
                        return wasi_errno(errno);
                filled += got > 0 ? (size_t)got : 0;
        }
        return WASI_OK;
}

/* ---- the end ---- */

void WASI(proc_exit)(struct wasi *self, uint32_t status)
{
        (void)self;
        _exit((int)status);
}

/* A module has no signals to handle, and need not die by one. */
uint32_t WASI(proc_raise)(struct wasi *self, uint32_t signal)
{
        (void)self;
        (void)signal;
        return WASI_ENOSYS;
}

/* ---- sockets: none is given to a module, and it cannot make one ---- */

static uint32_t no_socket(struct wasi *self, uint32_t number)
{
        uint32_t r;

        return wasi_find(self, number, 0, &r) ? WASI_ENOTSOCK : r;
}

uint32_t WASI(sock_accept)(struct wasi *self, uint32_t number, uint32_t flags, uint32_t out)
{
        (void)flags;
        (void)out;
        return no_socket(self, number);
}

uint32_t WASI(sock_recv)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t flags,
                         uint32_t out, uint32_t out_flags)
{
        (void)vectors;
        (void)count;
        (void)flags;
        (void)out;
        (void)out_flags;
        return no_socket(self, number);
}

uint32_t WASI(sock_send)(struct wasi *self, uint32_t number, uint32_t vectors, uint32_t count, uint32_t flags,
                         uint32_t out)
{
        (void)vectors;
        (void)count;
        (void)flags;
        (void)out;
        return no_socket(self, number);
}

uint32_t WASI(sock_shutdown)(struct wasi *self, uint32_t number, uint32_t how)
{
        (void)how;
        return no_socket(self, number);
}
